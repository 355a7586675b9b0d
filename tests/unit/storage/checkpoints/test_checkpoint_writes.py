"""Checkpoints are written by somebody else than the loop, the newest ones, and no more than is of use."""

import errno
from collections.abc import Callable

import pytest

from barnabas.storage.checkpoints import checkpoint_file
from barnabas.storage.checkpoints.checkpoint_writes import WRITES_MAX, CheckpointWrites
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.topic_partition import TopicPartition

KEY = TopicPartition("t", 0)
NAME = checkpoint_file.RECOVERY_POINT_FILE
DIRECTORY = LogDirectory(None, "/logs")  # type: ignore[arg-type]


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
    monkeypatch.setattr(checkpoint_file, "write_offsets", lambda disk, path, offsets: found.append(offsets))
    return found


def test_nothing_is_written_on_the_loop_and_the_newest_in_the_end(
    written: list[dict[TopicPartition, int]],
) -> None:
    thread = Thread()
    writes = CheckpointWrites(thread.run)
    for offset in range(10):
        writes.write_later(DIRECTORY, NAME, {KEY: offset})
    assert written == []
    assert len(thread.given) == WRITES_MAX
    while thread.given:
        thread.work()
    assert written[-1] == {KEY: 9}
    writes.write_later(DIRECTORY, NAME, {KEY: 10})
    thread.work()
    assert written[-1] == {KEY: 10}


def test_a_write_that_comes_late_does_not_undo_a_newer_one(written: list[dict[TopicPartition, int]]) -> None:
    thread = Thread()
    writes = CheckpointWrites(thread.run)
    writes.write_later(DIRECTORY, NAME, {KEY: 100})
    writes.write_now(DIRECTORY, NAME, {KEY: 7})
    assert written == [{KEY: 7}], "the log is cut when this returns"
    thread.work()
    assert written[-1] == {KEY: 7}
    writes.write_later(DIRECTORY, "another", {KEY: 1})
    thread.work()
    assert written[-1] == {KEY: 1}, "files do not wait for each other"


def test_a_stop_writes_at_once(written: list[dict[TopicPartition, int]]) -> None:
    thread = Thread()
    writes = CheckpointWrites(thread.run)
    writes.write_later(DIRECTORY, NAME, {KEY: 1})
    writes.stop()
    writes.write_later(DIRECTORY, NAME, {KEY: 2})
    assert written == [{KEY: 2}]
    thread.work()
    assert written == [{KEY: 2}]


def test_a_write_that_fails_takes_the_directory_offline(monkeypatch: pytest.MonkeyPatch) -> None:
    def fail(*_: object) -> None:
        raise OSError(errno.EIO, "Input/output error")

    monkeypatch.setattr(checkpoint_file, "write_offsets", fail)
    thread = Thread()
    directory = LogDirectory(None, "/logs")  # type: ignore[arg-type]
    CheckpointWrites(thread.run).write_later(directory, NAME, {KEY: 1})
    assert directory.online
    thread.work()
    assert not directory.online
