"""What heartbeats cost, and whether deadlines come in time while they do: many groups, many members.

    python benchmarks/groups.py [--groups 2000] [--members 5] [--connections 200] [--seconds 60]

A broker of its own on a fresh directory, raw connections from this process. Half of the groups are classic,
heartbeating every 3 s, half are consumer groups (KIP-848), every 5 s, as clients do by default; members share
connections, which brokers do not mind. Meanwhile deadlines are put to the test: a member joins a group whose
other member will not join again, and is answered when that one's rebalance timeout has passed. How much later
than that it is answered is the drift told here; it holds a pass of loopback and this client's own work.
"""

import argparse
import heapq
import itertools
import os
import resource
import select
import sys
import tempfile
import time
from collections import deque
from pathlib import Path
from typing import Any

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from hot_path import cpu_s
from start import resident_mib

from barnabas.protocol import messages as m
from tests.broker import BarnabasBroker
from tests.net.wire import Wire, frame_of

JOIN_VERSION, SYNC_VERSION, HEARTBEAT_VERSION, CONSUMER_VERSION = 3, 3, 3, 1
CLASSIC_EVERY_S, CONSUMER_EVERY_S = 3.0, 5.0
SESSION_MS, REBALANCE_MS = 45_000, 300_000
TOPIC = "events"
PARTITIONS = 10
PROBES = 100
PROBE_TIMEOUT_MS = 4000
LENGTH_BYTES = 4


def main() -> None:
    parser = argparse.ArgumentParser()
    parser.add_argument("--groups", type=int, default=2000)
    parser.add_argument("--members", type=int, default=5)
    parser.add_argument("--connections", type=int, default=200)
    parser.add_argument("--seconds", type=float, default=60)
    options = parser.parse_args()
    soft, hard = resource.getrlimit(resource.RLIMIT_NOFILE)
    resource.setrlimit(resource.RLIMIT_NOFILE, (min(hard, max(soft, options.connections + 1000)), hard))
    overrides = {"group.initial.rebalance.delay.ms": "0", "group.consumer.assignment.interval.ms": "0"}
    with (
        tempfile.TemporaryDirectory(prefix="barnabas-bench-") as folder,
        BarnabasBroker(Path(folder), overrides=overrides) as broker,
    ):
        measure(broker.port, broker.pid, options)


def measure(port: int, pid: int, options: argparse.Namespace) -> None:
    with Wire(port) as control:
        control.make_topic(TOPIC, PARTITIONS)
        asked = m.FindCoordinatorRequest(coordinator_keys=["any"])
        while control.ask(asked, 4).coordinators[0].error_code:
            time.sleep(0.05)
    wires = [Wire(port) for _ in range(options.connections)]
    before_mib, began = resident_mib(pid), time.perf_counter()
    beats = _form_groups(wires, options)
    took_s = time.perf_counter() - began
    grown_mib = resident_mib(pid) - before_mib
    print(
        f"{options.groups} groups with {len(beats)} members in {took_s:.1f} s,"
        f" {grown_mib * 1024 / len(beats):.1f} KiB a member",
        flush=True,
    )
    load = _Load(wires, beats)
    probes = _Probes(port, options.seconds)
    spent_s, began = cpu_s(pid), time.perf_counter()
    while time.perf_counter() - began < options.seconds or not probes.are_done:
        load.turn()
        probes.turn()
    spent_s = cpu_s(pid) - spent_s
    lasted_s = time.perf_counter() - began
    drifts = sorted(probes.drifts_ms)
    print(
        f"{load.answered / lasted_s:.0f} heartbeats a second: {100 * spent_s / lasted_s:.1f}% of a core,"
        f" {1e6 * spent_s / load.answered:.0f} us of processor time each, {load.errors} refused\n"
        f"answered within p50 {_quantile(load.waits_ms, 0.5):.1f} ms,"
        f" p99 {_quantile(load.waits_ms, 0.99):.1f} ms, max {max(load.waits_ms):.1f} ms\n"
        f"{len(drifts)} deadlines were late by p50 {_quantile(drifts, 0.5):.1f} ms,"
        f" p99 {_quantile(drifts, 0.99):.1f} ms, max {drifts[-1]:.1f} ms",
        flush=True,
    )


# Groups ------------------------------------------------------------------------------------------------


def _form_groups(wires: list[Wire], options: argparse.Namespace) -> list[tuple[int, float, bytes]]:
    """Make all groups; return (connection, interval, heartbeat) of each member."""
    beats: list[tuple[int, float, bytes]] = []
    places = itertools.count()
    for number in range(options.groups):
        chosen = [next(places) % len(wires) for _ in range(options.members)]
        if number % 2:
            made = _form_consumer(wires, chosen, f"consumer-{number}")
            beats += [(place, CONSUMER_EVERY_S, frame) for place, frame in made]
        else:
            made = _form_classic(wires, chosen, f"classic-{number}")
            beats += [(place, CLASSIC_EVERY_S, frame) for place, frame in made]
    return beats


def _join(group: str, member_id: str = "", timeout_ms: int = REBALANCE_MS) -> m.JoinGroupRequest:
    metadata = b"\x00\x01" + m.ConsumerProtocolSubscription(topics=[TOPIC]).encode(1)
    return m.JoinGroupRequest(
        group_id=group,
        session_timeout_ms=SESSION_MS,
        rebalance_timeout_ms=timeout_ms,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[m.JoinGroupRequestJoinGroupRequestProtocol(name="range", metadata=metadata)],
    )


def _form_classic(wires: list[Wire], places: list[int], group: str) -> list[tuple[int, bytes]]:
    """The first joins alone; the others make it join once more, so that all are in one generation."""
    leader = wires[places[0]].ask(_join(group), JOIN_VERSION).member_id
    for place in places[1:]:
        wires[place].sock.sendall(frame_of(_join(group), JOIN_VERSION))
    while not _all_wait(wires[places[0]], group, len(places)):
        time.sleep(0.001)
    wires[places[0]].sock.sendall(frame_of(_join(group, leader), JOIN_VERSION))
    answers = [_answer(wires[place], m.JoinGroupResponse, JOIN_VERSION) for place in places]
    made = []
    for place, answer in zip(places, answers, strict=True):
        given = [
            m.SyncGroupRequestSyncGroupRequestAssignment(member_id=other.member_id, assignment=b"")
            for other in answers
        ]
        wires[place].ask(
            m.SyncGroupRequest(
                group_id=group,
                generation_id=answer.generation_id,
                member_id=answer.member_id,
                assignments=given if place == places[0] else [],
            ),
            SYNC_VERSION,
        )
        beat = m.HeartbeatRequest(
            group_id=group, generation_id=answer.generation_id, member_id=answer.member_id
        )
        made.append((place, frame_of(beat, HEARTBEAT_VERSION)))
    return made


def _all_wait(wire: Wire, group: str, members: int) -> bool:
    return len(wire.ask(m.DescribeGroupsRequest(groups=[group]), 3).groups[0].members) == members


def _form_consumer(wires: list[Wire], places: list[int], group: str) -> list[tuple[int, bytes]]:
    """All enter, then take over in turn what they are assigned until nothing moves."""
    epochs = [0] * len(places)
    owned: list[list[Any]] = [[] for _ in places]
    is_moving = True
    while is_moving:
        is_moving = False
        for number, place in enumerate(places):
            answer = wires[place].ask(_beat(group, number, epochs[number], owned[number]), CONSUMER_VERSION)
            assert answer.error_code == 0, answer
            is_moving |= answer.member_epoch != epochs[number] or answer.assignment is not None
            epochs[number] = answer.member_epoch
            if answer.assignment is not None:
                owned[number] = answer.assignment.topic_partitions
    return [
        (place, frame_of(_beat(group, number, epochs[number], None), CONSUMER_VERSION))
        for number, place in enumerate(places)
    ]


def _beat(group: str, number: int, epoch: int, owned: list[Any] | None) -> m.ConsumerGroupHeartbeatRequest:
    request = m.ConsumerGroupHeartbeatRequest(
        group_id=group, member_id=f"{group}-member-{number}", member_epoch=epoch
    )
    if owned is not None:
        request.topic_partitions = [
            m.ConsumerGroupHeartbeatRequestTopicPartitions(topic_id=one.topic_id, partitions=one.partitions)
            for one in owned
        ]
    if epoch == 0:
        request.rebalance_timeout_ms = REBALANCE_MS
        request.subscribed_topic_names = [TOPIC]
    return request


def _answer(wire: Wire, kind: type[m.Message], version: int) -> Any:
    return kind.decode(wire.receive_frame(), version, LENGTH_BYTES)


# Load --------------------------------------------------------------------------------------------------


class _Load:
    """Sends each member's heartbeat when it is due, and hears the answers.

    Attributes:
        answered, errors: heartbeats, and those among them that were refused.
        waits_ms: from sending to hearing.
    """

    def __init__(self, wires: list[Wire], beats: list[tuple[int, float, bytes]]) -> None:
        self._wires = wires
        self._by_fd = {wire.sock.fileno(): place for place, wire in enumerate(wires)}
        self._poll = select.epoll()
        for fd in self._by_fd:
            self._poll.register(fd, select.EPOLLIN)
        self._sent: list[deque[tuple[float, bool]]] = [deque() for _ in wires]
        now = time.perf_counter()
        self._due = [
            (now + every_s * number / len(beats), number, place, every_s, frame)
            for number, (place, every_s, frame) in enumerate(beats)
        ]
        heapq.heapify(self._due)
        self.answered = 0
        self.errors = 0
        self.waits_ms: list[float] = []

    def turn(self) -> None:
        """Send what is due, hear what came; sleep a millisecond at most."""
        now = time.perf_counter()
        while self._due[0][0] <= now:
            due, number, place, every_s, frame = self._due[0]
            self._wires[place].sock.sendall(frame)
            self._sent[place].append((time.perf_counter(), every_s == CLASSIC_EVERY_S))
            heapq.heapreplace(self._due, (due + every_s, number, place, every_s, frame))
        for fd, _ in self._poll.poll(0.001):
            self._hear(self._by_fd[fd])

    def _hear(self, place: int) -> None:
        frame = self._wires[place].receive_frame()
        sent, is_classic = self._sent[place].popleft()
        self.waits_ms.append((time.perf_counter() - sent) * 1000)
        self.answered += 1
        kind, version = (
            (m.HeartbeatResponse, HEARTBEAT_VERSION)
            if is_classic
            else (m.ConsumerGroupHeartbeatResponse, CONSUMER_VERSION)
        )
        # The flexible header of the second has one byte of tags more.
        answer: Any = kind.decode(frame, version, LENGTH_BYTES + (not is_classic))
        self.errors += answer.error_code != 0


class _Probes:
    """Members that wait for another's rebalance timeout.

    Attributes:
        drifts_ms: how late each was answered.
    """

    def __init__(self, port: int, seconds: float) -> None:
        self._port = port
        self._began = time.perf_counter()
        self._every_s = max(0.01, (seconds - PROBE_TIMEOUT_MS / 1000 - 1) / PROBES)
        self._asked = 0
        self._waiting: dict[int, tuple[Wire, float]] = {}
        self._poll = select.epoll()
        self.drifts_ms: list[float] = []

    @property
    def are_done(self) -> bool:
        return len(self.drifts_ms) == PROBES

    def turn(self) -> None:
        """Ask when it is time, and hear who was answered."""
        due = self._began + self._asked * self._every_s
        if self._asked < PROBES and time.perf_counter() >= due:
            self._ask(f"probe-{os.getpid()}-{self._asked}")
            self._asked += 1
        for fd, _ in self._poll.poll(0):
            wire, deadline = self._waiting.pop(fd)
            self.drifts_ms.append((time.perf_counter() - deadline) * 1000)
            self._poll.unregister(fd)
            wire.close()

    def _ask(self, group: str) -> None:
        silent = Wire(self._port)
        answer = silent.ask(_join(group, timeout_ms=PROBE_TIMEOUT_MS), JOIN_VERSION)
        silent.ask(
            m.SyncGroupRequest(group_id=group, generation_id=1, member_id=answer.member_id), SYNC_VERSION
        )
        silent.close()
        waiting = Wire(self._port)
        waiting.sock.sendall(frame_of(_join(group, timeout_ms=PROBE_TIMEOUT_MS), JOIN_VERSION))
        deadline = time.perf_counter() + PROBE_TIMEOUT_MS / 1000
        self._waiting[waiting.sock.fileno()] = (waiting, deadline)
        self._poll.register(waiting.sock.fileno(), select.EPOLLIN)


def _quantile(values: list[float], share: float) -> float:
    ascending = sorted(values)
    return ascending[min(len(ascending) - 1, int(len(ascending) * share))]


if __name__ == "__main__":
    main()
