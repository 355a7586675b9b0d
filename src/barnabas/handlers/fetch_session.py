"""One fetch session: the partitions a client reads, and what it was last told of each (KIP-227).

A client that reads a thousand partitions names them once; later requests name what changes, and answers
hold what has changed. Nothing here knows of slots or ids (see fetch_session_cache.py), of clocks or sockets.

The partitions are the very objects that the replica layer reads: a request changes those it names in place
and makes none. That is safe while an older fetch of the session is parked with them, since a request that
changes them also moves the epoch, and an answer of an older epoch is replaced by an error. Which of them a
fetch need not read, since they are as its client knows them: replica/session_partitions.py.

Rejected: what Apache Kafka does, to make the request's partitions anew from the cached ones for every fetch.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence

from barnabas.base.errors import ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.handlers.fetch_partitions import PartitionKey, change_partition, sort_out
from barnabas.replica.fetch import (
    NO_PREFERRED_REPLICA,
    UNKNOWN_OFFSET,
    FetchParams,
    FetchPartition,
    FetchPartitionResult,
)
from barnabas.replica.session_partitions import SessionPartition, SessionPartitions

if TYPE_CHECKING:
    from barnabas.metadata.image import MetadataImage
    from barnabas.protocol import messages

INITIAL_EPOCH: Final = 0
"""A full fetch that opens a session."""

FINAL_EPOCH: Final = -1
"""A full fetch that opens none. Both end the session they name, if any."""

EPOCH_MAX: Final = 2**31 - 1

_NONE: Final = ErrorCode.NONE


def next_session_epoch(epoch: int) -> int:
    """Return the epoch of the request after this one: from the largest on to 1, since 0 is a full fetch."""
    return 1 if epoch == EPOCH_MAX else epoch + 1


class CachedPartition(SessionPartition):
    """A partition as a session keeps it.

    Attributes:
        topic: "" while the topic id is unknown; looked up again by later requests (F37).
        told_high_watermark: what the client was last told; -1 makes the next answer tell it again.
        told_log_start_offset: the same of the log's start.
    """

    __slots__ = ("told_high_watermark", "told_log_start_offset")

    told_high_watermark: int
    told_log_start_offset: int

    def told(self, high_watermark: int, log_start_offset: int) -> None:
        """Note what the client learns."""
        self.told_high_watermark = high_watermark
        self.told_log_start_offset = log_start_offset


class FetchSession:
    """What one client reads.

    Args:
        partitions: in the order they are read; the session's own from here on. What is moved behind others
            moves here too.
        uses_topic_ids: whether requests name topics by id (version 13 and above).
        privileged: a follower's.
        now_ms: monotonic.

    Attributes:
        epoch: that the next request has to name.
        counted_size, evictable_by_all: the cache's notes.
        reading: those that can be read, as the replica layer reads them.
    """

    __slots__ = (
        "_failed",
        "_new",
        "_resolved",
        "client_host",
        "client_id",
        "counted_size",
        "created_ms",
        "epoch",
        "evictable_by_all",
        "id",
        "last_used_ms",
        "partitions",
        "privileged",
        "reading",
        "uses_topic_ids",
    )

    def __init__(  # noqa: PLR0917 - as many as it has facts
        self,
        session_id: int,
        partitions: dict[PartitionKey, CachedPartition],
        uses_topic_ids: bool,
        privileged: bool,
        now_ms: int,
        client_id: str,
        client_host: str,
    ) -> None:
        self.id = session_id
        self.partitions = partitions
        self.uses_topic_ids = uses_topic_ids
        self.privileged = privileged
        self.created_ms = self.last_used_ms = now_ms
        self.client_id = client_id
        self.client_host = client_host
        self.epoch = next_session_epoch(INITIAL_EPOCH)
        self.counted_size = 0
        self.evictable_by_all = False
        self.reading = SessionPartitions()
        self._new: list[CachedPartition] = []
        self._failed: list[tuple[CachedPartition, ErrorCode]] = []
        self._resolved: tuple[int, bool] | None = None

    # Requests

    def update(
        self,
        topics: Iterable[messages.FetchRequestFetchTopic],
        forgotten: Iterable[messages.FetchRequestForgottenTopic],
    ) -> None:
        """Add or change the partitions a request names, then drop those it forgets (F35)."""
        partitions, with_ids = self.partitions, self.uses_topic_ids
        for topic in topics:
            name: str | bytes = topic.topic_id if with_ids else topic.topic
            for part in topic.partitions:
                key = (name, part.partition)
                cached = partitions.get(key)
                if cached is None:
                    cached = partitions[key] = CachedPartition(
                        topic.topic, topic.topic_id, part.partition, 0, 0
                    )
                    cached.told(UNKNOWN_OFFSET, UNKNOWN_OFFSET)
                    self._new.append(cached)
                else:
                    self.reading.mark(cached)
                change_partition(cached, part)
        for gone in forgotten:
            name = gone.topic_id if with_ids else gone.topic
            for index in gone.partitions:
                dropped = partitions.pop((name, index), None)
                if dropped is not None and not self.reading.discard(dropped):
                    self._resolved = None  # it was not there, or not sorted out yet

    def resolve(self, image: MetadataImage, *, in_order: bool) -> Sequence[tuple[CachedPartition, ErrorCode]]:
        """Have `reading` hold what can be read, return what is not there, as the metadata has it now (F37).

        An id keeps the name it was once found under: when its topic is deleted and another of that name made,
        reading tells INCONSISTENT_TOPIC_ID, as Apache Kafka does.

        Args:
            in_order: see `sort_out`.
        """
        as_of = (image.topics_version, in_order)
        with_ids = self.uses_topic_ids
        if self._new and self._resolved == as_of:
            readable, failed = sort_out(self._new, image, with_ids=with_ids, in_order=in_order)
            if failed:
                self._resolved = None  # where they stand among others that fail, only all together tell
            else:
                for partition in readable:
                    self.reading.add(partition)
        if self._resolved != as_of:
            readable, self._failed = sort_out(
                self.partitions.values(), image, with_ids=with_ids, in_order=in_order
            )
            self.reading.replace(readable)
            self._resolved = as_of
        if self._new:
            self._new = []
        return self._failed

    def read_by(self, params: FetchParams, *, all_of_them: bool) -> None:
        """A fetch begins: which partitions it has to read is known from here on.

        Versions before 11 may read the leader only, and those before 10 hear of zstd; a follower's read has
        effects of its own. They are few, and have everything read.
        """
        told_by_isolation = params.client_metadata is not None and not params.is_from_follower
        self.reading.read_as(params.isolation if told_by_isolation and not all_of_them else None)

    # Answers

    def news(
        self,
        read: Sequence[CachedPartition],
        results: Sequence[FetchPartitionResult],
        failed: Sequence[tuple[CachedPartition, ErrorCode]],
    ) -> tuple[list[CachedPartition], list[FetchPartitionResult]]:
        """Return the partitions that were read and that the client must be told of, with their results (F37).

        What it is told is noted. Partitions with records move behind all others, so that each gets its turn
        at the shared byte limit. Those in `failed` are told always.
        """
        told: list[CachedPartition] = []
        told_results: list[FetchPartitionResult] = []
        moved: dict[CachedPartition, None] = {}
        for partition, result in zip(read, results, strict=True):
            high_watermark = result.high_watermark
            if result.records is not None:
                moved[partition] = None
            elif (
                partition.told_high_watermark == high_watermark
                and partition.told_log_start_offset == result.log_start_offset
                and result.error_code is _NONE
                and result.preferred_read_replica == NO_PREFERRED_REPLICA
                and result.diverging_epoch is None
            ):
                continue
            # That of an error is -1, so whatever comes after it is news.
            partition.told_high_watermark = high_watermark
            partition.told_log_start_offset = result.log_start_offset
            told.append(partition)
            told_results.append(result)
        for missing, _ in failed:
            missing.told(UNKNOWN_OFFSET, UNKNOWN_OFFSET)
        if moved and len(moved) < len(self.partitions):
            self._move_behind(moved)
        return told, told_results

    def _move_behind(self, moved: dict[CachedPartition, None]) -> None:
        partitions = self.partitions
        for partition in moved:
            key = self._key(partition)
            partitions[key] = partitions.pop(key)
            self.reading.move_behind(partition)

    def _key(self, partition: FetchPartition) -> PartitionKey:
        return (partition.topic_id if self.uses_topic_ids else partition.topic, partition.partition)
