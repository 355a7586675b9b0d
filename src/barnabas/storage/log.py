"""A partition's log: segments in order, one end to append to, any offset to read from.

The log decides offsets, segments, indexes and durability; it knows no leader, no replicas and no
high watermark of its own: whoever reads gives the bound, whoever deletes gives the high watermark.
Appends are one positioned write of [fresh 16-byte prefix, the producer's bytes]: base offset and leader epoch
lie before the bytes that the CRC covers, so records are neither copied nor checked again (P3).

Locks were rejected: one loop owns a log. Helper threads only ever see FlushWork and FileSlice.
Every OSError takes the log's directory offline and becomes ApiError KAFKA_STORAGE_ERROR.
"""

from collections.abc import Callable, Sequence
from struct import Struct

from barnabas.base.clock import Clock
from barnabas.base.disk import Buffer
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.protocol.checksum import crc32c
from barnabas.protocol.record_batch import (
    ATTRIBUTES_POSITION,
    CRC_POSITION,
    HEADER_BYTES,
    LOG_OVERHEAD_BYTES,
    PREFIX,
    TIMESTAMP_TYPE_BIT,
)
from barnabas.storage.append_info import AppendInfo, FetchDataInfo
from barnabas.storage.batch_scan import BatchHead, parse_head
from barnabas.storage.checkpoints import LEADER_EPOCH_FILE
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.flush_work import FlushWork
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.offset_lookup import TimestampOffset, find_offset_for_timestamp
from barnabas.storage.offset_metadata import LogOffsetMetadata
from barnabas.storage.offset_index import ENTRY_BYTES as OFFSET_ENTRY_BYTES
from barnabas.storage.partition_metadata import write_topic_id
from barnabas.storage.producer_replay import rebuild_producers
from barnabas.storage.producer_state import (
    AppendOrigin,
    EndTransactionMarker,
    ProducerStates,
    VerificationState,
    parse_marker,
)
from barnabas.storage.segment import (
    INDEX_SUFFIX,
    RELATIVE_OFFSET_MAX,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
    LogSegment,
    SealedSegmentCache,
)
from barnabas.storage.segments import Segments
from barnabas.storage.time_index import ENTRY_BYTES as TIME_ENTRY_BYTES
from barnabas.storage.transaction_index import AbortedTransaction

_CRC = Struct(">I")


class Log:
    """The log of one partition; `recovery.open_log` makes it.

    Attributes:
        topic, partition, path: which one and where.
        config: may be replaced at any time; takes effect with the next append.
        log_start_offset: the first offset that may be read.
        recovery_point: everything below it was synced; never goes beyond that.
        topic_id: 16 bytes, or None for a log without partition.metadata.
    """

    __slots__ = (
        "_cache", "_clock", "_deletions", "_end", "_first_unstable", "_random_below", "_topic_id_durable",
        "_unsynced_directory",
        "_unsynced_indexes", "config", "directory", "last_flushed_ms", "leader_epochs", "log_start_offset",
        "on_recovery_point_lowered", "partition", "path", "producers", "recovery_point", "segments", "topic",
        "topic_id",
    )  # fmt: skip

    def __init__(
        self, *, directory: LogDirectory, path: str, topic: str, partition: int, config: LogConfig, clock: Clock,
        cache: SealedSegmentCache, deletions: PendingDeletions, segments: Segments, leader_epochs: LeaderEpochs,
        producers: ProducerStates, log_start_offset: int, log_end_offset: int, recovery_point: int,
        topic_id: bytes | None, topic_id_durable: bool, random_below: Callable[[int], int], fresh: bool,
    ) -> None:  # fmt: skip
        self.directory = directory
        self.path = path
        self.topic = topic
        self.partition = partition
        self.config = config
        self.segments = segments
        self.leader_epochs = leader_epochs
        self.producers = producers
        self.log_start_offset = log_start_offset
        self.recovery_point = recovery_point
        self.topic_id = topic_id
        self.last_flushed_ms = clock.monotonic_ms()
        self.on_recovery_point_lowered: Callable[[Log], None] | None = None
        self._topic_id_durable = topic_id_durable
        self._unsynced_directory = fresh
        self._unsynced_indexes = (
            set()
            if recovery_point >= log_end_offset
            else {segment.base_offset for segment in segments.from_floor(recovery_point) if segment.sealed}
        )
        self._clock = clock
        self._cache = cache
        self._deletions = deletions
        self._random_below = random_below
        active = segments.active
        self._end = LogOffsetMetadata(log_end_offset, active.base_offset, active.size)
        self._first_unstable: LogOffsetMetadata | None = None
        self._find_first_unstable()

    def __repr__(self) -> str:
        return f"Log({self.name}, {self.log_start_offset}..{self.log_end_offset})"

    @property
    def name(self) -> str:
        """`topic-partition`."""
        return f"{self.topic}-{self.partition}"

    @property
    def log_end_offset(self) -> int:
        """The offset the next record gets."""
        return self._end.message_offset

    @property
    def log_end_offset_metadata(self) -> LogOffsetMetadata:
        """The same with its place: the end of the active segment."""
        return self._end

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return self.segments.size

    @property
    def unflushed_messages(self) -> int:
        """Offsets beyond the recovery point."""
        return self._end.message_offset - self.recovery_point

    @property
    def rolled_unflushed(self) -> bool:
        """Whether a sealed segment waits for a flush; Kafka flushes it soon after the roll."""
        return self.recovery_point < self.segments.active.base_offset

    # Appending ---------------------------------------------------------------------------------

    def append(
        self,
        parts: Sequence[Buffer],
        *,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        verification: VerificationState | None = None,
    ) -> AppendInfo:
        """Append one validated batch as the partition's leader, giving it the next offsets.

        Args:
            parts: the batch's bytes in order; parts[0] holds its whole header. Not changed, not kept.
            leader_epoch: stamped into the batch.
            verification: see ProducerStates.check.

        Raises:
            ApiError: RECORD_LIST_TOO_LARGE, the errors of P4, KAFKA_STORAGE_ERROR. Nothing is appended then.
        """
        return self._append_stamped([parts], leader_epoch, origin, verification)

    def append_batches(
        self, batches: Sequence[Sequence[Buffer]], *, leader_epoch: int, origin: AppendOrigin
    ) -> AppendInfo:
        """Append several validated batches as the leader, in one write and into one segment.

        Raises:
            ApiError: as `append`; INVALID_RECORD for several batches of one idempotent client.
        """
        if origin is AppendOrigin.CLIENT and len(batches) > 1:
            raise ApiError(ErrorCode.INVALID_RECORD, "a client appends one batch at a time")
        return self._append_stamped(batches, leader_epoch, origin, None)

    def _append_stamped(
        self,
        batches: Sequence[Sequence[Buffer]],
        leader_epoch: int,
        origin: AppendOrigin,
        verification: VerificationState | None,
    ) -> AppendInfo:
        first_offset = offset = self._end.message_offset
        position = 0
        heads: list[BatchHead] = []
        gathered: list[Buffer] = []
        for parts in batches:
            head = parse_head(parts[0], 0, position)
            if head is None:
                raise ApiError(ErrorCode.CORRUPT_MESSAGE, "no record batch")
            size = head.size
            assert size == sum(map(len, parts)), f"a batch of {size} bytes came as {sum(map(len, parts))}"
            delta = offset - head.base_offset
            if delta:
                head = head._replace(base_offset=offset, last_offset=head.last_offset + delta)
            heads.append(head)
            gathered.append(PREFIX.pack(offset, size - LOG_OVERHEAD_BYTES, leader_epoch))
            gathered.append(memoryview(parts[0])[PREFIX.size :])
            gathered += parts[1:]
            position += size
            offset = head.last_offset + 1
        markers: list[EndTransactionMarker | None] | None = None
        for number, head in enumerate(heads):
            if head.producer_id >= 0:
                if head.is_control:
                    markers = markers or [None] * len(heads)
                    marker = markers[number] = parse_marker(b"".join(batches[number]))
                    if marker is not None:
                        self.producers.check_marker(head, marker, origin)
                    continue
                if origin is AppendOrigin.CLIENT:
                    repeated = self.producers.find_duplicate(head)
                    if repeated is not None:
                        return AppendInfo(
                            repeated.first_offset, repeated.last_offset, repeated.timestamp, repeated.timestamp,
                            self.log_start_offset, 0, duplicate=True,
                        )  # fmt: skip
                self.producers.check(head, origin, verification)
        return self._write(heads, gathered, position, markers, [(leader_epoch, first_offset)])

    def append_as_follower(self, records: Buffer) -> AppendInfo:
        """Append whole batches as a leader sent them: offsets and leader epochs stay.

        Raises:
            ApiError: CORRUPT_MESSAGE for a wrong CRC or a cut batch, OFFSET_OUT_OF_RANGE when they do not
                lie behind the log's end in order, KAFKA_STORAGE_ERROR.
        """
        view = memoryview(records)
        heads: list[BatchHead] = []
        epochs: list[tuple[int, int]] = []
        markers: list[EndTransactionMarker | None] | None = None
        position = 0
        next_offset = self._end.message_offset
        while position < len(view):
            head = parse_head(view, position, position) if len(view) - position >= HEADER_BYTES else None
            if head is None or position + head.size > len(view):
                raise ApiError(ErrorCode.CORRUPT_MESSAGE, f"no whole batch at byte {position}")
            batch = view[position : position + head.size]
            if crc32c(batch[ATTRIBUTES_POSITION:], 0) != _CRC.unpack_from(batch, CRC_POSITION)[0]:
                raise ApiError(
                    ErrorCode.CORRUPT_MESSAGE, f"the batch at offset {head.base_offset} is damaged"
                )
            if head.base_offset < next_offset:
                raise ApiError(
                    ErrorCode.OFFSET_OUT_OF_RANGE, f"offset {head.base_offset} where {next_offset} is due"
                )
            if head.is_control and head.producer_id >= 0:
                markers = (markers or []) + [None] * (len(heads) - len(markers or [])) + [parse_marker(batch)]
            heads.append(head)
            epochs.append((head.leader_epoch, head.base_offset))
            next_offset = head.last_offset + 1
            position += head.size
        if not heads:
            offset = self._end.message_offset
            return AppendInfo(offset, offset - 1, -1, -1, self.log_start_offset, 0)
        if markers is not None:
            markers += [None] * (len(heads) - len(markers))
        return self._write(heads, [view], position, markers, epochs)

    def _write(
        self,
        heads: list[BatchHead],
        parts: list[Buffer],
        size: int,
        markers: list[EndTransactionMarker | None] | None,
        epochs: list[tuple[int, int]],
    ) -> AppendInfo:
        """Roll if due, write, and account for what was written; the batches were checked."""
        directory = self.directory
        if directory.failure is not None:
            directory.check()
        max_timestamp = heads[0].max_timestamp if len(heads) == 1 else max(h.max_timestamp for h in heads)
        try:
            if not self._topic_id_durable:
                self._write_topic_id()
            segment = self._segment_for(size, heads[0].base_offset, heads[-1].last_offset, max_timestamp)
            base_position = segment.append(parts)
        except OSError as error:
            raise directory.failed(error, f"appending to {self.name}") from error
        leader_epochs = self.leader_epochs
        for epoch, start_offset in epochs:
            if epoch != leader_epochs.latest_epoch and epoch >= 0:
                leader_epochs.assign(epoch, start_offset)
        last_offset = heads[-1].last_offset
        for number, head in enumerate(heads):
            segment.note_batch(base_position + head.position, head.size, head.last_offset, head.max_timestamp)
            if head.producer_id >= 0:
                self._apply(segment, base_position, head, markers[number] if markers is not None else None)
        self._end = LogOffsetMetadata(last_offset + 1, segment.base_offset, segment.size)
        self.producers.map_end_offset = last_offset + 1
        if last_offset + 1 - self.recovery_point >= self.config.flush_messages:
            self.flush()
        return AppendInfo(
            heads[0].base_offset, last_offset, max_timestamp,
            heads[-1].max_timestamp if heads[-1].attributes & TIMESTAMP_TYPE_BIT else -1,
            self.log_start_offset, size,
        )  # fmt: skip

    def _apply(
        self, segment: LogSegment, base_position: int, head: BatchHead, marker: EndTransactionMarker | None
    ) -> None:
        producers = self.producers
        if not head.is_control:
            place = LogOffsetMetadata(head.base_offset, segment.base_offset, base_position + head.position)
            producers.apply_batch(head, place)
            if head.is_transactional:
                self._find_first_unstable()
        elif marker is not None:
            completed = producers.apply_marker(head, marker)
            if completed is not None:
                if completed.aborted:
                    stable = producers.last_stable_offset(completed)
                    segment.transaction_index.append(
                        AbortedTransaction(
                            completed.producer_id, completed.first_offset, completed.last_offset, stable
                        )
                    )
                producers.complete(completed)
                self._find_first_unstable()

    def _write_topic_id(self) -> None:
        if self.topic_id is not None:
            write_topic_id(self.directory.disk, self.path, self.topic_id)
        self._topic_id_durable = True

    def assign_topic_id(self, topic_id: bytes) -> None:
        """Tell a log without partition.metadata its topic id; written before the next append."""
        assert self.topic_id in (None, topic_id), f"{self.name} has another topic id"
        if self.topic_id is None:
            self.topic_id = topic_id
            self._topic_id_durable = False

    # Rolling -----------------------------------------------------------------------------------

    def _segment_for(self, size: int, first_offset: int, last_offset: int, max_timestamp: int) -> LogSegment:
        """Return the active segment, a new one when these batches do not fit or it is too old."""
        config = self.config
        if size > config.segment_bytes:
            raise ApiError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"{size} bytes of batches do not fit into a segment of {config.segment_bytes} bytes",
            )
        segment = self.segments.active
        index_bytes = config.segment_index_bytes
        if (
            segment.size > config.segment_bytes - size
            or (
                segment.size > 0
                and segment.time_waited_for_roll(self._clock.wall_ms(), max_timestamp)
                > config.roll_ms - segment.jitter_ms
            )
            or len(segment.offset_index) >= index_bytes // OFFSET_ENTRY_BYTES
            or len(segment.time_index) >= index_bytes // TIME_ENTRY_BYTES - 1
            or last_offset - segment.base_offset > RELATIVE_OFFSET_MAX
        ):
            return self._roll(first_offset)
        return segment

    def roll(self) -> None:
        """Seal the active segment and start another at the log's end; an empty one is kept.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        if self.segments.active.size:
            try:
                self._roll(self._end.message_offset)
            except OSError as error:
                raise self.directory.failed(error, f"rolling {self.name}") from error

    def _roll(self, first_offset: int) -> LogSegment:
        base_offset = max(first_offset, self._end.message_offset)
        active = self.segments.active
        if active.base_offset == base_offset:
            # Only an empty segment can have the log's end as its base: its settings are what is stale.
            assert active.size == 0, active
            active.abandon()
        else:
            active.seal()
            if self.recovery_point >= self._end.message_offset:
                # A crash would start behind this segment and trust its indexes.
                active.sync_indexes()
            else:
                self._unsynced_indexes.add(active.base_offset)
        segment = self._new_segment(base_offset)
        self.segments.add(segment)
        self._end = LogOffsetMetadata(self._end.message_offset, base_offset, 0)
        self.producers.remove_expired(self._clock.wall_ms())
        self.producers.map_end_offset = base_offset
        self.producers.take_snapshot()
        return segment

    def _new_segment(self, base_offset: int) -> LogSegment:
        config = self.config
        jitter_below = min(config.segment_jitter_ms, config.segment_ms)
        self._unsynced_directory = True
        return LogSegment.create(
            disk=self.directory.disk,
            cache=self._cache,
            directory=self.path,
            base_offset=base_offset,
            created_ms=self._clock.wall_ms(),
            index_interval_bytes=config.index_interval_bytes,
            jitter_ms=self._random_below(jitter_below) if jitter_below > 0 else 0,
        )

    # Reading -----------------------------------------------------------------------------------

    def read(
        self,
        start_offset: int,
        bound: LogOffsetMetadata,
        max_bytes: int,
        *,
        min_one_message: bool = False,
        include_aborted: bool = False,
    ) -> FetchDataInfo:
        """Return where `start_offset` lies and a slice of one segment from there (F14, F18-F23).

        Args:
            bound: exclusive: the log's end, HW, or LSO for read_committed (KIP-98). Without a place nothing is
                read from its segment: convert it by `offset_metadata` first (F20).
            max_bytes: the slice may end inside a batch there.
            min_one_message: the first batch is whole even above max_bytes (KIP-74).
            include_aborted: tell the aborted transactions of the range (F17).

        Raises:
            ApiError: OFFSET_OUT_OF_RANGE outside of [log start, log end], CORRUPT_MESSAGE for a damaged
                segment, KAFKA_STORAGE_ERROR.
        """
        directory = self.directory
        if directory.failure is not None:
            directory.check()
        if not self.log_start_offset <= start_offset <= self._end.message_offset:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {start_offset} of {self.name}, which holds "
                f"{self.log_start_offset} to {self._end.message_offset}",
            )
        aborted: list[AbortedTransaction] | None = [] if include_aborted else None
        if start_offset >= bound.message_offset:
            place = bound if start_offset == bound.message_offset else self.offset_metadata(start_offset)
            return FetchDataInfo(place, aborted_transactions=aborted)
        try:
            segment = self.segments.floor(start_offset)
            while segment is not None:
                found = segment.find(start_offset)
                if found is not None:
                    return self._cut(segment, start_offset, found, bound, max_bytes, min_one_message, aborted)
                segment = self.segments.higher(segment.base_offset)
        except OSError as error:
            raise directory.failed(error, f"reading {self.name}") from error
        return FetchDataInfo(self._end, aborted_transactions=aborted)

    def _cut(
        self,
        segment: LogSegment,
        start_offset: int,
        found: tuple[int, int],
        bound: LogOffsetMetadata,
        max_bytes: int,
        min_one_message: bool,
        aborted: list[AbortedTransaction] | None,
    ) -> FetchDataInfo:
        """Cut the slice of one segment at the bound (F20) and at the limit (F21)."""
        position, first_size = found
        place = LogOffsetMetadata(start_offset, segment.base_offset, position)
        limit = max(max_bytes, first_size) if min_one_message else max_bytes
        if bound.segment_base_offset > segment.base_offset:
            end = segment.size
        elif bound.segment_base_offset == segment.base_offset:
            end = bound.position_in_segment
        else:
            return FetchDataInfo(place, aborted_transactions=aborted)  # the bound's place is unknown
        length = min(end - position, limit)
        if length <= 0:
            return FetchDataInfo(place, aborted_transactions=aborted)
        if aborted is not None:
            self._collect_aborted(segment, start_offset, position + length, aborted)
        return FetchDataInfo(place, segment.slice(position, length), limit < first_size, aborted)

    def _collect_aborted(
        self, segment: LogSegment, start_offset: int, end_position: int, found: list[AbortedTransaction]
    ) -> None:
        """Gather the aborted transactions of a slice; may be more than strictly needed, as in Kafka (F17)."""
        upper = segment.offset_index.offset_at_or_after(end_position)
        if upper is None:
            higher = self.segments.higher(segment.base_offset)
            upper = higher.base_offset if higher is not None else self._end.message_offset
        looked_at: LogSegment | None = segment
        while looked_at is not None and not looked_at.transaction_index.collect(start_offset, upper, found):
            looked_at = self.segments.higher(looked_at.base_offset)

    def offset_metadata(self, offset: int) -> LogOffsetMetadata:
        """Return an offset with the place of the batch that holds it, or the next one behind a gap.

        Raises:
            ApiError: OFFSET_OUT_OF_RANGE outside of [log start, log end], KAFKA_STORAGE_ERROR.
        """
        if offset == self._end.message_offset:
            return self._end
        if not self.log_start_offset <= offset < self._end.message_offset:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"offset {offset} of {self.name}, which holds {self.log_start_offset} to {self._end.message_offset}",
            )
        try:
            segment = self.segments.floor(offset)
            while segment is not None:
                found = segment.find(offset)
                if found is not None:
                    return LogOffsetMetadata(offset, segment.base_offset, found[0])
                segment = self.segments.higher(segment.base_offset)
        except OSError as error:
            raise self.directory.failed(error, f"reading {self.name}") from error
        return self._end

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """Answer ListOffsets by time: the first record at or after `timestamp`, or one of the special times.

        Args:
            timestamp: milliseconds, or -1 latest, -2 earliest, -3 the largest timestamp (KIP-734), -4 earliest
                local, -5 latest tiered, -6 earliest pending upload; the last two have offset -1 here.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE; UNSUPPORTED_VERSION for other negative times.
        """
        self.directory.check()
        try:
            return find_offset_for_timestamp(self, timestamp)
        except OSError as error:
            raise self.directory.failed(error, f"reading {self.name}") from error

    # Transactions ------------------------------------------------------------------------------

    @property
    def first_unstable_offset(self) -> LogOffsetMetadata | None:
        """Where the first transaction begins whose marker is missing or not below the HW, with its place (F5)."""
        return self._first_unstable

    def high_watermark_advanced(self, high_watermark: int) -> None:
        """Tell the log the new high watermark; `first_unstable_offset` may move."""
        if self._first_unstable is not None:
            self.producers.high_watermark_advanced(high_watermark)
            self._find_first_unstable()

    def _find_first_unstable(self) -> None:
        first = self.producers.first_unstable()
        if first is not None and (first.message_offset_only or first.message_offset < self.log_start_offset):
            first = self.offset_metadata(max(first.message_offset, self.log_start_offset))
        self._first_unstable = first

    # Flushing and closing ------------------------------------------------------------------------

    def begin_flush(self, up_to_offset: int | None = None) -> FlushWork | None:
        """Collect what must be synced so that everything below `up_to_offset` (the log's end) is durable.

        Returns:
            None when all of it is. Else run it, on any thread, then call `finish_flush`.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        self.directory.check()
        end = (
            self._end.message_offset if up_to_offset is None else min(up_to_offset, self._end.message_offset)
        )
        if end <= self.recovery_point and not self._unsynced_directory:
            return None
        files = []
        sealed: list[int] = []
        paths: list[str] = []
        try:
            if not self._topic_id_durable:
                self._write_topic_id()
            for segment in self.segments.from_floor(self.recovery_point):
                if segment.base_offset >= end and segment.size:
                    break
                files.append(segment.leased)
                if segment.sealed:
                    sealed.append(segment.base_offset)
                    segment.write_indexes()
                    paths += map(segment.path, (INDEX_SUFFIX, TIME_INDEX_SUFFIX, TRANSACTION_INDEX_SUFFIX))
                    higher = self.segments.higher(segment.base_offset)
                    if higher is not None and higher.base_offset in self.producers.snapshot_offsets:
                        paths.append(self.producers.path(higher.base_offset))
            self.leader_epochs.persist(self.directory.disk)
        except OSError as error:
            raise self.directory.failed(error, f"flushing {self.name}") from error
        directories = [self.path, self.directory.path] if self._unsynced_directory else []
        self._unsynced_directory = False
        return FlushWork(
            disk=self.directory.disk, up_to_offset=end, sealed=sealed, files=files, paths=paths,
            directories=directories,
        )  # fmt: skip

    def finish_flush(self, work: FlushWork, error: OSError | None = None) -> None:
        """Move the recovery point after `work` ran; with its error, take the directory offline instead.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR when `error` is given.
        """
        work.release()
        if error is not None:
            raise self.directory.failed(error, f"flushing {self.name}") from error
        self._unsynced_indexes.difference_update(work.sealed)
        reached = min(work.up_to_offset, self._end.message_offset)  # a truncation meanwhile has lowered both
        for base_offset in self._unsynced_indexes:
            # A segment that was sealed meanwhile: keep the point inside it, so that a crash makes its indexes anew.
            higher = self.segments.higher(base_offset)
            if higher is not None:
                reached = min(reached, higher.base_offset - 1)
        self.recovery_point = max(self.recovery_point, reached)
        self.last_flushed_ms = self._clock.monotonic_ms()

    def flush(self) -> None:
        """Make everything appended so far durable before returning.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        work = self.begin_flush()
        if work is not None:
            failure: OSError | None = None
            try:
                work.run()
            except OSError as error:
                failure = error
            self.finish_flush(work, failure)

    def close(self) -> None:
        """Flush everything, indexes and a producer snapshot at the log's end included, and let go of the files.

        After it a start may trust the directory without reading the batches.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        self.directory.check()
        disk = self.directory.disk
        try:
            self.producers.take_snapshot()
            active = self.segments.active
            if active.size:
                active.time_index.maybe_append(active.max_timestamp, active.max_timestamp_offset)
            active.write_indexes()
            self._unsynced_directory = True
            self.flush()
            active.sync_indexes()
            self.producers.sync_snapshot(self._end.message_offset)
        except OSError as error:
            raise self.directory.failed(error, f"closing {self.name}") from error
        self.abandon()

    def abandon(self) -> None:
        """Let go of all files without writing: the directory failed, or the log is being deleted."""
        for segment in self.segments:
            segment.abandon()

    # Deleting and truncating ---------------------------------------------------------------------

    def truncate_to(self, offset: int) -> None:
        """Cut the log so that it ends at `offset`, or where the batch that holds `offset` begins.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        if offset < 0:
            raise ValueError(f"no log ends at offset {offset}")
        self.directory.check()
        if offset >= self._end.message_offset:
            return
        if offset <= self.segments.first.base_offset:
            self.truncate_fully(offset)
            return
        try:
            last = self.segments.floor(offset)
            assert last is not None
            found = last.find(offset)
            # A batch that reaches across `offset` goes as a whole.
            end = offset if found is None else last.base_offset_at(found[0])
            self._lower_recovery_point(end)
            for segment in reversed(self.segments.at_or_above(last.base_offset + 1)):
                # From the end, so that a crash in between leaves a log without a hole.
                self._remove_segments([segment], snapshots=False)
            # Names first: a file that is cut for certain below segments that come back would be a hole.
            self.directory.disk.sync_dir(self.path)
            last.unseal()
            self._unsynced_indexes.discard(last.base_offset)
            if found is None:
                last.remember_from(end)
            else:
                last.truncate_to(found[0], end)
            self._end = LogOffsetMetadata(end, last.base_offset, last.size)
            self.leader_epochs.truncate_from_end(end)
            self.log_start_offset = min(self.log_start_offset, end)
            self._reload_producers()
        except OSError as error:
            raise self.directory.failed(error, f"truncating {self.name}") from error

    def truncate_fully(self, new_start_offset: int) -> None:
        """Drop everything and go on, empty, at `new_start_offset`.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        self.directory.check()
        self._lower_recovery_point(new_start_offset)
        try:
            for segment in reversed(list(self.segments)):
                self._remove_segments([segment], snapshots=True)
            self.directory.disk.sync_dir(self.path)
            segment = self._new_segment(new_start_offset)
            self.segments.add(segment)
            self._end = LogOffsetMetadata(new_start_offset, new_start_offset, 0)
            self.log_start_offset = new_start_offset
            self.leader_epochs.clear()
            self.leader_epochs.persist(self.directory.disk)
            for offset in list(self.producers.snapshot_offsets):
                self.producers.drop_snapshot(offset)
            self.producers.reload(new_start_offset, new_start_offset, self._clock.wall_ms())
            self._find_first_unstable()
        except OSError as error:
            raise self.directory.failed(error, f"truncating {self.name}") from error

    def _lower_recovery_point(self, offset: int) -> None:
        """Before the cut: what is appended at these offsets next is not synced, a crash must not trust it."""
        if offset < self.recovery_point:
            self.recovery_point = offset
            if self.on_recovery_point_lowered is not None:
                self.on_recovery_point_lowered(self)

    def _reload_producers(self) -> None:
        end, start = self._end.message_offset, self.log_start_offset
        rebuild_producers(self.producers, self.segments, start, end, self._clock.wall_ms())
        self._find_first_unstable()

    def delete_records(self, up_to_offset: int, high_watermark: int) -> int:
        """Advance the log's start and drop the segments that lie before it; return the new start.

        Args:
            up_to_offset: exclusive; -1 for the high watermark.

        Raises:
            ApiError: OFFSET_OUT_OF_RANGE beyond the high watermark or below -1; KAFKA_STORAGE_ERROR.
        """
        offset = high_watermark if up_to_offset == -1 else up_to_offset
        if offset < 0 or offset > high_watermark:
            raise ApiError(
                ErrorCode.OFFSET_OUT_OF_RANGE,
                f"records of {self.name} up to {offset} cannot be deleted, the high watermark is {high_watermark}",
            )
        self.advance_log_start(offset)
        return self.log_start_offset

    def advance_log_start(self, offset: int) -> None:
        """Move the log's start up to `offset`, never back; whole segments before it go.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        self.directory.check()
        if offset <= self.log_start_offset:
            return
        assert offset <= self._end.message_offset, f"{self.name} ends before {offset}"
        self.log_start_offset = offset
        self.leader_epochs.truncate_from_start(offset)
        self.producers.log_start_advanced(offset)
        self._find_first_unstable()
        self.delete_segments_before_start()

    def delete_segments_before_start(self) -> int:
        """Drop the segments that hold nothing at or above the log's start, never the active one; return how many."""
        gone = []
        for segment in self.segments:
            higher = self.segments.higher(segment.base_offset)
            if higher is None or higher.base_offset > self.log_start_offset:
                break
            gone.append(segment)
        self._delete(gone)
        return len(gone)

    def delete_oldest_segments(self, segments: Sequence[LogSegment]) -> None:
        """Drop a prefix of the segments; the log's start moves behind them first.

        When all are dropped, the active one is rolled before.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        if not segments:
            return
        self.directory.check()
        if segments[-1] is self.segments.active:
            self.roll()
        higher = self.segments.higher(segments[-1].base_offset)
        if higher is None:
            return  # an empty active segment stays
        if higher.base_offset > self.log_start_offset:
            self.log_start_offset = higher.base_offset
            self.leader_epochs.truncate_from_start(higher.base_offset)
            self.producers.log_start_advanced(higher.base_offset)
            self._find_first_unstable()
        self._delete(list(segments))

    def _delete(self, segments: list[LogSegment]) -> None:
        try:
            self._remove_segments(segments, snapshots=True)
        except OSError as error:
            raise self.directory.failed(error, f"deleting segments of {self.name}") from error

    def _remove_segments(self, segments: list[LogSegment], *, snapshots: bool) -> None:
        """Rename the files of segments; they are unlinked after file.delete.delay.ms."""
        due_ms = self._clock.monotonic_ms() + self.config.file_delete_delay_ms
        for segment in segments:
            self.segments.remove(segment.base_offset)
            self._unsynced_indexes.discard(segment.base_offset)
            for path in segment.mark_deleted():
                self._deletions.add(path, due_ms)
            if snapshots and segment.base_offset in self.producers.snapshot_offsets:
                self.producers.drop_snapshot(segment.base_offset)

    def move_directory(self, path: str) -> None:
        """Rename the partition's directory; open files and slices go on.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        try:
            self.directory.disk.rename(self.path, path)
        except OSError as error:
            raise self.directory.failed(error, f"renaming {self.path}") from error
        self.path = path
        for segment in self.segments:
            segment.directory = path
        self.producers.move(path)
        self.leader_epochs.move(f"{path}/{LEADER_EPOCH_FILE}")

    def statistics(self) -> dict[str, int]:
        """Figures for metrics: offsets, bytes, segments, producers."""
        return {
            "log_start_offset": self.log_start_offset,
            "log_end_offset": self._end.message_offset,
            "recovery_point": self.recovery_point,
            "size_bytes": self.size,
            "segments": len(self.segments),
            "producers": len(self.producers.producers),
        }
