"""Regions of the feature space, and which one a row belongs to."""
