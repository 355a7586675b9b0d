"""`python -m barnabas` is the `barnabas` command."""

from barnabas.cli.main import main

if __name__ == "__main__":
    main()
