"""Classic groups are written as Apache Kafka writes them: same records, same fields, in the same order.

Both brokers hear the same conversation; then kafka-dump-log tells what lies in `__consumer_offsets`. What a
clock or chance decides, timestamps and member ids, is made equal.
"""

import json
import re
import threading
import time
from pathlib import Path
from typing import Any

import pytest

from barnabas.coordinator.runtime.partition_for import partition_for
from barnabas.protocol import messages as m
from tests.broker import BarnabasBroker
from tests.net.wire import Wire
from tests.oracle.kafka import KafkaBroker
from tests.oracle.kafka_tools import dump_log

pytestmark = [pytest.mark.interop, pytest.mark.java]

MEMBER_ID_REQUIRED = 79
REBALANCE_IN_PROGRESS = 27
READY_TIMEOUT_S = 60
UUID = re.compile(r"[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}")


def join(wire: Wire, group: str, member_id: str, metadata: bytes, instance: str | None = None) -> Any:
    request = m.JoinGroupRequest(
        group_id=group,
        session_timeout_ms=6_000,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        group_instance_id=instance,
        protocol_type="consumer",
        protocols=[m.JoinGroupRequestJoinGroupRequestProtocol(name="range", metadata=metadata)],
    )
    return wire.ask(request, 9)


def sync(wire: Wire, group: str, member: Any, assignments: dict[str, bytes]) -> Any:
    request = m.SyncGroupRequest(
        group_id=group,
        generation_id=member.generation_id,
        member_id=member.member_id,
        protocol_type="consumer",
        protocol_name="range",
        assignments=[
            m.SyncGroupRequestSyncGroupRequestAssignment(member_id=name, assignment=given)
            for name, given in assignments.items()
        ],
    )
    return wire.ask(request, 5)


def first_join(wire: Wire, group: str) -> Any:
    """Join with an id; the coordinator may have to be made and loaded first."""
    deadline = time.monotonic() + READY_TIMEOUT_S
    while time.monotonic() < deadline:
        wire.ask(m.FindCoordinatorRequest(key_type=0, coordinator_keys=[group]), 4)
        answer = join(wire, group, "", b"one")
        if answer.error_code == MEMBER_ID_REQUIRED:
            return join(wire, group, answer.member_id, b"one")
        time.sleep(0.1)
    raise AssertionError(f"no coordinator for {group}")


def converse(port: int, group: str) -> None:
    """One joins and assigns, a static one joins and is back under a new id, both leave, the group goes."""
    with Wire(port) as wire, Wire(port) as other_wire:
        member = first_join(wire, group)
        assert sync(wire, group, member, {member.member_id: b"A"}).error_code == 0
        joined: list[Any] = []
        joining = threading.Thread(
            target=lambda: joined.append(join(other_wire, group, "", b"two", instance="seat"))
        )
        joining.start()
        beat = m.HeartbeatRequest(group_id=group, generation_id=1, member_id=member.member_id)
        while wire.ask(beat, 4).error_code != REBALANCE_IN_PROGRESS:
            time.sleep(0.05)
        member_again = join(wire, group, member.member_id, b"one again")
        joining.join(READY_TIMEOUT_S)
        other = joined[0]
        assignments = {member.member_id: b"A2", other.member_id: b"B2"}
        assert sync(wire, group, member_again, assignments).error_code == 0
        assert sync(other_wire, group, other, {}).assignment == b"B2"
        back = join(other_wire, group, "", b"three", instance="seat")
        assert (back.error_code, back.generation_id) == (0, other.generation_id)
        leaving = [
            m.LeaveGroupRequestMemberIdentity(member_id=member.member_id),
            m.LeaveGroupRequestMemberIdentity(member_id="", group_instance_id="seat"),
        ]
        left = wire.ask(m.LeaveGroupRequest(group_id=group, members=leaving), 5)
        assert [one.error_code for one in left.members] == [0, 0]
        deleted = wire.ask(m.DeleteGroupsRequest(groups_names=[group]), 2)
        assert [one.error_code for one in deleted.results] == [0]


def written(data_dir: Path, group: str) -> list[Any]:
    """Return the values of the group's records, None for the tombstone."""
    count = len(list(data_dir.glob("__consumer_offsets-*")))
    folder = data_dir / f"__consumer_offsets-{partition_for(group, count)}"
    said = dump_log(*sorted(folder.glob("*.log")), extra=("--offsets-decoder",))
    found = []
    for key, value in re.findall(r"key: (\{.*?\}) payload: (.*)", said):
        if json.loads(key) == {"type": "2", "data": {"group": group}}:
            found.append(None if value == "<DELETE>" else json.loads(UUID.sub("uuid", value)))
    return found


def test_the_records_of_a_group_are_those_of_apache_kafka(
    kafka: KafkaBroker, barnabas: BarnabasBroker
) -> None:
    told = []
    for broker in (kafka, barnabas):
        converse(broker.port, "written")
        values = written(broker.data_dir, "written")
        for value in values[:-1]:
            assert abs(value["data"].pop("currentStateTimestamp") / 1000 - time.time()) < READY_TIMEOUT_S
            value["data"]["members"].sort(key=lambda member: member["memberId"])
        told.append(values)
    theirs, ours = told
    assert ours == theirs
    assert [value and len(value["data"]["members"]) for value in ours] == [0, 1, 2, 2, 0, None]
