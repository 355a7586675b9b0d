"""A segment's file written anew, without what is damaged in it.

Where batches are left out, an empty batch stands for their offsets, as compaction leaves one: consumers go
on behind it, and nobody takes the gap for a loss that happened since.
"""

import os
from collections.abc import Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.disk import Disk, DiskFile
from barnabas.cli.doctor.findings import Finding, Patch
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    HEADER,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    MAGIC,
)

TEMPORARY_SUFFIX = ".doctor"
_PIECE_BYTES = 4 * 1024 * 1024
_DELTA_MAX = 2**31 - 1


@dataclass(frozen=True, slots=True, kw_only=True)
class SegmentMending:
    """What becomes of a segment's file.

    Attributes:
        patches: bytes to put back.
        dropped: damage to leave out.
        end: where the file ends; None for where it does.
    """

    path: str
    patches: Sequence[Patch] = ()
    dropped: Sequence[Finding] = ()
    end: int | None = None


def empty_batch(base_offset: int, last_offset: int, leader_epoch: int) -> bytes:
    """Return a batch without records that stands for a range of offsets."""
    fields = [
        base_offset,
        HEADER_BYTES - LOG_OVERHEAD_BYTES,
        leader_epoch,
        MAGIC,
        0,
        0,
        last_offset - base_offset,
        -1,
        -1,
        -1,
        -1,
        -1,
        0,
    ]
    fields[4] = crc32c(HEADER.pack(*fields)[ATTRIBUTES_POSITION:], 0)
    return HEADER.pack(*fields)


def mend_segment(disk: Disk, mending: SegmentMending) -> None:
    """Put a new file in the place of a segment's; a crash leaves the old or the new one, whole.

    Raises:
        OSError: the disk refuses; the old one is there then.
    """
    path = mending.path
    temporary = path + TEMPORARY_SUFFIX
    source = disk.open_readonly(path)
    target = disk.open(temporary, create=True)
    try:
        target.truncate(0)
        end = source.size() if mending.end is None else mending.end
        position = written = 0
        for damage in sorted(mending.dropped, key=lambda finding: finding.position or 0):
            start = damage.position or 0
            if start >= end:
                break
            written += _copy(source, target, position, start, written, mending.patches)
            first, last = damage.loss.first_offset, damage.loss.last_offset
            if 0 <= first <= last and last - first <= _DELTA_MAX:
                written += target.write_at(written, [empty_batch(first, last, max(damage.leader_epoch, 0))])
            position = damage.end if damage.end is not None else end
        _copy(source, target, position, end, written, mending.patches)
        target.sync()
    finally:
        source.close()
        target.close()
    disk.rename(temporary, path)
    disk.sync_dir(os.path.dirname(path))


def _copy(  # noqa: PLR0917 - from, to, and where
    source: DiskFile, target: DiskFile, start: int, end: int, at: int, patches: Sequence[Patch]
) -> int:
    """Copy a range with its patches; return its length."""
    position = start
    while position < end:
        piece = bytearray(source.read_at(position, min(_PIECE_BYTES, end - position)))
        if not piece:
            break
        target.write_at(at + position - start, [piece])
        position += len(piece)
    for patch in patches:
        if start <= patch.position and patch.position + len(patch.content) <= end:
            target.write_at(at + patch.position - start, [patch.content])
    return position - start
