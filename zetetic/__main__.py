"""`python -m zetetic` is the command `zetetic`."""

from zetetic.cli import main

if __name__ == "__main__":
    main()
