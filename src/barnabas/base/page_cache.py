"""What the operating system holds of a file in memory: asking without waiting, and having it read in.

Two questions, because neither is enough. cachestat(2) counts a whole range's pages for the price of a system
call, without side effects, but counts those still on their way from the disk, too. A read with RWF_NOWAIT
knows the difference, for one page, and a miss starts loading that page: asking it twice about the same byte
says nothing. So a range is there when cachestat counts all of it and the last byte, which a disk delivers
last, can be read. Where the kernel has no cachestat (below 6.5, or a sandbox forbids it) one byte of every
stretch is asked for.

Reading in is sendfile to /dev/null: it waits for the pages as a read does and copies nothing, at a twentieth
of a read's processor time. posix_fadvise(WILLNEED) was rejected: it does not wait, and fills the cache with
single pages where the kernel's own read-ahead makes large ones, which cost ten times less to fill and count.
"""

from __future__ import annotations

import errno
import os
from collections.abc import Callable

from barnabas.base.hints import Any, Final

PAGE_BYTES: Final = os.sysconf("SC_PAGE_SIZE")
_PAGE_MASK: Final = PAGE_BYTES - 1

_CACHESTAT_CALL: Final = 451
"""The number of the system call, the same on all machines Python and Linux share."""

STRETCH_BYTES: Final = 128 * 1024
"""Without cachestat one byte of this many is asked for: what the kernel reads ahead by default, so a stretch
is nearly always whole in memory or not at all."""

_BRING_IN_BYTES: Final = 1024 * 1024

NOT_SUPPORTED: Final = frozenset((errno.EOPNOTSUPP, errno.EINVAL, errno.ENOSYS))
"""What a file system says that cannot be read with RWF_NOWAIT, or cannot splice."""


class PageCache:
    """The kernel's page cache, by descriptor. `holds` is for one thread, `bring_in` for any."""

    __slots__ = ("_answer", "_answer_at", "_call", "_question", "_question_at")

    def __init__(self) -> None:
        self._question: Any = None  # None until first asked: most starts never need ctypes
        self._answer: Any = None
        self._question_at = 0
        self._answer_at = 0
        self._call: Callable[..., int] | None = None

    @property
    def has_cachestat(self) -> bool:
        """Whether the kernel counts pages for us, as far as is known."""
        if self._question is None:
            self._load()
        return self._call is not None

    def holds(self, fd: int, position: int, length: int) -> bool:
        """Tell whether a range can be read or sent without waiting for the disk.

        True where the file system cannot be asked; False for what lies beyond the file's end.

        Raises:
            OSError: the descriptor is none.
        """
        if self._question is None:
            self._load()
        call = self._call
        if call is None:
            return _holds_stretches(fd, position, length)
        start = position & ~_PAGE_MASK
        span = ((position + length + _PAGE_MASK) & ~_PAGE_MASK) - start
        question = self._question
        question[0] = start
        question[1] = span
        if call(_CACHESTAT_CALL, fd, self._question_at, self._answer_at, 0):
            self._call = None
            return _holds_stretches(fd, position, length)
        return bool(self._answer[0] * PAGE_BYTES >= span) and _can_read(fd, position + length - 1)

    def _load(self) -> None:
        import ctypes  # noqa: PLC0415 - 5 ms that most starts do not need

        self._question = (ctypes.c_uint64 * 2)()  # offset, length
        self._answer = (
            ctypes.c_uint64 * 5
        )()  # pages in memory, dirty, under writeback, evicted, recently so
        self._question_at = ctypes.addressof(self._question)
        self._answer_at = ctypes.addressof(self._answer)
        call = ctypes.CDLL(None).syscall
        call.restype = ctypes.c_long
        call.argtypes = (ctypes.c_long, ctypes.c_uint, ctypes.c_void_p, ctypes.c_void_p, ctypes.c_uint)
        self._call = call

    @staticmethod
    def bring_in(fd: int, position: int, length: int) -> int:
        """Read a range into memory and wait for it; return its bytes, fewer at the file's end.

        Raises:
            OSError: the disk refuses.
        """
        null_fd = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        try:
            done = 0
            while done < length:
                sent = os.sendfile(null_fd, fd, position + done, min(length - done, _BRING_IN_BYTES))
                if sent == 0:
                    break
                done += sent
        except OSError as error:
            if error.errno not in NOT_SUPPORTED:
                raise
            return _read_through(fd, position, length)
        finally:
            os.close(null_fd)
        return done


def _read_through(fd: int, position: int, length: int) -> int:
    """As `bring_in`, where the file system cannot splice."""
    scratch = memoryview(bytearray(min(length, _BRING_IN_BYTES)))
    done = 0
    while done < length:
        got = os.preadv(fd, [scratch[: length - done]], position + done)
        if got == 0:
            break
        done += got
    return done


def _holds_stretches(fd: int, position: int, length: int) -> bool:
    last = position + length - 1
    return all(_can_read(fd, at) for at in range(position, last, STRETCH_BYTES)) and _can_read(fd, last)


def _can_read(fd: int, position: int) -> bool:
    try:
        return os.preadv(fd, [bytearray(1)], position, os.RWF_NOWAIT) == 1
    except BlockingIOError:
        return False
    except OSError as error:
        if error.errno not in NOT_SUPPORTED:
            raise
        return True
