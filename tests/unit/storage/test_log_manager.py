"""The root of log.dirs: locks, markers, checkpoints, placement, deletion, retention, failing directories."""

import errno
import os
from random import Random
from typing import Any

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.sim.clock import ManualClock
from barnabas.sim.disk import MemoryDisk
from barnabas.storage.loading.directory_loading import LogManagerError
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_manager import LogManager
from tests.storage_setup import FIRST_TIMESTAMP, TOPIC_ID, batch

SIZE = len(batch())


class Zeros:
    def random_bytes(self, length: int) -> bytes:
        return bytes(length)

    def random_below(self, limit: int) -> int:
        return 0


class Machine:
    def __init__(self, *directories: str, **config: Any) -> None:
        self.clock = ManualClock(FIRST_TIMESTAMP)
        self.disk = MemoryDisk(self.clock)
        self.directories = directories or ("/a",)
        self.config = LogConfig(**{"segment_bytes": 3 * SIZE, "retention_ms": -1, **config})
        self.failed: list[LogDirectory] = []

    def start(self, **options: Any) -> LogManager:
        manager = LogManager(
            disk=self.disk, clock=self.clock, entropy=Zeros(), directories=self.directories,
            config_for=lambda _: self.config, on_directory_failure=self.failed.append, **options,
        )  # fmt: skip
        manager.start()
        return manager

    def log(self, manager: LogManager, topic: str = "t", partition: int = 0, batches: int = 0) -> Log:
        log = manager.get_or_create(topic, partition, TOPIC_ID, self.config)
        for _ in range(batches):
            log.append([batch(timestamp=self.clock.wall_ms())], leader_epoch=0)
        return log

    def text(self, path: str) -> str:
        file = self.disk.open_readonly(path)
        return file.read_at(0, file.size()).decode()

    def break_directory(self, path: str) -> None:
        def refuse(what: str, where: str) -> None:
            if where.startswith(path) and what != "read":
                raise OSError(5, "input/output error", where)

        self.disk.on_operation = refuse


def test_a_clean_stop_leaves_what_kafka_leaves() -> None:
    machine = Machine()
    manager = machine.start()
    log = machine.log(manager, batches=7)
    log.delete_records(4, 7)
    assert manager.shutdown({("t", 0): 6}, broker_epoch=12)
    assert machine.disk.list_dir("/a") == [
        ".kafka_cleanshutdown", ".lock", "log-start-offset-checkpoint", "recovery-point-offset-checkpoint",
        "replication-offset-checkpoint", "t-0",
    ]  # fmt: skip
    assert machine.text("/a/.kafka_cleanshutdown") == '{"version":0,"brokerEpoch":12}'
    assert machine.text("/a/recovery-point-offset-checkpoint") == "0\n1\nt 0 7\n"
    assert machine.text("/a/log-start-offset-checkpoint") == "0\n1\nt 0 4\n"
    assert machine.text("/a/replication-offset-checkpoint") == "0\n1\nt 0 6\n"


def test_the_marker_is_gone_before_anything_is_loaded_and_the_state_is_back() -> None:
    machine = Machine()
    manager = machine.start()
    machine.log(manager, batches=7).delete_records(4, 7)
    manager.shutdown({("t", 0): 6})
    manager = machine.start()
    assert not machine.disk.exists("/a/.kafka_cleanshutdown")
    log = manager.get("t", 0)
    assert log is not None
    assert (log.log_start_offset, log.log_end_offset, log.topic_id) == (4, 7, TOPIC_ID)
    assert manager.high_watermarks == {("t", 0): 6}


def test_a_directory_is_used_by_one_process_only() -> None:
    machine = Machine()
    manager = machine.start()
    with pytest.raises(LogManagerError, match="in use"):
        machine.start()
    manager.shutdown()
    machine.start()


def test_new_logs_go_where_the_fewest_are() -> None:
    machine = Machine("/a", "/b", "/c")
    manager = machine.start()
    for partition in range(7):
        machine.log(manager, partition=partition)
    counts = [len(manager.logs_of(directory)) for directory in manager.directories]
    assert counts == [3, 2, 2]


def test_a_deleted_log_frees_its_name_at_once_and_its_bytes_later() -> None:
    machine = Machine()
    manager = machine.start()
    log = machine.log(manager, batches=7)
    data = log.read(0, log.log_end_offset_metadata, 10)
    assert data.records is not None
    manager.checkpoints.write_recovery_points()
    manager.delete("t", 0)
    manager.delete("t", 0)
    assert manager.get("t", 0) is None
    assert f"t-0.{'0' * 32}-delete" in machine.disk.list_dir("/a")
    assert len(data.records.read()) == 10
    # A topic of the same name starts from nothing, checkpoints included, even after a crash.
    machine.log(manager, batches=1)
    assert "t 0 7" not in machine.text("/a/recovery-point-offset-checkpoint")
    machine.clock.advance_ms(60_000)
    manager.handle_timer(machine.clock.monotonic_ms())
    assert not [name for name in machine.disk.list_dir("/a") if name.endswith("-delete")]


def test_what_is_no_partition_is_left_alone_and_half_deleted_logs_go() -> None:
    machine = Machine()
    for name in ("lost+found", "t-0.ffff-delete", "x-1.ffff-stray", "__cluster_metadata-0"):
        machine.disk.make_dirs(f"/a/{name}")
    manager = machine.start()
    assert not manager.logs
    manager.handle_timer(machine.clock.monotonic_ms())
    assert machine.disk.list_dir("/a") == [
        ".lock", "__cluster_metadata-0", "lost+found", "recovery-point-offset-checkpoint", "x-1.ffff-stray",
    ]  # fmt: skip


def test_another_topic_id_is_refused() -> None:
    machine = Machine()
    manager = machine.start()
    machine.log(manager)
    with pytest.raises(ApiError) as raised:
        manager.get_or_create("t", 0, bytes(16), machine.config)
    assert raised.value.code is ErrorCode.INCONSISTENT_TOPIC_ID


def test_a_failed_directory_goes_offline_alone_and_gets_no_marker() -> None:
    machine = Machine("/a", "/b")
    manager = machine.start()
    first, second = machine.log(manager, partition=0, batches=1), machine.log(manager, partition=1, batches=1)
    assert (first.directory.path, second.directory.path) == ("/a", "/b")
    machine.break_directory("/a")
    with pytest.raises(ApiError) as raised:
        first.append([batch()], leader_epoch=0)
    assert raised.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert machine.failed == [first.directory]
    second.append([batch()], leader_epoch=0)
    assert machine.log(manager, partition=2).directory.path == "/b"
    with pytest.raises(ApiError):
        manager.get_or_create("t", 3, TOPIC_ID, machine.config, is_new=False)
    assert manager.shutdown() is False
    assert machine.disk.exists("/b/.kafka_cleanshutdown")
    assert not machine.disk.exists("/a/.kafka_cleanshutdown")


def test_a_broken_directory_at_start_is_passed_over_and_none_left_is_an_error() -> None:
    machine = Machine("/a", "/b")
    machine.break_directory("/a")
    manager = machine.start()
    assert [directory.online for directory in manager.directories] == [False, True]
    machine = Machine()
    machine.break_directory("/a")
    with pytest.raises(LogManagerError, match="none of the log directories works"):
        machine.start()


@pytest.mark.parametrize(
    ("code", "advice"),
    [
        (errno.EEXIST, "must be a directory"),
        (errno.EACCES, "must be allowed to write there"),
        (errno.EROFS, ""),
    ],
)
def test_who_starts_a_broker_is_told_where_what_failed_and_what_to_do(
    monkeypatch: pytest.MonkeyPatch, code: int, advice: str
) -> None:
    def refuse(path: str) -> None:
        raise OSError(code, os.strerror(code), path)

    machine = Machine("/a")
    monkeypatch.setattr(machine.disk, "lock", refuse)
    with pytest.raises(LogManagerError) as raised:
        machine.start()
    assert f": /a/.lock: {os.strerror(code)}" in str(raised.value)
    assert str(raised.value).endswith(advice or os.strerror(code))


def test_a_log_that_cannot_be_opened_is_offline_alone_and_untouched() -> None:
    machine = Machine()
    manager = machine.start()
    machine.log(manager, "good", batches=1)
    machine.log(manager, "bad", batches=1)
    manager.shutdown()
    machine.disk.open("/a/bad-0/partition.metadata").write_at(0, [b"version: 9"])
    manager = machine.start()
    assert ("good", 0) in manager.logs
    assert list(manager.unopened) == [("bad", 0)]
    with pytest.raises(ApiError) as raised:
        machine.log(manager, "bad")
    assert raised.value.code is ErrorCode.KAFKA_STORAGE_ERROR
    assert manager.shutdown() is False
    assert not machine.disk.exists("/a/.kafka_cleanshutdown")


def test_a_stop_that_runs_out_of_time_leaves_no_marker() -> None:
    machine = Machine()
    manager = machine.start()
    machine.log(manager, batches=2)
    assert manager.shutdown(deadline_ms=machine.clock.monotonic_ms()) is False
    assert not machine.disk.exists("/a/.kafka_cleanshutdown")
    restarted = machine.start().get("t", 0)
    assert restarted is not None
    assert restarted.log_end_offset == 2


def test_chores_checkpoint_and_flush_rolled_segments() -> None:
    machine = Machine()
    manager = machine.start()
    log = machine.log(manager, batches=7)
    assert manager.next_deadline_ms() == 1000
    machine.clock.advance_ms(1000)
    manager.handle_timer(machine.clock.monotonic_ms())
    assert log.recovery_point == 6, "only what was rolled is flushed"
    machine.clock.advance_ms(59_000)
    manager.handle_timer(machine.clock.monotonic_ms())
    assert machine.text("/a/recovery-point-offset-checkpoint") == "0\n1\nt 0 6\n"


def test_flush_ms_flushes_the_active_segment() -> None:
    machine = Machine(flush_ms=5000)
    manager = machine.start()
    log = machine.log(manager, batches=1)
    for _ in range(4):
        machine.clock.advance_ms(1000)
        manager.handle_timer(machine.clock.monotonic_ms())
        assert log.recovery_point == 0
    machine.clock.advance_ms(1000)
    manager.handle_timer(machine.clock.monotonic_ms())
    assert log.recovery_point == 1


def expire(manager: LogManager) -> int:
    """Look for expired segments and return how many were dropped."""
    before = manager.retention.dropped_segments
    manager.retention.begin()
    while manager.retention.wants_turn:
        manager.retention.take_turn()
    return manager.retention.dropped_segments - before


def test_retention_by_time_and_size_spares_what_is_not_below_the_high_watermark() -> None:
    machine = Machine(retention_ms=10_000)
    manager = machine.start()
    log = machine.log(manager, batches=3)
    machine.clock.advance_ms(10_001)
    for _ in range(4):
        log.append([batch(timestamp=machine.clock.wall_ms())], leader_epoch=0)
    assert log.segments.base_offsets == [0, 3, 6]
    manager.retention_high_watermark = lambda _: 2
    assert expire(manager) == 0
    manager.retention_high_watermark = lambda _: 7
    assert expire(manager) == 1
    assert log.log_start_offset == 3
    log.config = LogConfig(segment_bytes=3 * SIZE, retention_ms=-1, retention_bytes=SIZE)
    assert expire(manager) == 1
    assert (log.log_start_offset, log.log_end_offset) == (6, 7)
    log.config = LogConfig(segment_bytes=3 * SIZE, retention_ms=10_000)
    machine.clock.advance_ms(10_001)
    assert expire(manager) == 1, "the active segment is rolled before it goes"
    assert (log.log_start_offset, log.log_end_offset, log.size) == (7, 7, 0)


def test_retention_leaves_a_log_alone_that_is_only_compacted() -> None:
    machine = Machine(retention_ms=10_000)
    manager = machine.start()
    log = machine.log(manager, batches=7)
    log.config = LogConfig(
        segment_bytes=3 * SIZE,
        retention_ms=10_000,
        retention_bytes=SIZE,
        cleanup_policy=frozenset({"compact"}),
    )
    manager.retention_high_watermark = lambda _: log.log_end_offset
    machine.clock.advance_ms(10_000_000)
    assert expire(manager) == 0
    assert (log.log_start_offset, log.log_end_offset) == (0, 7)


def test_retention_goes_by_the_files_time_when_records_have_none() -> None:
    machine = Machine(retention_ms=10_000)
    manager = machine.start()
    log = machine.log(manager)
    log.append([batch(timestamp=-1, count=1)], leader_epoch=0)
    manager.retention_high_watermark = lambda _: 1
    machine.clock.advance_ms(10_000)
    assert expire(manager) == 0
    machine.clock.advance_ms(1)
    assert expire(manager) == 1


def test_a_recovery_point_that_a_crash_lowered_is_written_before_anything_is_appended() -> None:
    machine = Machine()
    manager = machine.start()
    log = machine.log(manager, batches=2)
    manager.flush()
    manager.checkpoints.write_recovery_points()
    assert machine.text("/a/recovery-point-offset-checkpoint").endswith("t 0 2\n")
    path = f"{log.path}/00000000000000000000.log"
    manager.release()
    machine.disk.open(path).truncate(SIZE)
    machine.start()
    assert machine.text("/a/recovery-point-offset-checkpoint").endswith("t 0 1\n")


def compacted(*directories: str) -> tuple[Machine, LogManager]:
    """A machine that was killed when its compacted log had lost offset 2 at the end of a segment."""
    machine = Machine(*directories, cleanup_policy=frozenset(("compact",)))
    manager = machine.start()
    machine.log(manager, batches=7)
    machine.disk.open(f"/a/t-0/{0:020d}.log").truncate(2 * SIZE)
    manager.release()
    return machine, manager


def end_of(machine: Machine) -> int:
    manager = machine.start()
    log = manager.get("t", 0)
    assert log is not None
    manager.release()
    return log.log_end_offset


def test_a_compacted_log_ends_before_what_a_power_failure_took() -> None:
    machine, _ = compacted()
    assert end_of(machine) == 2


@pytest.mark.parametrize(
    ("path", "content"),
    [
        ("recovery-point-offset-checkpoint", b"0\n1\nt 0 4\n"),
        ("recovery-point-offset-checkpoint", b"damaged"),
        ("cleaner-offset-checkpoint", b"0\n1\nt 0 3\n"),
        (f"t-0/{1:020d}.log.deleted", b""),
    ],
)
def test_gaps_stay_where_compaction_may_have_made_them(path: str, content: bytes) -> None:
    machine, _ = compacted()
    file = machine.disk.open(f"/a/{path}", create=True)
    file.truncate(0)
    file.write_at(0, [content])
    assert end_of(machine) == 7


def test_gaps_stay_in_logs_that_no_checkpoint_knows_and_are_no_losses_later() -> None:
    machine, _ = compacted()
    machine.disk.unlink("/a/recovery-point-offset-checkpoint")
    assert end_of(machine) == 7
    assert machine.text("/a/recovery-point-offset-checkpoint") == "0\n1\nt 0 7\n"
    assert end_of(machine) == 7


def test_gaps_stay_in_a_log_that_may_have_come_from_another_directory() -> None:
    machine, _ = compacted("/a", "/b")
    assert end_of(machine) == 7


def test_what_an_empty_log_left_unsynced_at_a_stop_is_synced_with_its_first_record() -> None:
    for seed in range(60):
        machine = Machine(flush_messages=1)
        manager = machine.start()
        machine.log(manager)
        manager.shutdown()  # an empty log costs a stop no sync
        manager = machine.start()
        machine.log(manager, batches=1)
        machine.disk.crash(Random(seed))
        log = machine.start().get("t", 0)
        assert log is not None, f"seed {seed}"
        assert (log.log_end_offset, log.topic_id) == (1, TOPIC_ID), f"seed {seed}"


def test_a_damaged_checkpoint_of_the_cleaner_is_told_once(caplog: pytest.LogCaptureFixture) -> None:
    machine = Machine()
    manager = machine.start()
    machine.log(manager, batches=1)
    manager.shutdown()
    file = machine.disk.open("/a/cleaner-offset-checkpoint", create=True)
    file.write_at(0, [b"0\n1\nt 0 x\n"])
    file.close()
    manager = machine.start()
    manager.checkpoints.load_cleaner_offsets(manager.directories[0])
    told = [record.getMessage() for record in caplog.records]
    assert [text.startswith("/a/cleaner-offset-checkpoint") for text in told] == [True], told


@pytest.mark.parametrize("flush_messages", [1, 2**63 - 1])
def test_why_a_directory_is_offline_is_told_once(
    flush_messages: int, caplog: pytest.LogCaptureFixture
) -> None:
    machine = Machine("/a", "/b", flush_messages=flush_messages, flush_ms=0)
    given: list[tuple[Any, Any]] = []
    manager = machine.start(run_blocking=lambda work, done: given.append((work, done)))
    for number in range(6):
        machine.log(manager, partition=number, batches=4)
    machine.clock.advance_ms(1000)
    manager.handle_timer(machine.clock.monotonic_ms())
    for work, done in given[:-1]:
        try:
            work()
        except OSError as error:
            done(error)
        else:
            done(OSError(5, "input/output error"))
    manager.handle_timer(machine.clock.monotonic_ms())
    manager.shutdown()
    errors = [record.getMessage() for record in caplog.records if record.levelname in ("ERROR", "WARNING")]
    assert sorted(line.partition(":")[0] for line in errors) == ["/a goes offline", "/b goes offline"]
    assert all("flushing t-" in line for line in errors), errors
