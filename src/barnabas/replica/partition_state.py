"""Whether this broker can serve a partition: the states, how one becomes another, how each is answered."""

from barnabas.base.enums import Enum
from barnabas.base.errors import ErrorCode
from barnabas.base.hints import Final


class PartitionState(Enum):
    """Whether this broker can serve a partition."""

    ONLINE = "online"
    OFFLINE = "its log directory is offline"
    REMOVED = "this broker is no replica of it any more"
    DELETED = "its topic is deleted"


TRANSITIONS: Final[dict[PartitionState, frozenset[PartitionState]]] = {
    PartitionState.ONLINE: frozenset(
        (PartitionState.OFFLINE, PartitionState.REMOVED, PartitionState.DELETED)
    ),
    # A directory never comes back while the broker runs: the operator restarts it.
    PartitionState.OFFLINE: frozenset((PartitionState.REMOVED, PartitionState.DELETED)),
    PartitionState.REMOVED: frozenset(),
    PartitionState.DELETED: frozenset(),
}


def state_error(state: PartitionState) -> ErrorCode:
    """Return what a request to a partition in this state is told; NONE when online."""
    if state is PartitionState.OFFLINE:
        return ErrorCode.KAFKA_STORAGE_ERROR
    if state is PartitionState.REMOVED:
        return ErrorCode.NOT_LEADER_OR_FOLLOWER
    if state is PartitionState.DELETED:
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION
    return ErrorCode.NONE
