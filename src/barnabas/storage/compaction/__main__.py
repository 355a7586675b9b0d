"""The cleaning process: `python -m barnabas.storage.compaction`, started by `cleaning_process`.

A task comes on standard input; lines of progress go to standard output, and at last the result. When the
broker is gone it ends at once and takes nothing away: the directory may be another broker's by now, with
files of the same names; what is half made goes with that one's start.
"""

import sys

from barnabas.base.child_process import be_humble, read_message, write_line
from barnabas.base.clock import SystemClock, sleep_ms
from barnabas.base.disk import OsDisk
from barnabas.storage.compaction.cleaning import InProcessCleaning
from barnabas.storage.compaction.task import CleaningProgress
from barnabas.storage.compaction.task_json import decode_task, encode_progress, encode_result

NICENESS = 10
"""Of two that want the same processor a broker gets nine tenths of it; a cleaning must not starve for good,
or the log would grow without end."""

PROGRESS_INTERVAL_MS = 250


def tell(line: bytes) -> None:
    """Say something to the broker, or end."""
    try:
        write_line(line)
    except BrokenPipeError:
        sys.exit(1)


def main() -> None:
    """Clean one log, unless the broker goes away.

    Raises:
        SystemExit: it went away.
    """
    be_humble(NICENESS)
    clock = SystemClock()
    told_ms = clock.monotonic_ms()

    def on_progress(progress: CleaningProgress) -> None:
        nonlocal told_ms
        now_ms = clock.monotonic_ms()
        if now_ms - told_ms >= PROGRESS_INTERVAL_MS:
            told_ms = now_ms
            tell(encode_progress(progress))

    task = decode_task(read_message())
    result = InProcessCleaning(task, OsDisk(), clock, sleep_ms, on_progress).run()
    tell(encode_result(result))


if __name__ == "__main__":
    main()
