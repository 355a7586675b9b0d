"""What is done to all files of a segment together: synced, or renamed out of the way."""

from collections.abc import Iterable, Sequence

from barnabas.base.disk import Disk

DELETED_SUFFIX = ".deleted"


def sync_files(disk: Disk, paths: Iterable[str]) -> None:
    """Make files durable, as they are; not every segment has each.

    Raises:
        OSError: the disk refuses.
    """
    for path in paths:
        if disk.exists(path):
            file = disk.open(path)
            try:
                file.sync()
            finally:
                file.close()


def rename_to_deleted(disk: Disk, paths: Sequence[str]) -> list[str]:
    """Rename files to `.deleted` and return the new paths; readers in flight are not disturbed.

    Args:
        paths: the log file is the first, and must be there; not every segment has each of the others.

    Raises:
        OSError: the disk refuses, or somebody has taken the partition away.
    """
    renamed = []
    for path in paths:
        try:
            disk.rename(path, path + DELETED_SUFFIX)
        except FileNotFoundError:
            if path == paths[0]:
                raise
            continue
        renamed.append(path + DELETED_SUFFIX)
    return renamed
