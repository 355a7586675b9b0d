"""The scans of a start after a crash: on how many threads, and how far they are.

Large segments are scanned ahead by threads, as many as `num.recovery.threads.per.data.dir` says for each
directory; small ones where their logs are opened, since handing one over costs more than scanning it: of ten
thousand logs most have a few kilobytes to check. Outcomes are taken in the order of the logs, so nothing
depends on which thread was quicker.
"""

from collections.abc import Callable, Iterable, Sequence
from functools import partial

from barnabas.base.hints import TYPE_CHECKING
from barnabas.storage.loading.segment_check import ScanRequest, SegmentScan, scan_segment

if TYPE_CHECKING:
    from barnabas.base.ordered_work import OrderedWork

    _Work = OrderedWork[SegmentScan]

LARGE_BYTES = 1024 * 1024
"""From which size on a segment is worth handing over."""

_AHEAD_PER_THREAD = 2
"""Scanned segments that may wait to be taken in: their indexes take up to 5 MiB each."""


class RecoveryProgress:
    """How far a start after a crash is, over all directories.

    Attributes:
        logs_left, segments_left: by directory, what is still to be checked.
        bytes_to_check: as far as the directories were looked at.
        tell: called with this after every piece, and a few times a second while nothing else happens, on the
            thread that starts the broker.
    """

    __slots__ = ("_bytes_taken", "_scanned", "bytes_to_check", "logs_left", "segments_left", "tell")

    def __init__(self, tell: "Callable[[RecoveryProgress], None] | None" = None) -> None:
        self.logs_left: dict[str, int] = {}
        self.segments_left: dict[str, int] = {}
        self.bytes_to_check = 0
        self.tell = tell or _tell_nobody
        self._bytes_taken = 0
        self._scanned: dict[str, int] = {}  # of segments not yet taken in, by path

    @property
    def bytes_checked(self) -> int:
        return self._bytes_taken + sum(list(self._scanned.values()))

    def add_log(self, directory: str, requests: Sequence[ScanRequest]) -> None:
        """Count a log; one without segments to check does not count."""
        if requests:
            self.logs_left[directory] = self.logs_left.get(directory, 0) + 1
            self.segments_left[directory] = self.segments_left.get(directory, 0) + len(requests)
            self.bytes_to_check += sum(request.size for request in requests)

    def scanned(self, path: str, count: int) -> None:
        """Note how far one segment is; from any thread."""
        self._scanned[path] = count

    def log_done(self, directory: str, requests: Sequence[ScanRequest]) -> None:
        """Count a log down: it is open, or cannot be opened."""
        if requests:
            self.logs_left[directory] -= 1
            self.segments_left[directory] -= len(requests)
            for request in requests:
                self._scanned.pop(request.path, None)
                self._bytes_taken += request.size


class ScanCancelledError(Exception):
    """The start was given up."""


def _tell_nobody(_: RecoveryProgress) -> None:
    return


class LogScans:
    """Scans of one directory's segments; to be closed.

    Args:
        requests: all that will be asked for, in this order, unless their log turns out damaged before.
        threads: 1 scans where the outcome is asked for.
    """

    __slots__ = ("_is_closed", "_numbers", "_progress", "_work")

    def __init__(self, requests: Iterable[ScanRequest], threads: int, progress: RecoveryProgress) -> None:
        self._progress = progress
        self._is_closed = False
        self._numbers: dict[str, int] = {}
        self._work: _Work | None = None
        large = [request for request in requests if request.size >= LARGE_BYTES]
        if threads > 1 and len(large) > 1:
            from barnabas.base.ordered_work import OrderedWork  # noqa: PLC0415 - a start after a crash only

            self._numbers = {request.path: number for number, request in enumerate(large)}
            self._work = OrderedWork(
                [partial(scan_segment, request, partial(self._note, request.path)) for request in large],
                threads=threads,
                ahead_max=threads * _AHEAD_PER_THREAD,
            )

    def scan(self, request: ScanRequest) -> SegmentScan:
        """Return what the scan of a segment found; raises as `scan_segment`."""
        progress = self._progress
        number = self._numbers.get(request.path)
        if number is not None and self._work is not None:
            return self._work.take(number, lambda: progress.tell(progress))

        def tell(count: int) -> None:
            progress.scanned(request.path, count)
            progress.tell(progress)

        return scan_segment(request, tell)

    def _note(self, path: str, count: int) -> None:
        """Note how far a thread is, or end its scan when nobody wants to know."""
        if self._is_closed:
            raise ScanCancelledError
        self._progress.scanned(path, count)

    def close(self) -> None:
        """End the threads, in the middle of a segment if need be."""
        self._is_closed = True
        if self._work is not None:
            self._work.close()
            self._work = None
