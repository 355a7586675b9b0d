"""Cleanings that fail, and what the cleaner tells of itself."""

import errno

import pytest

from barnabas.storage.compaction.task import (
    FailureKind,
)
from barnabas.storage.log_cleaner.trouble import RETRY_DELAYS_MS
from tests.cleaner_setup import BACKOFF_MS, Machine, failure


def test_a_damaged_log_is_told_of_once_and_left_alone_while_others_go_on(
    caplog: pytest.LogCaptureFixture,
) -> None:
    machine = Machine()
    log = machine.log("bad", 60)
    machine.log("good", 40)
    machine.failures["bad"] = failure(FailureKind.CORRUPT)
    machine.start()
    machine.work()
    machine.sleep(5 * BACKOFF_MS)
    assert machine.cleaned_topics.count("bad") == 1
    assert "good" in machine.cleaned_topics
    assert caplog.text.count("is not cleaned any more") == 1
    figures = machine.cleaner.statistics().figures()
    sealed = sum(segment.size for segment in list(log.segments)[:-1])
    assert figures["uncleanable"] == [["/a", 1, sealed]]
    assert machine.offline == []
    machine.manager.delete("bad", 0)
    del machine.failures["bad"]
    machine.log("bad", 40)
    machine.sleep(BACKOFF_MS)
    machine.work()
    assert machine.cleaned_topics.count("bad") == 2, "it is another log"
    assert machine.cleaner.statistics().figures()["uncleanable"] == [["/a", 0, 0]]


@pytest.mark.parametrize(
    ("kind", "error"),
    [(FailureKind.CRASHED, 0), (FailureKind.IO, errno.ENOSPC), (FailureKind.IO, errno.EMFILE)],
)
def test_what_is_no_fault_of_the_log_is_tried_again_later_and_told_once(
    kind: FailureKind, error: int, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.failures["t"] = failure(kind, error)
    machine.start()
    machine.work()
    tries = 1
    for delay_ms in RETRY_DELAYS_MS:
        assert len(machine.tasks) == tries
        machine.sleep(delay_ms - 1)
        machine.work()
        assert len(machine.tasks) == tries, delay_ms
        machine.sleep(1)
        machine.work()
        tries += 1
    assert machine.cleaner.statistics().figures()["dead_thread_count"] == 1
    assert caplog.text.count("could not be cleaned and is tried again") == 1
    del machine.failures["t"]
    machine.sleep(RETRY_DELAYS_MS[-1])
    machine.work()
    assert machine.cleaner.statistics().cleaned == 1
    assert machine.cleaner.statistics().figures()["dead_thread_count"] == 0
    assert machine.offline == []


def test_an_error_of_the_disk_takes_its_directory_offline() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.failures["t"] = failure(FailureKind.IO, errno.EIO)
    machine.start()
    machine.work()
    assert [directory.path for directory in machine.offline] == ["/a"]


def test_a_sync_that_fails_takes_the_directory_offline() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.start()
    work, done = machine.works.pop()
    work()
    done(None)
    _, checkpointed = machine.syncs.pop()
    checkpointed(None)
    _, synced = machine.syncs.pop()
    synced(OSError(errno.EIO, "input/output error"))
    machine.turn()
    assert [directory.path for directory in machine.offline] == ["/a"]
    assert not machine.cleaner.running


def test_the_helper_itself_may_fail() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.start()
    _, done = machine.works.pop()
    done(OSError(errno.EAGAIN, "no thread"))
    machine.turn()
    assert machine.offline == []
    machine.sleep(RETRY_DELAYS_MS[0])
    machine.work()
    assert machine.cleaner.statistics().cleaned == 1


# What is told --------------------------------------------------------------------------------------


def test_kafkas_figures_are_told() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.start()
    machine.work()
    machine.sleep(2_000)
    figures = machine.cleaner.statistics().figures()
    assert figures["cleaned"] == 1
    assert 0 < figures["recopy_percent"] < 20  # type: ignore[operator]
    assert figures["max_dirty_percent"] == 0, "all is clean by now"
    assert figures["time_since_last_run_ms"] == 2_000
    assert figures["running"] == []


def test_the_progress_of_a_cleaning_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    machine = Machine()
    machine.log("t", 40)
    machine.failures["t"] = failure(FailureKind.ABORTED)
    machine.start()
    assert machine.cleaner.statistics().figures()["running"] == [
        {"log": "t-0", "elapsed_ms": 0, "bytes_done": 1, "bytes_expected": 4}
    ]
    machine.sleep(60_000)
    assert "cleaning t-0: 25% of 4 bytes after 60 s" in caplog.text


def test_what_a_cleaning_did_is_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    machine = Machine()
    machine.log("t", 40)
    machine.start()
    machine.work()
    assert "cleaned t-0 from offset 0 to" in caplog.text
    assert "3 keys were compared" in caplog.text
