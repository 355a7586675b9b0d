"""The project's tests; `./dev test` runs them through tests/run.py."""
