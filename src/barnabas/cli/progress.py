"""Progress of long work on standard error: one line that renews itself at a terminal, else only the sum."""

import sys
import time
from collections.abc import Callable

from barnabas.cli.output import counted

_INTERVAL_S = 0.2


class Progress:
    """Counts records and bytes.

    Args:
        verb: what was done to them ("produced").
        quiet: say nothing at all.
    """

    def __init__(
        self, verb: str, *, quiet: bool = False, now_s: Callable[[], float] = time.monotonic
    ) -> None:
        self._verb = verb
        self._quiet = quiet
        self._now_s = now_s
        self._live = not quiet and sys.stderr.isatty()
        self._began = now_s()
        self._shown_at = self._began
        self._shown = False
        self.records = 0
        self.bytes = 0

    @property
    def seconds(self) -> float:
        """Since the start."""
        return self._now_s() - self._began

    def add(self, size_bytes: int) -> None:
        """Count one record."""
        self.records += 1
        self.bytes += size_bytes
        if self._live and self._now_s() - self._shown_at >= _INTERVAL_S:
            self._shown_at = self._now_s()
            self._shown = True
            sys.stderr.write(f"\r\x1b[K{self.text()}")
            sys.stderr.flush()

    def text(self) -> str:
        """Return `verb N records, SIZE, in T s, RATE`."""
        seconds = self.seconds
        rate = f", {size_text(int(self.bytes / seconds))}/s" if seconds >= _INTERVAL_S else ""
        records = counted(self.records, "record")
        return f"{self._verb} {records}, {size_text(self.bytes)}, in {seconds:.2f} s{rate}"

    def finish(self) -> None:
        """Say the sum."""
        if self._shown:
            sys.stderr.write("\r\x1b[K")
        if not self._quiet:
            sys.stderr.write(self.text() + "\n")
            sys.stderr.flush()


def size_text(size_bytes: int) -> str:
    """Return a size in decimal units with three digits at most."""
    if size_bytes < 1000:
        return f"{size_bytes} B"
    value = float(size_bytes)
    for unit in ("kB", "MB", "GB", "TB"):
        value /= 1000
        if value < 999.5 or unit == "TB":
            break
    return f"{value:.0f} {unit}" if value >= 100 else f"{value:.1f} {unit}"
