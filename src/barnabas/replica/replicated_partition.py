"""One partition as its leader sees its replicas: who leads, who is in sync, how far each reader may read.

The log knows bytes and offsets; this knows leadership, high watermark and last stable offset. With one
replica the high watermark follows the log's end, or what of it is synced where `flush.messages` asks for that
before anybody sees a record. Bounds are offsets with their byte positions, so that a read never searches for
where to stop (F13, F20) and a parked fetch counts by subtraction (F26).

`partition.py` reads and writes on top of this; the two are one object, in two files for their length.
Changes are told by return value, not by callbacks: the caller decides whom to wake and when.
"""

from collections.abc import Sequence

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final
from barnabas.replica.fetch import NO_LEADER_EPOCH, FetchIsolation, FetchPartition
from barnabas.replica.follower_state import FollowerState
from barnabas.replica.offset_snapshot import OffsetSnapshot
from barnabas.replica.partition_state import TRANSITIONS, PartitionState, state_error
from barnabas.storage.log import Log
from barnabas.storage.offset_metadata import LogOffsetMetadata

NO_LEADER: Final = -1

# Looking a member up in its enum costs as much as a small call.
_NONE: Final = ErrorCode.NONE
_ONLINE: Final = PartitionState.ONLINE
_LOG_END: Final = FetchIsolation.LOG_END
_TXN_COMMITTED: Final = FetchIsolation.TXN_COMMITTED


class ReplicatedPartition:
    """Leadership, replicas and bounds of a partition.

    Args:
        local_id: this broker's node id.
        log: open; stays the log manager's to close.
        high_watermark: from the checkpoint; brought into the log's range.
    """

    __slots__ = (
        "_all_in_sync",
        "_high_watermark",
        "followers",
        "isr",
        "leader_epoch",
        "leader_epoch_start_offset",
        "leader_id",
        "local_id",
        "log",
        "partition",
        "partition_epoch",
        "replicas",
        "state",
        "topic",
        "topic_id",
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
        self._all_in_sync = False
        self.followers: dict[int, FollowerState] = {}
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
        self._all_in_sync = bool(self.isr) and len(self.isr) >= len(self.replicas)
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
        return not self._all_in_sync and len(self.isr) < self.min_insync_replicas

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
        """The high watermark with its position (F20).

        It is looked up once after a restart, and again when a cleaning has put other segments in the place.
        """
        if self._high_watermark.segment_base_offset < self.log.places_from:
            self._high_watermark = self.log.offset_metadata(self._high_watermark.message_offset)
        return self._high_watermark

    def last_stable_offset_metadata(self) -> LogOffsetMetadata:
        """The first undecided transaction's offset or the high watermark, whichever is lower (F5)."""
        high_watermark = self.high_watermark_metadata()
        unstable = self.log.first_unstable_offset
        if unstable is None or unstable.message_offset >= high_watermark.message_offset:
            return high_watermark
        if unstable.segment_base_offset < self.log.places_from:
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

        It stops before what `flush.messages` wants synced first, never goes back here, and stays put while
        the ISR is below min.insync.replicas (KIP-966).
        """
        if not self._all_in_sync and self.is_under_min_isr:
            return False
        log = self.log
        reached = log.durability.held or log.log_end_offset_metadata
        if self.followers:
            reached = self._least_in_sync(reached)
        current = self._high_watermark
        if reached.message_offset > current.message_offset:
            log.watch.tell()
            self._high_watermark = reached
            if log.first_unstable_offset is not None:
                log.high_watermark_advanced(reached.message_offset)
            return True
        # At the same offset the new segment's place still counts, or case F would be seen after a roll.
        if (
            reached.message_offset == current.message_offset
            and reached != current
            and (current.message_offset_only or current.on_older_segment(reached))
        ):
            log.watch.tell()
            self._high_watermark = reached
        return False

    def _least_in_sync(self, reached: LogOffsetMetadata) -> LogOffsetMetadata:
        """Return how far the in-sync replica has come that has least, when this one has come to `reached`."""
        for follower in self.followers.values():
            has = follower.log_end_offset_metadata
            if has.message_offset < reached.message_offset and follower.replica_id in self.isr:
                reached = has
        return reached

    def truncate_to(self, offset: int) -> None:
        """Cut the log where a new leader's history parts from it; the high watermark does not stay beyond.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        self.log.truncate_to(offset)
        end = self.log.log_end_offset_metadata
        if self._high_watermark.message_offset > end.message_offset:
            self._high_watermark = end

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
