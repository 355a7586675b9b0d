"""A shard of classic groups that a test drives by hand: requests, time, a log that may refuse, restarts.

It runs operations as the runtime does: append, replay, `appended`, answer. Timers are the broker's own over a
clock that only the test moves.
"""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from barnabas.base.dataclass import replace
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.classic.group import ClassicGroup, ClassicMember
from barnabas.coordinator.classic.groups import ClassicGroups
from barnabas.coordinator.groups.config import GroupConfig
from barnabas.coordinator.groups.group import Group, GroupClient, GroupContext
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome
from barnabas.coordinator.runtime.record_codec import RecordCodec
from barnabas.coordinator.runtime.shard_timers import ShardTimers
from barnabas.metadata.image import MetadataImage
from barnabas.protocol import messages
from barnabas.sim.clock import ManualClock
from barnabas.timing.timer_wheel import TimerWheel
from tests.seeded_entropy import SeededEntropy

GROUP = "g"
SESSION_MS = 10_000
REBALANCE_MS = 60_000


@dataclass
class Answer:
    """What came back for one request; nothing while it waits."""

    responses: list[Any] = field(default_factory=list)

    @property
    def is_waiting(self) -> bool:
        return not self.responses

    @property
    def response(self) -> Any:
        (only,) = self.responses
        return only

    @property
    def error(self) -> ErrorCode:
        return ErrorCode(self.response.error_code)


def subscription(*topics: str, version: int = 1) -> bytes:
    """Return a consumer's metadata for a protocol."""
    body = messages.ConsumerProtocolSubscription(topics=list(topics)).encode(version)
    return version.to_bytes(2, "big") + body


class ClassicDriver:
    """One shard.

    Attributes:
        log: every record that was appended.
        refuses: what appends fail with; None lets them pass.
    """

    def __init__(self, config: GroupConfig | None = None) -> None:
        self.clock = ManualClock()
        self.wheel = TimerWheel(self.clock.monotonic_ms())
        self.codec = RecordCodec("group_records")
        self.config = config or GroupConfig(group_initial_rebalance_delay_ms=0)
        self.log: list[tuple[bytes, bytes | None]] = []
        self.refuses: ErrorCode | None = None
        self.entropy = SeededEntropy(1)
        self._make()

    def _make(self) -> None:
        self.timers = ShardTimers(clock=self.clock, wheel=self.wheel, run=self._run_timer)
        self.groups: dict[str, Group] = {}
        context = GroupContext(
            image=MetadataImage(),
            config_of=lambda _: self.config,
            clock=self.clock,
            entropy=self.entropy,
            timers=self.timers,
            metadata_offset=lambda: 0,
        )
        self.classic = ClassicGroups(context, self.groups)

    def restart(self) -> None:
        """Lose everything but the log, and load that."""
        self.timers.close()
        self.classic.unloaded()
        self._make()
        for key, value in self.log:
            self._replay(self.codec.decode(key, value))
        self.classic.loaded(self.clock.wall_ms())

    def load(self) -> None:
        """Begin without a log."""
        self.classic.loaded(self.clock.wall_ms())

    @property
    def group(self) -> ClassicGroup:
        found = self.groups[GROUP]
        assert isinstance(found, ClassicGroup)
        return found

    def member(self, member_id: str) -> ClassicMember:
        return self.group.members[member_id]

    @property
    def records(self) -> list[messages.GroupMetadataValue | None]:
        """The values that were written, decoded again."""
        return [self.codec.decode(key, value).value for key, value in self.log]  # type: ignore[misc]

    def configure(self, **changes: Any) -> None:
        self.config = replace(self.config, **changes)

    # Time

    def advance(self, milliseconds: int) -> None:
        """Let time pass; every deadline on the way fires when it is due."""
        until_ms = self.clock.monotonic_ms() + milliseconds
        while True:
            next_ms = self.wheel.next_deadline_ms()
            if next_ms is None or next_ms > until_ms:
                break
            self.clock.advance_ms(max(next_ms - self.clock.monotonic_ms(), 0))
            self.wheel.advance(self.clock.monotonic_ms())
        self.clock.advance_ms(until_ms - self.clock.monotonic_ms())

    # Requests

    def join(
        self,
        member_id: str = "",
        *,
        group_id: str = GROUP,
        instance: str | None = None,
        protocols: Sequence[tuple[str, bytes]] = (("range", b"r"),),
        protocol_type: str = "consumer",
        session_ms: int = SESSION_MS,
        rebalance_ms: int = REBALANCE_MS,
        version: int = 9,
        client_id: str = "client",
        reason: str | None = None,
    ) -> Answer:
        request = messages.JoinGroupRequest(
            group_id=group_id,
            session_timeout_ms=session_ms,
            rebalance_timeout_ms=rebalance_ms,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocols=[
                messages.JoinGroupRequestJoinGroupRequestProtocol(name=name, metadata=metadata)
                for name, metadata in protocols
            ],
            reason=reason,
        )
        client = GroupClient(client_id=client_id, host="/127.0.0.1")
        answer = Answer()
        reply = answer.responses.append
        return self.run(
            lambda now_ms: self.classic.join(client, request, version, now_ms, reply),
            answer,
            messages.JoinGroupResponse,
        )

    def join_new(self, **how: Any) -> tuple[str, Answer]:
        """Join as KIP-394 wants it: once for the id, once with it."""
        member_id = self.join(**how).response.member_id
        return member_id, self.join(member_id, **how)

    def sync(
        self,
        member_id: str,
        assignments: Mapping[str, bytes] | None = None,
        *,
        generation: int | None = None,
        instance: str | None = None,
        protocol_type: str | None = "consumer",
        protocol: str | None = "range",
        version: int = 5,
        group_id: str = GROUP,
    ) -> Answer:
        request = messages.SyncGroupRequest(
            group_id=group_id,
            generation_id=self.group.generation_id if generation is None else generation,
            member_id=member_id,
            group_instance_id=instance,
            protocol_type=protocol_type,
            protocol_name=protocol,
            assignments=[
                messages.SyncGroupRequestSyncGroupRequestAssignment(member_id=name, assignment=given)
                for name, given in (assignments or {}).items()
            ],
        )
        answer = Answer()
        return self.run(
            lambda now_ms: self.classic.sync(_CLIENT, request, version, now_ms, answer.responses.append),
            answer,
            messages.SyncGroupResponse,
        )

    def heartbeat(
        self,
        member_id: str,
        *,
        generation: int | None = None,
        instance: str | None = None,
        group_id: str = GROUP,
    ) -> ErrorCode:
        request = messages.HeartbeatRequest(
            group_id=group_id,
            generation_id=self.group.generation_id if generation is None else generation,
            member_id=member_id,
            group_instance_id=instance,
        )
        answer = self.run(
            lambda now_ms: self.classic.heartbeat(_CLIENT, request, 4, now_ms),
            Answer(),
            messages.HeartbeatResponse,
        )
        return answer.error

    def leave(self, *members: str | tuple[str, str], group_id: str = GROUP) -> Answer:
        """Leave by member id, or by (member id, instance id)."""
        identities = [name if isinstance(name, tuple) else (name, None) for name in members]
        request = messages.LeaveGroupRequest(
            group_id=group_id,
            members=[
                messages.LeaveGroupRequestMemberIdentity(member_id=name, group_instance_id=instance)
                for name, instance in identities
            ],
        )
        return self.run(
            lambda now_ms: self.classic.leave(_CLIENT, request, 5, now_ms),
            Answer(),
            messages.LeaveGroupResponse,
        )

    def stable(self, count: int, **how: Any) -> list[str]:
        """Make a stable group of members without instance ids; the first leads.

        All of them join in one rebalance. Each is assigned its number as text.
        """
        delay_ms = self.config.group_initial_rebalance_delay_ms
        self.configure(group_initial_rebalance_delay_ms=1)
        joined = [self.join_new(**how) for _ in range(count)]
        self.advance(count + 1)
        self.configure(group_initial_rebalance_delay_ms=delay_ms)
        names = [name for name, _ in joined]
        assert all(answer.error is ErrorCode.NONE for _, answer in joined)
        followers = [self.sync(name) for name in names[1:]]
        leader = self.sync(names[0], {name: str(index).encode() for index, name in enumerate(names)})
        assert all(answer.error is ErrorCode.NONE for answer in [leader, *followers])
        return names

    # As the runtime does it

    def run(
        self,
        operation: Callable[[int], Outcome[Any]],
        answer: Answer,
        error_response: Callable[..., Any],
    ) -> Answer:
        try:
            outcome = operation(self.clock.wall_ms())
        except ApiError as error:
            answer.responses.append(error_response(error_code=error.code))
            return answer
        error = self.append(outcome)
        if error is not None:
            answer.responses.append(error_response(error_code=error.code))
        elif outcome.response is not None:
            answer.responses.append(outcome.response)
        return answer

    def append(self, outcome: Outcome[Any]) -> ApiError | None:
        error = ApiError(self.refuses) if outcome.records and self.refuses is not None else None
        if error is None:
            for record in outcome.records:
                self.log.append(self.codec.encode(record))
            for record in outcome.records:
                self._replay(record)
            if outcome.records and outcome.replayed is not None:
                outcome.replayed()
        if outcome.appended is not None:
            outcome.appended(error)
        return error

    def _replay(self, record: CoordinatorRecord) -> None:
        assert isinstance(record.key, messages.GroupMetadataKey)
        self.classic.replay_group_metadata(record.key, record.value)  # type: ignore[arg-type]

    def _run_timer(self, key: Any, operation: Callable[[int], Outcome[None]]) -> None:
        error = self.append(operation(self.clock.wall_ms()))
        if error is not None:
            self.timers.retry(key, operation)


_CLIENT = GroupClient(client_id="client", host="/127.0.0.1")
