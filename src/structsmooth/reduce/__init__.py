"""Fewer features for clustering and trees: PCA, nothing, or any transformer."""
