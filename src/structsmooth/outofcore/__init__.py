"""Data larger than memory on one machine: read in pieces, sorted by cluster on disk.

The stages are those of `StructuralSmoother.fit`, and so are the results.
"""
