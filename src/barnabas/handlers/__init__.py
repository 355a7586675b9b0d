"""One file per API; dispatch routes a request to its file."""
