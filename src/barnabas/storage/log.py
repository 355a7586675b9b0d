"""A partition's log: segments in order, one end to append to, any offset to read from.

The log decides offsets, segments, indexes and durability; it knows no leader, no replicas and no
high watermark of its own: whoever reads gives the bound, whoever deletes gives the high watermark.
Appends are one positioned write of [fresh 16-byte prefix, the producer's bytes]: base offset and leader epoch
lie before the bytes that the CRC covers, so records are neither copied nor checked again (P3).

Locks were rejected: one loop owns a log. Helper threads only ever see FlushWork and FileSlice.
Every OSError takes the log's directory offline and becomes ApiError KAFKA_STORAGE_ERROR.
"""

from collections.abc import Sequence

from barnabas.base.disk import Buffer
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.protocol.record_batch import CONTROL_BIT, TIMESTAMP_TYPE_BIT, TRANSACTIONAL_BIT
from barnabas.storage import log_read
from barnabas.storage.append_info import AppendInfo, FetchDataInfo
from barnabas.storage.checkpoints import LEADER_EPOCH_FILE
from barnabas.storage.durability import Durability
from barnabas.storage.flush_work import FlushWork
from barnabas.storage.incoming_batches import IncomingBatches, stamp_batches, take_batches
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.offset_lookup import TimestampOffset, find_offset_for_timestamp
from barnabas.storage.offset_metadata import LogOffsetMetadata
from barnabas.storage.partition_metadata import write_topic_id
from barnabas.storage.producer_replay import apply_head, rebuild_producers
from barnabas.storage.producer_state import AppendOrigin, ProducerStates, VerificationState
from barnabas.storage.segment import LogSegment
from barnabas.storage.segment_factory import SegmentFactory, roll_is_due
from barnabas.storage.segments import Segments

_MOVES_FIRST_UNSTABLE = TRANSACTIONAL_BIT | CONTROL_BIT


class Log:
    """The log of one partition; `recovery.open_log` makes it.

    Attributes:
        topic, partition, path: which one and where.
        config: may be replaced at any time; takes effect with the next append.
        log_start_offset: the first offset that may be read.
        durability: the recovery point and what a flush must do.
        topic_id: 16 bytes, or None for a log without partition.metadata.
    """

    __slots__ = (
        "_end",
        "_factory",
        "_first_unstable",
        "_topic_id_durable",
        "config",
        "directory",
        "durability",
        "leader_epochs",
        "log_start_offset",
        "partition",
        "producers",
        "segments",
        "topic",
        "topic_id",
    )

    def __init__(
        self,
        *,
        directory: LogDirectory,
        topic: str,
        partition: int,
        config: LogConfig,
        factory: SegmentFactory,
        segments: Segments,
        durability: Durability,
        leader_epochs: LeaderEpochs,
        producers: ProducerStates,
        log_start_offset: int,
        log_end_offset: int,
        topic_id: bytes | None,
        topic_id_durable: bool,
    ) -> None:
        self.directory = directory
        self.topic = topic
        self.partition = partition
        self.config = config
        self.segments = segments
        self.durability = durability
        self.leader_epochs = leader_epochs
        self.producers = producers
        self.log_start_offset = log_start_offset
        self.topic_id = topic_id
        self._topic_id_durable = topic_id_durable
        self._factory = factory
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
    def path(self) -> str:
        """The partition's directory."""
        return self._factory.path

    @property
    def log_end_offset(self) -> int:
        """The offset the next record gets."""
        return self._end.message_offset

    @property
    def log_end_offset_metadata(self) -> LogOffsetMetadata:
        """The same with its place: the end of the active segment."""
        return self._end

    @property
    def recovery_point(self) -> int:
        """Everything below it was synced."""
        return self.durability.recovery_point

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return self.segments.size

    @property
    def unflushed_messages(self) -> int:
        """Offsets beyond the recovery point."""
        return self._end.message_offset - self.durability.recovery_point

    @property
    def rolled_unflushed(self) -> bool:
        """Whether a sealed segment waits for a flush; Kafka flushes it soon after the roll."""
        return self.durability.recovery_point < self.segments.active.base_offset

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
        incoming = stamp_batches((parts,), self._end.message_offset, leader_epoch)
        head = incoming.heads[0]
        if head.producer_id >= 0:
            repeated = self._check_producer(incoming, 0, origin, verification)
            if repeated is not None:
                return repeated
        return self._write(incoming)

    def append_batches(
        self, batches: Sequence[Sequence[Buffer]], *, leader_epoch: int, origin: AppendOrigin
    ) -> AppendInfo:
        """Append several validated batches as the leader, in one write and into one segment.

        Raises:
            ApiError: as `append`; INVALID_RECORD for several batches of one client.
        """
        if origin is AppendOrigin.CLIENT and len(batches) > 1:
            raise ApiError(ErrorCode.INVALID_RECORD, "a client appends one batch at a time")
        incoming = stamp_batches(batches, self._end.message_offset, leader_epoch)
        for number, head in enumerate(incoming.heads):
            if head.producer_id >= 0:
                repeated = self._check_producer(incoming, number, origin, None)
                if repeated is not None:
                    return repeated
        return self._write(incoming)

    def append_as_follower(self, records: Buffer) -> AppendInfo:
        """Append whole batches as a leader sent them: offsets and leader epochs stay.

        Raises:
            ApiError: CORRUPT_MESSAGE for a wrong CRC or a cut batch, OFFSET_OUT_OF_RANGE when they do not
                lie behind the log's end in order, KAFKA_STORAGE_ERROR.
        """
        return self._write(take_batches(records, self._end.message_offset))

    def _check_producer(
        self,
        incoming: IncomingBatches,
        number: int,
        origin: AppendOrigin,
        verification: VerificationState | None,
    ) -> AppendInfo | None:
        """Refuse what a producer may not append (P4); return the first outcome of a repeated batch."""
        head = incoming.heads[number]
        if head.is_control:
            marker = incoming.markers.get(number)
            if marker is not None:
                self.producers.check_marker(head, marker, origin)
            return None
        if origin is AppendOrigin.CLIENT:
            repeated = self.producers.find_duplicate(head)
            if repeated is not None:
                return AppendInfo(
                    first_offset=repeated.first_offset,
                    last_offset=repeated.last_offset,
                    max_timestamp=repeated.timestamp,
                    log_append_time_ms=repeated.timestamp,
                    log_start_offset=self.log_start_offset,
                    bytes_appended=0,
                    duplicate=True,
                )
        self.producers.check(head, origin, verification)
        return None

    def _write(self, incoming: IncomingBatches) -> AppendInfo:
        """Roll if due, write, and account for what was written; the batches were checked."""
        directory = self.directory
        if directory.failure is not None:
            directory.check()
        heads = incoming.heads
        if not heads:
            end = self._end.message_offset
            return AppendInfo(end, end - 1, -1, -1, self.log_start_offset, 0)
        max_timestamp = heads[0].max_timestamp if len(heads) == 1 else max(h.max_timestamp for h in heads)
        try:
            if not self._topic_id_durable:
                self._write_topic_id()
            segment = self._segment_for(incoming, max_timestamp)
            position = segment.append(incoming.parts)
        except OSError as error:
            raise directory.failed(error, f"appending to {self.name}") from error
        leader_epochs = self.leader_epochs
        for epoch, start_offset in incoming.epochs:
            if epoch != leader_epochs.latest_epoch and epoch >= 0:
                leader_epochs.assign(epoch, start_offset)
        for number, head in enumerate(heads):
            segment.note_batch(position + head.position, head.size, head.last_offset, head.max_timestamp)
            if head.producer_id >= 0:
                apply_head(segment, self.producers, head, position, incoming.markers.get(number))
                if head.attributes & _MOVES_FIRST_UNSTABLE:
                    self._find_first_unstable()
        last = heads[-1]
        next_offset = last.last_offset + 1
        self._end = LogOffsetMetadata(next_offset, segment.base_offset, segment.size)
        self.producers.map_end_offset = next_offset
        if next_offset - self.durability.recovery_point >= self.config.flush_messages:
            self.flush()
        append_time_ms = last.max_timestamp if last.attributes & TIMESTAMP_TYPE_BIT else -1
        return AppendInfo(
            heads[0].base_offset,
            last.last_offset,
            max_timestamp,
            append_time_ms,
            self.log_start_offset,
            incoming.size,
        )

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

    def _segment_for(self, incoming: IncomingBatches, max_timestamp: int) -> LogSegment:
        """Return the active segment, a new one when these batches do not fit or it is too old."""
        config, size = self.config, incoming.size
        if size > config.segment_bytes:
            raise ApiError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"{size} bytes of batches do not fit into a segment of {config.segment_bytes} bytes",
            )
        segment = self.segments.active
        if roll_is_due(
            segment,
            config,
            now_ms=self._factory.clock.wall_ms(),
            size=size,
            last_offset=incoming.heads[-1].last_offset,
            max_timestamp=max_timestamp,
        ):
            return self._roll(incoming.heads[0].base_offset)
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
        end = self._end.message_offset
        base_offset = max(first_offset, end)
        active = self.segments.active
        if active.base_offset == base_offset:
            # Only an empty segment can have the log's end as its base: its settings are what is stale.
            assert active.size == 0, active
            active.abandon()
        else:
            active.seal()
            self.durability.sealed(active, end)
        segment = self._factory.new(base_offset, self.config)
        self.durability.names_unsynced = True
        self.segments.add(segment)
        self._end = LogOffsetMetadata(end, base_offset, 0)
        self.producers.map_end_offset = base_offset
        self.producers.take_snapshot()
        return segment

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
            bound: exclusive: the log's end, HW, or LSO for read_committed (KIP-98). Nothing is read up to
                one without a place: convert it by `offset_metadata` first (F20).
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
            raise self._out_of_range(start_offset)
        segment: LogSegment | None = None
        if start_offset >= bound.message_offset:
            place = bound if start_offset == bound.message_offset else self.offset_metadata(start_offset)
            data = FetchDataInfo(place)
        else:
            try:
                found = self._find(start_offset)
                if found is None:
                    data = FetchDataInfo(self._end)
                else:
                    segment, position, size = found
                    data = log_read.cut_slice(
                        segment,
                        LogOffsetMetadata(start_offset, segment.base_offset, position),
                        first_batch_size=size,
                        bound=bound,
                        max_bytes=max_bytes,
                        min_one_message=min_one_message,
                    )
            except OSError as error:
                raise directory.failed(error, f"reading {self.name}") from error
        if include_aborted:
            self._add_aborted(data, segment)
        return data

    def _find(self, offset: int) -> tuple[LogSegment, int, int] | None:
        """Return segment, position and size of the first batch that reaches `offset`, or None (F18)."""
        segment = self.segments.floor(offset)
        while segment is not None:
            found = segment.find(offset)
            if found is not None:
                return segment, found[0], found[1]
            segment = self.segments.higher(segment.base_offset)
        return None

    def _add_aborted(self, data: FetchDataInfo, segment: LogSegment | None) -> None:
        data.aborted_transactions = []
        if data.records is not None:
            assert segment is not None
            try:
                data.aborted_transactions = log_read.aborted_transactions(
                    self.segments, segment, data, self._end.message_offset
                )
            except OSError as error:
                data.records.release()
                raise self.directory.failed(error, f"reading {self.name}") from error

    def offset_metadata(self, offset: int) -> LogOffsetMetadata:
        """Return an offset with the place of the batch that holds it, or of the next one behind a gap.

        Raises:
            ApiError: OFFSET_OUT_OF_RANGE outside of [log start, log end], KAFKA_STORAGE_ERROR.
        """
        if offset == self._end.message_offset:
            return self._end
        if not self.log_start_offset <= offset < self._end.message_offset:
            raise self._out_of_range(offset)
        try:
            found = self._find(offset)
        except OSError as error:
            raise self.directory.failed(error, f"reading {self.name}") from error
        return self._end if found is None else LogOffsetMetadata(offset, found[0].base_offset, found[1])

    def _out_of_range(self, offset: int) -> ApiError:
        return ApiError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"offset {offset} of {self.name}, which holds {self.log_start_offset} to {self.log_end_offset}",
        )

    def offset_for_timestamp(self, timestamp: int) -> TimestampOffset | None:
        """Answer ListOffsets by time: the first record at or after `timestamp`, or a special time.

        Args:
            timestamp: milliseconds, or -1 latest, -2 earliest, -3 the largest timestamp (KIP-734), -4
                earliest local, -5 latest tiered, -6 earliest pending upload; the last two are at -1 here.

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
        """Where the first transaction begins whose marker is missing or not below the HW (F5)."""
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
        end = self._end.message_offset
        if up_to_offset is not None:
            end = min(up_to_offset, end)
        try:
            if not self._topic_id_durable:
                self._write_topic_id()
            self.leader_epochs.persist(self.directory.disk)
            return self.durability.begin(end, self.producers)
        except OSError as error:
            raise self.directory.failed(error, f"flushing {self.name}") from error

    def finish_flush(self, work: FlushWork, error: OSError | None = None) -> None:
        """Move the recovery point after `work` ran; with its error, take the directory offline instead.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR when `error` is given.
        """
        work.release()
        if error is not None:
            raise self.directory.failed(error, f"flushing {self.name}") from error
        self.durability.finish(work)

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
        """Flush everything, with indexes and a producer snapshot at the log's end; let go of the files.

        After it a start may trust the directory without reading the batches.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        self.directory.check()
        try:
            self.producers.take_snapshot()
            self.segments.active.finish_indexes()
            # Recovery may have made and dropped files; their names must be certain before the marker.
            self.durability.names_unsynced = True
            self.flush()
            self.segments.active.sync_indexes()
            self.producers.sync_snapshot(self._end.message_offset)
        except OSError as error:
            raise self.directory.failed(error, f"closing {self.name}") from error
        self.abandon()

    def abandon(self) -> None:
        """Let go of all files without writing: the directory failed, or the log is being deleted."""
        for segment in self.segments:
            segment.abandon()

    # Truncating and deleting ---------------------------------------------------------------------

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
            self._truncate(offset)
        except OSError as error:
            raise self.directory.failed(error, f"truncating {self.name}") from error

    def _truncate(self, offset: int) -> None:
        last = self.segments.floor(offset)
        assert last is not None
        found = last.find(offset)
        end = offset if found is None else last.base_offset_at(found[0])
        self.durability.lower(end)
        for segment in reversed(self.segments.at_or_above(last.base_offset + 1)):
            # From the end, so that a crash in between leaves a log without a hole.
            self._take_away(segment, snapshot=False)
        # Names first: a file that is cut for certain below segments that come back would be a hole.
        self.directory.disk.sync_dir(self.path)
        last.unseal()
        self.durability.forget(last)
        if found is None:
            last.remember_from(end)
        else:
            last.truncate_to(found[0], end)
        self._end = LogOffsetMetadata(end, last.base_offset, last.size)
        self.leader_epochs.truncate_from_end(end)
        self.log_start_offset = min(self.log_start_offset, end)
        self._rebuild_producers()

    def truncate_fully(self, new_start_offset: int) -> None:
        """Drop everything and go on, empty, at `new_start_offset`.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        self.directory.check()
        self.durability.lower(new_start_offset)
        try:
            for segment in reversed(list(self.segments)):
                self._take_away(segment, snapshot=True)
            self.directory.disk.sync_dir(self.path)
            self.segments.add(self._factory.new(new_start_offset, self.config))
            self.durability.names_unsynced = True
            self._end = LogOffsetMetadata(new_start_offset, new_start_offset, 0)
            self.log_start_offset = new_start_offset
            self.leader_epochs.clear()
            self.leader_epochs.persist(self.directory.disk)
            self._rebuild_producers()
        except OSError as error:
            raise self.directory.failed(error, f"truncating {self.name}") from error

    def _rebuild_producers(self) -> None:
        end, start = self._end.message_offset, self.log_start_offset
        rebuild_producers(self.producers, self.segments, start, end, self._factory.clock.wall_ms())
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
                f"records of {self.name} cannot be deleted up to {offset}: high watermark {high_watermark}",
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
        """Drop the segments that end before the log's start, never the active one; return how many."""
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
            for segment in segments:
                self._take_away(segment, snapshot=True)
        except OSError as error:
            raise self.directory.failed(error, f"deleting segments of {self.name}") from error

    def _take_away(self, segment: LogSegment, *, snapshot: bool) -> None:
        """Rename the files of a segment, which are unlinked later, and drop the snapshot at its base."""
        self.segments.remove(segment.base_offset)
        self.durability.forget(segment)
        self._factory.take_away(segment, self.config)
        if snapshot and segment.base_offset in self.producers.snapshot_offsets:
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
        self._factory.path = path
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
