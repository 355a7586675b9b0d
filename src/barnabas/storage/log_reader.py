"""The reading half of a log: offsets to places, places to slices, times to offsets, open transactions.

Nothing here changes the log. The half that does is `log.py`; whoever reads goes through this one.
"""

from barnabas.base.cold_reads import ColdReadError
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.storage import log_read
from barnabas.storage.append_info import FetchDataInfo
from barnabas.storage.change_watch import ChangeWatch
from barnabas.storage.leader_epochs import LeaderEpochs
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.offset_lookup import TimestampOffset, find_offset_for_timestamp
from barnabas.storage.offset_metadata import LogOffsetMetadata
from barnabas.storage.producer_state.states import ProducerStates
from barnabas.storage.segment import LogSegment
from barnabas.storage.segment_factory import SegmentFactory
from barnabas.storage.segments import Segments


class LogReader:
    """What can be asked of a log.

    Attributes:
        topic, partition: which one.
        directory: the directory of log.dirs it lies in.
        segments: ordered; the last is the active one.
        log_start_offset: the first offset that may be read.
        log_end_offset_metadata: the log's end and its place, which is the active segment's end.
        first_unstable_offset: of the first transaction whose marker is missing or not below the high
            watermark, None without one (F5).
        places_from: a place taken before now, in a segment below this base offset, is not to be trusted: a
            cleaning may have put another segment there. `offset_metadata` finds it anew.
        watch: told of every change of what a read may give; also by the replica layer, of what it adds.
    """

    __slots__ = (
        "_factory",
        "directory",
        "first_unstable_offset",
        "leader_epochs",
        "log_end_offset_metadata",
        "log_start_offset",
        "partition",
        "places_from",
        "producers",
        "segments",
        "topic",
        "watch",
    )

    def __init__(
        self,
        *,
        directory: LogDirectory,
        topic: str,
        partition: int,
        factory: SegmentFactory,
        segments: Segments,
        leader_epochs: LeaderEpochs,
        producers: ProducerStates,
        log_start_offset: int,
        log_end_offset: int,
    ) -> None:
        self.directory = directory
        self.topic = topic
        self.partition = partition
        self.segments = segments
        self.leader_epochs = leader_epochs
        self.producers = producers
        self.log_start_offset = log_start_offset
        self.places_from = 0
        self.watch = ChangeWatch()
        self._factory = factory
        active = segments.active
        self.log_end_offset_metadata = LogOffsetMetadata(log_end_offset, active.base_offset, active.size)
        self.first_unstable_offset: LogOffsetMetadata | None = None
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
        return self.log_end_offset_metadata.message_offset

    @property
    def size(self) -> int:
        """Bytes of all batches."""
        return self.segments.size

    # Reading -----------------------------------------------------------------------------------

    def read(
        self,
        start_offset: int,
        bound: LogOffsetMetadata,
        max_bytes: int,
        *,
        min_one_message: bool = False,
        include_aborted: bool = False,
        may_wait: bool = True,
    ) -> FetchDataInfo:
        """Return where `start_offset` lies and a slice of one segment from there (F14, F18-F23).

        Args:
            bound: exclusive: the log's end, HW, or LSO for read_committed (KIP-98). Nothing is read up to
                one without a place: convert it by `offset_metadata` first (F20).
            max_bytes: the slice may end inside a batch there.
            min_one_message: the first batch is whole even above max_bytes (KIP-74).
            include_aborted: tell the aborted transactions of the range (F17).
            may_wait: whether the look-up may wait for the disk (F44).

        Raises:
            ColdReadError: it may not, and would.
            ApiError: OFFSET_OUT_OF_RANGE outside of [log start, log end], CORRUPT_MESSAGE for a damaged
                segment, KAFKA_STORAGE_ERROR.
        """
        directory = self.directory
        if directory.failure is not None:
            directory.check()
        if not self.log_start_offset <= start_offset <= self.log_end_offset_metadata.message_offset:
            raise self._out_of_range(start_offset)
        segment: LogSegment | None = None
        if start_offset >= bound.message_offset:
            place = bound if start_offset == bound.message_offset else self.offset_metadata(start_offset)
            data = FetchDataInfo(place)
        else:
            try:
                found = self._find(start_offset, may_wait)
                if found is None:
                    data = FetchDataInfo(self.log_end_offset_metadata)
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
            self._add_aborted(data, segment, may_wait)
        return data

    def _find(self, offset: int, may_wait: bool = True) -> tuple[LogSegment, int, int] | None:
        """Return segment, position and size of the first batch that reaches `offset`, or None (F18)."""
        segment = self.segments.floor(offset)
        while segment is not None:
            found = segment.find(offset, may_wait)
            if found is not None:
                return segment, found[0], found[1]
            segment = self.segments.higher(segment.base_offset)
        return None

    def _add_aborted(self, data: FetchDataInfo, segment: LogSegment | None, may_wait: bool) -> None:
        data.aborted_transactions = []
        if data.records is not None:
            assert segment is not None
            try:
                data.aborted_transactions = log_read.aborted_transactions(
                    self.segments,
                    segment,
                    data,
                    self.log_end_offset_metadata.message_offset,
                    may_wait=may_wait,
                )
            except ColdReadError:
                data.records.release()
                raise
            except OSError as error:
                data.records.release()
                raise self.directory.failed(error, f"reading {self.name}") from error

    def offset_metadata(self, offset: int) -> LogOffsetMetadata:
        """Return an offset with the place of the batch that holds it, or of the next one behind a gap.

        Raises:
            ApiError: OFFSET_OUT_OF_RANGE outside of [log start, log end], KAFKA_STORAGE_ERROR.
        """
        if offset == self.log_end_offset_metadata.message_offset:
            return self.log_end_offset_metadata
        if not self.log_start_offset <= offset < self.log_end_offset_metadata.message_offset:
            raise self._out_of_range(offset)
        try:
            found = self._find(offset)
        except OSError as error:
            raise self.directory.failed(error, f"reading {self.name}") from error
        return (
            self.log_end_offset_metadata
            if found is None
            else LogOffsetMetadata(offset, found[0].base_offset, found[1])
        )

    def _out_of_range(self, offset: int) -> ApiError:
        return ApiError(
            ErrorCode.OFFSET_OUT_OF_RANGE,
            f"offset {offset} of {self.name}, which holds {self.log_start_offset} to {self.log_end_offset}",
        )

    def offset_for_timestamp(self, timestamp: int, scan_bytes: int | None = None) -> TimestampOffset | None:
        """Answer ListOffsets by time: the first record at or after `timestamp`, or a special time.

        Args:
            timestamp: milliseconds, or -1 latest, -2 earliest, -3 the largest timestamp (KIP-734), -4
                earliest local, -5 latest tiered, -6 earliest pending upload; the last two are at -1 here.
            scan_bytes: how much is to be brought in where the search meets what is not in memory; None waits
                for the disk (F44).

        Raises:
            ColdReadError: it may not wait, and would.
            ApiError: KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE; UNSUPPORTED_VERSION for other negative times.
        """
        self.directory.check()
        try:
            return find_offset_for_timestamp(self, timestamp, scan_bytes)
        except OSError as error:
            raise self.directory.failed(error, f"reading {self.name}") from error

    # Transactions ------------------------------------------------------------------------------

    def high_watermark_advanced(self, high_watermark: int) -> None:
        """Tell the log the new high watermark; `first_unstable_offset` may move."""
        if self.first_unstable_offset is not None:
            self.producers.high_watermark_advanced(high_watermark)
            self._find_first_unstable()

    def _find_first_unstable(self) -> None:
        first = self.producers.first_unstable()
        if first is not None and (first.message_offset_only or first.message_offset < self.log_start_offset):
            first = self.offset_metadata(max(first.message_offset, self.log_start_offset))
        self.first_unstable_offset = first

    def statistics(self) -> dict[str, int]:
        """Figures for metrics: offsets, bytes, segments, producers."""
        return {
            "log_start_offset": self.log_start_offset,
            "log_end_offset": self.log_end_offset_metadata.message_offset,
            "size_bytes": self.size,
            "segments": len(self.segments),
            "producers": len(self.producers.producers),
        }

    def abandon(self) -> None:
        """Let go of all files without writing: the directory failed, or the log is being deleted."""
        for segment in self.segments:
            segment.abandon()
