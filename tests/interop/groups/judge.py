"""Judges what the members of one group said: is there a partition with two owners, a record nobody got?

Pure, over events in order of time. A member owns a partition from `assigned` until `revoked` or `lost`, until
it closes, or, when it was killed or stopped, until the moment the broker may first have taken it for dead:
its session after its last heartbeat. What a stopped member does after that and before it is assigned
anew is not held against it, except a commit that the broker accepts; one may have been under way when it
was stopped.

Which partitions were anybody's at a moment is followed in one pass; keeping intervals and comparing them
was rejected, since an interval's end depends on what comes later.
"""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, field

from tests.interop.groups.member import Event


@dataclass(slots=True, kw_only=True)
class Judgement:
    """What was found.

    Args:
        faults: sentences; none when all is well.
        values: each record's value -> how many times it was delivered.
        committed: partition -> the last offset that a commit told.
    """

    faults: list[str] = field(default_factory=list)
    values: dict[str, int] = field(default_factory=lambda: defaultdict(int))
    committed: dict[int, int] = field(default_factory=dict)


class _Seat:
    """What one member has at a moment of the judgement."""

    def __init__(self) -> None:
        self.owned: set[int] = set()
        self.fresh: set[int] = set()
        self.expires_at: float | None = None
        self.next_offsets: dict[int, int] = {}
        self.in_flight: dict[int, int] = {}

    def expire(self, now: float) -> None:
        if self.expires_at is not None and now >= self.expires_at:
            self.owned.clear()
            self.fresh.clear()

    def doubt(self, expires_at: float) -> None:
        """From now on nobody knows whether it lives; what it has taken it may have committed already."""
        self.expires_at = expires_at
        self.in_flight = dict(self.next_offsets)

    @property
    def doubtful(self) -> bool:
        return self.expires_at is not None


def judge(events: Iterable[Event], *, session_s: float, heartbeat_s: float, max_poll_s: float) -> Judgement:
    """Return what is wrong with a group's life.

    Args:
        session_s, heartbeat_s, max_poll_s: of every member.
    """
    found = Judgement()
    seats: dict[str, _Seat] = defaultdict(_Seat)
    delivered: dict[int, int] = {}
    for event in sorted(events, key=lambda one: one.at):
        for seat in seats.values():
            seat.expire(event.at)
        seat = seats[event.member]
        match event.event:
            case "assigned":
                _assign(found, seats, event)
            case "revoked" | "lost":
                seat.owned -= set(event.partitions)
                seat.fresh -= set(event.partitions)
            case "closing":
                seat.owned.clear()
            case "killed" | "stopped":
                # Its last heartbeat may be two intervals old, when it was just about to send one.
                seat.doubt(event.at + session_s - 2 * heartbeat_s)
            case "paused":
                seat.doubt(event.at + max_poll_s - 2 * heartbeat_s)
            case "record":
                _deliver(found, seat, delivered, event)
            case "committed":
                _commit(found, seat, event)
            case "failed":
                found.faults.append(f"{event.member} failed: {event.message}")
    return found


def _assign(found: Judgement, seats: dict[str, _Seat], event: Event) -> None:
    for name, other in seats.items():
        both = other.owned & set(event.partitions)
        if name != event.member and both:
            found.faults.append(f"{sorted(both)} are {name}'s and {event.member}'s at {event.at:.3f}")
    seat = seats[event.member]
    seat.owned |= set(event.partitions)
    seat.fresh |= set(event.partitions)
    seat.expires_at = None


def _deliver(found: Judgement, seat: _Seat, delivered: dict[int, int], event: Event) -> None:
    found.values[event.value] += 1
    partition, offset = event.partition, event.offset
    seat.next_offsets[partition] = offset + 1
    if partition not in seat.owned:
        if not seat.doubtful:
            found.faults.append(f"{event.member} got {partition}@{offset} without owning {partition}")
        return
    known = delivered.get(partition, -1)
    committed = found.committed.get(partition, 0)
    if partition in seat.fresh:
        # An owner begins where the last commit was, or after records whose commit nobody lived to tell.
        seat.fresh.discard(partition)
        if not committed <= offset <= known + 1:
            found.faults.append(
                f"{event.member} began {partition} at {offset}: "
                f"committed was {committed}, delivered up to {known}"
            )
    elif offset != known + 1 and not seat.doubtful:
        found.faults.append(f"{event.member} got {partition}@{offset} after {known}")
    delivered[partition] = max(known, offset)


def _commit(found: Judgement, seat: _Seat, event: Event) -> None:
    for partition, offset in event.offsets.items():
        if seat.doubtful and seat.in_flight.get(partition) == offset:
            continue  # the answer to what it sent before it stood still
        if partition not in seat.owned:
            found.faults.append(
                f"{event.member} could commit {partition}@{offset}, which is not its, at {event.at:.3f}"
            )
        elif offset < found.committed.get(partition, 0):
            found.faults.append(f"{event.member} committed {partition}@{offset}, back")
        found.committed[partition] = max(offset, found.committed.get(partition, 0))


def owners(events: Sequence[Event]) -> dict[str, set[int]]:
    """Return member -> what it says it owns, of those that are in the group."""
    owned: dict[str, set[int]] = {}
    for event in sorted(events, key=lambda one: one.at):
        match event.event:
            case "assigned":
                owned.setdefault(event.member, set()).update(event.partitions)
            case "revoked" | "lost":
                owned.setdefault(event.member, set()).difference_update(event.partitions)
            case "killed" | "stopped" | "paused" | "closing":
                owned.pop(event.member, None)
    return owned
