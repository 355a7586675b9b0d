"""What a real file system says of a file in memory; what it cannot say is not asked twice."""

import errno
import os
from collections.abc import Callable, Sequence
from pathlib import Path

import pytest

from barnabas.base import page_cache
from barnabas.base.disk import OsDisk, OsFile
from barnabas.base.page_cache import STRETCH_BYTES, PageCache

SIZE = 4 * STRETCH_BYTES


@pytest.fixture
def file(tmp_path: Path) -> OsFile:
    made = OsDisk().open(str(tmp_path / "file"), create=True)
    made.write_at(0, [os.urandom(SIZE)])
    return made


def test_f44_what_was_just_written_is_in_memory(file: OsFile) -> None:
    assert file.is_cached(0, SIZE)
    assert file.is_cached(SIZE - 1, 1)
    assert file.try_read_at(100, 1000) == file.read_at(100, 1000)


def test_f44_a_try_at_the_end_of_the_file_is_short_and_no_miss(file: OsFile) -> None:
    assert file.try_read_at(SIZE - 10, 100) == file.read_at(SIZE - 10, 100)
    assert file.try_read_at(SIZE + 10, 100) == b""


def test_f44_bringing_in_ends_with_the_file(file: OsFile) -> None:
    assert file.bring_in(0, 10 * SIZE) == SIZE
    assert file.bring_in(2 * SIZE, 100) == 0


def refuse(code: int, calls: list[int]) -> Callable[..., int]:
    def preadv(_fd: int, _buffers: Sequence[bytearray], position: int, flags: int = 0) -> int:
        calls.append(position)
        raise OSError(code, os.strerror(code))

    return preadv


def test_f44_a_refused_byte_means_cold(file: OsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(os, "preadv", refuse(errno.EAGAIN, []))
    assert not file.is_cached(0, SIZE)
    assert file.try_read_at(0, 100) is None


def test_f44_a_file_system_that_cannot_be_asked_counts_as_warm(
    file: OsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    content = file.read_at(0, 100)
    calls: list[int] = []
    with monkeypatch.context() as patched:
        patched.setattr(os, "preadv", refuse(errno.EOPNOTSUPP, calls))
        assert file.is_cached(0, SIZE)
        calls.clear()
        with pytest.raises(OSError, match="not supported"):
            file.try_read_at(0, 100)  # asked once, then read plainly, which this double refuses, too
        assert len(calls) == 2
    assert file.try_read_at(0, 100) == content


def test_f44_without_cachestat_a_byte_of_each_stretch_is_asked_for(
    file: OsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    cache = PageCache()
    assert cache.holds(file.fileno(), 0, SIZE)
    cache._call = lambda *_: -1  # a kernel, or a sandbox, that knows no such call
    calls: list[int] = []
    plain = os.preadv

    def counted(fd: int, buffers: Sequence[bytearray], position: int, flags: int = 0) -> int:
        calls.append(position)
        return plain(fd, buffers, position, flags)

    monkeypatch.setattr(os, "preadv", counted)
    assert cache.holds(file.fileno(), 0, SIZE)
    assert calls == [*range(0, SIZE, STRETCH_BYTES), SIZE - 1]
    assert not cache.has_cachestat, "asked once"


def test_f44_a_file_system_that_cannot_splice_is_read_through(
    file: OsFile, monkeypatch: pytest.MonkeyPatch
) -> None:
    def no_splice(*_: int) -> int:
        raise OSError(errno.EINVAL, "no splice")

    monkeypatch.setattr(os, "sendfile", no_splice)
    assert page_cache.PageCache.bring_in(file.fileno(), 10, 10 * SIZE) == SIZE - 10


def test_f44_an_error_of_the_disk_is_raised(file: OsFile, monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: int) -> int:
        raise OSError(errno.EIO, "dying")

    monkeypatch.setattr(os, "sendfile", fail)
    with pytest.raises(OSError, match="dying"):
        file.bring_in(0, SIZE)
