"""What figures and reports share: colors, orders, and places on a plane."""
