"""Replaying a partition's log into a shard, in pieces, so that others are served meanwhile.

It reads from the log's start to the end it had when the load began: nobody appends before the shard is
active. What cannot be understood is passed over and stays in the log: record types of share and streams
groups, and versions of a newer broker. A record that is damaged, or that the state machine refuses, is passed
over as well and told as an error; giving up the whole partition for it, as Apache Kafka does, would stop all
other groups in it. Only when nobody can tell where the next batch begins is the partition given up.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from barnabas.base.cold_reads import ColdReadError, ColdReads
from barnabas.base.enums import Enum
from barnabas.base.errors import ApiError, DecodeError, ErrorCode
from barnabas.base.hints import Final
from barnabas.base.limits import COLD_READ_TRIES_MAX
from barnabas.base.logger import Logger
from barnabas.base.region import LeasedFile
from barnabas.coordinator.runtime.record_codec import RecordCodec, UnknownRecordError
from barnabas.coordinator.runtime.shard import NO_PRODUCER_ID, Shard
from barnabas.protocol.control_records import ControlType, parse_control_type
from barnabas.protocol.record_batch import BatchHeader, crc_matches, iter_batches, parse_records
from barnabas.protocol.records import Record
from barnabas.storage.log import Log

_log = Logger(__name__)

READ_BYTES: Final = 256 * 1024
"""What is read at once. It is in memory before it is read (F44); a disk that is slow holds up nobody."""

RECORDS_PER_STEP: Final = 32


class LoadProgress(Enum):
    """How far a load came."""

    DONE = "done"
    TIME_UP = "time is up"
    COLD = "what comes next is not in memory"


class LogLoader:
    """One load.

    Args:
        now_us: reads the monotonic clock.
        cold_reads: brings in what is not in memory; None: a load waits for the disk.

    Attributes:
        end_offset: where the load ends.
        record_count: replayed so far.
        unknown_count: passed over, being of a kind or version that is not known.
        bytes_read: so far.
        started_us: when it began; -1 before that.
    """

    __slots__ = (
        "_codec",
        "_cold",
        "_cold_reads",
        "_log",
        "_now_us",
        "_shard",
        "_steps",
        "bytes_read",
        "end_offset",
        "record_count",
        "started_us",
        "unknown_count",
    )

    def __init__(
        self,
        log: Log,
        *,
        codec: RecordCodec,
        shard: Shard,
        now_us: Callable[[], int],
        cold_reads: ColdReads | None = None,
    ) -> None:
        self._log = log
        self._codec = codec
        self._shard = shard
        self._now_us = now_us
        self._cold_reads = cold_reads
        self._cold: ColdReadError | tuple[LeasedFile, int, int] | None = None
        self._steps = self._replay_all()
        self.end_offset = log.log_end_offset
        self.record_count = 0
        self.unknown_count = 0
        self.bytes_read = 0
        self.started_us = -1

    def load(self, until_us: int) -> LoadProgress:
        """Replay until the clock says so, until the end, or until something is not in memory.

        After COLD call `bring_in`, and this again when it is there.

        Raises:
            ApiError: the log cannot be read: KAFKA_STORAGE_ERROR, CORRUPT_MESSAGE.
        """
        if self.started_us < 0:
            self.started_us = self._now_us()
        for is_cold in self._steps:
            if is_cold:
                return LoadProgress.COLD
            if self._now_us() >= until_us:
                return LoadProgress.TIME_UP
        return LoadProgress.DONE

    def bring_in(self, ready: Callable[[], None]) -> None:
        """Have helpers read what is not in memory; `ready` is called when it is there, or cannot be read."""
        assert self._cold_reads is not None
        if isinstance(self._cold, ColdReadError):
            self._cold_reads.read_all(self._cold, ready)
            return
        assert self._cold is not None
        leased, position, length = self._cold
        self._cold_reads.read(leased, position, length, lambda _: ready())

    def _replay_all(self) -> Iterator[bool]:
        """Replay from here to the end; yield whether what comes next must be brought in first."""
        log = self._log
        offset = log.log_start_offset
        tries_left = tries_max = 0 if self._cold_reads is None else COLD_READ_TRIES_MAX
        while offset < self.end_offset:
            if offset < log.log_start_offset:
                offset = log.log_start_offset  # retention took what was to come
                continue
            data = self._read(offset, may_wait=tries_left == 0)
            if data is None:
                if self._cold is None:
                    break  # a gap up to the end
                tries_left -= 1
                yield True
                continue
            tries_left = tries_max
            reached = offset
            try:
                for position, header in iter_batches(data, allow_partial_tail=True):
                    reached = header.next_offset
                    self.bytes_read += header.size_bytes
                    for _ in self._replay_batch(data, position, header, offset):
                        yield False
            except DecodeError as error:
                # Where the next batch begins cannot be told; all that follows would be forgotten.
                raise ApiError(
                    ErrorCode.CORRUPT_MESSAGE, f"{log.name} is damaged behind offset {reached}: {error}"
                ) from None
            if reached == offset:
                _log.error("%s: nothing but a part of a batch at offset %d; the load ends", log.name, offset)
                break
            offset = reached

    def _read(self, offset: int, *, may_wait: bool) -> bytes | None:
        """Return batches from an offset on; None at the end, or with `_cold` set to what is not in memory."""
        log = self._log
        self._cold = None
        try:
            found = log.read(
                offset, log.log_end_offset_metadata, READ_BYTES, min_one_message=True, may_wait=may_wait
            ).records
        except ColdReadError as cold:
            self._cold = cold
            return None
        if found is None:
            return None
        try:
            place = (found.leased, found.position, found.length)
            if not may_wait and self._cold_reads is not None and not self._cold_reads.is_ready(*place):
                self._cold = place
                return None
            return found.read()
        except OSError as error:
            raise log.directory.failed(error, f"loading {log.name}") from error
        finally:
            found.release()

    def _replay_batch(
        self, data: bytes, position: int, header: BatchHeader, start_offset: int
    ) -> Iterator[None]:
        try:
            if not crc_matches(data, position, header):
                raise DecodeError("its checksum does not match")
            records = parse_records(data, position, header)
        except DecodeError as error:
            self._damaged(header.base_offset, error)
            return
        if header.is_control:
            self._replay_marker(records, header)
            return
        producer_id = header.producer_id if header.is_transactional else NO_PRODUCER_ID
        for index, record in enumerate(records):
            if record.offset >= start_offset:
                self._replay_record(record, producer_id)
            if index % RECORDS_PER_STEP == RECORDS_PER_STEP - 1:
                yield
        yield

    def _replay_marker(self, records: list[Record], header: BatchHeader) -> None:
        for record in records:
            try:
                kind = parse_control_type(record.key)
            except DecodeError as error:
                self._damaged(record.offset, error)
                continue
            if kind in (ControlType.COMMIT, ControlType.ABORT):
                self._shard.replay_transaction_end(header.producer_id, committed=kind is ControlType.COMMIT)

    def _replay_record(self, record: Record, producer_id: int) -> None:
        try:
            self._shard.replay(self._codec.decode(record.key, record.value), record.offset, producer_id)
        except UnknownRecordError as error:
            if not self.unknown_count:
                _log.warning(
                    "%s: %s at offset %d is not known here; such records are kept and passed over",
                    self._log.name,
                    error,
                    record.offset,
                )
            self.unknown_count += 1
        except DecodeError as error:
            self._damaged(record.offset, error)
        except Exception:
            # A fault of ours. A live replay goes on as well, so that both end in the same state.
            _log.exception("%s: the record at offset %d could not be replayed", self._log.name, record.offset)
        else:
            self.record_count += 1

    def _damaged(self, offset: int, error: DecodeError) -> None:
        _log.error("%s: what lies at offset %d is damaged and passed over: %s", self._log.name, offset, error)
