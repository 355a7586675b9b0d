"""One conversation: what producers ask, and what each is answered, as plain data that two brokers share.

An age stands for what clients of a time speak. Up to the last one they add partitions and offsets to their
transactions themselves; in the last one the broker does (KIP-890). Producer ids that a broker draws become
names, clocks are told apart from -1 only, words are not compared.

Apache Kafka writes markers behind its answers and says CONCURRENT_TRANSACTIONS, or what stands for it, until
they are written. How often is chance, so such a request is asked again, and only the last answer kept.
"""

import time
from collections.abc import Callable, Mapping
from typing import Any

from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey
from barnabas.protocol.record_batch import iter_batches
from tests.interop.group_situations.line import Line
from tests.unit.replica.broker_setup import batch

AGES: tuple[dict[int, int], ...] = (
    {ApiKey.PRODUCE: 3, ApiKey.INIT_PRODUCER_ID: 0, ApiKey.ADD_PARTITIONS_TO_TXN: 0}
    | {ApiKey.ADD_OFFSETS_TO_TXN: 0, ApiKey.END_TXN: 0, ApiKey.TXN_OFFSET_COMMIT: 0},
    {ApiKey.PRODUCE: 9, ApiKey.INIT_PRODUCER_ID: 3, ApiKey.ADD_PARTITIONS_TO_TXN: 2}
    | {ApiKey.ADD_OFFSETS_TO_TXN: 2, ApiKey.END_TXN: 2, ApiKey.TXN_OFFSET_COMMIT: 3},
    {ApiKey.PRODUCE: 11, ApiKey.INIT_PRODUCER_ID: 5, ApiKey.ADD_PARTITIONS_TO_TXN: 3}
    | {ApiKey.ADD_OFFSETS_TO_TXN: 4, ApiKey.END_TXN: 4, ApiKey.TXN_OFFSET_COMMIT: 4},
    {ApiKey.PRODUCE: 12, ApiKey.INIT_PRODUCER_ID: 5, ApiKey.END_TXN: 5, ApiKey.TXN_OFFSET_COMMIT: 5}
    | {ApiKey.ADD_PARTITIONS_TO_TXN: 3, ApiKey.ADD_OFFSETS_TO_TXN: 4},
)
NEWEST = len(AGES) - 1

SETTLES_WITHIN_S = 20
PASSES_SOON = frozenset((6, 14, 15, 16, 19, 51, 88))
"""No leader yet, loading, not available, no coordinator, too few replicas, concurrent, unstable."""

CLOSED = "closed the connection"
_CLOCKS = frozenset(("log_append_time_ms", "last_timestamp"))
_OF_THE_BROKER = frozenset(("current_leader", "node_endpoints", "throttle_time_ms", "topic_id"))


class Producer:
    """A transactional producer: its id, its epoch, and the next sequence of each partition."""

    def __init__(self, transactional_id: str) -> None:
        self.transactional_id = transactional_id
        self.id = -1
        self.epoch = -1
        self.sequences: dict[int, int] = {}


class Talk:
    """One situation in one age.

    Attributes:
        told: (what was asked, the plain answer), in order.
        topic: of three partitions, of this situation alone.
    """

    def __init__(self, port: int, name: str, age: int) -> None:
        self.age = age
        self.topic = name
        self.group = f"group-{name}"
        self.told: list[tuple[str, Any]] = []
        self._line = Line(port)
        self._port = port
        self._names: dict[int, str] = {}
        made = m.CreateTopicsRequestCreatableTopic(name=name, num_partitions=3, replication_factor=1)
        answer = self.aside(m.CreateTopicsRequest(topics=[made], timeout_ms=10_000), 7)
        assert answer.topics[0].error_code == 0, answer
        self._until(self._is_led, "the topic has leaders")

    def close(self) -> None:
        """Hang up."""
        self._line.close()

    @property
    def adds_itself(self) -> bool:
        """Whether clients of this age add partitions to transactions themselves."""
        return self.age < NEWEST

    # Asking ------------------------------------------------------------------------------------------

    def aside(self, request: m.Message, version: int) -> Any:
        """Ask what is not compared."""
        self._line.send(version, request)
        heard = self._line.receive()
        assert heard is not None, f"the broker hung up on {request}"
        return heard[1]

    def ask(self, request: m.Message, *, version: int | None = None, patient: bool = True) -> Any:
        """Ask, keep the answer, and return it; None when the broker hung up.

        Args:
            patient: ask again while the answer is of what passes soon.
        """
        key = request.api_key
        assert key is not None
        spoken = AGES[self.age].get(key) if version is None else version
        assert spoken is not None
        deadline = time.monotonic() + SETTLES_WITHIN_S
        while True:
            self._line.send(spoken, request)
            heard = self._line.receive()
            answer = None if heard is None else heard[1]
            if not (patient and answer is not None and PASSES_SOON & _codes(answer)):
                break
            if time.monotonic() > deadline:
                break
            time.sleep(0.02)
        if answer is None:
            self._line.close()
            self._line = Line(self._port)
        asked = f"{len(self.told)} {m.BY_KEY[key].name} v{spoken}"
        if isinstance(answer, m.InitProducerIdResponse) and answer.producer_id >= 0:
            self._names.setdefault(answer.producer_id, f"producer {len(self._names)}")
        if isinstance(answer, m.EndTxnResponse) and answer.producer_id >= 0:
            self._names.setdefault(answer.producer_id, f"producer {len(self._names)}")
        self.told.append((asked, CLOSED if answer is None else self._plain(answer, "")))
        return answer

    # Producers ---------------------------------------------------------------------------------------

    def producer(self, name: str = "one", **options: Any) -> Producer:
        """Return a producer that has its id."""
        made = Producer(f"{self.topic}-{name}")
        self.init(made, **options)
        return made

    def init(self, producer: Producer, *, patient: bool = True, **fields: Any) -> Any:
        """InitProducerId; the producer goes on with what it gets."""
        request = m.InitProducerIdRequest(
            transactional_id=producer.transactional_id, transaction_timeout_ms=60_000
        )
        for name, value in fields.items():
            setattr(request, name, value)
        answer = self.ask(request, patient=patient)
        if answer is not None and answer.error_code == 0:
            producer.id, producer.epoch = answer.producer_id, answer.producer_epoch
            producer.sequences = {}
        return answer

    def add(self, producer: Producer, *partitions: int, topic: str | None = None, **options: Any) -> Any:
        """AddPartitionsToTxn, by clients that do so."""
        asked = m.AddPartitionsToTxnRequestAddPartitionsToTxnTopic(
            name=topic or self.topic, partitions=list(partitions)
        )
        return self.ask(
            m.AddPartitionsToTxnRequest(
                v3_and_below_transactional_id=producer.transactional_id,
                v3_and_below_producer_id=producer.id,
                v3_and_below_producer_epoch=producer.epoch,
                v3_and_below_topics=[asked],
            ),
            **options,
        )

    def write(
        self,
        producer: Producer,
        *partitions: int,
        sequence: int | None = None,
        count: int = 1,
        **options: Any,
    ) -> Any:
        """Produce to partitions.

        Args:
            sequence: instead of the one that is due.
            options: of the batch; `version`, `patient` and `transactional_id` of the request.
        """
        asking = {name: options.pop(name) for name in ("version", "patient") if name in options}
        transactional_id = options.pop("transactional_id", producer.transactional_id)
        acks = options.pop("acks", -1)
        topic = options.pop("topic", self.topic)
        data = []
        for number in partitions:
            due = producer.sequences.get(number, 0) if sequence is None else sequence
            fields = {
                "producer_id": producer.id,
                "producer_epoch": producer.epoch,
                "base_sequence": due,
                "is_transactional": True,
            } | options
            data.append(m.ProduceRequestPartitionProduceData(index=number, records=batch(count, **fields)))
            producer.sequences[number] = (due + count) & 0x7FFFFFFF
        asked = m.ProduceRequestTopicProduceData(name=topic, partition_data=data)
        request = m.ProduceRequest(
            transactional_id=transactional_id, acks=acks, timeout_ms=10_000, topic_data=[asked]
        )
        return self.ask(request, **asking)

    def begin(self, producer: Producer, *partitions: int) -> None:
        """Write one record to each partition, added as clients of this age do."""
        if self.adds_itself:
            self.add(producer, *partitions)
        self.write(producer, *partitions)

    def end(self, producer: Producer, *, commit: bool, **options: Any) -> Any:
        """EndTxn, and all markers."""
        answer = self.ask(
            m.EndTxnRequest(
                transactional_id=producer.transactional_id,
                producer_id=producer.id,
                producer_epoch=producer.epoch,
                committed=commit,
            ),
            **options,
        )
        if answer is not None and answer.error_code == 0:
            if answer.producer_id >= 0:
                if answer.producer_epoch != producer.epoch:
                    producer.sequences = {}
                producer.id, producer.epoch = answer.producer_id, answer.producer_epoch
            self.until_ended(producer)
        return answer

    def until_ended(self, producer: Producer) -> None:
        """Return when a decided transaction has all its markers, and they are committed."""

        def holds() -> bool:
            asked = m.DescribeTransactionsRequest(transactional_ids=[producer.transactional_id])
            state = self.aside(asked, 0).transaction_states[0].transaction_state
            return not str(state).startswith("Prepare")

        self._until(holds, "the markers are written")

    # Offsets -----------------------------------------------------------------------------------------

    def add_offsets(self, producer: Producer, **options: Any) -> Any:
        """AddOffsetsToTxn."""
        return self.ask(
            m.AddOffsetsToTxnRequest(
                transactional_id=producer.transactional_id,
                producer_id=producer.id,
                producer_epoch=producer.epoch,
                group_id=self.group,
            ),
            **options,
        )

    def commit(self, producer: Producer, offsets: Mapping[int, int], **fields: Any) -> Any:
        """TxnOffsetCommit."""
        asking = {name: fields.pop(name) for name in ("version", "patient") if name in fields}
        topic = m.TxnOffsetCommitRequestTxnOffsetCommitRequestTopic(
            name=fields.pop("topic", self.topic),
            partitions=[
                m.TxnOffsetCommitRequestTxnOffsetCommitRequestPartition(
                    partition_index=number, committed_offset=offset, committed_metadata=""
                )
                for number, offset in offsets.items()
            ],
        )
        request = m.TxnOffsetCommitRequest(
            transactional_id=producer.transactional_id,
            group_id=fields.pop("group_id", self.group),
            producer_id=producer.id,
            producer_epoch=producer.epoch,
            topics=[topic],
        )
        for name, value in fields.items():
            setattr(request, name, value)
        return self.ask(request, **asking)

    def committed(self, *, require_stable: bool = False, patient: bool = False) -> Any:
        """OffsetFetch of the group."""
        topics = [m.OffsetFetchRequestOffsetFetchRequestTopics(name=self.topic, partition_indexes=[0, 1, 2])]
        group = m.OffsetFetchRequestOffsetFetchRequestGroup(group_id=self.group, topics=topics)
        request = m.OffsetFetchRequest(groups=[group], require_stable=require_stable)
        return self.ask(request, version=9, patient=patient)

    # Looking -----------------------------------------------------------------------------------------

    def look(self) -> None:
        """Keep what the partitions hold: batches, bounds, aborted transactions, producers."""
        for number in range(3):
            asked = m.FetchRequestFetchPartition(partition=number, partition_max_bytes=1_000_000)
            request = m.FetchRequest(
                max_wait_ms=0,
                min_bytes=0,
                max_bytes=10_000_000,
                isolation_level=1,
                topics=[m.FetchRequestFetchTopic(topic=self.topic, partitions=[asked])],
            )
            found = self.aside(request, 11).responses[0].partitions[0]
            records = bytes(found.records or b"")
            self.told.append(
                (
                    f"{len(self.told)} partition {number}",
                    {
                        "end": found.high_watermark,
                        "stable": found.last_stable_offset,
                        "aborted": sorted(
                            (self._name(one.producer_id), one.first_offset)
                            for one in found.aborted_transactions or ()
                        ),
                        "batches": [
                            {
                                "offsets": (head.base_offset, head.last_offset_delta),
                                "producer": (self._name(head.producer_id), head.producer_epoch),
                                "sequence": head.base_sequence,
                                "attributes": head.attributes,
                            }
                            for _, head in iter_batches(records)
                        ],
                    },
                )
            )
        for partition in self._described():
            self.told.append(
                (
                    f"{len(self.told)} producers of {partition.partition_index}",
                    self._plain(sorted(partition.active_producers, key=lambda one: one.producer_id), ""),
                )
            )

    def _described(self) -> Any:
        topic = m.DescribeProducersRequestTopicRequest(name=self.topic, partition_indexes=[0, 1, 2])
        answer = self.aside(m.DescribeProducersRequest(topics=[topic]), 0)
        return sorted(answer.topics[0].partitions, key=lambda one: one.partition_index)

    def _is_led(self) -> bool:
        # A leader that Metadata tells of may not know yet that it is one; asked for producers, it says so.
        return all(partition.error_code == 0 for partition in self._described())

    def _until(self, holds: Callable[[], bool], what: str) -> None:
        deadline = time.monotonic() + SETTLES_WITHIN_S
        while not holds():
            assert time.monotonic() < deadline, f"it never comes to this: {what}"
            time.sleep(0.02)

    # Plain data --------------------------------------------------------------------------------------

    def _name(self, producer_id: int) -> Any:
        return self._names.get(producer_id, producer_id)

    def _plain(self, value: Any, field: str) -> Any:
        if isinstance(value, m.Struct):
            return {
                name: self._plain(getattr(value, name), name)
                for name in value.__slots__
                if name != "unknown_tags" and name not in _OF_THE_BROKER
            }
        if isinstance(value, list):
            items = [self._plain(item, field) for item in value]
            return sorted(items, key=repr) if items and isinstance(items[0], dict) else items
        if field == "producer_id":
            return self._name(value)
        if field in _CLOCKS:
            return value if value < 0 else "a time"
        if field == "error_message":
            return None
        if isinstance(value, str):
            return value.replace(self.topic, "the topic")
        return value


def _codes(value: Any) -> set[int]:
    """Return all error codes in an answer."""
    found: set[int] = set()
    if isinstance(value, m.Struct):
        for name in value.__slots__:
            one = getattr(value, name)
            if name.endswith("error_code"):
                found.add(int(one))
            else:
                found |= _codes(one)
    elif isinstance(value, list):
        for item in value:
            found |= _codes(item)
    return found
