"""The log cleaner as the loop has it: which log when, how many at once, what ends a cleaning."""

import errno

import pytest

from barnabas.base.dataclass import replace
from barnabas.storage.checkpoints.checkpoint_file import write_offsets
from barnabas.storage.topic_partition import TopicPartition
from tests.cleaner_setup import BACKOFF_MS, Machine


def test_the_dirtiest_log_is_cleaned_first_and_then_the_next() -> None:
    machine = Machine()
    machine.log("half", 40)
    machine.manager.checkpoints.cleaner_offsets[TopicPartition("half", 0)] = 15
    machine.log("whole", 40)
    machine.log("plain", 40, cleanup_policy=frozenset({"delete"}))
    machine.start()
    assert machine.cleaned_topics == ["whole"], "one at a time"
    machine.work()
    assert machine.cleaned_topics == ["whole", "half"], "nothing rests while there is something to do"
    assert not machine.cleaner.running


def test_as_many_logs_as_there_are_threads_are_cleaned_at_once_and_share_what_there_is() -> None:
    machine = Machine(threads=2)
    for topic in "abc":
        machine.log(topic, 40)
    machine.start()
    assert len(machine.tasks) == 2
    assert machine.tasks[0].dedupe_buffer_bytes == machine.config.dedupe_buffer_bytes // 2
    assert machine.tasks[0].io_bytes_per_second_max == machine.config.io_bytes_per_second_max / 2
    machine.work()
    assert sorted(machine.cleaned_topics) == ["a", "b", "c"]


def test_a_log_that_is_not_dirty_enough_waits_for_more() -> None:
    machine = Machine()
    log = machine.log("t", 40, min_cleanable_dirty_ratio=0.5)
    machine.start()
    machine.work()
    assert machine.cleaner.statistics().cleaned == 1
    kept = log.segments.size
    machine.sleep(BACKOFF_MS)
    assert len(machine.tasks) == 1
    machine.append(log, 40)
    log.flush()
    machine.sleep(BACKOFF_MS - 1)
    assert len(machine.tasks) == 1, "it is looked at every log.cleaner.backoff.ms"
    machine.sleep(1)
    machine.work()
    assert len(machine.tasks) == 2
    assert machine.tasks[1].first_dirty_offset == machine.tasks[0].first_uncleanable_offset
    assert log.segments.size < kept + 40 * 110


def test_how_far_a_log_is_clean_is_checkpointed_and_read_again() -> None:
    machine = Machine(directories=("/a", "/b"))
    log = machine.log("t", 40)
    machine.start()
    machine.work()
    reached = machine.tasks[0].first_uncleanable_offset
    directory = log.directory.path
    assert machine.text(f"{directory}/cleaner-offset-checkpoint") == f"0\n1\nt 0 {reached}\n"
    assert machine.manager.shutdown()
    again = machine.make_manager(("/a", "/b"))
    assert again.checkpoints.cleaner_offsets == {TopicPartition("t", 0): reached}


def test_a_log_made_anew_under_an_old_name_is_dirty_from_its_start() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.start()
    machine.work()
    machine.manager.delete("t", 0)
    assert machine.text("/a/cleaner-offset-checkpoint") == "0\n0\n"
    machine.log("t", 40)
    assert TopicPartition("t", 0) not in machine.manager.checkpoints.cleaner_offsets


def test_a_checkpoint_beyond_the_end_of_a_log_is_not_read() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.manager.checkpoints.cleaned_to(TopicPartition("t", 0), machine.manager.directories[0], 41)
    assert machine.manager.shutdown()
    assert machine.make_manager(("/a",)).checkpoints.cleaner_offsets == {}


def test_what_the_checkpoint_says_of_logs_that_are_gone_is_forgotten_for_good() -> None:
    machine = Machine()
    machine.log("t", 40)
    assert machine.manager.shutdown()
    write_offsets(machine.disk, "/a/cleaner-offset-checkpoint", {TopicPartition("gone", 0): 7})
    machine.make_manager(("/a",))
    assert machine.text("/a/cleaner-offset-checkpoint") == "0\n0\n"


def test_a_truncation_makes_dirty_what_comes_next() -> None:
    machine = Machine()
    log = machine.log("t", 40)
    machine.start()
    machine.work()
    key = TopicPartition("t", 0)
    assert machine.manager.checkpoints.cleaner_offsets[key] > 20
    log.truncate_to(20)
    assert machine.manager.checkpoints.cleaner_offsets[key] <= 20


def test_a_log_is_synced_to_its_end_before_it_is_cleaned() -> None:
    """What supersedes a record, or ends its transaction, may not be lost when the record is gone."""
    machine = Machine()
    log = machine.log("t")
    machine.append(log, 40)
    assert log.recovery_point == 0
    machine.start()
    assert machine.tasks == []
    sync, done = machine.syncs.pop()
    machine.append(log, 1)
    sync()
    done(None)
    assert machine.cleaned_topics == ["t"]
    assert log.recovery_point >= machine.tasks[0].first_uncleanable_offset


def test_a_sync_before_a_cleaning_may_fail_or_come_too_late() -> None:
    machine = Machine(directories=("/a", "/b"))
    log, other = machine.log("t"), machine.log("u")
    for one in (log, other):
        machine.append(one, 40)
    machine.start()
    for one, error in ((log, None), (other, OSError(errno.EIO, "input/output error"))):
        _, done = machine.syncs.pop()
        if error is None:
            one.truncate_to(0)
        done(error)
        machine.turn()
    assert machine.tasks == []
    assert [directory.path for directory in machine.offline] == [other.directory.path]


def test_nothing_is_cleaned_of_a_partition_that_is_not_hosted() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.manager.retention_high_watermark = lambda _: None
    machine.start()
    assert machine.tasks == []


def test_a_log_with_nothing_but_its_active_segment_is_passed_over() -> None:
    machine = Machine()
    machine.log("t", 2)
    machine.start()
    assert machine.tasks == []
    assert machine.cleaner.statistics().max_dirty_ratio == 0.0


def test_retention_is_asked_of_logs_that_are_deleted_from_as_well() -> None:
    machine = Machine()
    machine.log("both", 40, cleanup_policy=frozenset({"compact", "delete"}))
    machine.log("compacted", 40)
    machine.start()
    assert machine.expired == [("both", 0)]
    machine.work()
    assert ("compacted", 0) in machine.expired, "what had to wait for the cleaning"


# Others change logs meanwhile ----------------------------------------------------------------------


@pytest.mark.parametrize("stage", ["before", "during", "swapping"])
def test_the_deletion_of_a_topic_ends_its_cleaning(stage: str) -> None:
    machine = Machine()
    log = machine.log("t", 40)
    machine.log("u", 40)
    machine.start()
    if stage != "before":
        work, done = machine.works.pop()
        work()
        if stage == "swapping":
            done(None)
            assert machine.syncs, "the names are being synced"
        else:
            machine.works.append((lambda: None, done))
    machine.manager.delete("t", 0)
    machine.work()
    assert machine.cleaned_topics == ["t", "u"]
    assert not machine.cleaner.running
    assert log.cleaning is None
    assert TopicPartition("t", 0) not in machine.manager.checkpoints.cleaner_offsets
    assert machine.offline == []


def test_a_truncation_ends_the_cleaning_and_the_log_is_cleaned_again() -> None:
    machine = Machine()
    log = machine.log("t", 40)
    machine.start()
    work, done = machine.works.pop()
    work()
    log.truncate_to(30)
    done(None)
    machine.turn()
    machine.work()
    assert len(machine.tasks) == 2
    assert not [name for name in machine.names(log) if name.endswith((".cleaned", ".swap"))]
    assert machine.tasks[1].first_uncleanable_offset < machine.tasks[0].first_uncleanable_offset


def test_a_log_that_moves_is_left_alone() -> None:
    machine = Machine()
    log = machine.log("t", 40)
    machine.start()
    machine.cleaner.abort(TopicPartition("t", 0))
    assert log.cleaning is None

    class Moves:
        moves = (TopicPartition("t", 0),)

    machine.manager.made_future_logs = Moves()  # type: ignore[assignment]
    machine.work()
    machine.sleep(BACKOFF_MS)
    assert len(machine.tasks) == 1
    machine.manager.made_future_logs = None
    machine.sleep(BACKOFF_MS)
    machine.work()
    assert machine.cleaner.statistics().cleaned == 1


def test_a_directory_that_fails_ends_its_cleanings() -> None:
    machine = Machine(directories=("/a", "/b"), threads=2)
    logs = [machine.log("t", 40), machine.log("u", 40)]
    assert {log.directory.path for log in logs} == {"/a", "/b"}
    machine.start()
    failed = logs[0].directory
    failed.failed(OSError(errno.EIO, "input/output error"), "appending")
    machine.cleaner.directory_failed(failed)
    machine.work()
    assert machine.cleaner.statistics().cleaned == 1
    machine.sleep(10 * BACKOFF_MS)
    assert len(machine.tasks) == 2


def test_a_stop_ends_all_cleanings_and_leaves_logs_that_open() -> None:
    machine = Machine()
    log = machine.log("t", 40)
    machine.start()
    work, done = machine.works.pop()
    work()
    done(None)
    _, checkpointed = machine.syncs.pop()
    assert not [name for name in machine.names(log) if name.endswith(".swap")], "no checkpoint tells of it"
    checkpointed(None)
    assert machine.syncs
    machine.cleaner.stop()
    assert not [name for name in machine.names(log) if name.endswith((".cleaned", ".swap"))]
    assert machine.manager.shutdown()
    again = machine.make_manager(("/a",))
    assert again.logs["t", 0].segments.base_offsets == log.segments.base_offsets  # type: ignore[index]


def test_a_log_that_is_not_to_be_compacted_any_more_is_not() -> None:
    machine = Machine()
    log = machine.log("t", 40)
    machine.start()
    log.config = replace(log.config, cleanup_policy=frozenset({"delete"}))
    machine.cleaner.policies_changed()
    machine.work()
    assert machine.cleaner.statistics().cleaned == 0
    assert log.cleaning is None
    assert not [name for name in machine.names(log) if name.endswith(".cleaned")]


def test_new_configs_hold_for_cleanings_that_begin_anew() -> None:
    machine = Machine()
    machine.log("t", 40)
    machine.start()
    machine.cleaner.reconfigure(machine.config)
    assert machine.cleaner.statistics().running, "nothing has changed"
    machine.cleaner.reconfigure(replace(machine.config, io_bytes_per_second_max=1000.0, threads=2))
    machine.work()
    assert [task.io_bytes_per_second_max for task in machine.tasks][-1] == 500.0
    assert machine.cleaner.statistics().cleaned == 1


def test_no_thread_cleans_nothing() -> None:
    machine = Machine(threads=0)
    machine.log("t", 40)
    machine.start()
    machine.sleep(10 * BACKOFF_MS)
    assert machine.tasks == []
