"""The text files in the root of a log directory, and how they are kept."""
