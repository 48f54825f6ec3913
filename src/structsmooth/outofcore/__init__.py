"""Data larger than memory on one machine: read in pieces, spilled per cluster.

The steps are those of `StructuralSmoother.fit`, with the same reductions, clusters,
trees, bounds and strengths; only the rows pass through a few at a time.
"""
