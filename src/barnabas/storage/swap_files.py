"""Finishing or undoing what a crash interrupted in a partition's directory: deletions and compactions."""

from collections.abc import Callable

from barnabas.base.disk import Disk
from barnabas.storage.batch_scan import read_heads
from barnabas.storage.segment import LOG_SUFFIX, SEGMENT_SUFFIXES
from barnabas.storage.segment_files import DELETED_SUFFIX

CLEANED_SUFFIX = ".cleaned"
SWAP_SUFFIX = ".swap"
LEFT_BY_SWAPS = (DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX)
"""Files that a compaction, or a deletion, leaves behind for a while."""

OFFSET_DIGITS = 20


def is_offset(stem: str) -> bool:
    """Whether a file name without its suffix is a segment's or snapshot's offset."""
    return len(stem) == OFFSET_DIGITS and stem.isascii() and stem.isdigit()


def finish_swaps(
    disk: Disk, path: str, names: list[str], discard: Callable[[str], None] | None = None
) -> list[str]:
    """Remove what is half made or half deleted, finish complete swaps; return the names that are there then.

    Args:
        names: those there now.
        discard: unlinks a `.deleted` file some time; at once when not given.

    A cleaned segment is written as `.cleaned`, renamed to `.swap` once synced, and to its final name after
    the segments it replaces are gone. So `.cleaned` files are half made, unless a `.swap` below them shows
    that their set was complete up to there; `.swap` files at or above the first `.cleaned` are not.
    """
    if not any(name.endswith(LEFT_BY_SWAPS) for name in names):
        return names
    cleaned = [
        int(n[:OFFSET_DIGITS]) for n in names if n.endswith(CLEANED_SUFFIX) and is_offset(n[:OFFSET_DIGITS])
    ]
    first_cleaned = min(cleaned, default=None)
    swaps: list[str] = []
    for name in names:
        if name.endswith(DELETED_SUFFIX):
            (discard or disk.unlink)(f"{path}/{name}")
        elif name.endswith(CLEANED_SUFFIX):
            disk.unlink(f"{path}/{name}")
        elif name.endswith(SWAP_SUFFIX):
            offset = name[:OFFSET_DIGITS]
            if not is_offset(offset) or (first_cleaned is not None and int(offset) >= first_cleaned):
                disk.unlink(f"{path}/{name}")
            else:
                swaps.append(name)
    for name in swaps:
        if name.endswith(LOG_SUFFIX + SWAP_SUFFIX):
            _drop_replaced(disk, path, name)
    for name in swaps:
        disk.rename(f"{path}/{name}", f"{path}/{name.removesuffix(SWAP_SUFFIX)}")
    if swaps:
        disk.sync_dir(path)
    return disk.list_dir(path)


def _drop_replaced(disk: Disk, path: str, swap_name: str) -> None:
    """Delete the segments whose records a complete swap file holds."""
    base = int(swap_name[:OFFSET_DIGITS])
    file = disk.open_readonly(f"{path}/{swap_name}")
    try:
        end = base
        for head in read_heads(file, 0, file.size()):
            end = head.last_offset + 1
    finally:
        file.close()
    for name in disk.list_dir(path):
        stem, dot, suffix = name.partition(".")
        if dot + suffix in SEGMENT_SUFFIXES and is_offset(stem) and base <= int(stem) < max(end, base + 1):
            disk.unlink(f"{path}/{name}")
