"""One partition as requests meet it: read for a fetch, appended to as the leader, its start moved.

Who leads and how far each kind of reader may read is in `replicated_partition.py`; this checks what a request
asks against it and goes to the log. Nothing here waits: what cannot be answered yet is told by return value.
"""

from barnabas.base.disk import Buffer
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final
from barnabas.replica.fetch import (
    NO_LEADER_EPOCH,
    FetchIsolation,
    FetchParams,
    FetchPartition,
    FetchPartitionResult,
)
from barnabas.replica.partition_state import PartitionState
from barnabas.replica.partition_traffic import PartitionTraffic
from barnabas.replica.replicated_partition import ReplicatedPartition
from barnabas.replica.session_partitions import QuietReaders
from barnabas.replica.validation_rules import validation_rules
from barnabas.storage.append_info import AppendInfo
from barnabas.storage.batch_validation import ValidationRules, validate_produced_records
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.producer_state.states import AppendOrigin, VerificationState

LATEST_PRODUCE_VERSION: Final = 13

# Looking a member up in its enum costs as much as a small call.
_NONE: Final = ErrorCode.NONE
_ONLINE: Final = PartitionState.ONLINE
_OUT_OF_RANGE: Final = ErrorCode.OFFSET_OUT_OF_RANGE
_LOG_END: Final = FetchIsolation.LOG_END
_TXN_COMMITTED: Final = FetchIsolation.TXN_COMMITTED


class Partition(ReplicatedPartition):
    """A partition this broker hosts. Compared by identity: a topic made again has new ones.

    Args:
        local_id: this broker's node id.
        log: open; stays the log manager's to close.
        high_watermark: from the checkpoint; brought into the log's range.
    """

    __slots__ = ("_rules", "_rules_config", "quiet_readers", "traffic")

    def __init__(
        self,
        topic: str,
        topic_id: bytes,
        partition: int,
        *,
        local_id: int,
        log: Log,
        high_watermark: int = 0,
    ) -> None:
        super().__init__(
            topic, topic_id, partition, local_id=local_id, log=log, high_watermark=high_watermark
        )
        self.traffic = PartitionTraffic()
        self.quiet_readers: QuietReaders | None = None
        self._rules_config: LogConfig | None = None  # most of many partitions are never appended to
        self._rules: ValidationRules

    @property
    def fetches(self) -> int:
        """How often fetches read it, counting those that knew from a session that nothing had changed."""
        fetches = self.traffic.fetches
        return fetches if self.quiet_readers is None else fetches + self.quiet_readers.reads_spared()

    # Reading

    def read(
        self, request: FetchPartition, params: FetchParams, max_bytes: int, min_one_message: bool
    ) -> FetchPartitionResult:
        """Read for a fetch, checks and all (F10-F17). The result's slice is the caller's to release.

        Args:
            max_bytes: what is left of the limits of partition and request.
            min_one_message: return the first batch whole even above max_bytes (F7).
        """
        error = self.access_error(request.current_leader_epoch, params.fetch_only_leader)
        if error is not _NONE:
            return FetchPartitionResult(error)
        log = self.log
        log_start_offset = log.log_start_offset
        log_end = log.log_end_offset_metadata
        high_watermark = self._high_watermark
        if high_watermark.segment_base_offset < log.places_from:
            high_watermark = self.high_watermark_metadata()
        stable = high_watermark if log.first_unstable_offset is None else self.last_stable_offset_metadata()
        isolation = params.isolation
        if isolation is _LOG_END:
            bound = log_end
        else:
            bound = stable if isolation is _TXN_COMMITTED else high_watermark
        fetch_offset = request.fetch_offset
        if request.last_fetched_epoch != NO_LEADER_EPOCH:
            diverging = self.diverging_epoch(request.last_fetched_epoch, fetch_offset)
            if diverging is not None:
                if diverging[1] < 0 or fetch_offset < log_start_offset:
                    return FetchPartitionResult(_OUT_OF_RANGE)
                return FetchPartitionResult(
                    _NONE,
                    high_watermark.message_offset,
                    stable.message_offset,
                    log_start_offset,
                    diverging_epoch=diverging,
                )
        if not log_start_offset <= fetch_offset <= log_end.message_offset:
            return FetchPartitionResult(_OUT_OF_RANGE)
        result = FetchPartitionResult(
            _NONE, high_watermark.message_offset, stable.message_offset, log_start_offset
        )
        bound_offset = bound.message_offset
        if fetch_offset < bound_offset:
            data = log.read(
                fetch_offset,
                bound,
                max_bytes,
                min_one_message=min_one_message,
                include_aborted=isolation is _TXN_COMMITTED,
                may_wait=params.may_wait,
            )
            result.offset_metadata = data.offset_metadata
            if data.first_entry_incomplete and data.records is not None:
                # A part of a batch is of no use to anybody, and some clients take it for too large a record.
                data.records.release()
                return result
            result.records = data.records
            result.aborted_transactions = data.aborted_transactions
            return result
        result.offset_metadata = bound if fetch_offset == bound_offset else log.offset_metadata(fetch_offset)
        if isolation is _TXN_COMMITTED:
            result.aborted_transactions = ()
        return result

    def diverging_epoch(self, last_fetched_epoch: int, fetch_offset: int) -> tuple[int, int] | None:
        """Return where a reader's history parts from ours, None when it does not (F16).

        The end offset is -1 when that cannot be told: the reader must start over.
        """
        epoch, end_offset = self.log.leader_epochs.end_offset_for(last_fetched_epoch, self.log.log_end_offset)
        if end_offset < 0 or epoch < last_fetched_epoch or end_offset < fetch_offset:
            return epoch, end_offset
        return None

    # Writing

    def append_as_leader(
        self,
        records: Buffer | None,
        *,
        acks: int,
        now_ms: int,
        origin: AppendOrigin = AppendOrigin.CLIENT,
        request_version: int = LATEST_PRODUCE_VERSION,
        verification: VerificationState | None = None,
    ) -> tuple[AppendInfo, bool]:
        """Check and append one batch; return what became of it and whether the high watermark moved.

        Args:
            now_ms: wall time, for timestamps.
            verification: see ProducerStates.check.
        Raises:
            ApiError: not the leader, too few in-sync replicas for acks=-1 (P1), what validation says (P2),
                or what the log says (P4).
        """
        if self.state is not _ONLINE or self.leader_id != self.local_id:
            raise ApiError(self.access_error(NO_LEADER_EPOCH, only_leader=True))
        if acks == -1 and self.is_under_min_isr:
            raise ApiError(
                ErrorCode.NOT_ENOUGH_REPLICAS,
                f"The size of the current ISR {len(self.isr)} of {self.topic}-{self.partition} is below "
                f"min.insync.replicas {self.min_insync_replicas}",
            )
        log = self.log
        if log.config is not self._rules_config:
            self._rules_config = log.config
            self._rules = validation_rules(log.config)
        header, parts = validate_produced_records(
            records, self._rules, api_version=request_version, now_ms=now_ms, origin=origin
        )
        info = log.append(
            parts, leader_epoch=self.leader_epoch, origin=origin, verification=verification, header=header
        )
        return info, self.maybe_advance_high_watermark()

    def has_synced(self, required_offset: int) -> ErrorCode | None:
        """Tell whether what was appended up to an offset is synced as far as `flush.messages` asks for that.

        Returns:
            With which error it cannot be acknowledged, or None while that must wait.
        """
        error = self.access_error(NO_LEADER_EPOCH, only_leader=True)
        if error is not _NONE:
            return error
        held = self.log.durability.held
        return None if held is not None and held.message_offset < required_offset else _NONE

    def has_replicated(self, required_offset: int) -> ErrorCode | None:
        """Tell whether acks=-1 may be answered: with which error, or None while it must wait (P1)."""
        if self.state is not _ONLINE or self.leader_id != self.local_id:
            return self.access_error(NO_LEADER_EPOCH, only_leader=True)
        if self._high_watermark.message_offset < required_offset:
            return None
        if self.is_under_min_isr:
            # The records are there, but fewer replicas have them than the topic promises.
            return ErrorCode.NOT_ENOUGH_REPLICAS_AFTER_APPEND
        return _NONE

    def delete_records(self, offset: int) -> int:
        """Advance the log start; return the offset that `-1` stood for, or the one given.

        Raises:
            ApiError: not the leader; the topic is only compacted (44); beyond the high watermark (1).
        """
        error = self.access_error(NO_LEADER_EPOCH, only_leader=True)
        if error is not _NONE:
            raise ApiError(error)
        if not self.log.config.delete:
            raise ApiError(
                ErrorCode.POLICY_VIOLATION,
                f"Records of {self.topic}-{self.partition} can not be deleted: cleanup.policy lacks delete",
            )
        wanted = self.high_watermark if offset == -1 else offset
        if wanted < 0:
            raise ApiError(
                _OUT_OF_RANGE, f"The offset {wanted} for {self.topic}-{self.partition} is not valid"
            )
        self.log.delete_records(wanted, self.high_watermark)
        return wanted
