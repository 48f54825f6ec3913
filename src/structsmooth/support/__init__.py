"""What every stage uses and no user imports: checks, progress, threads, compilation."""
