"""Reading assigned partitions: long polls to each leader, batches decoded, positions kept.

One thread: a fetch is sent to every leader, then whichever answers first is taken. No group, no fetch
session: a command line reads few partitions, and full requests are simpler than a session's repair.
"""

import select
from collections import deque
from collections.abc import Iterator, Mapping

from barnabas.base.errors import ErrorCode
from barnabas.base.hints import Any
from barnabas.base.named_tuple import NamedTuple
from barnabas.cli.client.cluster import Cluster
from barnabas.cli.client.connection import Connection
from barnabas.cli.client.errors import BrokerError, ClientError, ConnectionLostError
from barnabas.protocol import messages
from barnabas.protocol.record_batch import (
    BatchHeader,
    TimestampType,
    crc_matches,
    iter_batches,
    parse_records,
)

FETCH = 1
DEFAULT_MAX_WAIT_MS = 500
DEFAULT_FETCH_BYTES = 32 * 1024 * 1024
DEFAULT_PARTITION_BYTES = 4 * 1024 * 1024

# A fetch may be refused for a moment right after a topic was made or a leader moved.
_STALE_METADATA = frozenset({ErrorCode.UNKNOWN_TOPIC_OR_PARTITION})


class ConsumedRecord(NamedTuple):
    """One record as it lies in the log. A tuple, since one is made per record read."""

    topic: str
    partition: int
    offset: int
    timestamp_ms: int
    log_append_time: bool
    key: bytes | None
    value: bytes | None
    headers: tuple[tuple[str, bytes | None], ...]


class OffsetGoneError(ClientError):
    """The position is outside the log: before its start (deleted meanwhile) or behind its end."""

    def __init__(self, topic: str, partition: int, offset: int) -> None:
        self.topic = topic
        self.partition = partition
        self.offset = offset
        super().__init__(f"{topic}-{partition}: offset {offset} is out of range")


class AbortedTransactions:
    """Filters out what aborted transactions left behind (read_committed, KIP-98).

    Args:
        listed: (first offset, producer id) as the fetch response gave them.
    """

    def __init__(self, listed: list[tuple[int, int]]) -> None:
        self._coming = deque(sorted(listed))
        self._aborted: set[int] = set()

    def hides(self, batch: BatchHeader) -> bool:
        """Tell whether a data batch belongs to an aborted transaction; call for each batch in order."""
        self._advance(batch.last_offset)
        return batch.is_transactional and batch.producer_id in self._aborted

    def marker(self, batch: BatchHeader) -> None:
        """A transaction marker was passed: whatever its producer writes next is another transaction."""
        self._advance(batch.last_offset)
        self._aborted.discard(batch.producer_id)

    def _advance(self, offset: int) -> None:
        while self._coming and self._coming[0][0] <= offset:
            self._aborted.add(self._coming.popleft()[1])


class Consumer:
    """Reads partitions of one topic from given positions.

    Args:
        positions: partition -> next offset to read.
        read_committed: leave out open and aborted transactions.
        check_crc: verify each batch's checksum.
    """

    def __init__(
        self,
        cluster: Cluster,
        topic: str,
        positions: Mapping[int, int],
        *,
        read_committed: bool = False,
        check_crc: bool = True,
        max_wait_ms: int = DEFAULT_MAX_WAIT_MS,
        min_bytes: int = 1,
        fetch_bytes: int = DEFAULT_FETCH_BYTES,
        partition_bytes: int = DEFAULT_PARTITION_BYTES,
    ) -> None:
        self._cluster = cluster
        self._topic = topic
        self.positions = dict(positions)
        self._read_committed = read_committed
        self._check_crc = check_crc
        self._max_wait_ms = max_wait_ms
        self._min_bytes = min_bytes
        self._fetch_bytes = fetch_bytes
        self._partition_bytes = partition_bytes
        self._asked: dict[int, set[int]] = {}
        self._patience = cluster.retry.patience()

    def unassign(self, partition: int) -> None:
        """Stop reading a partition; what a fetch in flight brings of it is dropped."""
        self.positions.pop(partition, None)

    def poll(self) -> Iterator[ConsumedRecord]:
        """Yield the records of the next answer; nothing when max_wait passed without any.

        The position of a partition moves as its records are taken, so a caller that stops in the middle
        finds it right behind the last record it took.

        Raises:
            OffsetGoneError: the position does not exist; set another one and go on.
            ClientError: failing for longer than the cluster's time-out.
        """
        idle = self._idle_by_leader()
        try:
            self._ask(idle)
            leader = self._next_ready()
            response = self._cluster.connection(leader).receive(self._max_wait_ms / 1000)
        except ConnectionLostError as error:
            self._retry_later(error)
            return
        except BrokerError as error:
            self._retry_later(error)
            return
        asked = self._asked.pop(leader)
        if response.error_code:
            self._retry_later(BrokerError(response.error_code, f"fetch of {self._topic}"))
            return
        failure = None
        for topic in response.responses:
            for answer in topic.partitions:
                if answer.partition_index not in asked or answer.partition_index not in self.positions:
                    continue
                if answer.error_code:
                    failure = self._failure(answer)
                    continue
                yield from self._records(answer)
        if failure is None:
            self._patience.progress()
        else:
            self._retry_later(failure)

    def _idle_by_leader(self) -> dict[int, list[int]]:
        """Return the partitions that no fetch in flight asks for, by their leader."""
        busy = set().union(*self._asked.values()) if self._asked else set()
        by_leader: dict[int, list[int]] = {}
        for partition in self.positions:
            if partition not in busy:
                leader = self._cluster.leader_of(self._topic, partition).leader
                by_leader.setdefault(leader, []).append(partition)
        return by_leader

    def _ask(self, by_leader: dict[int, list[int]]) -> None:
        for leader, partitions in by_leader.items():
            if leader in self._asked:
                continue
            connection = self._cluster.connection(leader)
            self._asked[leader] = set(partitions)
            connection.send(FETCH, self._request(connection, partitions))

    def _request(self, connection: Connection, partitions: list[int]) -> Any:
        topic = messages.FetchRequestFetchTopic(
            partitions=[
                messages.FetchRequestFetchPartition(
                    partition=partition,
                    fetch_offset=self.positions[partition],
                    current_leader_epoch=self._cluster.leader_of(self._topic, partition).leader_epoch,
                    partition_max_bytes=self._partition_bytes,
                )
                for partition in partitions
            ]
        )
        if connection.version_of(FETCH) >= 13:
            topic.topic_id = self._cluster.topic(self._topic).topic_id
        else:
            topic.topic = self._topic
        return messages.FetchRequest(
            max_wait_ms=self._max_wait_ms,
            min_bytes=self._min_bytes,
            max_bytes=self._fetch_bytes,
            isolation_level=int(self._read_committed),
            topics=[topic],
        )

    def _next_ready(self) -> int:
        """Return a leader whose answer is there."""
        connections = {self._cluster.connection(leader): leader for leader in self._asked}
        if not connections:
            raise ConnectionLostError("no partition has a leader to read from")
        if len(connections) == 1:
            return next(iter(connections.values()))
        readable, _, _ = select.select(
            list(connections), [], [], self._max_wait_ms / 1000 + self._cluster.timeout_s
        )
        if not readable:
            raise ConnectionLostError("no broker answered in time")
        return connections[readable[0]]

    def _failure(self, answer: Any) -> ClientError:
        partition = answer.partition_index
        if answer.error_code == ErrorCode.OFFSET_OUT_OF_RANGE:
            return OffsetGoneError(self._topic, partition, self.positions[partition])
        soon = True if answer.error_code in _STALE_METADATA else None
        return BrokerError(answer.error_code, f"{self._topic}-{partition}", retriable=soon)

    def _retry_later(self, error: ClientError) -> None:
        for leader in list(self._asked):
            self._cluster.drop(leader)
        self._asked.clear()
        self._patience.failed(error)
        self._cluster.forget_topic(self._topic)

    def _records(self, answer: Any) -> Iterator[ConsumedRecord]:
        if answer.records is None or not len(answer.records):
            return
        partition = answer.partition_index
        aborted = AbortedTransactions(
            [(entry.first_offset, entry.producer_id) for entry in answer.aborted_transactions or ()]
        )
        records = answer.records
        for position, batch in iter_batches(records, allow_partial_tail=True):
            if self._check_crc and not crc_matches(records, position, batch):
                raise ClientError(
                    f"{self._topic}-{partition}: the batch at offset {batch.base_offset} fails its CRC"
                )
            if batch.is_control:
                aborted.marker(batch)
            elif not (self._read_committed and aborted.hides(batch)):
                yield from self._records_of(partition, records, position, batch)
            if partition not in self.positions:
                return
            self.positions[partition] = max(self.positions[partition], batch.next_offset)

    def _records_of(
        self, partition: int, buffer: memoryview, position: int, batch: BatchHeader
    ) -> Iterator[ConsumedRecord]:
        log_append_time = batch.timestamp_type is TimestampType.LOG_APPEND_TIME
        for record in parse_records(buffer, position, batch):
            offset = record.offset
            if offset < self.positions[partition]:
                continue
            yield ConsumedRecord(
                self._topic,
                partition,
                offset,
                record.timestamp,
                log_append_time,
                record.key,
                record.value,
                tuple(record.headers),
            )
            if partition not in self.positions:
                return
            self.positions[partition] = offset + 1
