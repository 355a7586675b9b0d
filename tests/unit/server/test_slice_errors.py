"""Whose fault a slice's failure is (F43): reading it again decides."""

import errno
from collections.abc import Callable

import pytest

from barnabas.base.disk import OsDisk
from barnabas.base.region import FileSlice, LeasedFile
from barnabas.server.slice_errors import PIECE_BYTES, SliceErrors
from barnabas.storage.log_directory import LogDirectory
from tests.unit.net.doubles import MemoryFile

CONTENT = bytes(3 * PIECE_BYTES)


class Scene:
    """A directory, a slice of a file in it, and a thread that works when told to."""

    def __init__(self, path: str = "/logs/t-0/0.log") -> None:
        self.directory = LogDirectory(OsDisk(), "/logs")
        self.file = MemoryFile(CONTENT)
        self.file.path = path
        self.leased = LeasedFile(self.file)  # type: ignore[arg-type]
        self.slice = FileSlice(self.leased, 10, len(CONTENT) - 10)
        self.given: list[tuple[Callable[[], None], Callable[[OSError | None], None]]] = []
        self.errors = SliceErrors(
            lambda work, done: self.given.append((work, done)), lambda: [self.directory]
        )

    def work(self) -> None:
        for work, done in self.given:
            error = None
            try:
                work()
            except OSError as raised:
                error = raised
            done(error)


EIO = OSError(errno.EIO, "Input/output error")


def test_f43_a_range_that_reads_well_leaves_the_directory_online() -> None:
    scene = Scene()
    scene.errors.failed(scene.slice, EIO)
    scene.slice.release()
    assert scene.leased.holders == 2, "the file might close under the thread"
    scene.work()
    assert scene.directory.online
    assert scene.leased.holders == 1


def test_f43_a_range_that_cannot_be_read_takes_the_directory_offline() -> None:
    scene = Scene()
    scene.file.error = EIO
    scene.errors.failed(scene.slice, EIO)
    assert scene.directory.online, "nothing is known yet"
    scene.work()
    assert scene.directory.failure is EIO
    scene.errors.failed(scene.slice, EIO)
    assert len(scene.given) == 1, "an offline directory is not asked again"


def test_f43_a_file_that_was_cut_is_no_failure_of_the_disk() -> None:
    scene = Scene()
    scene.file.content = CONTENT[:1000]
    scene.errors.failed(scene.slice, EIO)
    scene.work()
    assert scene.directory.online


def test_many_consumers_of_one_range_have_it_read_once() -> None:
    scene = Scene()
    for _ in range(5):
        scene.errors.failed(scene.slice, EIO)
    assert len(scene.given) == 1


@pytest.mark.parametrize("path", ["/elsewhere/t-0/0.log", "/logs-2/t-0/0.log"])
def test_a_file_of_no_log_directory_is_nobodys_fault(path: str) -> None:
    scene = Scene(path)
    scene.errors.failed(scene.slice, EIO)
    assert scene.given == []
