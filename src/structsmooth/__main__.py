"""``python -m structsmooth`` is the command ``structsmooth``."""

from structsmooth.cli import main

if __name__ == "__main__":
    main()
