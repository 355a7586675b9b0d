"""Look-ups that will not wait for the disk (F44): what they need and is not in memory, they tell instead.

Between an offset and its slice lie reads that a page may be missing for: a sealed segment's index files when
their entries are not held, and the batch headers between an index entry and the batch. Each is tried first.
A miss is a ColdReadError, whose ranges a helper brings in before the whole look-up is made anew: that is
cheap, and keeps no half-done state that a truncation or a deletion could make wrong meanwhile.

Opening a file may still wait for its directory entry and inode; no call of the system opens without.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.base.cold_reads import ColdReadError
from barnabas.base.disk import Buffer, Disk
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.base.region import LeasedFile
from barnabas.protocol.record_batch import HEADER_BYTES

if TYPE_CHECKING:
    from barnabas.storage.segment import LogSegment

SCAN_BYTES: Final = 64 * 1024
"""What is brought in for a scan of batch headers: many times `index.interval.bytes`, and the beginning of
what will be sent."""

RANGES_MAX: Final = 64
"""Files that are held open at once for one look-up."""


def try_read_at(
    leased: LeasedFile, end: int, position: int, length: int, *, scan_bytes: int = SCAN_BYTES
) -> Buffer:
    """As a file's `read_at`.

    Args:
        end: bytes of the file that may be brought in.
        scan_bytes: how many are, at least, when those asked for are not in memory.

    Raises:
        ColdReadError: instead of waiting.
    """
    data = leased.file.try_read_at(position, length)
    if data is None:
        raise ColdReadError(leased, position, max(length, min(scan_bytes, end - position)))
    return data


def require_files(disk: Disk, paths: Iterable[str]) -> None:
    """Check that files can be read whole; those that do not exist can.

    Raises:
        ColdReadError: instead of waiting.
    """
    cold: ColdReadError | None = None
    for path in paths:
        try:
            leased = LeasedFile(disk.open_readonly(path))
        except FileNotFoundError:
            continue
        try:
            size = leased.file.size()
            if size and not leased.file.is_cached(0, size):
                found = ColdReadError(leased, 0, size)
                cold = found if cold is None else cold.joined(found)
        finally:
            leased.release()
    if cold is not None:
        raise cold


def require_max_timestamps(segments: Iterable[LogSegment]) -> None:
    """Check that the largest timestamp of segments is known, or can be read.

    Raises:
        ColdReadError: instead of waiting; of several segments at once.
    """
    cold: ColdReadError | None = None
    for segment in segments:
        if not segment.knows_max_timestamp:
            try:
                segment.require_indexes()
            except ColdReadError as met:
                cold = met if cold is None else cold.joined(met)
                if len(cold.ranges) >= RANGES_MAX:
                    break
    if cold is not None:
        raise cold


def require_indexes(disk: Disk, index_path: str, time_index_path: str, leased: LeasedFile, size: int) -> None:
    """Check that a segment's indexes can be loaded, which reads the header of the last entry's batch, too.

    Args:
        leased, size: the log file, and how much of it holds batches.

    Raises:
        ColdReadError: instead of waiting.
    """
    require_files(disk, (index_path, time_index_path))
    try:
        file = disk.open_readonly(index_path)
    except FileNotFoundError:
        return
    try:
        index_bytes = file.size()
        entry = file.read_at(index_bytes - 4, 4) if index_bytes >= 4 else b""
    finally:
        file.close()
    position = int.from_bytes(entry, "big")
    if 0 < position <= size - HEADER_BYTES and not leased.file.is_cached(position, HEADER_BYTES):
        raise ColdReadError(leased, position, HEADER_BYTES)
