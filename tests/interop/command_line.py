"""Commands of Barnabas in processes of their own, as a user runs them."""

import subprocess
import sys
from collections.abc import Callable

Run = Callable[..., subprocess.CompletedProcess[bytes]]


def runner(bootstrap: str) -> Run:
    """Return a function that runs a command against a broker; a failure shows what it said."""

    def run_command(*arguments: str, stdin: bytes = b"", code: int = 0) -> subprocess.CompletedProcess[bytes]:
        line = [sys.executable, "-m", "barnabas", *arguments, "--bootstrap-server", bootstrap]
        done = subprocess.run(line, check=False, input=stdin, capture_output=True, timeout=60)
        assert done.returncode == code, done.stderr.decode()
        return done

    return run_command
