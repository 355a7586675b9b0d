"""High watermarks are written by somebody else than the loop, the newest ones, and no more than is of use."""

import errno
from collections.abc import Callable

import pytest

from barnabas.storage import checkpoints
from barnabas.storage.checkpoints import TopicPartition
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.watermark_checkpoints import WRITES_MAX, WatermarkCheckpoints

KEY = TopicPartition("t", 0)


class Thread:
    """Works when told to."""

    def __init__(self) -> None:
        self.given: list[tuple[Callable[[], None], Callable[[OSError | None], None]]] = []

    def run(self, work: Callable[[], None], done: Callable[[OSError | None], None]) -> None:
        self.given.append((work, done))

    def work(self) -> None:
        work, done = self.given.pop(0)
        try:
            work()
        except OSError as error:
            done(error)
        else:
            done(None)


@pytest.fixture
def written(monkeypatch: pytest.MonkeyPatch) -> list[dict[TopicPartition, int]]:
    found: list[dict[TopicPartition, int]] = []
    monkeypatch.setattr(checkpoints, "write_offsets", lambda disk, path, offsets: found.append(offsets))
    return found


def test_nothing_is_written_on_the_loop_and_the_newest_in_the_end(
    written: list[dict[TopicPartition, int]],
) -> None:
    thread = Thread()
    watermarks = WatermarkCheckpoints(thread.run)
    directory = LogDirectory(None, "/logs")  # type: ignore[arg-type]
    for offset in range(10):
        watermarks.write(directory, {KEY: None}, {KEY: offset, ("elsewhere", 0): 1})
    assert written == []
    assert len(thread.given) == WRITES_MAX
    while thread.given:
        thread.work()
    assert written[-1] == {KEY: 9}
    watermarks.write(directory, {KEY: None}, {KEY: 10})
    thread.work()
    assert written[-1] == {KEY: 10}


def test_a_stop_writes_at_once_but_behind_a_write_under_way(written: list[dict[TopicPartition, int]]) -> None:
    thread = Thread()
    watermarks = WatermarkCheckpoints(thread.run)
    directory = LogDirectory(None, "/logs")  # type: ignore[arg-type]
    watermarks.write(directory, {KEY: None}, {KEY: 1})
    watermarks.stop()
    watermarks.write(directory, {KEY: None}, {KEY: 2})
    assert written == []
    thread.work()
    thread.work()
    watermarks.write(directory, {KEY: None}, {KEY: 3})
    assert written[-1] == {KEY: 3}


def test_a_write_that_fails_takes_the_directory_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(checkpoints, "write_offsets", fail)
    thread = Thread()
    directory = LogDirectory(None, "/logs")  # type: ignore[arg-type]
    WatermarkCheckpoints(thread.run).write(directory, {KEY: None}, {KEY: 1})
    assert directory.online
    thread.work()
    assert not directory.online
