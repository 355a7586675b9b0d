"""One partition's coordinator with all that belongs to it: state, deadlines, what waits for commits.

                INITIAL -- records to replay --> LOADING
INITIAL, LOADING -- all replayed --------------> ACTIVE
INITIAL, LOADING -- the log cannot be read ----> FAILED
any -- lost, deleted, the broker stops --------> CLOSED
"""

from __future__ import annotations

from collections import deque
from collections.abc import Callable, Mapping

from barnabas.base.enums import Enum
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Any, Final, Generic, TypeVar
from barnabas.coordinator.runtime.log_loader import LogLoader
from barnabas.coordinator.runtime.shard import Shard
from barnabas.coordinator.runtime.shard_timers import ShardTimers
from barnabas.replica.partition import Partition
from barnabas.replica.partition_state import PartitionState

ShardT = TypeVar("ShardT", bound=Shard)

Committed = Callable[[ApiError | None], None]
"""What follows when an append is committed, or known not to be."""


class ShardState(Enum):
    """How far a shard is."""

    INITIAL = "Initial"
    LOADING = "Loading"
    ACTIVE = "Active"
    FAILED = "Failed"
    CLOSED = "Closed"


TRANSITIONS: Final[Mapping[ShardState, tuple[ShardState, ...]]] = {
    ShardState.INITIAL: (ShardState.LOADING, ShardState.ACTIVE, ShardState.FAILED, ShardState.CLOSED),
    ShardState.LOADING: (ShardState.ACTIVE, ShardState.FAILED, ShardState.CLOSED),
    ShardState.ACTIVE: (ShardState.CLOSED,),
    ShardState.FAILED: (ShardState.CLOSED,),
    ShardState.CLOSED: (),
}


class HostedShard(Generic[ShardT]):
    """A shard and what the runtime keeps beside it.

    Args:
        partition: the leader's view of its log.

    Attributes:
        uncommitted: for each append that waits for in-sync replicas, in order: what follows.
    """

    __slots__ = ("leader_epoch", "loader", "partition", "shard", "state", "timers", "uncommitted")

    def __init__(self, partition: Partition) -> None:
        self.partition = partition
        self.leader_epoch = partition.leader_epoch
        self.state = ShardState.INITIAL
        self.shard: ShardT
        self.timers: ShardTimers
        self.loader: LogLoader
        self.uncommitted: deque[list[Committed]] = deque()

    def __repr__(self) -> str:
        return f"{self.partition.topic}-{self.partition.partition} ({self.state.value})"

    def become(self, to: ShardState) -> None:
        """Change the state; only along TRANSITIONS."""
        assert to in TRANSITIONS[self.state], f"{self} cannot become {to.value}"
        self.state = to

    def is_current(self, partition: Partition | None) -> bool:
        """Whether this is the coordinator of a partition as it is now, in the same leader's reign."""
        return (
            partition is self.partition
            and partition.leader_epoch == self.leader_epoch
            and self.can_host(partition)
        )

    @staticmethod
    def can_host(partition: Partition) -> bool:
        """Whether a partition's coordinator is here."""
        return partition.is_leader and partition.state is PartitionState.ONLINE

    def when_committed(self, follows: Committed) -> None:
        """Call `follows` when everything appended so far is committed: at once, most of the time."""
        if self.uncommitted:
            self.uncommitted[-1].append(follows)
        else:
            follows(None)

    def close(self) -> None:
        """End deadlines, tell all who wait that this coordinator is gone."""
        if self.state is ShardState.CLOSED:
            return
        was_active = self.state is ShardState.ACTIVE
        self.become(ShardState.CLOSED)
        self.timers.close()
        gone = ApiError(ErrorCode.NOT_COORDINATOR)
        while self.uncommitted:
            for follows in self.uncommitted.popleft():
                follows(gone)
        if was_active:
            self.shard.unloaded()


AnyHosted = HostedShard[Any]
