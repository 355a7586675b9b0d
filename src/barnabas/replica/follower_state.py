"""What a leader knows of one follower: how far its log reaches and when it was last caught up.

All of it comes from the follower's own fetches: a fetch at offset N says that everything before N is
written there. "Caught up" means that it had reached, by this fetch, what was the log's end at its
previous one; a follower of a busy partition is never at the very end and still in sync.
"""

from barnabas.base.hints import Final
from barnabas.storage.offset_metadata import UNKNOWN_OFFSET_METADATA, LogOffsetMetadata

UNKNOWN_BROKER_EPOCH: Final = -1


class FollowerState:
    """One follower of one partition, as its leader sees it. Times are monotonic milliseconds."""

    __slots__ = (
        "broker_epoch",
        "last_caught_up_ms",
        "last_fetch_leader_log_end_offset",
        "last_fetch_ms",
        "log_end_offset_metadata",
        "log_start_offset",
        "replica_id",
    )

    def __init__(self, replica_id: int) -> None:
        self.replica_id = replica_id
        self.broker_epoch = UNKNOWN_BROKER_EPOCH
        self.reset(now_ms=0, leader_log_end_offset=0, in_sync=False)

    @property
    def log_end_offset(self) -> int:
        """Where the follower fetched last; -1 while it has not."""
        return self.log_end_offset_metadata.message_offset

    def reset(self, *, now_ms: int, leader_log_end_offset: int, in_sync: bool) -> None:
        """Start afresh under a new leader epoch; a follower in the ISR gets the time of one lag to fetch."""
        self.log_end_offset_metadata: LogOffsetMetadata = UNKNOWN_OFFSET_METADATA
        self.log_start_offset = -1
        self.last_fetch_leader_log_end_offset = leader_log_end_offset if in_sync else -1
        self.last_fetch_ms = now_ms if in_sync else 0
        self.last_caught_up_ms = now_ms if in_sync else 0

    def fetched(
        self,
        offset_metadata: LogOffsetMetadata,
        *,
        log_start_offset: int,
        now_ms: int,
        leader_log_end_offset: int,
        broker_epoch: int,
    ) -> bool:
        """Take note of a fetch; False when it comes from an earlier life of the follower (KIP-903).

        Args:
            leader_log_end_offset: the leader's when it read for this fetch.
            broker_epoch: of the follower; -1 from those that do not tell.
        """
        if broker_epoch != UNKNOWN_BROKER_EPOCH and broker_epoch < self.broker_epoch:
            return False
        offset = offset_metadata.message_offset
        if offset >= leader_log_end_offset:
            self.last_caught_up_ms = max(self.last_caught_up_ms, now_ms)
        elif offset >= self.last_fetch_leader_log_end_offset >= 0:
            self.last_caught_up_ms = max(self.last_caught_up_ms, self.last_fetch_ms)
        self.log_start_offset = log_start_offset
        self.log_end_offset_metadata = offset_metadata
        self.last_fetch_leader_log_end_offset = leader_log_end_offset
        self.last_fetch_ms = now_ms
        self.broker_epoch = max(self.broker_epoch, broker_epoch)
        return True

    def is_caught_up(self, leader_log_end_offset: int, now_ms: int, lag_max_ms: int) -> bool:
        """Whether it is at the leader's end, or was within `replica.lag.time.max.ms`."""
        return self.log_end_offset == leader_log_end_offset or now_ms - self.last_caught_up_ms <= lag_max_ms
