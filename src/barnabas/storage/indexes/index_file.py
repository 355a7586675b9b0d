"""How the entries of an index come from their file and get there again.

Entries are kept in memory and appended to the file from time to time; after a truncation the whole file is
written anew.
"""

from barnabas.base.disk import Disk, rewrite


def read_entries(disk: Disk, path: str) -> bytes | memoryview:
    """Return a file's content.

    Raises:
        OSError: it cannot be read; FileNotFoundError when there is none.
    """
    file = disk.open_readonly(path)
    try:
        return file.read_at(0, file.size())
    finally:
        file.close()


def write_entries(disk: Disk, path: str, entries: bytes, written_bytes: int) -> None:
    """Bring a file up to date, not synced; it is exactly as long as its entries then.

    Args:
        entries: those that the file does not hold yet.
        written_bytes: how much of it holds what comes before; negative when `entries` are all there are.
    """
    file = disk.open(path, create=True)
    try:
        if written_bytes < 0:
            rewrite(file, entries)
        elif entries:
            file.write_at(written_bytes, [entries])
    finally:
        file.close()
