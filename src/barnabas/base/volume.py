"""syncfs(2): one call makes everything durable that was written to a volume, names included.

Ten thousand partitions that changed are some thirty thousand syncs one by one, and one here. The price is
that what others have written to the volume is waited for as well. Python's `os` has `sync` alone, which names
no volume and returns no error; so libc is called. `ctypes` is imported when it is needed, at a stop.
"""

import errno
import os
import sys

_TELLS_ERRORS_SINCE = (5, 8)
"""Linux before it returned 0 whatever had become of the data."""


def sync_volume(fd: int) -> bool:
    """Sync the volume that an open file lies on; blocks, other threads run on.

    Args:
        fd: errors of writing back are told that happened since it was opened, so one opened at the start of a
            broker misses none.

    Returns:
        False when the system cannot; nothing is promised then.

    Raises:
        OSError: what was written to the volume may be lost.
    """
    if sys.platform != "linux" or kernel_version(os.uname().release) < _TELLS_ERRORS_SINCE:
        return False
    import ctypes  # noqa: PLC0415

    syncfs = getattr(ctypes.CDLL(None, use_errno=True), "syncfs", None)
    if syncfs is None:
        return False
    if syncfs(ctypes.c_int(fd)) == 0:
        return True
    number = ctypes.get_errno()
    if number == errno.ENOSYS:
        return False
    raise OSError(number, os.strerror(number))


def kernel_version(release: str) -> tuple[int, int]:
    """Return the first two numbers of a kernel's release, (0, 0) when it has none."""
    numbers = release.split("-", 1)[0].split(".")
    try:
        return int(numbers[0]), int(numbers[1])
    except (IndexError, ValueError):
        return 0, 0
