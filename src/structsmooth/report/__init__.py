"""One offline HTML file that says what a fit has found, and the same as JSON."""
