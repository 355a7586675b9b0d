"""One group of the classic protocol: who is in it, what was agreed on, and which state it is in.

A classic group does the assigning itself: members join, one of them, the leader, is told of all, assigns
partitions and hands the result in, and each member fetches its own. The broker only counts generations and
waits. So nearly all of this is soft state that a restart may forget; what is kept is written when the leader
hands in its assignment and when the last member is gone (`classic/records.py`).

Here is the state and what may be asked of it; `classic/rebalance.py` moves it on, `classic/join.py` and its
like answer requests. Rejected: one class with all of it, as long as a book, and a class per state, which
would scatter the few rules that each state has.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from types import MappingProxyType

from barnabas.base.clock import Clock
from barnabas.base.dataclass import dataclass
from barnabas.base.enums import Enum
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final
from barnabas.coordinator.classic.protocols import select_protocol, subscribed_topics
from barnabas.coordinator.groups.group import GroupType
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Reply
from barnabas.protocol import messages

CONSUMER_PROTOCOL_TYPE: Final = "consumer"

_IDS_TOLD_MAX: Final = 10
_ID_CHARS_TOLD_MAX: Final = 300

GroupProtocols = Sequence[tuple[str, bytes]]
"""What a member can do, the dearest first: (name, metadata)."""


class ClassicGroupState(Enum):
    """Where a group stands; the values are what ListGroups and DescribeGroups tell."""

    EMPTY = "Empty"
    PREPARING_REBALANCE = "PreparingRebalance"
    COMPLETING_REBALANCE = "CompletingRebalance"
    STABLE = "Stable"
    DEAD = "Dead"


_EMPTY: Final = ClassicGroupState.EMPTY
_PREPARING: Final = ClassicGroupState.PREPARING_REBALANCE
_COMPLETING: Final = ClassicGroupState.COMPLETING_REBALANCE
_STABLE: Final = ClassicGroupState.STABLE
_DEAD: Final = ClassicGroupState.DEAD

TRANSITIONS: Final[Mapping[tuple[ClassicGroupState, ClassicGroupState], str]] = MappingProxyType(
    {
        (_EMPTY, _PREPARING): "a member joins",
        (_PREPARING, _COMPLETING): "all joined, or the rebalance timeout passed",
        (_PREPARING, _EMPTY): "nobody is left",
        (_COMPLETING, _STABLE): "the leader's assignment is in the log",
        (_COMPLETING, _PREPARING): "a member joins, leaves or expires, or the append failed",
        (_STABLE, _PREPARING): "a member joins, leaves or expires, or asks for it",
        (_EMPTY, _DEAD): "unloaded",
        (_PREPARING, _DEAD): "unloaded",
        (_COMPLETING, _DEAD): "unloaded",
        (_STABLE, _DEAD): "unloaded",
    }
)
"""(from, to) -> when. Anything else is a fault of ours."""


@dataclass(slots=True, kw_only=True)
class ClassicMember:
    """One member.

    Attributes:
        group_instance_id: of a static member (KIP-345), else None.
        client_host: as Kafka writes it, `/127.0.0.1`.
        rebalance_timeout_ms: how long the others wait for it to join again.
        protocols: (name, metadata), the dearest first.
        assignment: what the leader last gave it; opaque.
        is_new: it has never been answered, so nobody heartbeats yet and a longer timeout holds.
        join_reply: answers its JoinGroup while that waits.
        sync_reply: answers its SyncGroup while that waits.
        session_deadline_ms: monotonic; see `classic/sessions.py`.
        session_timer_ms: when its timer fires, monotonic; -1 when it has none.
    """

    member_id: str
    group_instance_id: str | None
    client_id: str
    client_host: str
    rebalance_timeout_ms: int
    session_timeout_ms: int
    protocol_type: str
    protocols: GroupProtocols
    assignment: bytes = b""
    is_new: bool = False
    join_reply: Reply[messages.JoinGroupResponse] | None = None
    sync_reply: Reply[messages.SyncGroupResponse] | None = None
    session_deadline_ms: int = 0
    session_timer_ms: int = -1

    @property
    def is_static(self) -> bool:
        return self.group_instance_id is not None

    def metadata(self, protocol_name: str) -> bytes:
        """Return what it said for a protocol; empty when it does not know that one."""
        return next((metadata for name, metadata in self.protocols if name == protocol_name), b"")


class ClassicGroup:
    """One classic group; a `Group` to those who do not care how it rebalances.

    Attributes:
        members: by member id, in the order they came.
        static_members: group instance id -> member id.
        pending_join: ids that were given out and not used yet (KIP-394).
        pending_sync: members of this generation that have not asked for their assignment.
        generation_id: counts completed joins; 0 when there was none.
        protocol_type: empty while nobody ever joined.
        protocol_name: what was selected for this generation.
        previous_state: an initial rebalance is one that began when the group was empty.
        state_since_ms: wall time of the last transition; -1 when that is unknown.
        new_member_added: one joined since the initial rebalance last looked.
        subscribed: topics of this generation; None when members do not speak of topics.
    """

    __slots__ = (
        "_clock",
        "_protocol_counts",
        "awaiting_join",
        "generation_id",
        "group_id",
        "leader_id",
        "members",
        "new_member_added",
        "pending_join",
        "pending_sync",
        "previous_state",
        "protocol_name",
        "protocol_type",
        "state",
        "state_since_ms",
        "static_members",
        "subscribed",
    )

    def __init__(self, group_id: str, clock: Clock, *, state: ClassicGroupState = _EMPTY) -> None:
        self._clock = clock
        self._protocol_counts: dict[str, int] = {}
        self.awaiting_join = 0
        self.generation_id = 0
        self.group_id = group_id
        self.leader_id: str | None = None
        self.members: dict[str, ClassicMember] = {}
        self.new_member_added = False
        self.pending_join: set[str] = set()
        self.pending_sync: set[str] = set()
        self.previous_state = state
        self.protocol_name: str | None = None
        self.protocol_type = ""
        self.state = state
        self.state_since_ms = -1
        self.static_members: dict[str, str] = {}
        self.subscribed: frozenset[str] | None = None

    # What a `Group` answers.

    @property
    def type(self) -> GroupType:
        return GroupType.CLASSIC

    @property
    def state_name(self) -> str:
        return str(self.state.value)

    @property
    def is_empty(self) -> bool:
        return self.state is _EMPTY

    @property
    def member_count(self) -> int:
        return len(self.members)

    @property
    def is_simple(self) -> bool:
        """Whether it only ever held offsets, of consumers that assign partitions themselves."""
        return not self.protocol_type and self.is_empty and not self.pending_join

    @property
    def speaks_consumer_protocol(self) -> bool:
        return self.protocol_type == CONSUMER_PROTOCOL_TYPE

    def check_offset_commit(
        self,
        member_id: str,
        group_instance_id: str | None,
        generation_id_or_member_epoch: int,
        *,
        is_transactional: bool,
        api_version: int,  # noqa: ARG002 - the same in every version
    ) -> None:
        """Let a member commit, or whoever does not pretend to be one while the group is empty.

        Raises:
            ApiError: UNKNOWN_MEMBER_ID, ILLEGAL_GENERATION, FENCED_INSTANCE_ID, REBALANCE_IN_PROGRESS,
                COORDINATOR_NOT_AVAILABLE.
        """
        if self.state is _DEAD:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        if generation_id_or_member_epoch < 0 and self.state is _EMPTY:
            return
        if generation_id_or_member_epoch >= 0 or member_id or group_instance_id is not None:
            self.check_member(member_id, group_instance_id)
            if generation_id_or_member_epoch != self.generation_id:
                raise ApiError(ErrorCode.ILLEGAL_GENERATION)
        elif not is_transactional:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
        if self.state is _COMPLETING and not is_transactional:
            raise ApiError(ErrorCode.REBALANCE_IN_PROGRESS)

    def check_offset_fetch(self, member_id: str | None, member_epoch: int) -> None:  # noqa: ARG002
        """Let anybody read offsets.

        Raises:
            ApiError: GROUP_ID_NOT_FOUND.
        """
        if self.state is _DEAD:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND)

    def check_offset_delete(self) -> None:
        """Let offsets be deleted, in a group with members only when their topics are known.

        Raises:
            ApiError: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND.
        """
        if self.state is _DEAD:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND)
        if self.state is not _EMPTY and not self.speaks_consumer_protocol:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    def check_delete(self) -> None:
        """Let an empty group be deleted.

        Raises:
            ApiError: NON_EMPTY_GROUP, GROUP_ID_NOT_FOUND.
        """
        if self.state is _DEAD:
            raise ApiError(ErrorCode.GROUP_ID_NOT_FOUND)
        if self.state is not _EMPTY:
            raise ApiError(ErrorCode.NON_EMPTY_GROUP)

    def is_subscribed_to(self, topic: str) -> bool:
        """Whether a member may read the topic; where that is unknown a consumer group may read any."""
        if self.subscribed is None:
            return self.speaks_consumer_protocol
        return topic in self.subscribed

    def offsets_expire_since_ms(self, commit_ms: int) -> int | None:
        """Return the wall time from which an offset's retention counts; None while it must not expire."""
        if not self.protocol_type:
            return commit_ms
        if self.state is _EMPTY:
            return commit_ms if self.state_since_ms < 0 else self.state_since_ms
        if self.state is _STABLE and self.speaks_consumer_protocol and self.subscribed is not None:
            return commit_ms
        return None

    def tombstones(self) -> list[CoordinatorRecord]:
        """Return the record that makes a restart forget the group."""
        return [CoordinatorRecord(key=messages.GroupMetadataKey(group=self.group_id), value=None)]

    def heartbeat_noted(self, member_id: str) -> None:
        """Restart the session of a member that committed; its timer looks at the deadline when it fires."""
        member = self.members.get(member_id)
        if member is not None and self.state in (_STABLE, _PREPARING):
            member.session_deadline_ms = self._clock.monotonic_ms() + member.session_timeout_ms

    # Who is in it.

    def check_member(self, member_id: str, group_instance_id: str | None) -> None:
        """Let a request of a member in.

        Raises:
            ApiError: UNKNOWN_MEMBER_ID; FENCED_INSTANCE_ID when another member took the instance over.
        """
        if group_instance_id is not None:
            owner = self.static_members.get(group_instance_id)
            if owner is None:
                raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)
            if owner != member_id:
                raise ApiError(ErrorCode.FENCED_INSTANCE_ID)
        if member_id not in self.members:
            raise ApiError(ErrorCode.UNKNOWN_MEMBER_ID)

    def is_leader(self, member_id: str) -> bool:
        return member_id == self.leader_id

    def supports(self, protocol_type: str, protocol_names: Iterable[str]) -> bool:
        """Whether who joins with these speaks what all members speak."""
        if not self.members:
            return bool(protocol_type) and any(True for _ in protocol_names)
        everybody = len(self.members)
        return self.protocol_type == protocol_type and any(
            self._protocol_counts.get(name) == everybody for name in protocol_names
        )

    def add(self, member: ClassicMember) -> None:
        """Let in a member that `supports` agrees with; the first one leads."""
        if not self.members:
            self.protocol_type = member.protocol_type
        if member.group_instance_id is not None:
            self.static_members[member.group_instance_id] = member.member_id
        if self.leader_id is None:
            self.leader_id = member.member_id
        self.members[member.member_id] = member
        self._count_protocols(member, 1)
        if member.join_reply is not None:
            self.awaiting_join += 1
        self.pending_join.discard(member.member_id)

    def remove(self, member_id: str) -> None:
        """Forget a member, or an id that was given out. Its timer and waiting requests are the caller's."""
        member = self.members.pop(member_id, None)
        if member is not None:
            self._count_protocols(member, -1)
            if member.join_reply is not None:
                self.awaiting_join -= 1
            if member.group_instance_id is not None:
                self.static_members.pop(member.group_instance_id, None)
        if self.is_leader(member_id):
            self.leader_id = next(iter(self.members), None)
        self.pending_join.discard(member_id)
        self.pending_sync.discard(member_id)

    def update(
        self,
        member: ClassicMember,
        protocols: GroupProtocols,
        rebalance_timeout_ms: int,
        session_timeout_ms: int,
    ) -> None:
        """Take over what a member says when it joins again."""
        self._count_protocols(member, -1)
        member.protocols = protocols
        self._count_protocols(member, 1)
        member.rebalance_timeout_ms = rebalance_timeout_ms
        member.session_timeout_ms = session_timeout_ms

    def replace_static(self, old_member_id: str, member_id: str) -> ClassicMember:
        """Give a static member's place to its new incarnation. Waiting requests are the caller's."""
        member = self.members.pop(old_member_id)
        assert member.group_instance_id is not None
        member.member_id = member_id
        self.members[member_id] = member
        self.static_members[member.group_instance_id] = member_id
        if self.is_leader(old_member_id):
            self.leader_id = member_id
        if old_member_id in self.pending_sync:
            self.pending_sync.remove(old_member_id)
            self.pending_sync.add(member_id)
        return member

    def await_join(
        self, member: ClassicMember, reply: Reply[messages.JoinGroupResponse] | None
    ) -> Reply[messages.JoinGroupResponse] | None:
        """Keep what answers a member's JoinGroup, or None; return what was kept before."""
        before = member.join_reply
        self.awaiting_join += (reply is not None) - (before is not None)
        member.join_reply = reply
        return before

    @property
    def all_joined(self) -> bool:
        """Whether every member waits for this rebalance to end, and no id is still out."""
        return self.awaiting_join == len(self.members) and not self.pending_join

    @property
    def rebalance_timeout_ms(self) -> int:
        """The longest of any member; 0 when there is none."""
        return max((member.rebalance_timeout_ms for member in self.members.values()), default=0)

    # How it moves on.

    def transition_to(self, state: ClassicGroupState, now_ms: int) -> None:
        """Change the state.

        Args:
            now_ms: wall time.
        """
        assert (self.state, state) in TRANSITIONS, f"{self.group_id}: {self.state} -> {state}"
        self.previous_state = self.state
        self.state = state
        self.state_since_ms = now_ms

    def become_empty(self, generation_id: int, now_ms: int) -> None:
        """End a rebalance that left nobody; `now_ms` is wall time, from which offsets expire."""
        self.generation_id = generation_id
        self.protocol_name = None
        self.leader_id = None
        self.pending_sync.clear()
        self.note_subscriptions()
        self.transition_to(_EMPTY, now_ms)

    def elect_joined_leader(self) -> bool:
        """Make sure that the leader is one who joined; False when nobody did."""
        if self.leader_id is None:
            return False
        if self.members[self.leader_id].join_reply is not None:
            return True
        joined = (name for name, member in self.members.items() if member.join_reply is not None)
        elected = next(joined, None)
        if elected is None:
            return False
        self.leader_id = elected
        return True

    def select_protocol(self) -> str:
        """Return the protocol that all members know and most prefer; there must be members."""
        everybody = len(self.members)
        candidates = {name for name, count in self._protocol_counts.items() if count == everybody}
        return select_protocol(candidates, (member.protocols for member in self.members.values()))

    def note_subscriptions(self) -> None:
        """Remember the topics of the members as they are now."""
        if not self.speaks_consumer_protocol or (self.members and self.protocol_name is None):
            self.subscribed = None
            return
        name = self.protocol_name or ""
        self.subscribed = subscribed_topics(member.metadata(name) for member in self.members.values())

    def _count_protocols(self, member: ClassicMember, step: int) -> None:
        for name in {name for name, _ in member.protocols}:
            self._protocol_counts[name] = self._protocol_counts.get(name, 0) + step
            if not self._protocol_counts[name]:
                del self._protocol_counts[name]


def told_ids(member_ids: Sequence[str]) -> str:
    """Return members for the log: a few by name, and how many more; clients choose how long it would be."""
    told = ", ".join(repr(member_id[:_ID_CHARS_TOLD_MAX]) for member_id in member_ids[:_IDS_TOLD_MAX])
    more = len(member_ids) - _IDS_TOLD_MAX
    return f"{told} and {more} more" if more > 0 else told
