"""The life of the loop, and what it tells of itself."""

from barnabas.base.dataclass import dataclass
from barnabas.base.enums import Enum, auto
from barnabas.net.listener import ListenerStatistics


class ReactorState(Enum):
    """Where a loop is in its life."""

    RUNNING = auto()
    STOPPING = auto()
    """Listeners are closed; connections close as their last answers go out."""
    STOPPED = auto()


TRANSITIONS = {
    ReactorState.RUNNING: frozenset((ReactorState.STOPPING,)),
    ReactorState.STOPPING: frozenset((ReactorState.STOPPED,)),
    ReactorState.STOPPED: frozenset[ReactorState](),
}


@dataclass(frozen=True, slots=True, kw_only=True)
class ReactorStatistics:
    """What the loop did.

    Attributes:
        turns: returns of epoll.
        events: readiness events handled.
        calls_waiting: calls for coming turns.
        frame_memory_bytes: kept for large requests.
        refused_per_ip: connections closed at once for max.connections.per.ip.
        closed_idle: connections closed for connections.max.idle.ms.
        accept_failures: accepts that failed for want of a descriptor or memory.
    """

    state: ReactorState
    turns: int
    events: int
    calls_waiting: int
    connections: int
    frame_memory_bytes: int
    refused_per_ip: int
    closed_idle: int
    accept_failures: int
    listeners: tuple[ListenerStatistics, ...]
