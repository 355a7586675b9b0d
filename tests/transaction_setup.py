"""The transaction coordinator over real logs on a disk in memory; time and metadata are the test's to set."""

from collections.abc import Callable, Iterable
from itertools import count
from types import SimpleNamespace
from typing import Any

from barnabas.base.errors import ApiError
from barnabas.base.uuids import NULL_UUID
from barnabas.coordinator.runtime.config import RuntimeConfig
from barnabas.coordinator.transactions.config import TransactionConfig
from barnabas.coordinator.transactions.coordinator import TransactionCoordinator
from barnabas.coordinator.transactions.state import (
    ProducerIdAndEpoch,
    TopicPartition,
    TransactionMetadata,
    TransactionState,
)
from barnabas.metadata.topic_changes import TopicCreation
from barnabas.protocol import messages
from barnabas.protocol.control_records import parse_end_txn_marker
from barnabas.protocol.record_batch import iter_batches, parse_records
from barnabas.replica.produce import TRANSACTION_TOPIC, AppendPartition
from tests.runtime_setup import OFFSETS_TOPIC, OFFSETS_TOPIC_ID, Answers
from tests.unit.replica.broker_setup import TOPIC, TOPIC_ID, Broker, batch

TRANSACTION_TOPIC_ID = b"__transaction_st"
PARTITIONS = 3
P0: TopicPartition = (TOPIC, 0)
P1: TopicPartition = (TOPIC, 1)
OFFSETS: TopicPartition = (OFFSETS_TOPIC, 0)
FIRST_PRODUCER_ID = 100
TIMEOUT_MS = 60_000


class GroupsDouble:
    """Stands where the group coordinator is: keeps the markers it gets; `error` refuses them."""

    def __init__(self) -> None:
        self.markers: list[tuple[int, Any]] = []
        self.error: ApiError | None = None

    def partition_of(self, group_id: str) -> int:
        return 0

    def end_transaction(self, partition: int, end: Any, ended: Callable[[ApiError | None], None]) -> None:
        if self.error is None:
            self.markers.append((partition, end))
        ended(self.error)


class Transactions:
    """The transaction coordinator of a broker with the topic `events` of two partitions."""

    def __init__(self, *, version: int = 2, **config: Any) -> None:
        self.broker = Broker(partitions=2)
        self.groups = GroupsDouble()
        self.config = TransactionConfig(**config)
        self.ids = count(FIRST_PRODUCER_ID)
        self.finalise(version)
        self.broker.create(TRANSACTION_TOPIC, TRANSACTION_TOPIC_ID, PARTITIONS)
        self.broker.create(OFFSETS_TOPIC, OFFSETS_TOPIC_ID, 1)
        self.broker.settle()
        self.restart()

    def finalise(self, version: int) -> None:
        self.broker.replay(messages.FeatureLevelRecord(name="transaction.version", feature_level=version))

    def restart(self, *, was_clean: bool = True) -> None:
        """What a new process knows: the logs."""
        broker = self.broker
        controller: Any = SimpleNamespace(image=broker.image)
        groups: Any = self.groups
        self.coordinator = TransactionCoordinator(
            config=self.config,
            runtime_config=RuntimeConfig(topic=TRANSACTION_TOPIC, partition_count=PARTITIONS),
            topic=TopicCreation(name=TRANSACTION_TOPIC),
            new_producer_id=lambda: next(self.ids),
            groups=lambda: groups,
            controller=controller,
            replicas=broker.manager,
            clock=broker.clock,
            wheel=broker.wheel,
            call_soon=broker.soon.append,
            was_clean=was_clean,
        )
        self.coordinator.load_all()
        broker.settle()

    def crash_and_restart(self) -> None:
        """Another process takes over; nothing of the old one runs on."""
        self.coordinator.stop()
        self.restart()

    def lose_power(self, *, keep: int, transactional_id: str = "t") -> None:
        """Start anew with so many records of the id's partition of `__transaction_state`, and all others."""
        self.coordinator.stop()
        number = self.coordinator.partition_of(transactional_id)
        self.broker.partition(number, TRANSACTION_TOPIC).truncate_to(keep)
        self.restart(was_clean=False)

    # Requests

    def init(
        self, transactional_id: str = "t", *, timeout_ms: int = TIMEOUT_MS, expected: Any = None
    ) -> Answers:
        answers = Answers()
        believed = None if expected is None else producer(*expected)
        self.coordinator.init_producer_id(
            transactional_id, timeout_ms, believed, answers.replies.append, answers.errors.append
        )
        return answers

    def add(
        self,
        who: ProducerIdAndEpoch,
        partitions: Iterable[TopicPartition] = (P0,),
        transactional_id: str = "t",
        *,
        version: int = 2,
    ) -> Answers:
        answers = Answers()
        self.coordinator.add_partitions(
            transactional_id,
            who,
            partitions,
            client_version=version,
            reply=answers.replies.append,
            failed=answers.errors.append,
        )
        return answers

    def verify(self, who: ProducerIdAndEpoch, *partitions: TopicPartition) -> Answers:
        answers = Answers()
        self.coordinator.verify_partitions(
            "t", who, partitions, answers.replies.append, answers.errors.append
        )
        return answers

    def end(
        self, who: ProducerIdAndEpoch, *, commit: bool = True, version: int = 2, transactional_id: str = "t"
    ) -> Answers:
        answers = Answers()
        self.coordinator.end(
            transactional_id,
            who,
            commit=commit,
            client_version=version,
            reply=answers.replies.append,
            failed=answers.errors.append,
        )
        return answers

    def begun(self, *partitions: TopicPartition, version: int = 2) -> ProducerIdAndEpoch:
        """A producer with an ongoing transaction."""
        who: ProducerIdAndEpoch = self.init().reply
        assert self.add(who, partitions or (P0,), version=version).error is None
        return who

    def produce(self, who: ProducerIdAndEpoch, number: int = 0, sequence: int = 0) -> None:
        """Append one record of the producer's transaction."""
        records = batch(
            producer_id=who.producer_id,
            producer_epoch=who.producer_epoch,
            base_sequence=sequence,
            is_transactional=True,
        )
        outcomes: list[Any] = []
        self.broker.manager.append(
            acks=1,
            timeout_ms=1000,
            partitions=[AppendPartition(TOPIC, NULL_UUID, number, records)],
            respond=outcomes.append,
        )
        assert not outcomes[0].has_error, outcomes[0].results[0].error_code
        self.broker.settle()

    # Looking

    def metadata(self, transactional_id: str = "t") -> TransactionMetadata:
        answers = Answers()
        self.coordinator.describe(transactional_id, answers.replies.append, answers.errors.append)
        found: TransactionMetadata = answers.reply
        return found

    def state(self, transactional_id: str = "t") -> TransactionState:
        return self.metadata(transactional_id).state

    def ids_known(self) -> set[str]:
        return {metadata.transactional_id for metadata in self.coordinator.transactions()}

    def markers(self, number: int = 0) -> list[tuple[int, int, str]]:
        """(producer id, epoch, kind) of each marker in a partition of the topic."""
        log = self.broker.partition(number).log
        found = log.read(0, log.log_end_offset_metadata, 1 << 20).records
        if found is None:
            return []
        data = found.read()
        found.release()
        return [
            (
                header.producer_id,
                header.producer_epoch,
                parse_end_txn_marker(parse_records(data, position, header)[0]).control_type.name,
            )
            for position, header in iter_batches(data)
            if header.is_control
        ]

    def history(self, transactional_id: str = "t") -> list[Any]:
        """(value's version, value) of each record about an id."""
        number = self.coordinator.partition_of(transactional_id)
        log = self.broker.partition(number, TRANSACTION_TOPIC).log
        found = log.read(0, log.log_end_offset_metadata, 1 << 20).records
        if found is None:
            return []
        data = found.read()
        found.release()
        records = []
        for position, header in iter_batches(data):
            for record in parse_records(data, position, header):
                value = record.value
                if value is None:
                    records.append((None, None))
                    continue
                version = int.from_bytes(value[:2], "big")
                records.append((version, messages.TransactionLogValue.decode(value, version, 2)))
        return records

    def last_stable_offset(self, number: int = 0) -> int:
        return self.broker.partition(number).last_stable_offset_metadata().message_offset

    def remove_topic(self) -> None:
        self.broker.replay(messages.RemoveTopicRecord(topic_id=TOPIC_ID))
        self.broker.settle()


def producer(producer_id: int, producer_epoch: int) -> ProducerIdAndEpoch:
    """A producer as a client tells it."""
    return ProducerIdAndEpoch(producer_id=producer_id, producer_epoch=producer_epoch)
