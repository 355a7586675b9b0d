"""The command line: argument parsing, signals, output."""
