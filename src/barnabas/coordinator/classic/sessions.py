"""Sessions of classic members: who does not show up in time is gone.

Heartbeats are what a coordinator hears most, so one costs a clock reading and an assignment: it moves the
member's deadline and leaves the timer be. A timer that fires before the deadline goes on to it. So a timer
fires about once a session timeout for each member, and never late: it is moved at once when a deadline comes
nearer.

A timer that fires late tells that the broker itself stood still, by a pause of its machine or its disk.
Heartbeats sent meanwhile may lie unread, so silence proves nothing then, and members get a little longer.

Rejected: a timer replaced by each heartbeat, several times the work, and a scan of all members every so
often, which is late by up to its interval.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.hints import Final
from barnabas.coordinator.classic.group import ClassicGroup, ClassicMember
from barnabas.coordinator.groups.group import GroupContext
from barnabas.coordinator.runtime.outcome import Outcome

NEW_MEMBER_JOIN_TIMEOUT_MS: Final = 300_000
"""How long a member that never got an answer is kept: its client may wait for the rebalance or be gone."""

HELD_UP_FROM_MS: Final = 1_000
"""A timer that fires so late, or later, was held up."""

HELD_UP_GRACE_MS: Final = 3_000
"""What members get then: the interval of most clients' heartbeats, and time to read those that are there."""

NOTHING: Final[Outcome[None]] = Outcome()


class ClassicSessions:
    """Sessions of the classic members of a shard.

    Args:
        expired: (group, member, wall time in ms) of a member whose deadline has passed.
    """

    __slots__ = ("_clock", "_expired", "_timers")

    def __init__(
        self,
        context: GroupContext,
        expired: Callable[[ClassicGroup, ClassicMember, int], Outcome[None]],
    ) -> None:
        self._clock = context.clock
        self._expired = expired
        self._timers = context.timers

    def restart(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Give a member its whole session timeout from now."""
        self.restart_for(group, member, member.session_timeout_ms)

    def restart_for(self, group: ClassicGroup, member: ClassicMember, timeout_ms: int) -> None:
        """Give a member another time from now."""
        now_ms = self._clock.monotonic_ms()
        deadline_ms = now_ms + timeout_ms
        member.session_deadline_ms = deadline_ms
        if not 0 <= member.session_timer_ms <= deadline_ms:
            self._arm(group, member, now_ms)

    def stop(self, group: ClassicGroup, member: ClassicMember) -> None:
        """Forget a member that is gone, or about to change its id."""
        self._timers.cancel(_key(group.group_id, member.member_id))
        member.session_timer_ms = -1

    def start_pending(
        self, group_id: str, member_id: str, timeout_ms: int, expired: Callable[[int], Outcome[None]]
    ) -> None:
        """Keep an id that was given out for a while; its member's session takes the timer over."""
        self._timers.schedule(_key(group_id, member_id), timeout_ms, expired)

    def stop_pending(self, group_id: str, member_id: str) -> None:
        """Forget an id that was given out."""
        self._timers.cancel(_key(group_id, member_id))

    def _arm(self, group: ClassicGroup, member: ClassicMember, now_ms: int) -> None:
        member.session_timer_ms = member.session_deadline_ms
        self._timers.schedule(
            _key(group.group_id, member.member_id),
            member.session_deadline_ms - now_ms,
            lambda wall_ms: self._fired(group, member, wall_ms),
        )

    def _fired(self, group: ClassicGroup, member: ClassicMember, wall_ms: int) -> Outcome[None]:
        timer_ms, member.session_timer_ms = member.session_timer_ms, -1
        if group.members.get(member.member_id) is not member:
            return NOTHING  # tried again after its removal could not be appended
        now_ms = self._clock.monotonic_ms()
        if now_ms - timer_ms >= HELD_UP_FROM_MS:
            member.session_deadline_ms = max(member.session_deadline_ms, now_ms + HELD_UP_GRACE_MS)
        if now_ms < member.session_deadline_ms:
            self._arm(group, member, now_ms)
            return NOTHING
        return self._expired(group, member, wall_ms)


def _key(group_id: str, member_id: str) -> tuple[str, str, str]:
    return ("classic session", group_id, member_id)
