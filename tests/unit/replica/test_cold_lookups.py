"""F44 in the look-up: no fetch waits for the disk on the loop, whatever of a log is not in memory."""

from collections.abc import Callable
from typing import Any

import pytest

from barnabas.base.cold_reads import ColdReads
from barnabas.base.errors import ErrorCode
from barnabas.base.limits import COLD_READ_TRIES_MAX
from barnabas.protocol import messages
from barnabas.protocol.record_batch import iter_batches
from barnabas.replica.fetch import FetchIsolation, FetchOutcome, FetchParams
from barnabas.replica.fetch_reader import FetchReader
from barnabas.sim.clock import ManualClock
from barnabas.storage.log_config import LogConfig
from barnabas.storage.segment_cache import SegmentCache
from tests.compiled_build import patches_a_struct
from tests.unit.replica.broker_setup import BATCH_BYTES, TOPIC, TOPIC_ID, Broker, ask

BATCHES = 200
PER_SEGMENT = 50

Helper = tuple[Callable[[], None], Callable[[OSError | None], None]]


class ColdBroker(Broker):
    """Logs in four segments, out of memory; `help_out` is the helper threads."""

    def __init__(self, partitions: int = 1, *, cold: bool = True) -> None:
        self.helpers: list[Helper] = []
        self.reads = ColdReads(
            lambda work, done: self.helpers.append((work, done)),
            clock=ManualClock(),
            threads=4,
            ahead_bytes_max=0,
        )
        config = LogConfig(
            segment_bytes=PER_SEGMENT * BATCH_BYTES, index_interval_bytes=4 * BATCH_BYTES, retention_ms=-1
        )
        super().__init__(0, config=config, cold_reads=self.reads if cold else None)
        self.logs.cache = SegmentCache(index_bytes_max=0)  # sealed segments never keep their indexes
        self.create(TOPIC, TOPIC_ID, partitions)
        for number in range(partitions):
            for _ in range(BATCHES):
                self.append(number)
        self.operations: list[str] = []
        self.logs.disk.on_operation = lambda what, path: self.operations.append(f"{what} {path}")
        self.evict()

    def evict(self) -> None:
        """Let everything be on the disk only, and drop the indexes of sealed segments."""
        for log in self.logs.logs.values():
            for segment in log.segments:
                if segment.sealed:
                    segment.drop_indexes()
            for name in self.logs.disk.list_dir(log.path):
                self.logs.disk.evict(f"{log.path}/{name}")

    def help_out(self) -> int:
        """Let helpers work until none is asked for any more; return how many were."""
        count = 0
        while self.helpers:
            count += 1
            assert count < 1000, "the fetch asks for reads for ever"
            work, done = self.helpers.pop(0)
            work()
            done(None)
        return count

    @property
    def stalls(self) -> list[str]:
        """Reads for which the loop waited."""
        return [operation for operation in self.operations if operation.startswith("stall")]


def first_offset(outcome: FetchOutcome, number: int = 0) -> int:
    records = outcome.results[number].records
    assert records is not None
    return next(iter_batches(records.read(), allow_partial_tail=True))[1].base_offset


@pytest.mark.parametrize("offset", [0, 17, 49, 50, 120])
def test_f44_a_fetch_of_cold_records_is_set_aside_and_then_answered(offset: int) -> None:
    broker = ColdBroker()
    answers = broker.fetch(ask(offset))
    assert answers == []
    assert broker.parked == 0, "it does not wait for records"
    assert broker.help_out() > 0
    assert broker.stalls == []
    (answer,) = answers
    assert answer.results[0].error_code is ErrorCode.NONE
    broker.logs.disk.on_operation = None
    assert first_offset(answer) == offset
    answer.release()


def test_f44_a_consumer_at_the_end_asks_nobody() -> None:
    broker = ColdBroker()
    (answer,) = broker.fetch(ask(BATCHES - 1))
    assert broker.helpers == []
    assert broker.operations == []
    answer.release()


@patches_a_struct
def test_f44_each_kind_of_cold_page_costs_one_try(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = ColdBroker()
    tries: list[int] = []
    read = FetchReader.read

    def counted(reader: FetchReader, params: FetchParams, *rest: Any, **options: Any) -> Any:
        tries.append(params.cold_tries)
        return read(reader, params, *rest, **options)

    monkeypatch.setattr(FetchReader, "read", counted)
    answers = broker.fetch(ask(30), isolation=FetchIsolation.TXN_COMMITTED)
    broker.help_out()
    assert tries == [0, 1, 2], "the index files, the batch headers, and then all of it"
    answers[0].release()


def test_f44_all_partitions_of_a_fetch_are_brought_in_together() -> None:
    broker = ColdBroker(partitions=5)
    answers = broker.fetch(*(ask(60, number) for number in range(5)))
    assert len(broker.helpers) == 10, "two index files of each"
    broker.help_out()
    assert broker.stalls == []
    assert [first_offset(answers[0], number) for number in range(5)] == [60] * 5
    answers[0].release()


def test_f44_no_slice_of_a_try_that_failed_keeps_its_lease() -> None:
    broker = ColdBroker(partitions=2)
    answers = broker.fetch(ask(BATCHES - 1), ask(60, 1))
    assert answers == []
    active = broker.partition(0).log.segments.active
    assert active.leased.holders == 1
    broker.help_out()
    answers[0].release()
    assert active.leased.holders == 1


def test_f44_a_connection_that_left_is_not_answered() -> None:
    broker = ColdBroker()
    answers = broker.fetch(ask(60), owner="connection")
    assert broker.manager.connection_gone("connection") == 1
    broker.help_out()
    assert answers == []
    assert broker.stalls == []
    assert broker.manager.connection_gone("connection") == 0


def test_f44_a_partition_deleted_meanwhile_is_answered_as_such() -> None:
    broker = ColdBroker()
    answers = broker.fetch(ask(60))
    broker.logs.disk.on_operation = None
    broker.replay(messages.RemoveTopicRecord(topic_id=TOPIC_ID))
    broker.help_out()
    assert [answer.results[0].error_code for answer in answers] == [ErrorCode.UNKNOWN_TOPIC_OR_PARTITION]


def test_f44_a_log_truncated_meanwhile_is_read_as_it_is_now() -> None:
    broker = ColdBroker()
    answers = broker.fetch(ask(60), max_wait_ms=0)
    broker.logs.disk.on_operation = None
    broker.partition().truncate_to(40)
    broker.help_out()
    assert [answer.results[0].error_code for answer in answers] == [ErrorCode.OFFSET_OUT_OF_RANGE]


def test_f44_pages_that_never_stay_are_waited_for_in_the_end() -> None:
    broker = ColdBroker()
    answers = broker.fetch(ask(60))
    rounds = 0
    while broker.helpers:
        rounds += 1
        assert rounds <= COLD_READ_TRIES_MAX, "tried for ever"
        helpers, broker.helpers = broker.helpers, []
        for work, _ in helpers:
            work()
        broker.evict()
        for _, done in helpers:
            done(None)
    assert rounds == COLD_READ_TRIES_MAX
    assert len(answers) == 1
    assert broker.stalls != []
    answers[0].release()


def test_f44_a_fetch_set_aside_that_finds_too_little_parks() -> None:
    broker = ColdBroker()
    broker.partition().log.segments.active.remember_from(BATCHES)  # as after a start
    answers = broker.fetch(ask(BATCHES - 5), min_bytes=10 * BATCH_BYTES, max_wait_ms=500)
    assert broker.help_out() > 0
    assert answers == []
    assert broker.parked == 1
    broker.pass_ms(501)
    assert len(answers) == 1
    answers[0].release()


def test_f44_a_stop_answers_what_is_set_aside() -> None:
    broker = ColdBroker()
    answers = broker.fetch(ask(60), owner="connection", min_bytes=1 << 20, max_wait_ms=30_000)
    broker.manager.shutdown()
    broker.help_out()
    assert len(answers) == 1, "nothing parks any more"
    answers[0].release()


@patches_a_struct
def test_f44_a_fault_while_trying_again_is_answered(monkeypatch: pytest.MonkeyPatch) -> None:
    broker = ColdBroker()
    answers = broker.fetch(ask(60))

    class FaultError(Exception):
        pass

    def fail(*_: Any, **__: Any) -> None:
        raise FaultError

    monkeypatch.setattr(FetchReader, "read", fail)
    with pytest.raises(FaultError):
        broker.help_out()
    assert [answer.results[0].error_code for answer in answers] == [ErrorCode.UNKNOWN_SERVER_ERROR]


def test_f44_without_helpers_the_loop_waits() -> None:
    broker = ColdBroker(cold=False)
    (answer,) = broker.fetch(ask(60))
    assert broker.stalls != []
    answer.release()
