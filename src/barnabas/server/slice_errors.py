"""What follows when a slice could not be read on its way out (F43).

The consumer's connection is closed by then. Whether the disk is at fault is not known: sendfile may fail for
reasons of the socket under names that files use, too. So the range is read again, off the loop, by plain
reads. When those succeed the disk is fine and the consumer, which comes back, gets its records. When they
fail, the directory goes offline, and what is parked on its partitions is answered KAFKA_STORAGE_ERROR
(KAFKA-16304). Apache Kafka 4.4 takes any such error for the peer's.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from barnabas.base.logger import Logger
from barnabas.base.region import FileSlice, LeasedFile
from barnabas.storage.log_directory import LogDirectory

_log = Logger(__name__)

PIECE_BYTES = 128 * 1024

RunBlocking = Callable[[Callable[[], None], Callable[[OSError | None], None]], None]


class SliceErrors:
    """Judges slices that failed.

    Args:
        run_blocking: runs a call off the loop, then another on it with the OSError, or None.
        directories: tells the log directories.
    """

    __slots__ = ("_directories", "_run_blocking", "_under_way")

    def __init__(self, run_blocking: RunBlocking, directories: Callable[[], Iterable[LogDirectory]]) -> None:
        self._run_blocking = run_blocking
        self._directories = directories
        self._under_way: set[tuple[str, int, int]] = set()

    def failed(self, failed: FileSlice, cause: OSError) -> None:
        """Find out whether it was the disk. The slice may be released as soon as this returns."""
        directory = self._directory_of(failed.path)
        key = (failed.path, failed.position, failed.length)
        if directory is None or not directory.online or key in self._under_way:
            return
        leased, position, length = failed.leased, failed.position, failed.length
        leased.acquire()
        self._under_way.add(key)

        def done(error: OSError | None) -> None:
            self._under_way.discard(key)
            leased.release()
            if error is None:
                _log.warning("%s reads well after all; sending it had failed: %s", key[0], cause)
            else:
                directory.failed(error, f"reading {key[0]} for a fetch")

        self._run_blocking(lambda: _read(leased, position, length), done)

    def _directory_of(self, path: str) -> LogDirectory | None:
        return next((found for found in self._directories() if path.startswith(f"{found.path}/")), None)


def _read(leased: LeasedFile, position: int, length: int) -> None:
    """Read a range, as far as the file goes."""
    piece = memoryview(bytearray(min(length, PIECE_BYTES)))
    end = position + length
    while position < end:
        got = leased.file.read_into(position, piece[: end - position])
        if got == 0:
            return
        position += got
