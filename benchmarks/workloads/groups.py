"""A consumer group of a hundred members: forming it, its heartbeats, and one member's leaving.

Members are connections of this process that speak the classic protocol. All of a step's requests are sent
before its answers are read, which is as much at once as a hundred clients could ask.
"""

import itertools
import time
from dataclasses import dataclass
from typing import Any

from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey
from barnabas.protocol.frames import decode_response_header
from benchmarks.asking import AnsweredError, Asker
from benchmarks.brokers.server import Server
from benchmarks.processes import fine_cpu_s
from benchmarks.workloads.workload import Case, Figures, Lifetime, Scale, SkipError, Turn, Workload

MEMBERS = 100
HEARTBEATS = 20
COORDINATOR_S_MAX = 20
INITIAL_DELAY_MS = 500
SESSION_TIMEOUT_MS = 45_000
MEMBER_ID_REQUIRED = 79
REBALANCE_IN_PROGRESS = 27
COORDINATOR_ERRORS_RETRIED = frozenset({14, 15, 16})
JOIN_S_MAX = 40
VERSIONS = {
    ApiKey.FIND_COORDINATOR: 3,
    ApiKey.JOIN_GROUP: 5,
    ApiKey.SYNC_GROUP: 3,
    ApiKey.HEARTBEAT: 3,
    ApiKey.LEAVE_GROUP: 2,
}
CASE = f"{MEMBERS} members"


@dataclass(slots=True, kw_only=True)
class Member:
    """One member's connection and what the group calls it."""

    asker: Asker
    member_id: str = ""
    generation: int = -1
    leads: bool = False


class Group:
    """A hundred members of one group; as a context it closes their connections."""

    def __init__(self, port: int, name: str) -> None:
        self.name = name
        self.members = [Member(asker=Asker(port)) for _ in range(MEMBERS)]

    def all_ask(self, key: ApiKey, requests: list[m.Message], members: list[Member]) -> list[Any]:
        """Let each member ask; return the answers in order."""
        version = members[0].asker.version(key, VERSIONS[key])
        for member, request in zip(members, requests, strict=True):
            frame = member.asker.frame(key, version, request)
            member.asker.wire.sock.sendall(len(frame).to_bytes(4, "big") + frame)
        answers = []
        for member in members:
            frame = member.asker.wire.receive_frame()
            _, body = decode_response_header(memoryview(frame), key, version)
            answers.append(m.BY_KEY[key].response.decode(frame, version, body))
        return answers

    def _join_request(self, member: Member) -> m.Message:
        protocol = m.JoinGroupRequestJoinGroupRequestProtocol(name="range", metadata=b"\0\0\0\0\0\0")
        return m.JoinGroupRequest(
            group_id=self.name,
            session_timeout_ms=SESSION_TIMEOUT_MS,
            rebalance_timeout_ms=SESSION_TIMEOUT_MS,
            member_id=member.member_id,
            protocol_type="consumer",
            protocols=[protocol],
        )

    def join(self) -> None:
        """Let all members join and sync until all are in one generation.

        Raises:
            AnsweredError: an unexpected error, or no agreement.
        """
        deadline = time.monotonic() + JOIN_S_MAX
        while time.monotonic() < deadline:
            answers = self.all_ask(
                ApiKey.JOIN_GROUP, [self._join_request(one) for one in self.members], self.members
            )
            errors = {answer.error_code for answer in answers}
            for member, answer in zip(self.members, answers, strict=True):
                member.member_id = answer.member_id or member.member_id
                member.generation = answer.generation_id
                member.leads = answer.leader == answer.member_id
            if errors == {0} and len({one.generation for one in self.members}) == 1 and self._sync():
                return
            if errors & COORDINATOR_ERRORS_RETRIED:
                time.sleep(0.1)
            elif unexpected := errors - {0, MEMBER_ID_REQUIRED, REBALANCE_IN_PROGRESS}:
                raise AnsweredError(f"JoinGroup: errors {unexpected}")
        raise AnsweredError(f"the group did not come to rest in {JOIN_S_MAX} s")

    def _sync(self) -> bool:
        assignments = [
            m.SyncGroupRequestSyncGroupRequestAssignment(
                member_id=one.member_id, assignment=b"\0\0\0\0\0\0\0\0\0\0"
            )
            for one in self.members
        ]
        requests: list[m.Message] = [
            m.SyncGroupRequest(
                group_id=self.name,
                generation_id=one.generation,
                member_id=one.member_id,
                assignments=assignments if one.leads else [],
            )
            for one in self.members
        ]
        answers = self.all_ask(ApiKey.SYNC_GROUP, requests, self.members)
        return {answer.error_code for answer in answers} == {0}

    def beat(self) -> set[int]:
        """Let all members send a heartbeat; return the error codes."""
        requests: list[m.Message] = [
            m.HeartbeatRequest(group_id=self.name, generation_id=one.generation, member_id=one.member_id)
            for one in self.members
        ]
        return {answer.error_code for answer in self.all_ask(ApiKey.HEARTBEAT, requests, self.members)}

    def leave_one(self) -> None:
        """Let the last member that does not lead leave."""
        member = next(one for one in reversed(self.members) if not one.leads)
        self.members.remove(member)
        request = m.LeaveGroupRequest(group_id=self.name, member_id=member.member_id)
        (answer,) = self.all_ask(ApiKey.LEAVE_GROUP, [request], [member])
        member.asker.close()
        if answer.error_code:
            raise AnsweredError(f"LeaveGroup: error {answer.error_code}")

    def __enter__(self) -> "Group":
        return self

    def __exit__(self, *_: object) -> None:
        for member in self.members:
            member.asker.close()


def find_coordinator(port: int, group: str) -> None:
    """Wait for the group's coordinator.

    Raises:
        SkipError: the broker has none.
    """
    with Asker(port) as asker:
        if not {ApiKey.FIND_COORDINATOR, ApiKey.JOIN_GROUP, ApiKey.SYNC_GROUP} <= set(asker.versions):
            raise SkipError("it does not know consumer groups")
        deadline = time.monotonic() + COORDINATOR_S_MAX
        while True:
            version = asker.version(ApiKey.FIND_COORDINATOR, VERSIONS[ApiKey.FIND_COORDINATOR])
            answer = asker.ask(m.FindCoordinatorRequest(key=group), version)
            if answer.error_code == 0:
                return
            if answer.error_code not in COORDINATOR_ERRORS_RETRIED or time.monotonic() > deadline:
                raise SkipError(f"FindCoordinator answers error {answer.error_code}")
            time.sleep(0.1)


def prepare(server: Server, _scale: Scale) -> "itertools.count[int]":
    """See that there are groups; return numbers for their names."""
    find_coordinator(server.port, "bench-0")
    return itertools.count()


def run(turn: Turn) -> Figures:
    """Form a group, let it live, let one member leave."""
    assert isinstance(turn.kept, itertools.count)
    name = f"bench-{next(turn.kept)}"
    find_coordinator(turn.server.port, name)
    with Group(turn.server.port, name) as group:
        began = time.monotonic()
        group.join()
        joined_s = time.monotonic() - began
        if (errors := group.beat()) != {0}:
            raise AnsweredError(f"Heartbeat: errors {errors}")
        pids = turn.server.pids()
        spent = fine_cpu_s(pids)
        for _ in range(HEARTBEATS):
            group.beat()
        spent = fine_cpu_s(pids) - spent
        began = time.monotonic()
        group.leave_one()
        deadline = began + SESSION_TIMEOUT_MS / 1000
        while group.beat() != {REBALANCE_IN_PROGRESS}:
            if time.monotonic() > deadline:
                raise AnsweredError("nobody was told that a member left")
        group.join()
        rebalanced_s = time.monotonic() - began
    return {
        "rebalance_s": rebalanced_s,
        "join_s": joined_s,
        "cpu_us_per_heartbeat": spent / (HEARTBEATS * MEMBERS) * 1e6,
    }


def cases(_scale: Scale) -> list[Case]:
    """Return the one case."""
    figures = ("rebalance_s", "join_s", "cpu_us_per_heartbeat", "cpu_s")
    return [Case(name=CASE, run=run, figures=figures, seconds=2.5, warm_up=False)]


WORKLOAD = Workload(
    name="groups",
    title="A group of 100",
    method="A hundred connections of the harness speak the classic protocol: all join a new group"
    f" (group.initial.rebalance.delay.ms={INITIAL_DELAY_MS}, which the time until all have their"
    " assignment holds), send 20 heartbeats each, one leaves, and the others find out by a"
    " heartbeat and join again; the harness' own work is part of the times.",
    cases=cases,
    prepare=prepare,
    lifetime=Lifetime.OWN,
    prepare_s=5,
    others_rounds=1,
    needs_warm_servers=False,
    overrides={"group.initial.rebalance.delay.ms": str(INITIAL_DELAY_MS)},
)
