"""Replaying a partition's log into a shard, in pieces, so that others are served meanwhile.

It reads from the log's start to the end it had when the load began: nobody appends before the shard is
active.
What cannot be understood is passed over and stays in the log: record types of share and streams groups, and
versions of a newer broker. A record that is damaged, or that the state machine refuses, is passed over as
well and told as an error; giving up the whole partition for it, as Apache Kafka does, would stop every other
group in it.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from barnabas.base.errors import DecodeError
from barnabas.base.hints import Final
from barnabas.base.logger import Logger
from barnabas.coordinator.record_codec import RecordCodec, UnknownRecordError
from barnabas.coordinator.shard import NO_PRODUCER_ID, Shard
from barnabas.protocol.control_records import ControlType, parse_control_type
from barnabas.protocol.record_batch import BatchHeader, crc_matches, iter_batches, parse_records
from barnabas.protocol.records import Record
from barnabas.storage.log import Log

_log = Logger(__name__)

READ_BYTES: Final = 256 * 1024
"""What is read at once; small enough to be read from a cold disk without being noticed by others."""

RECORDS_PER_STEP: Final = 32


class LogLoader:
    """One load.

    Args:
        now_us: reads the monotonic clock.

    Attributes:
        end_offset: where the load ends.
        record_count: replayed so far.
        unknown_count: passed over, being of a kind or version that is not known.
        damaged_count: passed over, being malformed or refused.
        bytes_read: so far.
    """

    __slots__ = (
        "_codec",
        "_log",
        "_now_us",
        "_shard",
        "_steps",
        "bytes_read",
        "damaged_count",
        "end_offset",
        "record_count",
        "started_us",
        "unknown_count",
    )

    def __init__(self, log: Log, *, codec: RecordCodec, shard: Shard, now_us: Callable[[], int]) -> None:
        self._log = log
        self._codec = codec
        self._shard = shard
        self._now_us = now_us
        self._steps = self._replay_all()
        self.end_offset = log.log_end_offset
        self.record_count = 0
        self.unknown_count = 0
        self.damaged_count = 0
        self.bytes_read = 0
        self.started_us = now_us()

    def load(self, until_us: int) -> bool:
        """Replay until the clock says so; return whether the end was reached.

        Raises:
            ApiError: the log cannot be read.
        """
        return all(self._now_us() < until_us for _ in self._steps)

    def _replay_all(self) -> Iterator[None]:
        log = self._log
        bound = log.log_end_offset_metadata
        offset = log.log_start_offset
        while offset < self.end_offset:
            found = log.read(offset, bound, READ_BYTES, min_one_message=True).records
            if found is None:
                break  # a gap up to the end
            try:
                data = found.read()
            finally:
                found.release()
            reached = offset
            for position, header in iter_batches(data, allow_partial_tail=True):
                reached = header.next_offset
                self.bytes_read += header.size_bytes
                yield from self._replay_batch(data, position, header, offset)
            if reached == offset:
                _log.error("%s: nothing but a part of a batch at offset %d; the load ends", log.name, offset)
                self.damaged_count += 1
                break
            offset = reached

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
            self.damaged_count += 1
        else:
            self.record_count += 1

    def _damaged(self, offset: int, error: DecodeError) -> None:
        _log.error("%s: what lies at offset %d is damaged and passed over: %s", self._log.name, offset, error)
        self.damaged_count += 1
