"""Records into batches, batches to leaders, several requests in flight.

`Accumulator` is pure: it fills one open batch per partition and hands out what is full. `Producer` sends:
up to MAX_IN_FLIGHT requests per broker, answers in order. When a batch fails for a moment, everything in
flight is awaited first and then all that failed is sent again in sequence order, so that the order
within a partition holds and idempotence (KIP-98) never sees a gap. Rejected: a thread per broker, which
a command line fed by one pipe cannot use.
"""

from collections import deque
from collections.abc import Callable, Sequence

from barnabas.base.dataclass import dataclass, field
from barnabas.base.errors import ErrorCode
from barnabas.base.hints import Any
from barnabas.cli.client.cluster import Cluster, TopicInfo
from barnabas.cli.client.connection import Connection
from barnabas.cli.client.errors import BrokerError, ClientError, ConnectionLostError, UnsupportedByBrokerError
from barnabas.cli.client.partitioner import partition_of
from barnabas.protocol import messages
from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch_builder import BatchBuilder

PRODUCE = 0
INIT_PRODUCER_ID = 22
MAX_IN_FLIGHT = 5
"""What a broker's duplicate check remembers per producer and partition."""

DEFAULT_BATCH_BYTES = 256 * 1024
_SEQUENCE_MASK = 0x7FFFFFFF
_NO_PRODUCER = (-1, -1)
_RECORD_OVERHEAD_BYTES = 32
_UTF8_BYTES_MAX = 4
_TRANSACTION_TIMEOUT_MS = 60_000

# With idempotence these follow from an earlier batch's failure, and heal when that one is sent again.
_REQUEUED = frozenset({ErrorCode.OUT_OF_ORDER_SEQUENCE_NUMBER, ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})

Headers = Sequence[tuple[str, bytes | None]]


@dataclass(slots=True, kw_only=True)
class PendingBatch:
    """A sealed batch on its way to one partition."""

    partition: int
    records: bytes
    count: int
    tries: int = 0


@dataclass(slots=True, kw_only=True)
class _Partition:
    builder: BatchBuilder | None = None
    next_sequence: int = 0
    ready: deque[PendingBatch] = field(default_factory=deque)


class Accumulator:
    """Fills batches; knows no network.

    Args:
        producer: (producer id, epoch), or (-1, -1) without idempotence.
        batch_bytes: a batch is sealed before its uncompressed records exceed this; a single larger
            record makes a batch of its own.
    """

    def __init__(
        self,
        partitions: int,
        *,
        codec: Codec = Codec.NONE,
        producer: tuple[int, int] = _NO_PRODUCER,
        batch_bytes: int = DEFAULT_BATCH_BYTES,
    ) -> None:
        self._codec = codec
        self._producer = producer
        self._batch_bytes = batch_bytes
        self._partitions = [_Partition() for _ in range(partitions)]
        self._sticky = 0
        self.ready_bytes = 0

    def choose_partition(self, key: bytes | None) -> int:
        """Return where a record belongs: by key as Java does, else with its neighbours (KIP-480)."""
        if key is None:
            return self._sticky
        return partition_of(key, len(self._partitions))

    def add(
        self, partition: int, timestamp_ms: int, key: bytes | None, value: bytes | None, headers: Headers
    ) -> None:
        """Append a record to its partition's open batch."""
        state = self._partitions[partition]
        size = _RECORD_OVERHEAD_BYTES + len(key or b"") + len(value or b"")
        for name, content in headers:
            size += _RECORD_OVERHEAD_BYTES + len(name) * _UTF8_BYTES_MAX + len(content or b"")
        if state.builder is not None and state.builder.size_bytes + size > self._batch_bytes:
            self._seal(partition)
        if state.builder is None:
            state.builder = self._new_builder(state)
        state.builder.append(timestamp=timestamp_ms, key=key, value=value, headers=headers)

    def _new_builder(self, state: _Partition) -> BatchBuilder:
        producer_id, producer_epoch = self._producer
        return BatchBuilder(
            codec=self._codec,
            producer_id=producer_id,
            producer_epoch=producer_epoch,
            base_sequence=state.next_sequence if producer_id >= 0 else -1,
        )

    def _seal(self, partition: int) -> None:
        state = self._partitions[partition]
        builder = state.builder
        assert builder is not None
        state.builder = None
        records = builder.build()
        batch = PendingBatch(partition=partition, records=records, count=len(builder))
        state.next_sequence = (state.next_sequence + len(builder)) & _SEQUENCE_MASK
        state.ready.append(batch)
        self.ready_bytes += len(records)
        if partition == self._sticky:
            self._sticky = (self._sticky + 1) % len(self._partitions)

    def seal_all(self) -> None:
        """Close every open batch."""
        for partition, state in enumerate(self._partitions):
            if state.builder is not None:
                self._seal(partition)

    def take(self, partition: int) -> PendingBatch | None:
        """Return the next sealed batch of a partition."""
        ready = self._partitions[partition].ready
        if not ready:
            return None
        batch = ready.popleft()
        self.ready_bytes -= len(batch.records)
        return batch

    def put_back(self, batches: list[PendingBatch]) -> None:
        """Return failed batches to the front of their partitions, given in the order they were sent."""
        for batch in reversed(batches):
            self._partitions[batch.partition].ready.appendleft(batch)
            self.ready_bytes += len(batch.records)

    @property
    def ready_partitions(self) -> list[int]:
        """Partitions with sealed batches."""
        return [partition for partition, state in enumerate(self._partitions) if state.ready]


class Producer:
    """Sends records of one topic.

    Args:
        acks: 0, 1 or -1 (all).
        idempotent: True; False; or None: yes when acks is -1 and the broker offers producer ids.
        on_delivered: called with (partition, base offset or -1, count) for each acknowledged batch.
    """

    def __init__(
        self,
        cluster: Cluster,
        topic: TopicInfo,
        *,
        acks: int = -1,
        codec: Codec = Codec.NONE,
        idempotent: bool | None = None,
        batch_bytes: int = DEFAULT_BATCH_BYTES,
        on_delivered: Callable[[int, int, int], None] | None = None,
    ) -> None:
        self._cluster = cluster
        self._topic = topic.name
        self._acks = acks
        self._on_delivered = on_delivered
        producer = _NO_PRODUCER
        if idempotent or (idempotent is None and acks == -1):
            producer = self._producer_id(required=bool(idempotent))
        self.partitions = len(topic.partitions)
        self.idempotent = producer != _NO_PRODUCER
        self.accumulator = Accumulator(
            self.partitions, codec=codec, producer=producer, batch_bytes=batch_bytes
        )
        self._flying: dict[int, deque[list[PendingBatch]]] = {}
        self._failed: list[PendingBatch] = []
        self._last_failure: ClientError | None = None
        self.delivered = 0

    def _producer_id(self, *, required: bool) -> tuple[int, int]:
        request = messages.InitProducerIdRequest(
            transactional_id=None, transaction_timeout_ms=_TRANSACTION_TIMEOUT_MS
        )

        def attempt() -> tuple[int, int]:
            response = self._cluster.request_any(INIT_PRODUCER_ID, request)
            if response.error_code:
                raise BrokerError(response.error_code, "producer id")
            return response.producer_id, response.producer_epoch

        try:
            return self._cluster.retry.run(attempt, lambda: None)
        except UnsupportedByBrokerError:
            if required:
                raise
            return _NO_PRODUCER

    def send(
        self,
        key: bytes | None,
        value: bytes | None,
        *,
        timestamp_ms: int,
        headers: Headers = (),
        partition: int | None = None,
    ) -> None:
        """Add a record, and send what is full.

        Failures of earlier records are raised here or by flush.
        """
        target = self.accumulator.choose_partition(key) if partition is None else partition
        self.accumulator.add(target, timestamp_ms, key, value, headers)
        if self.accumulator.ready_bytes:
            self._pump()

    def flush(self) -> None:
        """Send everything and return when all of it is acknowledged (or, with acks=0, written)."""
        self.accumulator.seal_all()
        self._pump()
        self._settle()

    def _pump(self) -> None:
        """Send what is ready; wait for answers only where the window is full."""
        while (ready := self.accumulator.ready_partitions) and not self._failed:
            for leader, partitions in self._by_leader(ready).items():
                if len(self._flying.setdefault(leader, deque())) >= MAX_IN_FLIGHT:
                    self._await_one(leader)
                if not self._failed:
                    self._send_request(leader, partitions)
        if self._failed:
            self._settle()

    def _settle(self) -> None:
        """Await everything in flight and send again what failed, until nothing is left."""
        patience = self._cluster.retry.patience()
        delivered = self.delivered
        while True:
            self._await_all()
            if not self._failed:
                if not self.accumulator.ready_partitions:
                    return
                self._send_ready()
                continue
            failed, self._failed = self._failed, []
            self.accumulator.put_back(failed)
            if self.delivered > delivered:
                delivered = self.delivered
                patience.progress()
            patience.failed(self._last_failure or ConnectionLostError("the cluster did not answer"))
            self._cluster.forget_topic(self._topic)

    def _send_ready(self) -> None:
        """Send one request to each leader of a ready partition; nothing is in flight."""
        for leader, partitions in self._by_leader(self.accumulator.ready_partitions).items():
            self._flying.setdefault(leader, deque())
            self._send_request(leader, partitions)

    def _by_leader(self, partitions: list[int]) -> dict[int, list[int]]:
        found: dict[int, list[int]] = {}
        for partition in partitions:
            found.setdefault(self._cluster.leader_of(self._topic, partition).leader, []).append(partition)
        return found

    def _send_request(self, leader: int, partitions: list[int]) -> None:
        batches = [batch for partition in partitions if (batch := self.accumulator.take(partition))]
        try:
            connection = self._cluster.connection(leader)
            connection.send(PRODUCE, self._request(connection, batches))
        except ConnectionLostError as error:
            self._lost(leader, error)
            self._failed += batches
            return
        if self._acks == 0:
            for batch in batches:
                self._delivered(batch, -1)
        else:
            self._flying[leader].append(batches)

    def _request(self, connection: Connection, batches: list[PendingBatch]) -> Any:
        by_id = connection.version_of(PRODUCE) >= 13
        data = messages.ProduceRequestTopicProduceData(
            partition_data=[
                messages.ProduceRequestPartitionProduceData(index=batch.partition, records=batch.records)
                for batch in batches
            ]
        )
        if by_id:
            data.topic_id = self._cluster.topic(self._topic).topic_id
        else:
            data.name = self._topic
        return messages.ProduceRequest(
            transactional_id=None,
            acks=self._acks,
            timeout_ms=int(self._cluster.timeout_s * 1000),
            topic_data=[data],
        )

    def _await_all(self) -> None:
        for leader in list(self._flying):
            while self._flying[leader]:
                self._await_one(leader)

    def _await_one(self, leader: int) -> None:
        flying = self._flying[leader]
        try:
            response = self._cluster.connection(leader).receive()
        except ConnectionLostError as error:
            self._lost(leader, error)
            return
        sent = {batch.partition: batch for batch in flying.popleft()}
        for topic in response.responses:
            for answer in topic.partition_responses:
                batch = sent.pop(answer.index, None)
                if batch is not None:
                    self._answered(batch, answer)
        if sent:
            raise ClientError(f"the broker did not answer for partition {min(sent)} of {self._topic}")

    def _answered(self, batch: PendingBatch, answer: Any) -> None:
        code = answer.error_code
        if code in (ErrorCode.NONE, ErrorCode.DUPLICATE_SEQUENCE_NUMBER):
            self._delivered(batch, answer.base_offset)
            return
        error = BrokerError(code, f"{self._topic}-{batch.partition}", answer.error_message)
        follows = code in _REQUEUED and (self._failed or batch.tries == 0)
        if not (error.retriable or follows):
            raise error
        batch.tries += 1
        self._failed.append(batch)
        if self._last_failure is None or error.retriable:
            self._last_failure = BrokerError(
                code, f"{self._topic}-{batch.partition}", answer.error_message, retriable=True
            )

    def _lost(self, leader: int, error: ConnectionLostError) -> None:
        """Take back everything that was in flight to a broker."""
        self._cluster.drop(leader)
        self._last_failure = error
        flying = self._flying[leader]
        while flying:
            self._failed += flying.popleft()

    def _delivered(self, batch: PendingBatch, base_offset: int) -> None:
        self.delivered += batch.count
        if self._on_delivered is not None:
            self._on_delivered(batch.partition, base_offset, batch.count)
