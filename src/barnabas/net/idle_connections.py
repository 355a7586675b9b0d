"""Who has been idle for too long (connections.max.idle.ms), without a timer per request.

Connections lie in buckets by the time at which they would be idle for too long if nothing moved. A
bucket that comes due is looked through: whoever was active meanwhile moves to a later bucket, so a
connection is touched once per idle time however many requests it makes. A heap would keep closed
connections until their deadline; a list ordered by activity would be touched by every request.
"""

from barnabas.base.hints import Generic, Protocol, TypeVar

BUCKETS_PER_IDLE_TIME = 16


class Idler(Protocol):
    """What can be idle."""

    active_ms: int
    idle_bucket: int

    @property
    def request_in_hand(self) -> bool:
        """Whoever waits for an answer is not idle."""


IdlerT = TypeVar("IdlerT", bound=Idler)


class IdleConnections(Generic[IdlerT]):
    """Connections by when to look at them next."""

    __slots__ = ("_buckets", "_max_idle_ms", "_width_ms")

    def __init__(self, max_idle_ms: int) -> None:
        """Make an empty one.

        Args:
            max_idle_ms: at least 1.
        """
        self._max_idle_ms = max_idle_ms
        self._width_ms = max(1, max_idle_ms // BUCKETS_PER_IDLE_TIME)
        self._buckets: dict[int, set[IdlerT]] = {}

    def add(self, connection: IdlerT) -> None:
        """Watch a connection, active now."""
        self._place(connection, connection.active_ms)

    def discard(self, connection: IdlerT) -> None:
        """Watch it no longer; harmless when it is not watched."""
        bucket = self._buckets.get(connection.idle_bucket)
        if bucket is not None:
            bucket.discard(connection)
            if not bucket:
                del self._buckets[connection.idle_bucket]

    def next_look_ms(self) -> int | None:
        """When the next bucket comes due; None when nobody is watched. At most 18 buckets are asked."""
        return (min(self._buckets) + 1) * self._width_ms if self._buckets else None

    def take_idle(self, now_ms: int) -> list[IdlerT]:
        """Return who was idle for the whole idle time, oldest first, and watch them no longer."""
        due = sorted(number for number in self._buckets if (number + 1) * self._width_ms <= now_ms)
        idle = []
        for number in due:
            for connection in self._buckets.pop(number):
                if connection.request_in_hand:
                    self._place(connection, now_ms)
                elif connection.active_ms + self._max_idle_ms <= now_ms:
                    idle.append(connection)
                else:
                    self._place(connection, connection.active_ms)
        idle.sort(key=lambda connection: connection.active_ms)
        return idle

    def _place(self, connection: IdlerT, active_ms: int) -> None:
        number = (active_ms + self._max_idle_ms) // self._width_ms
        connection.idle_bucket = number
        self._buckets.setdefault(number, set()).add(connection)
