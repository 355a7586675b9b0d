"""A partition's log: segments in order, one end to append to, any offset to read from.

The log decides offsets, segments, indexes and durability; it knows no leader, no replicas and no
high watermark of its own: whoever reads gives the bound, whoever deletes gives the high watermark.
Appends are one positioned write of [fresh 16-byte prefix, the producer's bytes]: base offset and leader epoch
lie before the bytes that the CRC covers, so records are neither copied nor checked again (P3). Reading is in
`log_reader.py`, rolling, truncating and deleting in `segmented_log.py`: both are halves of this class.

Where `flush.messages` asks for it, what was appended is held back until it is synced: `durability.held`
says up to where the log may be shown and acknowledged meanwhile. Syncing inside the append was rejected: it
stops the loop, and every client with it, and each append pays a sync of its own (`group_commit.py`).

Locks were rejected: one loop owns a log. Helper threads only ever see FlushWork and FileSlice.
Every OSError takes the log's directory offline and becomes ApiError KAFKA_STORAGE_ERROR.
"""

from collections.abc import Sequence

from barnabas.base.disk import Buffer, FileReplacements
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Protocol
from barnabas.protocol.record_batch import (
    CONTROL_BIT,
    NO_TIMESTAMP,
    TIMESTAMP_TYPE_BIT,
    TRANSACTIONAL_BIT,
    HeaderFields,
)
from barnabas.storage.append_info import AppendInfo
from barnabas.storage.flush.durability import Durability
from barnabas.storage.flush.work import FlushWork
from barnabas.storage.incoming_batches import IncomingBatches, header_of, stamp_batches, take_batches
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.offset_metadata import LogOffsetMetadata
from barnabas.storage.partition_metadata import write_topic_id
from barnabas.storage.producer_state.replay import apply_head
from barnabas.storage.producer_state.states import (
    AppendOrigin,
    ProducerStates,
    VerificationState,
    check_producer,
)
from barnabas.storage.segment import LogSegment
from barnabas.storage.segment_factory import SegmentFactory, roll_is_due
from barnabas.storage.segmented_log import SegmentedLog
from barnabas.storage.segments import Segments

_MOVES_FIRST_UNSTABLE = TRANSACTIONAL_BIT | CONTROL_BIT
_new_tuple = tuple.__new__  # LogOffsetMetadata(...) would be one more Python call for every append


class FlushTaker(Protocol):
    """Who syncs logs whose `flush.messages` is reached, so that an append need not wait for the disk."""

    def flush_soon(self, appended: "Log") -> None:
        """Have everything that the log holds now synced, perhaps before this returns.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR, it was tried at once.
        """

    def released(self, synced: "Log") -> None:
        """Of a log that held something back, more may be shown and acknowledged now."""


class Log(SegmentedLog):
    """The log of one partition; `recovery.open_log` makes it.

    Attributes:
        topic_id: 16 bytes, or None for a log without partition.metadata.
        flushes: None: appends that reach `flush.messages` sync before they return.
    """

    __slots__ = ("_topic_id_durable", "_topic_id_stored", "flushes", "topic_id")

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
        topic_id_stored: bool,
        topic_id_durable: bool,
        as_closed: bool,
    ) -> None:
        super().__init__(
            directory=directory,
            topic=topic,
            partition=partition,
            config=config,
            factory=factory,
            segments=segments,
            durability=durability,
            leader_epochs=leader_epochs,
            producers=producers,
            log_start_offset=log_start_offset,
            log_end_offset=log_end_offset,
            as_closed=as_closed,
        )
        self.topic_id = topic_id
        self._topic_id_stored = topic_id_stored
        self._topic_id_durable = topic_id_durable
        self.flushes: FlushTaker | None = None

    @property
    def recovery_point(self) -> int:
        """Everything below it was synced."""
        return self.durability.recovery_point

    @property
    def flush_is_due(self) -> bool:
        """Whether as many offsets as `flush.messages` says are not known to be synced."""
        return (
            self.log_end_offset_metadata.message_offset - self.durability.recovery_point
            >= self.config.flush_messages
        )

    # Appending ---------------------------------------------------------------------------------

    def append(
        self,
        parts: Sequence[Buffer],
        *,
        leader_epoch: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        verification: VerificationState | None = None,
        header: HeaderFields | None = None,
    ) -> AppendInfo:
        """Append one validated batch as the partition's leader, giving it the next offsets.

        Args:
            parts: the batch's bytes in order; parts[0] holds its whole header. Not changed, not kept.
            leader_epoch: stamped into the batch.
            verification: see ProducerStates.check.
            header: the batch's, of whoever has looked at it; None: it is read.

        Raises:
            ApiError: RECORD_LIST_TOO_LARGE, the errors of P4, KAFKA_STORAGE_ERROR. Nothing is appended then.
        """
        batch = (header_of(parts) if header is None else header, parts)
        return self._append_checked(
            stamp_batches((batch,), self.log_end_offset_metadata.message_offset, leader_epoch),
            origin,
            verification,
        )

    def append_batches(
        self, batches: Sequence[Sequence[Buffer]], *, leader_epoch: int, origin: AppendOrigin
    ) -> AppendInfo:
        """Append several validated batches as the leader, in one write and into one segment.

        Raises:
            ApiError: as `append`; INVALID_RECORD for several batches of one client.
        """
        if origin is AppendOrigin.CLIENT and len(batches) > 1:
            raise ApiError(ErrorCode.INVALID_RECORD, "a client appends one batch at a time")
        with_headers = [(header_of(parts), parts) for parts in batches]
        return self._append_checked(
            stamp_batches(with_headers, self.log_end_offset_metadata.message_offset, leader_epoch),
            origin,
            None,
        )

    def append_as_follower(self, records: Buffer) -> AppendInfo:
        """Append whole batches as a leader sent them: offsets and leader epochs stay.

        A sync that is due comes before the return: the follower's next fetch tells its leader what it has.

        Raises:
            ApiError: CORRUPT_MESSAGE for a wrong CRC or a cut batch, OFFSET_OUT_OF_RANGE when they do not
                lie behind the log's end in order, KAFKA_STORAGE_ERROR.
        """
        info = self._write(take_batches(records, self.log_end_offset_metadata.message_offset))
        if self.durability.held is not None:
            self.flush()
        return info

    def _append_checked(
        self, incoming: IncomingBatches, origin: AppendOrigin, verification: VerificationState | None
    ) -> AppendInfo:
        for number, head in enumerate(incoming.heads):
            if head.producer_id >= 0:
                repeated = check_producer(
                    self.producers, head, incoming.markers.get(number), origin, verification
                )
                if repeated is not None:
                    first, last, at = repeated.first_offset, repeated.last_offset, repeated.timestamp
                    if last >= self.durability.recovery_point and self.flush_is_due:
                        # Appended before flush.messages was set, or by a process that was killed.
                        self._hold_from(LogOffsetMetadata(first))
                    return AppendInfo(first, last, at, self.log_start_offset, 0, duplicate=True)
        return self._write(incoming)

    def _write(self, incoming: IncomingBatches) -> AppendInfo:
        """Roll if due, write, and account for what was written; the batches were checked."""
        directory = self.directory
        if directory.failure is not None:
            directory.check()
        self.watch.tell()
        heads = incoming.heads
        if not heads:
            end = self.log_end_offset_metadata.message_offset
            return AppendInfo(end, end - 1, NO_TIMESTAMP, self.log_start_offset, 0)
        self.is_idle = False
        try:
            if not self._topic_id_durable:
                self._write_topic_id()
            segment = self.segments.active
            if roll_is_due(segment, self.config, self._factory.clock, incoming):
                segment = self._roll_for(incoming)
            position = segment.append(incoming.parts)
        except OSError as error:
            raise directory.failed(error, f"appending to {self.name}") from error
        leader_epochs = self.leader_epochs
        for number, head in enumerate(heads):
            at, size, offset, last_offset, epoch, attributes, _, max_timestamp, producer_id, _, _, _ = head
            if epoch != leader_epochs.latest_epoch and epoch >= 0:
                leader_epochs.assign(epoch, offset)
            segment.note_batch(position + at, size, last_offset, max_timestamp)
            if producer_id >= 0:
                apply_head(segment, self.producers, head, position, incoming.markers.get(number))
                if attributes & _MOVES_FIRST_UNSTABLE:
                    self._find_first_unstable()
        next_offset = last_offset + 1
        end_before = self.log_end_offset_metadata
        self.log_end_offset_metadata = _new_tuple(
            LogOffsetMetadata, (next_offset, segment.base_offset, segment.size)
        )
        self.producers.map_end_offset = next_offset
        if next_offset - self.durability.recovery_point >= self.config.flush_messages:
            self._hold_from(end_before)
        append_time_ms = max_timestamp if attributes & TIMESTAMP_TYPE_BIT else NO_TIMESTAMP
        first_offset = heads[0].base_offset
        return AppendInfo(first_offset, last_offset, append_time_ms, self.log_start_offset, incoming.size)

    def _hold_from(self, end: LogOffsetMetadata) -> None:
        """`flush.messages` is reached: what lies behind `end` is not shown or acknowledged before a sync.

        Of N messages at most N - 1 are thus seen unsynced. What comes while that sync is under way waits as
        well, and is let go with it when it is fewer than N.
        """
        if self.flushes is None:
            self.flush()
            return
        if self.durability.held is None:
            self.durability.held = end
        self.flushes.flush_soon(self)

    def _write_topic_id(self) -> None:
        if self.topic_id is not None:
            write_topic_id(self.directory.disk, self.path, self.topic_id)
        self._topic_id_stored = self._topic_id_durable = True

    def assign_topic_id(self, topic_id: bytes) -> None:
        """Tell a log without partition.metadata its topic id; written before the next append."""
        assert self.topic_id in (None, topic_id), f"{self.name} has another topic id"
        if self.topic_id is None:
            self.topic_id = topic_id
            self._topic_id_stored = self._topic_id_durable = False

    # Rolling -----------------------------------------------------------------------------------

    def _roll_for(self, incoming: IncomingBatches) -> LogSegment:
        """Return a new segment for batches that the active one does not take."""
        segment_bytes = self.config.segment_bytes
        if incoming.size > segment_bytes:
            raise ApiError(
                ErrorCode.RECORD_LIST_TOO_LARGE,
                f"{incoming.size} bytes of batches do not fit into a segment of {segment_bytes} bytes",
            )
        return self._roll(incoming.heads[0].base_offset)

    # Flushing and closing ------------------------------------------------------------------------

    def begin_flush(
        self,
        up_to_offset: int | None = None,
        replacements: FileReplacements | None = None,
        *,
        with_epochs: bool = True,
    ) -> FlushWork | None:
        """Collect what must be synced so that everything below `up_to_offset` (the log's end) is durable.

        With `replacements`, whoever calls syncs those and all else himself.

        Args:
            with_epochs: write the leader epochs too, before this returns. Without it they are still written
                before a checkpoint tells of the recovery point; a start makes those behind that anew.

        Returns:
            None when all of it is. Else run it, on any thread, then call `finish_flush`.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        self.directory.check()
        if self.is_idle:
            return None  # durable, or so new that the metadata make it again
        log_end = self.log_end_offset_metadata.message_offset
        end = log_end if up_to_offset is None else min(up_to_offset, log_end)
        try:
            if not self._topic_id_durable:
                self._write_topic_id()
            if with_epochs:
                self.leader_epochs.persist(self.directory.disk, log_end, replacements)
            work = self.durability.begin(end, self.producers)
        except OSError as error:
            raise self.directory.failed(error, f"flushing {self.name}") from error
        if work is None:
            if self.durability.held is not None and end == log_end:
                self._release(None)
            return None
        work.directory = self.directory
        if end == log_end:
            work.log_end = self.log_end_offset_metadata
        return work

    def finish_flush(self, work: FlushWork, error: OSError | None = None) -> None:
        """Move the recovery point after `work` ran; with its error, take the directory offline instead.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR when `error` is given.
        """
        work.release()
        directory = work.directory or self.directory
        if error is None:
            # Open files of a directory that was removed, or unmounted, are synced as well as any.
            error = directory.absence()
        if error is not None:
            raise directory.failed(error, f"flushing {self.name}") from error
        is_same_log = self.durability.finish(work)
        if self.durability.held is not None:
            self._release(work.log_end if is_same_log else None)

    def _release(self, synced_end: LogOffsetMetadata | None) -> None:
        """Hold back no more than must be, after a sync up to `synced_end` (None: no place any more)."""
        durability = self.durability
        if not self.flush_is_due:
            durability.held = None
        elif (
            synced_end is not None
            and durability.held is not None
            and synced_end.message_offset > durability.held.message_offset
        ):
            durability.held = synced_end
        if self.flushes is not None:
            self.flushes.released(self)

    def flush(self) -> None:
        """Make everything appended so far durable before returning.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        work = self.begin_flush()
        if work is not None:
            self.finish_flush(work, work.try_run())

    def close(self) -> None:
        """Flush everything, indexes and a producer snapshot too, so that a start may trust it; let go of it.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        work = self.begin_close()
        if work is not None:
            self.finish_flush(work, work.try_run())
        self.abandon()

    def begin_close(self, replacements: FileReplacements | None = None) -> FlushWork | None:
        """As `begin_flush`, with what a clean stop leaves; `abandon` is the last step."""
        self.directory.check()
        try:
            if self.is_idle:
                self._write_idle()
                return None
            self.producers.take_snapshot()
            self._factory.trim(self.segments.active)
            self.segments.active.finish_indexes()
        except OSError as error:
            raise self.directory.failed(error, f"closing {self.name}") from error
        # The new snapshot's name, if no other, must be certain before the marker.
        self.durability.names_unsynced = True
        work = self.begin_flush(replacements=replacements)
        assert work is not None
        work.add_file_paths(self.segments.active.index_paths())
        work.add_file_paths([self.producers.path(self.log_end_offset_metadata.message_offset)])
        return work

    def _write_idle(self) -> None:
        """Spare idle logs their syncs; an empty one that is lost is made again from the metadata."""
        if not self._topic_id_stored and self.topic_id is not None:
            write_topic_id(self.directory.disk, self.path, self.topic_id, durable=False)
        self.leader_epochs.persist(self.directory.disk, self.log_end_offset_metadata.message_offset)
        active = self.segments.active
        if self._factory.trim(active):
            active.leased.file.sync()  # what a clean stop leaves is trusted to its end
