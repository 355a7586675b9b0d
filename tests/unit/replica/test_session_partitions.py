"""Sessions read what may have changed, and parked fetches of theirs wake for it (F25, F29, F37)."""

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.protocol import messages
from barnabas.replica.fetch import FetchIsolation, FetchOutcome, FetchReason
from barnabas.replica.session_partitions import MARKED_PER_TURN, SessionPartition, SessionPartitions
from tests.unit.replica.broker_setup import LOCAL_ID, TOPIC, TOPIC_ID, Broker, batch, fetch_params
from tests.unit.replica.test_appends import follow, replicated

COUNT = 5


class Reader:
    """One session of all partitions, each read to its end."""

    def __init__(self, broker: Broker, isolation: FetchIsolation = FetchIsolation.HIGH_WATERMARK) -> None:
        self.broker = broker
        self.session = SessionPartitions()
        self.isolation = isolation
        self.asked = [
            SessionPartition(TOPIC, TOPIC_ID, number, broker.partition(number).log.log_end_offset, 1000)
            for number in range(COUNT)
        ]
        self.session.replace(self.asked)

    def fetch(self, **params: Any) -> list[FetchOutcome]:
        """Fetch as a session's request does: answered, then settled."""
        outcomes: list[FetchOutcome] = []

        def respond(outcome: FetchOutcome) -> None:
            outcomes.append(outcome)
            self.broker.manager.settle(self.session, outcome)

        self.session.read_as(self.isolation)
        params.setdefault("max_wait_ms", 0)
        how = fetch_params(isolation=self.isolation, **params)
        self.broker.manager.fetch(how, self.session, respond, self)
        return outcomes

    def reads(self, **params: Any) -> list[int]:
        """Fetch and return which partitions were read."""
        (outcome,) = self.fetch(**params)
        outcome.release()
        return [partition.partition for partition in outcome.partitions]


def quiet_of(broker: Broker, number: int) -> list[SessionPartition]:
    """Return those for whom a partition is quiet."""
    readers = broker.partition(number).quiet_readers
    return [] if readers is None else list(readers.by_session.values())


@pytest.fixture
def broker() -> Broker:
    made = Broker(COUNT)
    for number in range(COUNT):
        made.append(number)
    return made


@pytest.fixture
def reader(broker: Broker) -> Reader:
    made = Reader(broker)
    assert made.reads() == [0, 1, 2, 3, 4]
    assert made.reads() == []
    return made


def test_f37_only_what_changed_is_read(broker: Broker, reader: Reader) -> None:
    broker.append(3)
    broker.append(1)
    assert reader.reads() == [1, 3]
    # With records left it stays; read to the end it is quiet, once that was seen.
    reader.asked[3].fetch_offset += 1
    reader.session.mark(reader.asked[3])
    assert reader.reads() == [1, 3]
    assert reader.reads() == [1]


def test_f37_what_moves_behind_is_read_after_the_others(broker: Broker, reader: Reader) -> None:
    reader.session.move_behind(reader.asked[1])
    for number in (0, 1, 2):
        broker.append(number)
    assert reader.reads() == [0, 2, 1]


def test_f37_another_isolation_reads_everything(reader: Reader) -> None:
    reader.isolation = FetchIsolation.TXN_COMMITTED
    assert reader.reads() == [0, 1, 2, 3, 4]
    assert reader.reads() == []


def test_f37_what_may_not_be_told_by_isolation_alone_is_read_each_time(reader: Reader) -> None:
    for _ in range(2):
        reader.session.read_as(None)
        outcomes: list[FetchOutcome] = []
        reader.broker.manager.fetch(fetch_params(max_wait_ms=0), reader.session, outcomes.append, reader)
        reader.broker.manager.settle(reader.session, outcomes[0])
        assert len(outcomes[0].partitions) == COUNT


def test_f37_a_high_watermark_that_a_follower_moves_is_read_for() -> None:
    broker = replicated()
    broker.append(acks=1)
    asked = SessionPartition(TOPIC, TOPIC_ID, 0, 0, 1000)
    session = SessionPartitions()
    session.replace([asked])
    session.read_as(FetchIsolation.HIGH_WATERMARK)
    read: list[int] = []

    def fetch() -> None:
        def respond(outcome: FetchOutcome) -> None:
            read.append(len(outcome.partitions))
            broker.manager.settle(session, outcome)
            outcome.release()

        broker.manager.fetch(fetch_params(max_wait_ms=0), session, respond, session)

    fetch()
    fetch()
    assert read == [1, 0], "nothing is below the high watermark, and nothing changed"
    follow(broker, 0)
    follow(broker, 1)
    assert broker.partition().high_watermark == 1
    fetch()
    assert read == [1, 0, 1]


def test_f37_records_that_did_not_fit_stay_to_be_read(broker: Broker, reader: Reader) -> None:
    for number in (1, 2):
        broker.append(number, batch(5))
    (outcome,) = reader.fetch(max_bytes=10)
    assert [result.records is not None for result in outcome.results] == [True, False]
    outcome.release()
    assert reader.reads() == [1, 2]


@pytest.mark.parametrize(
    ("fields", "error"),
    [
        ({"leader_epoch": 3}, ErrorCode.UNKNOWN_LEADER_EPOCH),
        ({"fetch_offset": 99}, ErrorCode.OFFSET_OUT_OF_RANGE),
        ({"epoch": 7}, ErrorCode.UNKNOWN_LEADER_EPOCH),
    ],
)
def test_f37_errors_are_read_each_time(reader: Reader, fields: dict[str, int], error: ErrorCode) -> None:
    partition = reader.asked[2]
    partition.fetch_offset = fields.get("fetch_offset", partition.fetch_offset)
    partition.current_leader_epoch = fields.get("leader_epoch", fields.get("epoch", -1))
    reader.session.mark(partition)
    for _ in range(2):
        (outcome,) = reader.fetch()
        assert [result.error_code for result in outcome.results] == [error]


def test_f27_an_offset_beyond_the_bound_is_never_quiet(broker: Broker, reader: Reader) -> None:
    # Other replicas lack the last record: consumers may not read it, and their fetch does not wait.
    broker.replay(
        messages.PartitionChangeRecord(
            partition_id=2, topic_id=TOPIC_ID, replicas=[LOCAL_ID, 2], isr=[LOCAL_ID, 2]
        )
    )
    broker.append(2)
    reader.asked[2].fetch_offset += 1
    reader.session.mark(reader.asked[2])
    assert reader.reads() == [2]
    (outcome,) = reader.fetch(max_wait_ms=500)
    assert outcome.reason is FetchReason.CASE_F_OTHER_SEGMENT


def test_f15_quiet_partitions_are_waited_for(reader: Reader) -> None:
    assert reader.fetch(max_wait_ms=500) == []
    assert reader.broker.parked == 1
    reader.broker.pass_ms(500)
    assert reader.broker.parked == 0


def test_f15_a_session_of_nothing_is_answered_at_once(broker: Broker) -> None:
    reader = Reader(broker)
    reader.session.replace([])
    (outcome,) = reader.fetch(max_wait_ms=500)
    assert outcome.reason is FetchReason.NOTHING_REQUESTED


def test_f29_a_quiet_partition_that_gets_records_wakes_the_session(broker: Broker, reader: Reader) -> None:
    outcomes = reader.fetch(max_wait_ms=500)
    assert broker.manager.waiting_statistics().fetch_purgatory.purgatory_size == 1
    broker.append(3)
    (outcome,) = outcomes
    assert (outcome.reason, [part.partition for part in outcome.partitions]) == (
        FetchReason.CASE_G_ENOUGH_BYTES,
        [3],
    )
    outcome.release()
    statistics = broker.manager.waiting_statistics().fetch_purgatory
    assert (statistics.purgatory_size, statistics.watched_keys) == (0, 0)


def test_f26_bytes_of_partitions_that_were_quiet_add_up(broker: Broker, reader: Reader) -> None:
    one = len(batch())
    outcomes = reader.fetch(max_wait_ms=500, min_bytes=4 * one)
    for number in (3, 0, 3):
        broker.append(number)
        assert outcomes == []
    # The session, and the two that changed.
    assert broker.manager.waiting_statistics().fetch_purgatory.purgatory_size == 3
    broker.append(0)
    (outcome,) = outcomes
    assert [part.partition for part in outcome.partitions] == [0, 3]
    assert outcome.records_bytes == 4 * one
    outcome.release()


def test_f27_a_quiet_partition_whose_topic_goes_ends_the_wait(broker: Broker, reader: Reader) -> None:
    outcomes = reader.fetch(max_wait_ms=500)
    broker.replay(messages.RemoveTopicRecord(topic_id=TOPIC_ID))
    broker.settle()
    (outcome,) = outcomes
    assert outcome.reason is FetchReason.CASE_C_UNKNOWN_PARTITION


def test_a_session_that_is_closed_meanwhile_still_waits_for_its_partitions(
    broker: Broker, reader: Reader
) -> None:
    outcomes = reader.fetch(max_wait_ms=500)
    reader.session.close()
    broker.settle()
    assert (outcomes, quiet_of(broker, 3)) == ([], [])
    broker.append(3)
    (outcome,) = outcomes
    assert outcome.reason is FetchReason.CASE_G_ENOUGH_BYTES
    outcome.release()
    assert [quiet_of(broker, number) for number in range(COUNT)] == [[]] * COUNT


def test_f31_a_client_that_leaves_frees_its_fetch_and_the_session_goes_on(
    broker: Broker, reader: Reader
) -> None:
    outcomes = reader.fetch(max_wait_ms=500)
    assert broker.manager.connection_gone(reader) == 1
    broker.append(2)
    broker.settle()
    assert outcomes == []
    assert reader.reads() == [2]


def test_what_is_discarded_is_not_watched(broker: Broker, reader: Reader) -> None:
    assert reader.session.discard(reader.asked[2])
    assert not reader.session.discard(reader.asked[2])
    assert quiet_of(broker, 2) == []
    assert len(reader.session) == COUNT - 1
    broker.append(2)
    assert reader.reads() == []


def test_reads_that_were_spared_are_counted(broker: Broker, reader: Reader) -> None:
    plain = Reader(broker)
    before = [partition.fetches for partition in broker.manager.partitions]
    for _ in range(3):
        reader.reads()
    assert [partition.fetches - count for partition, count in
            zip(broker.manager.partitions, before, strict=True)] == [3] * COUNT  # fmt: skip
    broker.append(1)
    reader.reads()
    assert [partition.fetches - count for partition, count in
            zip(broker.manager.partitions, before, strict=True)] == [4] * COUNT  # fmt: skip
    assert len(plain.session) == COUNT


@pytest.fixture
def crowd(broker: Broker) -> list[Reader]:
    """More sessions that read the same partitions than are marked in one turn."""
    made = [Reader(broker) for _ in range(MARKED_PER_TURN + 40)]
    for reader in made:
        reader.reads()
    return made


def test_f29_a_crowd_is_marked_over_some_turns(broker: Broker, crowd: list[Reader]) -> None:
    waiting = [reader.fetch(max_wait_ms=500) for reader in crowd]
    broker.append(3, settle=False)
    assert sum(reader.session.marks for reader in crowd) == 0
    broker.turn()
    assert sum(reader.session.marks for reader in crowd) == MARKED_PER_TURN
    broker.settle()
    assert [len(outcomes) for outcomes in waiting] == [1] * len(crowd)
    for (outcome,) in waiting:
        outcome.release()


def test_f37_one_of_a_crowd_that_reads_is_marked_first(broker: Broker, crowd: list[Reader]) -> None:
    for number in (1, 3, 3):
        broker.append(number, settle=False)
    for reader in (crowd[-1], crowd[0], crowd[-1]):
        assert reader.reads() == [1, 3]
    crowd[7].session.close()
    crowd[8].session.discard(crowd[8].asked[1])
    broker.settle()
    assert [reader.session.marks for reader in crowd] == [2] * 7 + [COUNT] + [2] * (len(crowd) - 8)
    assert crowd[5].reads() == [1, 3]
    assert crowd[8].reads() == [3]


def test_what_a_crowd_was_spared_is_counted_meanwhile(broker: Broker, crowd: list[Reader]) -> None:
    def counts() -> list[int]:
        return [broker.partition(number).fetches for number in (1, 3)]

    before = counts()
    for reader in crowd:
        reader.reads()
    after = [count + len(crowd) for count in before]
    assert counts() == after
    broker.append(3, settle=False)
    broker.turn()
    assert counts() == after
    crowd[-1].reads()
    assert counts() == [count + 1 for count in after]
    broker.append(1, settle=False)
    broker.replay(messages.RemoveTopicRecord(topic_id=TOPIC_ID))
    broker.settle()
    retired = broker.manager.partitions.retired_traffic.fetches
    assert retired == sum(after) + 2 + 3 * (len(crowd) * 2 + 1)
