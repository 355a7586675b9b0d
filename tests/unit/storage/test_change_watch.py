"""A log tells its watchers of every change that a read may notice, once (F37)."""

from collections.abc import Callable

import pytest

from barnabas.storage.change_watch import ChangeWatch
from barnabas.storage.log import Log
from tests.storage_setup import LogHarness, batch


class Told:
    """A watcher that counts."""

    def __init__(self) -> None:
        self.times = 0

    def changed(self) -> None:
        self.times += 1


def filled() -> Log:
    log = LogHarness().open()
    for _ in range(4):
        log.append([batch(2)], leader_epoch=0)
    log.roll()
    log.append([batch(2)], leader_epoch=0)
    return log


CHANGES: dict[str, Callable[[Log], object]] = {
    "append": lambda log: log.append([batch()], leader_epoch=0),
    "append of a follower": lambda log: log.append_as_follower(batch(base_offset=10)),
    "roll": lambda log: log.roll(),
    "log start": lambda log: log.advance_log_start(3),
    "records deleted": lambda log: log.delete_records(9, 10),
    "oldest segments dropped": lambda log: log.delete_oldest_segments(list(log.segments)[:1]),
    "cut": lambda log: log.truncate_to(9),
    "cut to nothing": lambda log: log.truncate_fully(4),
}


@pytest.mark.parametrize("change", CHANGES.values(), ids=CHANGES)
def test_f37_every_change_of_a_log_is_told_once(change: Callable[[Log], object]) -> None:
    log = filled()
    told, other = Told(), Told()
    log.watch.add(told)
    log.watch.add(other)
    change(log)
    assert (told.times, other.times) == (1, 1)
    assert list(log.watch) == []
    log.append([batch()], leader_epoch=0)
    assert told.times == 1


def test_what_changes_nothing_is_not_told() -> None:
    log, told = filled(), Told()
    log.watch.add(told)
    log.advance_log_start(0)
    log.truncate_to(100)
    log.flush()
    assert told.times == 0
    assert list(log.watch) == [told]


def test_a_watcher_that_left_is_not_told() -> None:
    watch, told = ChangeWatch(), Told()
    watch.discard(told)
    watch.add(told)
    watch.discard(told)
    watch.tell()
    assert told.times == 0
