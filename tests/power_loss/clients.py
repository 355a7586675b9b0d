"""Clients of the simulated broker: producers, consumers, committers.

What a client does is a generator: it yields a request and gets the answer, or None when the connection broke
because the power went. Each tells its histories what it sent and what it was told.
"""

from __future__ import annotations

from collections.abc import Generator
from typing import TYPE_CHECKING, Any, NamedTuple

from barnabas.base.errors import ErrorCode
from barnabas.protocol import messages as m
from barnabas.protocol.record_batch import ATTRIBUTES_POSITION
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.power_loss.history import (
    Attempt,
    CommittedOffset,
    PartitionHistory,
    StoredBatch,
    Transaction,
    expect,
    fetched_batches,
)
from tests.power_loss.machine import SimulatedConnection

if TYPE_CHECKING:
    from tests.power_loss.world import World

TRANSACTION_TIMEOUT_MS = 20_000
KEYS = 5

PASSING = frozenset(
    (
        ErrorCode.COORDINATOR_LOAD_IN_PROGRESS,
        ErrorCode.COORDINATOR_NOT_AVAILABLE,
        ErrorCode.NOT_COORDINATOR,
        ErrorCode.CONCURRENT_TRANSACTIONS,
        ErrorCode.NOT_LEADER_OR_FOLLOWER,
        ErrorCode.UNKNOWN_TOPIC_ID,
        ErrorCode.UNKNOWN_TOPIC_OR_PARTITION,
        ErrorCode.REQUEST_TIMED_OUT,
        ErrorCode.NOT_ENOUGH_REPLICAS,
    )
)
"""What passes, or comes of a topic that is deleted."""


class Ask(NamedTuple):
    """A client asks."""

    request: m.Message
    version: int


Action = Generator[Ask, Any, None]


class Client:
    """Somebody with a connection who does one thing after the other.

    Attributes:
        is_busy: an action is under way.
    """

    def __init__(self, world: World, name: str) -> None:
        self.world = world
        self.random = world.random
        self.name = name
        self.connection = SimulatedConnection(name)
        self.is_busy = False

    def action(self) -> Action:
        """The next thing it does."""
        raise NotImplementedError

    def reconnected(self) -> None:
        """The power came back; whatever was under way is not any more."""
        self.connection = SimulatedConnection(self.name)
        self.is_busy = False


class Producing(Client):
    """What all producers share."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(world, name)
        self._made = 0

    def attempt(
        self,
        history: PartitionHistory,
        *,
        producer_id: int = -1,
        producer_epoch: int = -1,
        sequence: int = -1,
        transaction: Transaction | None = None,
    ) -> tuple[Attempt, bytes]:
        """Make a batch that no other equals."""
        count = self.random.randrange(1, 4)
        builder = BatchBuilder(
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=sequence,
            is_transactional=transaction is not None,
        )
        keys, values = [], []
        for _ in range(count):
            self._made += 1
            key = b"k%d" % self.random.randrange(KEYS)
            value = f"{self.name}:{self._made}:".encode() + b"." * self.random.randrange(120)
            builder.append(timestamp=self.world.machine.clock.wall_ms(), key=key, value=value)
            keys.append(key)
            values.append(value)
        raw = bytes(builder.build())
        made = Attempt(
            tail=raw[ATTRIBUTES_POSITION:],
            keys=tuple(keys),
            values=tuple(values),
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            sequence=sequence,
            transaction=transaction,
        )
        history.sent(made)
        return made, raw

    @staticmethod
    def produce(
        history: PartitionHistory, raw: bytes, *, acks: int, transactional_id: str | None = None
    ) -> Ask:
        """A produce of one batch to one partition."""
        partition = m.ProduceRequestPartitionProduceData(index=history.partition, records=raw)
        topic = m.ProduceRequestTopicProduceData(topic_id=history.topic_id, partition_data=[partition])
        return Ask(
            m.ProduceRequest(
                transactional_id=transactional_id, acks=acks, timeout_ms=30_000, topic_data=[topic]
            ),
            13,
        )

    def told(self, history: PartitionHistory, attempt: Attempt, answer: Any) -> ErrorCode:
        """Take an answer in; return its code."""
        result = answer.responses[0].partition_responses[0]
        code = ErrorCode(result.error_code)
        expect(code is not ErrorCode.UNKNOWN_SERVER_ERROR, f"{history.name}: a fault of the broker")
        if code is ErrorCode.NONE:
            history.acknowledged(attempt, result.base_offset)
        return code


class PlainProducer(Producing):
    """Without a producer id: what is not answered may be there or not, and is not sent again."""

    def action(self) -> Action:
        history = self.world.any_partition()
        if history is None:
            return
        attempt, raw = self.attempt(history)
        acks = self.random.choice((0, 1, -1, -1, -1))
        answer = yield self.produce(history, raw, acks=acks)
        if answer is not None and acks:
            code = self.told(history, attempt, answer)
            expect(code in PASSING or code is ErrorCode.NONE, f"{history.name}: {code.name}")


class IdempotentProducer(Producing):
    """With a producer id: what is not answered is sent again until it is."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(world, name)
        self._producer_id = -1
        self._sequences: dict[int, int] = {}  # by id of the history
        self._pending: tuple[PartitionHistory, Attempt, bytes] | None = None

    def action(self) -> Action:
        if self._producer_id < 0:
            answer = yield Ask(m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=0), 4)
            if answer is None or answer.error_code:
                return
            self.world.producer_id_given(answer.producer_id)
            self._producer_id = answer.producer_id
            self._sequences.clear()
        if self._pending is not None and self._pending[0].is_gone:
            self._pending = None
        if self._pending is None:
            history = self.world.any_partition()
            if history is None:
                return
            sequence = self._sequences.get(id(history), 0)
            attempt, raw = self.attempt(
                history, producer_id=self._producer_id, producer_epoch=0, sequence=sequence
            )
            self._sequences[id(history)] = sequence + attempt.records
            self._pending = history, attempt, raw
        else:
            history, attempt, raw = self._pending
            attempt.sends += 1
        answer = yield self.produce(history, raw, acks=self.random.choice((1, -1, -1)))
        if answer is None:
            return
        code = self.told(history, attempt, answer)
        if code in PASSING:
            return
        self._pending = None
        if code is not ErrorCode.NONE:
            # Something before it was lost: legal where that was not promised, and the end of this producer.
            expect(
                code is ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER and history.has_lost,
                f"{history.name}: {self.name} got {code.name} for sequence {attempt.sequence}",
            )
            self._producer_id = -1


class TransactionalProducer(Producing):
    """One transaction after the other, over several partitions and the offsets of a group."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(world, name)
        self.group = f"{name}-group"
        self.committed = CommittedOffset(is_durable=world.internal_durable)
        self.transactions: list[Transaction] = []
        self._producer: tuple[int, int] | None = None
        self._offset = 0
        self._newest: dict[int, int] = {}

    def _initialise(self) -> Action:
        answer = yield Ask(
            m.InitProducerIdRequest(
                transactional_id=self.name, transaction_timeout_ms=TRANSACTION_TIMEOUT_MS
            ),
            5,
        )
        if answer is None or answer.error_code:
            if answer is not None:
                code = ErrorCode(answer.error_code)
                expect(code in PASSING, f"{self.name}: InitProducerId got {code.name}")
            return
        self._take_producer(answer.producer_id, answer.producer_epoch)

    def _take_producer(self, producer_id: int, epoch: int) -> None:
        known = self._newest.get(producer_id)
        if known is None:
            self.world.producer_id_given(producer_id)
        expect(
            known is None or epoch > known or not self.world.internal_durable,
            f"{self.name}: epoch {epoch} of producer {producer_id} was given before",
        )
        self._newest[producer_id] = max(epoch, known if known is not None else -1)
        self._producer = producer_id, epoch

    def action(self) -> Action:
        if self._producer is None:
            yield from self._initialise()
            if self._producer is None:
                return
        producer_id, epoch = self._producer
        number = len(self.transactions)
        transaction = Transaction(name=f"{self.name}#{number}", producer_id=producer_id, producer_epoch=epoch)
        self.transactions.append(transaction)
        sequences: dict[int, int] = {}
        offset = -1
        is_well = True
        for _ in range(self.random.randrange(1, 5)):
            history = self.world.any_partition(compacted=False)
            if history is None:
                break
            sequence = sequences.get(id(history), 0)
            attempt, raw = self.attempt(
                history,
                producer_id=producer_id,
                producer_epoch=epoch,
                sequence=sequence,
                transaction=transaction,
            )
            sequences[id(history)] = sequence + attempt.records
            answer = yield self.produce(history, raw, acks=-1, transactional_id=self.name)
            if answer is None:
                self._lose(transaction, offset)
                return
            code = self.told(history, attempt, answer)
            if code is not ErrorCode.NONE:
                is_well = False
                break
        if is_well and self.random.randrange(2):
            self._offset += 1
            offset = self._offset
            self.committed.sent(offset)
            answer = yield self._offsets(producer_id, epoch, offset)
            if answer is None:
                self._lose(transaction, offset)
                return
            is_well = not answer.topics[0].partitions[0].error_code
        if not self.random.randrange(8):
            self._lose(transaction, offset)  # the client dies
            return
        yield from self._end(transaction, offset, commit=is_well and self.random.randrange(4) > 0)

    def _offsets(self, producer_id: int, epoch: int, offset: int) -> Ask:
        partition = m.TxnOffsetCommitRequestTxnOffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata=""
        )
        topic = m.TxnOffsetCommitRequestTxnOffsetCommitRequestTopic(
            name=self.world.offsets_topic, partitions=[partition]
        )
        return Ask(
            m.TxnOffsetCommitRequest(
                transactional_id=self.name,
                group_id=self.group,
                producer_id=producer_id,
                producer_epoch=epoch,
                topics=[topic],
            ),
            5,
        )

    def _lose(self, transaction: Transaction, offset: int) -> None:
        """Nobody will end it but the broker."""
        transaction.outcome = "lost"
        self._producer = None
        self._withdraw(offset)

    def _withdraw(self, offset: int) -> None:
        if offset >= 0:
            self.committed.withdrawn(offset)

    def _end(self, transaction: Transaction, offset: int, *, commit: bool) -> Action:
        transaction.outcome = "committing" if commit else "aborting"
        if not commit:
            self._withdraw(offset)
        self._producer = None
        answer = yield Ask(
            m.EndTxnRequest(
                transactional_id=self.name,
                producer_id=transaction.producer_id,
                producer_epoch=transaction.producer_epoch,
                committed=commit,
            ),
            5,
        )
        if answer is None or answer.error_code:
            # Whether it is decided only the broker knows; an error that is no loss is one of the load.
            return
        transaction.outcome = "committed" if commit else "aborted"
        transaction.is_durable = self.world.internal_durable
        if commit and offset >= 0:
            self.committed.acknowledged(offset)
        self._take_producer(answer.producer_id, answer.producer_epoch)


class Consumer(Client):
    """Reads anything from anywhere, and remembers up to where it has seen records."""

    def action(self) -> Action:
        history = self.world.any_partition()
        if history is None:
            return
        offset = self.random.randrange(history.seen_end + 1)
        isolation = self.random.randrange(2)
        answer = yield fetch(history, offset, isolation=isolation, wait_ms=self.random.choice((0, 0, 500)))
        if answer is None:
            return
        told = answer.responses[0].partitions[0]
        code = ErrorCode(told.error_code)
        if code is not ErrorCode.NONE:
            expect(
                code in PASSING or code is ErrorCode.OFFSET_OUT_OF_RANGE,
                f"{history.name}: fetch got {code.name}",
            )
            expect(
                code is not ErrorCode.OFFSET_OUT_OF_RANGE or history.may_be_out_of_range,
                f"{history.name}: offset {offset} is out of range",
            )
            return
        check_fetched(history, told, isolation=isolation)


def fetch(history: PartitionHistory, offset: int, *, isolation: int, wait_ms: int = 0) -> Ask:
    """A fetch of one partition without a session."""
    partition = m.FetchRequestFetchPartition(
        partition=history.partition, fetch_offset=offset, partition_max_bytes=1_000_000
    )
    topic = m.FetchRequestFetchTopic(topic_id=history.topic_id, partitions=[partition])
    return Ask(
        m.FetchRequest(
            max_wait_ms=wait_ms,
            min_bytes=1,
            max_bytes=10_000_000,
            isolation_level=isolation,
            session_epoch=-1,
            topics=[topic],
        ),
        17,
    )


def check_fetched(history: PartitionHistory, told: Any, *, isolation: int) -> tuple[int, list[StoredBatch]]:
    """Check what a fetch got, count it as seen; return where the next one begins and what a client shows."""
    bound = told.last_stable_offset if isolation else told.high_watermark
    expect(
        told.log_start_offset <= told.high_watermark and told.last_stable_offset <= told.high_watermark,
        f"{history.name}: start {told.log_start_offset}, LSO {told.last_stable_offset}, "
        f"HW {told.high_watermark}",
    )
    expect(
        told.high_watermark >= history.durable_end,
        f"{history.name}: the HW {told.high_watermark} is below {history.durable_end}, which was seen",
    )
    aborted = {(one.producer_id, one.first_offset) for one in told.aborted_transactions or ()}
    dropping: set[int] = set()
    next_offset = 0
    visible: list[StoredBatch] = []
    for batch in fetched_batches(told.records):
        next_offset = batch.next_offset
        expect(next_offset <= bound, f"{history.name}: a fetch got {next_offset}, bound {bound}")
        producer_id = batch.header.producer_id
        dropping |= {pid for pid, first in aborted if first <= batch.base_offset and pid == producer_id}
        if batch.header.is_control:
            dropping.discard(producer_id)
            aborted = {one for one in aborted if one[0] != producer_id or one[1] > batch.base_offset}
            continue
        if producer_id not in dropping or not batch.header.is_transactional:
            visible.append(batch)
        attempt = history.attempts.get(batch.tail)
        expect(attempt is not None or history.is_compacted, f"{history.name}: nobody sent what a fetch got")
        if isolation and attempt is not None and attempt.transaction and producer_id not in dropping:
            expect(
                attempt.transaction.may_be_committed,
                f"{history.name}: a committed reader got {attempt.transaction.name} at {batch.base_offset}, "
                f"which is {attempt.transaction.outcome}",
            )
    history.seen(told.high_watermark)
    return next_offset, visible


class Committer(Client):
    """A group without members that commits offsets."""

    def __init__(self, world: World, name: str) -> None:
        super().__init__(world, name)
        self.group = name
        self.committed = CommittedOffset(is_durable=world.internal_durable)
        self._offset = 0

    def action(self) -> Action:
        self._offset += 1
        offset = self._offset
        self.committed.sent(offset)
        partition = m.OffsetCommitRequestOffsetCommitRequestPartition(
            partition_index=0, committed_offset=offset, committed_metadata="m"
        )
        topic = m.OffsetCommitRequestOffsetCommitRequestTopic(
            name=self.world.offsets_topic, partitions=[partition]
        )
        answer = yield Ask(m.OffsetCommitRequest(group_id=self.group, topics=[topic]), 9)
        if answer is None:
            return
        code = ErrorCode(answer.topics[0].partitions[0].error_code)
        if code is ErrorCode.NONE:
            self.committed.acknowledged(offset)
        else:
            expect(code in PASSING, f"{self.name}: the commit got {code.name}")
