"""What a consumer makes of fetched bytes."""

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.cli.client.cluster import PartitionInfo, Retry, TopicInfo
from barnabas.cli.client.consumer import Consumer, OffsetGoneError
from barnabas.cli.client.errors import BrokerError, ClientError, ConnectionLostError
from barnabas.protocol import messages
from barnabas.protocol.control_records import ControlType, build_end_txn_batch
from barnabas.protocol.record_batch_builder import BatchBuilder


def batch(base_offset: int, *values: bytes, producer_id: int = -1, last_offset: int | None = None) -> bytes:
    builder = BatchBuilder(
        base_offset=base_offset,
        producer_id=producer_id,
        producer_epoch=0 if producer_id >= 0 else -1,
        base_sequence=0 if producer_id >= 0 else -1,
        is_transactional=producer_id >= 0,
    )
    for value in values:
        builder.append(timestamp=5, key=None, value=value)
    return builder.build(last_offset=last_offset)


def marker(offset: int, producer_id: int, kind: ControlType) -> bytes:
    return build_end_txn_batch(
        control_type=kind,
        coordinator_epoch=0,
        producer_id=producer_id,
        producer_epoch=0,
        timestamp=5,
        base_offset=offset,
    )


class OneFetch:
    """A cluster of one broker that gives scripted answers, each (error code, records, aborted)."""

    timeout_s = 1.0

    def __init__(self, *answers: tuple[int, bytes, list[tuple[int, int]]]) -> None:
        self._answers = list(answers)
        self._now = 0.0
        self.requests: list[Any] = []
        self.retry = Retry(self.timeout_s, sleep=self._sleep, now_s=lambda: self._now)

    def _sleep(self, seconds: float) -> None:
        self._now += seconds

    def topic(self, name: str) -> TopicInfo:
        return TopicInfo(name="t", topic_id=bytes(16), internal=False, partitions=(self.leader_of(name, 0),))

    def leader_of(self, topic: str, partition: int) -> PartitionInfo:
        return PartitionInfo(
            topic="t",
            topic_id=bytes(16),
            partition=0,
            leader=0,
            leader_epoch=0,
            replicas=(),
            isr=(),
            offline=(),
        )

    def connection(self, node_id: int) -> "OneFetch":
        return self

    def version_of(self, api_key: int) -> int:
        return 16

    def drop(self, node_id: int) -> None:
        pass

    def forget_topic(self, topic: str) -> None:
        pass

    def send(self, api_key: int, request: Any) -> None:
        self.requests.append(request)

    def receive(self, extra_wait_s: float = 0.0) -> Any:
        if not self._answers:
            raise ConnectionLostError("gone")
        code, records, aborted = self._answers.pop(0)
        answer = messages.FetchResponsePartitionData(
            partition_index=0,
            error_code=code,
            records=records,
            aborted_transactions=[
                messages.FetchResponseAbortedTransaction(first_offset=first, producer_id=producer_id)
                for first, producer_id in aborted
            ],
        )
        return messages.FetchResponse(
            responses=[messages.FetchResponseFetchableTopicResponse(partitions=[answer])]
        )


def consumer_of(
    records: bytes, *, at: int = 0, aborted: "list[tuple[int, int]] | None" = None, **options: Any
) -> Consumer:
    return Consumer(OneFetch((0, records, aborted or [])), "t", {0: at}, **options)  # type: ignore[arg-type]


def offsets(consumer: Consumer) -> list[int]:
    return [record.offset for record in consumer.poll()]


def test_records_before_the_position_are_skipped() -> None:
    consumer = consumer_of(batch(0, b"a", b"b", b"c") + batch(3, b"d"), at=2)
    assert offsets(consumer) == [2, 3]
    assert consumer.positions == {0: 4}


def test_a_split_last_batch_is_left_for_the_next_fetch() -> None:
    whole = batch(0, b"a") + batch(1, b"b")
    consumer = consumer_of(whole[:-5])
    assert offsets(consumer) == [0]
    assert consumer.positions == {0: 1}


def test_the_position_crosses_what_compaction_took() -> None:
    consumer = consumer_of(batch(0, b"a", last_offset=9) + batch(20, b"b", last_offset=29))
    assert offsets(consumer) == [0, 20]
    assert consumer.positions == {0: 30}


def test_a_flipped_bit_is_found() -> None:
    broken = bytearray(batch(0, b"hello"))
    broken[-3] ^= 1
    with pytest.raises(ClientError, match="t-0: the batch at offset 0 fails its CRC"):
        offsets(consumer_of(bytes(broken)))
    assert offsets(consumer_of(bytes(broken), check_crc=False)) == [0]


LOG = (
    batch(0, b"aborted", producer_id=1)
    + batch(1, b"plain")
    + batch(2, b"committed", producer_id=2)
    + marker(3, 1, ControlType.ABORT)
    + marker(4, 2, ControlType.COMMIT)
    + batch(5, b"later, of the same producer", producer_id=1)
    + marker(6, 1, ControlType.COMMIT)
)


def test_read_committed_leaves_out_aborted_records() -> None:
    assert offsets(consumer_of(LOG, aborted=[(0, 1)], read_committed=True)) == [1, 2, 5]


def test_read_uncommitted_shows_all_but_markers() -> None:
    assert offsets(consumer_of(LOG)) == [0, 1, 2, 5]


def test_a_fetch_from_inside_an_aborted_transaction_does_not_hide_the_next_one() -> None:
    tail = LOG[len(batch(0, b"aborted", producer_id=1)) + len(batch(1, b"plain")) :]
    consumer = consumer_of(tail, at=3, aborted=[(0, 1)], read_committed=True)
    assert offsets(consumer) == [5]
    assert consumer.positions == {0: 7}


def test_stopping_in_the_middle_leaves_the_position_there() -> None:
    consumer = consumer_of(batch(0, b"a", b"b", b"c"))
    for record in consumer.poll():
        if record.offset == 1:
            break
    assert consumer.positions == {0: 1}


def test_an_unassigned_partition_yields_no_more() -> None:
    consumer = consumer_of(batch(0, b"a", b"b"))
    seen = []
    for record in consumer.poll():
        seen.append(record.offset)
        consumer.unassign(0)
    assert (seen, consumer.positions) == ([0], {})


def test_offset_out_of_range_is_told_at_once() -> None:
    consumer = Consumer(OneFetch((1, b"", [])), "t", {0: 5})  # type: ignore[arg-type]
    with pytest.raises(OffsetGoneError, match="t-0: offset 5 is out of range"):
        offsets(consumer)


def test_a_moved_leader_is_asked_for_again() -> None:
    cluster = OneFetch((ErrorCode.NOT_LEADER_OR_FOLLOWER, b"", []), (0, batch(0, b"a"), []))
    consumer = Consumer(cluster, "t", {0: 0})  # type: ignore[arg-type]
    assert [offsets(consumer), offsets(consumer)] == [[], [0]]


def test_giving_up_names_the_cause() -> None:
    refused = (int(ErrorCode.NOT_LEADER_OR_FOLLOWER), b"", [])
    consumer = Consumer(OneFetch(*[refused] * 50), "t", {0: 0})  # type: ignore[arg-type]

    def poll_forever() -> None:
        while True:
            offsets(consumer)

    with pytest.raises(BrokerError, match="NOT_LEADER_OR_FOLLOWER"):
        poll_forever()
