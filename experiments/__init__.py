"""Evidence: experiments that anyone can run again. Not part of the package."""
