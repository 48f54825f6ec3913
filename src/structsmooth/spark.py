"""A cluster of machines: Spark."""
