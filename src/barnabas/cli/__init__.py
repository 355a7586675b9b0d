"""The command line: argument parsing, signals, output, and the small client that the commands use."""
