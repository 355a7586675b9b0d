"""One partition as its leader sees it: who leads, who is in sync, how far each kind of reader may read.

The log knows bytes and offsets; this knows leadership, high watermark and last stable offset. With one
replica the high watermark follows the log's end at once. Bounds are offsets with their byte positions, so
that a read never searches for where to stop (F13, F20) and a parked fetch counts by subtraction (F26).

Changes are told by return value, not by callbacks: the caller decides whom to wake and when.
"""

from collections.abc import Sequence

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
from barnabas.replica.follower_state import FollowerState
from barnabas.replica.offset_snapshot import OffsetSnapshot
from barnabas.replica.partition_state import TRANSITIONS, PartitionState, state_error
from barnabas.replica.partition_traffic import PartitionTraffic
from barnabas.replica.session_partitions import QuietReaders
from barnabas.replica.validation_rules import validation_rules
from barnabas.storage.append_info import AppendInfo
from barnabas.storage.batch_validation import ValidationRules, validate_produced_records
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.offset_metadata import LogOffsetMetadata
from barnabas.storage.producer_state import AppendOrigin, VerificationState

NO_LEADER: Final = -1
LATEST_PRODUCE_VERSION: Final = 13

# Looking a member up in its enum costs as much as a small call.
_NONE: Final = ErrorCode.NONE
_ONLINE: Final = PartitionState.ONLINE
_OUT_OF_RANGE: Final = ErrorCode.OFFSET_OUT_OF_RANGE
_LOG_END: Final = FetchIsolation.LOG_END
_TXN_COMMITTED: Final = FetchIsolation.TXN_COMMITTED


class Partition:
    """A partition this broker hosts. Compared by identity: a topic made again has new ones.

    Args:
        local_id: this broker's node id.
        log: open; stays the log manager's to close.
        high_watermark: from the checkpoint; brought into the log's range.
    """

    __slots__ = (
        "_high_watermark",
        "_rules",
        "_rules_config",
        "followers",
        "isr",
        "leader_epoch",
        "leader_epoch_start_offset",
        "leader_id",
        "local_id",
        "log",
        "partition",
        "partition_epoch",
        "quiet_readers",
        "replicas",
        "state",
        "topic",
        "topic_id",
        "traffic",
    )

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
        self.topic = topic
        self.topic_id = topic_id
        self.partition = partition
        self.local_id = local_id
        self.log = log
        self.state = PartitionState.ONLINE
        self.leader_id = NO_LEADER
        self.leader_epoch = NO_LEADER_EPOCH
        self.leader_epoch_start_offset = 0
        self.partition_epoch = -1
        self.replicas: tuple[int, ...] = ()
        self.isr: tuple[int, ...] = ()
        self.followers: dict[int, FollowerState] = {}
        self.traffic = PartitionTraffic()
        self.quiet_readers: QuietReaders | None = None
        self._rules_config: LogConfig | None = None  # most of many partitions are never appended to
        self._rules: ValidationRules
        self._high_watermark = LogOffsetMetadata(
            min(max(high_watermark, log.log_start_offset), log.log_end_offset)
        )
        log.high_watermark_advanced(self._high_watermark.message_offset)

    def __repr__(self) -> str:
        return f"Partition({self.topic}-{self.partition}, {self.state.name}, leader {self.leader_id})"

    @property
    def is_leader(self) -> bool:
        """Whether this broker leads it."""
        return self.leader_id == self.local_id

    @property
    def fetches(self) -> int:
        """How often fetches read it, counting those that knew from a session that nothing had changed."""
        fetches = self.traffic.fetches
        return fetches if self.quiet_readers is None else fetches + self.quiet_readers.reads_spared()

    # Leadership

    def become(self, to: PartitionState) -> None:
        """Change the state; only along TRANSITIONS."""
        assert to in TRANSITIONS[self.state], f"{self} cannot become {to.name}"
        self.log.watch.tell()
        self.state = to

    def apply_leadership(
        self,
        *,
        leader_id: int,
        leader_epoch: int,
        partition_epoch: int,
        replicas: Sequence[int],
        isr: Sequence[int],
        now_ms: int,
    ) -> bool:
        """Take over what the metadata says; older partition epochs are ignored.

        Returns:
            Whether the high watermark moved: the ISR may be down to the leader alone.
        """
        if partition_epoch < self.partition_epoch:
            return False
        self.log.watch.tell()
        is_new_epoch = leader_epoch > self.leader_epoch
        self.leader_id = leader_id
        self.leader_epoch = leader_epoch
        self.partition_epoch = partition_epoch
        self.replicas = tuple(replicas)
        self.isr = tuple(isr)
        if not self.is_leader:
            self.followers = {}
            return False
        log_end_offset = self.log.log_end_offset
        if is_new_epoch:
            self.leader_epoch_start_offset = log_end_offset
            self.log.leader_epochs.assign(leader_epoch, log_end_offset)
        kept = self.followers
        self.followers = {}
        for replica_id in self.replicas:
            if replica_id == self.local_id:
                continue
            follower = kept.get(replica_id) or FollowerState(replica_id)
            if is_new_epoch or replica_id not in kept:
                follower.reset(
                    now_ms=now_ms, leader_log_end_offset=log_end_offset, in_sync=replica_id in self.isr
                )
            self.followers[replica_id] = follower
        return self.maybe_advance_high_watermark()

    @property
    def min_insync_replicas(self) -> int:
        """`min.insync.replicas`, but never more than there are replicas."""
        return min(self.log.config.min_insync_replicas, max(1, len(self.replicas)))

    @property
    def is_under_min_isr(self) -> bool:
        """Whether fewer replicas are in sync than acks=-1 needs; asked with every append."""
        in_sync = len(self.isr)
        return (in_sync < len(self.replicas) or not in_sync) and in_sync < self.min_insync_replicas

    def check_leader_epoch(self, current_leader_epoch: int) -> ErrorCode:
        """Compare the epoch a client believes in with ours; -1 is not compared (F11)."""
        if current_leader_epoch in (NO_LEADER_EPOCH, self.leader_epoch):
            return _NONE
        if current_leader_epoch < self.leader_epoch:
            return ErrorCode.FENCED_LEADER_EPOCH
        return ErrorCode.UNKNOWN_LEADER_EPOCH

    def access_error(self, current_leader_epoch: int, only_leader: bool) -> ErrorCode:
        """Return why a request may not be served here, in the order of F10: state, epoch, leadership."""
        if self.state is not _ONLINE:
            return state_error(self.state)
        if current_leader_epoch not in (NO_LEADER_EPOCH, self.leader_epoch):
            return self.check_leader_epoch(current_leader_epoch)
        if only_leader and self.leader_id != self.local_id:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return _NONE

    # Bounds

    @property
    def high_watermark(self) -> int:
        """Consumers read what lies before it."""
        return self._high_watermark.message_offset

    def high_watermark_metadata(self) -> LogOffsetMetadata:
        """The high watermark with its position; one restored from a checkpoint is looked up once (F20)."""
        if self._high_watermark.message_offset_only:
            self._high_watermark = self.log.offset_metadata(self._high_watermark.message_offset)
        return self._high_watermark

    def last_stable_offset_metadata(self) -> LogOffsetMetadata:
        """The first undecided transaction's offset or the high watermark, whichever is lower (F5)."""
        high_watermark = self.high_watermark_metadata()
        unstable = self.log.first_unstable_offset
        if unstable is None or unstable.message_offset >= high_watermark.message_offset:
            return high_watermark
        if unstable.message_offset_only:
            return self.log.offset_metadata(unstable.message_offset)
        return unstable

    def bound(self, isolation: FetchIsolation) -> LogOffsetMetadata:
        """Return the exclusive end of what a fetch of this isolation may read (F5)."""
        if isolation is _LOG_END:
            return self.log.log_end_offset_metadata
        if isolation is _TXN_COMMITTED:
            return self.last_stable_offset_metadata()
        return self.high_watermark_metadata()

    def offset_snapshot(self) -> OffsetSnapshot:
        """Return log start, LEO, HW and LSO with their positions (F13)."""
        return OffsetSnapshot(
            self.log.log_start_offset,
            self.log.log_end_offset_metadata,
            self.high_watermark_metadata(),
            self.last_stable_offset_metadata(),
        )

    def maybe_advance_high_watermark(self) -> bool:
        """Raise the high watermark to what every in-sync replica has; return whether it moved.

        It never goes back here, and stays put while the ISR is below min.insync.replicas (KIP-966).
        """
        if self.is_under_min_isr:
            return False
        reached = self.log.log_end_offset_metadata
        for follower in self.followers.values():
            has = follower.log_end_offset_metadata
            if has.message_offset < reached.message_offset and follower.replica_id in self.isr:
                reached = has
        current = self._high_watermark
        moved = reached.message_offset > current.message_offset
        if not moved and (reached.message_offset < current.message_offset or reached == current):
            return False
        # At the same offset the new segment's place still counts, or case F would be seen after a roll.
        if moved or current.message_offset_only or current.on_older_segment(reached):
            self.log.watch.tell()
            self._high_watermark = reached
        if moved:
            self.log.high_watermark_advanced(reached.message_offset)
        return moved

    def truncate_to(self, offset: int) -> None:
        """Cut the log where a new leader's history parts from it; the high watermark does not stay beyond.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        self.log.truncate_to(offset)
        end = self.log.log_end_offset_metadata
        if self._high_watermark.message_offset > end.message_offset:
            self._high_watermark = end

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
        if high_watermark.segment_base_offset < 0:
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
        error = self.access_error(NO_LEADER_EPOCH, only_leader=True)
        if error is not _NONE:
            raise ApiError(error)
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
        batch = validate_produced_records(
            records, self._rules, api_version=request_version, now_ms=now_ms, origin=origin
        )
        info = log.append(
            batch.parts, leader_epoch=self.leader_epoch, origin=origin, verification=verification
        )
        return info, self.maybe_advance_high_watermark()

    def has_replicated(self, required_offset: int) -> ErrorCode | None:
        """Tell whether acks=-1 may be answered: with which error, or None while it must wait (P1)."""
        error = self.access_error(NO_LEADER_EPOCH, only_leader=True)
        if error is not _NONE:
            return error
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

    def low_watermark(self) -> int:
        """The smallest log start of all replicas: what DeleteRecords waits for."""
        starts = [follower.log_start_offset for follower in self.followers.values()]
        starts.append(self.log.log_start_offset)
        return min(starts)

    # Followers

    def follower_for(self, request: FetchPartition, replica_id: int) -> FollowerState:
        """Return the follower that fetches.

        Raises:
            ApiError: it is no replica of ours; UNKNOWN_LEADER_EPOCH when its epoch may be ahead of us.
        """
        follower = self.followers.get(replica_id)
        if follower is not None:
            return follower
        if request.current_leader_epoch != NO_LEADER_EPOCH:
            raise ApiError(ErrorCode.UNKNOWN_LEADER_EPOCH, f"replica {replica_id} is not known to {self}")
        raise ApiError(ErrorCode.NOT_LEADER_OR_FOLLOWER, f"replica {replica_id} is not known to {self}")

    def update_follower_fetch_state(
        self,
        follower: FollowerState,
        offset_metadata: LogOffsetMetadata,
        *,
        log_start_offset: int,
        now_ms: int,
        leader_log_end_offset: int,
        broker_epoch: int,
    ) -> bool:
        """Take note of a follower's fetch; return whether a watermark, high or low, moved.

        Raises:
            ApiError: NOT_LEADER_OR_FOLLOWER, the fetch is from an earlier life of the follower (KIP-903).
        """
        low_watermark = self.low_watermark()
        if not follower.fetched(
            offset_metadata,
            log_start_offset=log_start_offset,
            now_ms=now_ms,
            leader_log_end_offset=leader_log_end_offset,
            broker_epoch=broker_epoch,
        ):
            raise ApiError(
                ErrorCode.NOT_LEADER_OR_FOLLOWER,
                f"fetch of replica {follower.replica_id} has the stale broker epoch {broker_epoch}",
            )
        moved = self.maybe_advance_high_watermark()
        return moved or self.low_watermark() > low_watermark

    def may_join_isr(self, follower: FollowerState) -> bool:
        """Whether a follower outside the ISR has caught up: to the HW and past this epoch's start."""
        has = follower.log_end_offset
        return (
            follower.replica_id not in self.isr
            and has >= self.high_watermark
            and has >= self.leader_epoch_start_offset
        )

    def out_of_sync_replicas(self, now_ms: int, lag_max_ms: int) -> tuple[int, ...]:
        """Return members of the ISR that fell behind for longer than `replica.lag.time.max.ms`."""
        if not self.is_leader:
            return ()
        end = self.log.log_end_offset
        return tuple(
            follower.replica_id
            for follower in self.followers.values()
            if follower.replica_id in self.isr and not follower.is_caught_up(end, now_ms, lag_max_ms)
        )
