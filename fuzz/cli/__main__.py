"""`python -m fuzz.cli`."""

from fuzz.cli.app import main

if __name__ == "__main__":
    main()
