"""The runtime: what a start replays, in which pieces, and what it passes over."""

from typing import Any

import pytest

from barnabas.base.cold_reads import ColdReads
from barnabas.coordinator.runtime.appender import TransactionEnd
from barnabas.coordinator.runtime.log_loader import LogLoader
from barnabas.coordinator.runtime.runtime import FIRST_LOAD_US
from barnabas.protocol.control_records import ControlType, build_end_txn_batch
from barnabas.protocol.record_batch import iter_batches
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producer_state.states import AppendOrigin
from tests.runtime_setup import OFFSETS_TOPIC, OFFSETS_TOPIC_ID, PARTITIONS, ToyCoordinator, entry
from tests.unit.replica.broker_setup import Broker

# Loading


def test_a_restart_replays_what_was_written() -> None:
    toy = ToyCoordinator()
    for key in "abcd":
        toy.put(key, key)
    toy.put("a", None)
    before = {number: shard.values for number, shard in toy.shards.items()}
    toy.restart()
    toy.runtime.load_all()
    toy.broker.settle()
    assert {number: shard.values for number, shard in toy.shards.items()} == before
    assert all(shard.story[-1] == "loaded" for shard in toy.shards.values())


def test_an_empty_partition_is_there_at_once() -> None:
    assert ToyCoordinator().put("a", "1").reply == "1"


def test_a_short_partition_is_loaded_by_the_request_that_needs_it() -> None:
    toy = ToyCoordinator()
    toy.put("a", "1")
    toy.restart()
    assert toy.read("a").reply == "1"


def test_a_load_goes_through_all_segments_from_the_logs_start() -> None:
    broker = Broker(partitions=0)
    broker.configs[OFFSETS_TOPIC] = LogConfig(segment_bytes=400)
    broker.create(OFFSETS_TOPIC, OFFSETS_TOPIC_ID, PARTITIONS)
    toy = ToyCoordinator(broker)
    for number in range(50):
        toy.put("a", str(number))
    log = toy.log("a")
    assert len(log.segments) > 5
    log.delete_records(20, log.log_end_offset)
    toy.restart()
    assert toy.read("a").reply == "49"
    assert toy.shard("a").story[0] == "20:a=20"


def slow_load(toy: ToyCoordinator, step_us: int) -> None:
    """Let every look at the clock take time."""
    clock: Any = toy.broker.clock
    original = clock.monotonic_us

    class Slow:
        def __getattr__(self, name: str) -> Any:
            return getattr(clock, name)

        def monotonic_us(self) -> int:
            clock.advance_us(step_us)
            return int(original())

    toy.runtime._clock = Slow()  # type: ignore[assignment]


def test_a_long_load_sends_requests_away_and_goes_on_in_pieces() -> None:
    toy = ToyCoordinator()
    for number in range(200):
        toy.put("a", str(number))
    toy.restart()
    slow_load(toy, FIRST_LOAD_US // 4)
    assert toy.read("a").error == "COORDINATOR_LOAD_IN_PROGRESS"
    assert toy.put("a", "x").error == "COORDINATOR_LOAD_IN_PROGRESS"
    assert toy.broker.settle() > 10, "one turn must not do it all"
    assert toy.read("a").reply == "199"


@pytest.mark.parametrize("start", [150, 200])
def test_a_log_that_loses_its_beginning_while_it_is_loaded_is_loaded_from_there(start: int) -> None:
    broker = Broker(partitions=0)
    broker.configs[OFFSETS_TOPIC] = LogConfig(segment_bytes=400)
    broker.create(OFFSETS_TOPIC, OFFSETS_TOPIC_ID, PARTITIONS)
    toy = ToyCoordinator(broker)
    for number in range(200):
        toy.put("a", str(number))
    toy.restart()
    slow_load(toy, FIRST_LOAD_US // 4)
    assert toy.read("a").error == "COORDINATOR_LOAD_IN_PROGRESS"
    toy.log("a").delete_records(start, toy.log("a").log_end_offset)
    toy.broker.settle()
    assert toy.read("a").error is None
    assert toy.put("a", "x").reply == "x"


def test_a_long_load_is_told_while_it_goes_on_and_at_its_end(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    toy = ToyCoordinator()
    for number in range(200):
        toy.put("a", str(number))
    toy.restart()
    slow_load(toy, 100_000)
    toy.runtime.load_all()
    toy.broker.settle()
    lines = [record.getMessage() for record in caplog.records]
    assert len(lines) > 2
    assert lines[0].startswith("__consumer_offsets: 0 of 1 partitions are loaded, ")
    assert lines[-1].startswith(
        "__consumer_offsets: 1 of 1 partitions are loaded, 200 records so far, after "
    )


def test_a_short_load_is_not_told(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    toy = ToyCoordinator()
    toy.put("a", "1")
    toy.restart()
    toy.runtime.load_all()
    toy.broker.settle()
    assert not caplog.records


def test_the_time_between_two_loads_is_no_part_of_the_second(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level("INFO")
    toy = ToyCoordinator()
    for key in "ab":
        toy.read(key)
        toy.broker.settle()
        toy.broker.pass_ms(5_000)
    assert not caplog.records


def test_a_partition_that_is_asked_for_is_loaded_before_the_others() -> None:
    toy = ToyCoordinator()
    for key in "abcdefgh":
        toy.put(key, "1")
    toy.restart()
    toy.runtime.load_all()
    last = max(toy.shards)
    key = next(key for key in "abcdefgh" if toy.runtime.partition_of(key) == last)
    assert toy.read(key).reply == "1"
    assert toy.runtime.is_loading
    toy.broker.settle()
    assert not toy.runtime.is_loading


def append_raw(toy: ToyCoordinator, key: str, batch: bytes) -> None:
    log = toy.log(key)
    toy.broker.partition(toy.runtime.partition_of(key), OFFSETS_TOPIC).append_as_leader(
        batch, acks=1, now_ms=toy.broker.clock.wall_ms(), origin=AppendOrigin.COORDINATOR
    )
    assert log.log_end_offset


def batch_of(*pairs: tuple[bytes, bytes | None], **options: Any) -> bytes:
    builder = BatchBuilder(**options)
    for key, value in pairs:
        builder.append(timestamp=1_700_000_000_000, key=key, value=value)
    return bytes(builder.build())


def encoded(toy: ToyCoordinator, key: str, value: str) -> tuple[bytes, bytes | None]:
    return toy.runtime._codec.encode(entry(key, value))


def test_records_of_newer_brokers_are_passed_over_with_one_warning(caplog: pytest.LogCaptureFixture) -> None:
    toy = ToyCoordinator()
    key, value = encoded(toy, "a", "1")
    assert value is not None
    unknown_type = (b"\x01\x00newer", b"value")
    unknown_version = (key, b"\x7f\xff" + value[2:])
    append_raw(toy, "a", batch_of(unknown_type, unknown_version, (key, value), unknown_type))
    assert toy.read("a").reply == "1"
    assert [record.levelname for record in caplog.records] == ["WARNING"]
    assert toy.log("a").log_end_offset == 4


def test_a_damaged_record_costs_only_itself(caplog: pytest.LogCaptureFixture) -> None:
    toy = ToyCoordinator()
    key, value = encoded(toy, "a", "1")
    assert value is not None
    append_raw(toy, "a", batch_of((key[:3], value), (key, value[:4]), (b"", value), (key, value)))
    assert toy.read("a").reply == "1"
    assert caplog.text.count("damaged") == 3


def test_a_damaged_batch_costs_only_itself(caplog: pytest.LogCaptureFixture) -> None:
    toy = ToyCoordinator()
    toy.put("a", "1")
    log = toy.log("a")
    size = log.size
    toy.put("a", "2")
    toy.put("a", "3")
    file = toy.broker.logs.disk.open(f"{log.path}/{0:020}.log")
    file.write_at(size + 70, [b"\xff"])
    file.close()
    toy.restart()
    assert toy.read("a").reply == "3"
    assert "checksum" in caplog.text


def test_a_log_whose_batches_cannot_be_told_apart_has_no_coordinator(
    caplog: pytest.LogCaptureFixture,
) -> None:
    toy = ToyCoordinator()
    toy.put("a", "1")
    log = toy.log("a")
    size = log.size
    toy.put("a", "2")
    toy.put("a", "3")
    file = toy.broker.logs.disk.open(f"{log.path}/{0:020}.log")
    file.write_at(size + 16, [b"\x07"])
    file.close()
    toy.restart()
    assert toy.read("a").error == "NOT_COORDINATOR"
    assert "damaged behind offset 1" in caplog.text
    assert not toy.runtime.is_loading
    other = next(key for key in "bcdefgh" if toy.runtime.partition_of(key) != toy.runtime.partition_of("a"))
    assert toy.put(other, "1").reply == "1"


def test_a_fault_in_a_load_ends_it(caplog: pytest.LogCaptureFixture, monkeypatch: pytest.MonkeyPatch) -> None:
    toy = ToyCoordinator()
    toy.put("a", "1")
    toy.restart()
    monkeypatch.setattr(LogLoader, "_replay_batch", lambda *_: 1 // 0)
    assert toy.read("a").error == "NOT_COORDINATOR"
    assert "ZeroDivisionError" in caplog.text
    assert toy.runtime.statistics().shards["Failed"] == 1


def test_transactions_are_replayed_with_their_producer_and_their_end() -> None:
    toy = ToyCoordinator()
    pair = encoded(toy, "a", "1")
    append_raw(
        toy,
        "a",
        batch_of(pair, producer_id=7, producer_epoch=0, base_sequence=0, is_transactional=True),
    )
    for kind in (ControlType.COMMIT, ControlType.ABORT):
        append_raw(
            toy,
            "a",
            build_end_txn_batch(
                control_type=kind,
                coordinator_epoch=0,
                producer_id=7,
                producer_epoch=0,
                timestamp=1_700_000_000_000,
            ),
        )
    toy.read("a")
    assert toy.shard("a").story == ["0:a=1 by 7", "7 committed", "7 aborted", "loaded"]


def test_a_live_transaction_is_one_batch_of_its_producer() -> None:
    toy = ToyCoordinator()
    toy.put("a", "1", producer=(7, 3))
    assert toy.shard("a").story[-1] == "0:a=1 by 7"
    data = toy.log("a").read(0, toy.log("a").log_end_offset_metadata, 1 << 20).records.read()
    ((_, header),) = iter_batches(data)
    assert (header.producer_id, header.producer_epoch, header.is_transactional) == (7, 3, True)


@pytest.mark.parametrize("committed", [True, False])
def test_a_transaction_is_ended_by_a_marker_in_the_log(committed: bool) -> None:
    toy = ToyCoordinator()
    toy.put("a", "1", producer=(7, 3))
    ended: list[Any] = []
    end = TransactionEnd(producer_id=7, producer_epoch=3, coordinator_epoch=5, committed=committed)
    toy.runtime.end_transaction(toy.runtime.partition_of("a"), end, ended.append)
    live = toy.shard("a").story
    assert (ended, live[-1]) == ([None], f"7 {'committed' if committed else 'aborted'}")
    toy.restart()
    toy.read("a")
    assert toy.shard("a").story == live[1:] + live[:1], "the same, but for when it was loaded"


class Helpers:
    """Reads off the loop, when the test says so."""

    def __init__(self, toy: ToyCoordinator) -> None:
        self.waiting: list[tuple[Any, Any]] = []
        self.operations: list[str] = []
        self.reads = ColdReads(
            lambda work, done: self.waiting.append((work, done)),
            clock=toy.broker.clock,
            threads=4,
            ahead_bytes_max=0,
        )
        disk = toy.broker.logs.disk
        for log in toy.broker.logs.logs.values():
            for name in disk.list_dir(log.path):
                disk.evict(f"{log.path}/{name}")
        disk.on_operation = lambda what, path: self.operations.append(what)

    def help_out(self) -> None:
        while self.waiting:
            work, done = self.waiting.pop(0)
            work()
            done(None)


def test_a_load_never_waits_for_the_disk() -> None:
    toy = ToyCoordinator()
    for key in "abcdefgh":
        for number in range(20):
            toy.put(key, str(number) * 1000)
    helpers = Helpers(toy)
    toy.restart(helpers.reads)
    toy.runtime.load_all()
    assert toy.read("a").error == "COORDINATOR_LOAD_IN_PROGRESS"
    toy.broker.settle()
    assert toy.runtime.is_loading
    while helpers.waiting:
        helpers.help_out()
        toy.broker.settle()
    assert "bring_in" in helpers.operations
    assert "stall" not in helpers.operations
    assert not toy.runtime.is_loading
    assert [toy.read(key).reply for key in "abcdefgh"] == ["19" * 1000] * 8


def test_what_is_unloaded_while_helpers_read_stays_so() -> None:
    toy = ToyCoordinator()
    toy.put("a", "1")
    helpers = Helpers(toy)
    toy.restart(helpers.reads)
    toy.runtime.load_all()
    toy.broker.settle()
    toy.runtime.stop()
    helpers.help_out()
    toy.broker.settle()
    assert toy.shard("a").story == []
