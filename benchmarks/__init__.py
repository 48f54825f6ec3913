"""Speed compared with other libraries in the same run: ``make bench``."""
