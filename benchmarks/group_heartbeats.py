"""What heartbeats cost, and how late sessions end: many groups whose members do nothing else.

    python benchmarks/group_heartbeats.py [--groups 2000] [--members 5] [--seconds 30]

A broker of its own. Each member is a connection that sends a heartbeat every three seconds, spread evenly.
The broker's processor time is read from /proc and divided by the heartbeats. Then, under that load, a member
of some groups falls silent while all others of their group wait in JoinGroup: those are answered when the
session ends, and by how much later than its last heartbeat plus the session timeout is the drift. What the
load's own process needs to notice an answer is part of it.

On a machine that does other things the drift is theirs as well; the load of the machine is printed.
"""

import argparse
import heapq
import os
import selectors
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from barnabas.protocol import messages as m
from barnabas.protocol.frames import decode_response_header
from benchmarks.processes import fine_cpu_s
from tests.broker import BarnabasBroker
from tests.net.wire import Wire, frame_of

HEARTBEAT_S = 3.0
SESSION_S = 300.0
SILENT_SESSION_S = 20.0
"""Of the groups in which a member falls silent, which are formed when all others are there."""
SILENT_GROUPS = 100
GROUPS_AT_ONCE = 100
JOIN_VERSION = 3
SYNC_VERSION = 2
HEARTBEAT_VERSION = 4
REBALANCE_TIMEOUT_MS = 120_000
OVERRIDES = {"group.initial.rebalance.delay.ms": "1000", "connections.max.idle.ms": "3600000"}


@dataclass(slots=True, eq=False)
class Member:
    """One member and its connection."""

    wire: Wire
    group: str
    member_id: str = ""
    generation: int = -1
    leader: str = ""
    beat: bytes = b""
    beat_at: float = 0.0
    is_silent: bool = False


@dataclass(slots=True)
class Beats:
    """What a stretch of heartbeats came to."""

    sent: int = 0
    answered: int = 0
    seconds: float = 0.0
    drifts_ms: list[float] = field(default_factory=list)


def join_request(member: Member, session_s: float) -> m.JoinGroupRequest:
    protocol = m.JoinGroupRequestJoinGroupRequestProtocol(name="range", metadata=os.urandom(16))
    return m.JoinGroupRequest(
        group_id=member.group,
        session_timeout_ms=int(session_s * 1000),
        rebalance_timeout_ms=REBALANCE_TIMEOUT_MS,
        member_id=member.member_id,
        protocol_type="benchmark",
        protocols=[protocol],
    )


def form(port: int, names: list[str], members_each: int, session_s: float) -> list[Member]:
    """Let groups form, all of them at once."""
    members = [Member(Wire(port), name) for name in names for _ in range(members_each)]
    for member in members:
        member.wire.sock.sendall(frame_of(join_request(member, session_s), JOIN_VERSION))
    for member in members:
        answer = read(member, m.JoinGroupResponse, 11, JOIN_VERSION)
        assert answer.error_code == 0, answer
        member.member_id, member.generation = answer.member_id, answer.generation_id
        member.leader = answer.leader
    for member in members:
        request = m.SyncGroupRequest(
            group_id=member.group, generation_id=member.generation, member_id=member.member_id
        )
        member.wire.sock.sendall(frame_of(request, SYNC_VERSION))
    for member in members:
        assert read(member, m.SyncGroupResponse, 14, SYNC_VERSION).error_code == 0
        beat = m.HeartbeatRequest(
            group_id=member.group, generation_id=member.generation, member_id=member.member_id
        )
        member.beat = frame_of(beat, HEARTBEAT_VERSION)
        member.beat_at = time.monotonic()
    return members


def read(member: Member, response: type[m.Message], key: int, version: int) -> m.Message:
    frame = member.wire.receive_frame()
    _, body = decode_response_header(memoryview(frame), key, version)
    return response.decode(frame, version, body)


def keep_beating(members: list[Member], seconds: float, waiting: dict[str, list[Member]]) -> Beats:
    """Send every member's heartbeats for a while.

    Args:
        waiting: members that wait in JoinGroup, by group; when one is answered, the drift of its silent one
            is taken. They beat no more.
    """
    silent = {member.group: member for member in members if member.is_silent}
    parked = {member for group in waiting.values() for member in group}
    beating = [member for member in members if not member.is_silent and member not in parked]
    selector = selectors.DefaultSelector()
    for member in [*beating, *parked]:
        selector.register(member.wire.sock, selectors.EVENT_READ, member)
    start = time.monotonic()
    due = [(start + HEARTBEAT_S * index / len(beating), index) for index in range(len(beating))]
    heapq.heapify(due)
    beats = Beats()
    answered_groups: set[str] = set()
    end = start + seconds
    while (now := time.monotonic()) < end or beats.answered < beats.sent:
        while due[0][0] <= now < end:
            at, index = due[0]
            member = beating[index]
            member.wire.sock.sendall(member.beat)
            member.beat_at = now
            beats.sent += 1
            heapq.heapreplace(due, (at + HEARTBEAT_S, index))
        for key, _ in selector.select(max(min(due[0][0], end) - time.monotonic(), 0)):
            member = key.data
            arrived = time.monotonic()
            frame = member.wire.receive_frame()
            if member not in parked:
                assert frame[-3:-1] == b"\0\0", f"heartbeat of {member.group}: error {frame!r}"
                beats.answered += 1
            elif member.group not in answered_groups:
                answered_groups.add(member.group)
                beats.drifts_ms.append((arrived - silent[member.group].beat_at - SILENT_SESSION_S) * 1000)
    beats.seconds = time.monotonic() - start
    selector.close()
    return beats


def fall_silent(members: list[Member], members_each: int) -> dict[str, list[Member]]:
    """Let the first member of each group fall silent, and the others wait for it in JoinGroup."""
    waiting = {}
    for first in range(0, len(members), members_each):
        silent, *others = members[first : first + members_each]
        for member in others:
            member.wire.sock.sendall(frame_of(join_request(member, SILENT_SESSION_S), JOIN_VERSION))
        silent.wire.sock.sendall(silent.beat)
        silent.beat_at = time.monotonic()
        silent.wire.receive_frame()
        silent.is_silent = True
        waiting[silent.group] = others
    return waiting


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--seconds", type=float, default=30.0)
    options = parser.parse_args()
    names = [f"group-{number}" for number in range(options.groups)]
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as folder,
        BarnabasBroker(Path(folder), overrides=OVERRIDES) as broker,
    ):
        with Wire(broker.port) as wire:
            wire.ask(m.FindCoordinatorRequest(key_type=0, coordinator_keys=["group-0"]), 4)
        members: list[Member] = []
        for first in range(0, len(names), GROUPS_AT_ONCE):
            members += form(broker.port, names[first : first + GROUPS_AT_ONCE], options.members, SESSION_S)
        print(f"{len(names)} groups, {len(members)} members; load averages {os.getloadavg()}", flush=True)
        keep_beating(members, HEARTBEAT_S, {})
        before_s = fine_cpu_s([broker.pid])
        beats = keep_beating(members, options.seconds, {})
        spent_s = fine_cpu_s([broker.pid]) - before_s
        print(
            f"{beats.answered} heartbeats in {beats.seconds:.1f} s: {spent_s / beats.answered * 1e6:.1f} us "
            f"of processor each, {spent_s / beats.seconds * 100:.1f} % of one",
            flush=True,
        )
        names = [f"silent-{number}" for number in range(SILENT_GROUPS)]
        sampled = form(broker.port, names, options.members, SILENT_SESSION_S)
        waiting = fall_silent(sampled, options.members)
        drifts_ms = keep_beating(members + sampled, SILENT_SESSION_S + 3, waiting).drifts_ms
        print(
            f"{len(drifts_ms)} sessions ended late by {statistics.median(drifts_ms):.1f} ms "
            f"(median; {min(drifts_ms):.1f} to {max(drifts_ms):.1f})"
        )
        for member in members + sampled:
            member.wire.sock.close()


if __name__ == "__main__":
    main()
