"""Files: readers and tables, saved smoothers, result directories, label files."""
