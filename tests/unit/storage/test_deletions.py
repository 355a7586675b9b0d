"""Files out of the way are unlinked when their time has come, off the loop, few at a time."""

from collections import deque

import pytest

from barnabas.base.worker import Done, Work
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.deletions import PATHS_AT_ONCE, PendingDeletions


class Host:
    def __init__(self) -> None:
        self.disk = MemoryDisk()
        self.disk.make_dirs("/a")
        self.given: deque[tuple[Work, Done]] = deque()
        self.deletions = PendingDeletions(self.disk, lambda work, done: self.given.append((work, done)))

    def file(self, name: str, due_ms: int) -> None:
        self.disk.open(f"/a/{name}", create=True)
        self.deletions.add(f"/a/{name}", due_ms)

    def help(self) -> None:
        work, done = self.given.popleft()
        work()
        done(None)


def test_what_is_due_goes_and_the_rest_waits() -> None:
    host = Host()
    host.file("late", 200)
    host.file("early", 100)
    assert host.deletions.next_deadline_ms() == 100
    host.deletions.run(99)
    assert not host.given
    host.deletions.run(100)
    assert host.disk.list_dir("/a") == ["early", "late"], "nothing is unlinked on the loop"
    host.help()
    assert host.disk.list_dir("/a") == ["late"]
    assert host.deletions.next_deadline_ms() == 200


def test_one_batch_is_under_way_and_the_next_follows_by_itself() -> None:
    host = Host()
    for number in range(2 * PATHS_AT_ONCE + 1):
        host.file(f"{number:03}", number % 2)
    host.file("later", 50)
    host.deletions.run(1)
    assert len(host.given) == 1
    assert host.deletions.next_deadline_ms() is None, "the timer need not come back for what is under way"
    host.deletions.run(2)
    for left in (PATHS_AT_ONCE + 2, 2, 1):
        host.help()
        assert len(host.disk.list_dir("/a")) == left
    assert not host.given
    assert host.deletions.next_deadline_ms() == 50
    assert len(host.deletions) == 1


def test_thousands_go_inline_without_a_deep_stack() -> None:
    disk = MemoryDisk()
    disk.make_dirs("/a")
    deletions = PendingDeletions(disk)
    for number in range(50 * PATHS_AT_ONCE):
        disk.open(f"/a/{number}", create=True)
        deletions.add(f"/a/{number}", 0)
    deletions.run(0)
    assert disk.list_dir("/a") == []


def test_a_directory_goes_with_all_it_holds() -> None:
    host = Host()
    host.disk.make_dirs("/a/t-0.x-delete/below")
    host.disk.open("/a/t-0.x-delete/file", create=True)
    host.disk.open("/a/t-0.x-delete/below/file", create=True)
    host.deletions.add("/a/t-0.x-delete", 0)
    host.deletions.run(0)
    host.help()
    assert host.disk.list_dir("/a") == []


def test_what_does_not_go_is_told_and_keeps_nothing_else(caplog: pytest.LogCaptureFixture) -> None:
    host = Host()
    for name in ("gone", "stuck", "good"):
        host.file(name, 0)
    host.disk.unlink("/a/gone")

    def refuse(what: str, path: str) -> None:
        if what == "unlink" and path == "/a/stuck":
            raise OSError(1, "operation not permitted", path)

    host.disk.on_operation = refuse
    host.deletions.run(0)
    host.help()
    assert host.disk.list_dir("/a") == ["stuck"]
    assert [r.getMessage().split(":")[0] for r in caplog.records] == ["/a/stuck was not deleted"]
