"""Groups in a broker of this process: their topic, restarts and stops. Real sockets and files."""

import socket
import struct
import time
from pathlib import Path
from typing import Any

from barnabas.base.errors import ErrorCode
from barnabas.protocol import frames, messages
from tests.server.test_broker import Running

TOPIC = "read"
OFFSETS_TOPIC = "__consumer_offsets"
DEADLINE_S = 20


class Peer:
    """A connection that may wait for an answer while others ask."""

    def __init__(self, port: int) -> None:
        self._socket = socket.create_connection(("127.0.0.1", port), timeout=DEADLINE_S)
        self._stream = self._socket.makefile("rb")
        self._asked: list[tuple[messages.ApiSpec, int]] = []

    def send(self, request: messages.Message, version: int) -> None:
        spec = messages.BY_KEY[request.api_key]  # type: ignore[index]
        frame = frames.encode_request_header(spec.key, version, 1, "test") + request.encode(version)
        self._socket.sendall(struct.pack(">i", len(frame)) + frame)
        self._asked.append((spec, version))

    def receive(self) -> Any:
        spec, version = self._asked.pop(0)
        (length,) = struct.unpack(">i", self._stream.read(4))
        answer = memoryview(self._stream.read(length))
        _, offset = frames.decode_response_header(answer, spec.key, version)
        return spec.response.decode(answer, version, offset)

    def ask(self, request: messages.Message, version: int) -> Any:
        self.send(request, version)
        return self.receive()

    def close(self) -> None:
        self._stream.close()
        self._socket.close()


def find(running: Running, *groups: str) -> list[Any]:
    response: Any = running.ask(messages.FindCoordinatorRequest(coordinator_keys=list(groups)), 4)
    return list(response.coordinators)


def commit(running: Running, group: str, offset: int) -> int:
    partition = messages.OffsetCommitRequestOffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_metadata=""
    )
    topic = messages.OffsetCommitRequestOffsetCommitRequestTopic(name=TOPIC, partitions=[partition])
    response: Any = running.ask(messages.OffsetCommitRequest(group_id=group, topics=[topic]), 9)
    return int(response.topics[0].partitions[0].error_code)


def committed(running: Running, group: str) -> int:
    """Ask until the group is loaded."""
    request = messages.OffsetFetchRequest(
        groups=[messages.OffsetFetchRequestOffsetFetchRequestGroup(group_id=group, topics=None)]
    )
    deadline = time.monotonic() + DEADLINE_S
    while True:
        response: Any = running.ask(request, 8)
        (answer,) = response.groups
        if answer.error_code == 0:
            return int(answer.topics[0].partitions[0].committed_offset)
        assert answer.error_code == ErrorCode.COORDINATOR_LOAD_IN_PROGRESS
        assert time.monotonic() < deadline


def join(member_id: str = "", version: int = 3) -> messages.JoinGroupRequest:
    protocol = messages.JoinGroupRequestJoinGroupRequestProtocol(name="range", metadata=b"")
    return messages.JoinGroupRequest(
        group_id="g",
        session_timeout_ms=30_000,
        rebalance_timeout_ms=60_000,
        member_id=member_id,
        protocol_type="consumer",
        protocols=[protocol],
    )


def test_the_first_who_asks_for_a_coordinator_has_the_topic_made_and_is_told_at_once(tmp_path: Path) -> None:
    with Running(tmp_path, "offsets.topic.num.partitions=3") as running:
        (found,) = find(running, "g")
        assert (found.error_code, found.port, found.error_message) == (0, running.port, "")
        assert len(running.broker.image.topics[OFFSETS_TOPIC].partitions) == 3
        resource = messages.DescribeConfigsRequestDescribeConfigsResource(
            resource_type=2,
            resource_name=OFFSETS_TOPIC,
            configuration_keys=["cleanup.policy", "segment.bytes", "compression.type"],
        )
        described: Any = running.ask(messages.DescribeConfigsRequest(resources=[resource]), 4)
        assert {config.name: config.value for config in described.results[0].configs} == {
            "cleanup.policy": "compact",
            "segment.bytes": "104857600",
            "compression.type": "producer",
        }


def test_a_topic_that_cannot_be_made_is_told_with_the_reason(tmp_path: Path) -> None:
    with Running(tmp_path, "offsets.topic.replication.factor=3") as running:
        (found,) = find(running, "g")
    assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert "3 time(s)" in found.error_message


def test_offsets_survive_a_restart(tmp_path: Path) -> None:
    with Running(tmp_path) as first:
        first.create(TOPIC)
        find(first, "g")
        assert commit(first, "g", 5) == 0
        assert commit(first, "h", 6) == 0
    with Running(tmp_path) as second:
        assert (committed(second, "g"), committed(second, "h")) == (5, 6)
        assert commit(second, "g", 7) == 0
    with Running(tmp_path, "offsets.topic.num.partitions=7") as third:
        assert (committed(third, "g"), committed(third, "h")) == (7, 6)


def test_groups_are_loaded_behind_a_start_without_being_asked_for(tmp_path: Path) -> None:
    with Running(tmp_path) as first:
        first.create(TOPIC)
        find(first, "g")
        commit(first, "g", 5)
    with Running(tmp_path) as second:
        deadline = time.monotonic() + DEADLINE_S
        while second.broker.coordinators.groups is None or not list(
            second.broker.coordinators.groups.active_shards()
        ):
            assert time.monotonic() < deadline
            time.sleep(0.01)


def test_a_broker_without_groups_does_not_load_their_code(tmp_path: Path) -> None:
    with Running(tmp_path) as running:
        running.create(TOPIC)
        assert running.broker.coordinators.groups is None


def test_a_stop_answers_who_waits_in_a_group(tmp_path: Path) -> None:
    with Running(tmp_path, "group.initial.rebalance.delay.ms=60000") as running:
        find(running, "g")
        peer = Peer(running.port)
        peer.send(join(), 3)
        while (
            not running.broker.coordinators.groups
            or not running.broker.coordinators.groups.statistics().timers
        ):
            time.sleep(0.01)
        began = time.monotonic()
        running.broker.stop()
        assert peer.receive().error_code == ErrorCode.NOT_COORDINATOR
        assert time.monotonic() - began < DEADLINE_S / 2, "and not when its minute is over"
        peer.close()


def test_deleting_a_topic_drops_its_offsets(tmp_path: Path) -> None:
    with Running(tmp_path) as running:
        running.create(TOPIC)
        find(running, "g")
        commit(running, "g", 5)
        running.ask(messages.DeleteTopicsRequest(topic_names=[TOPIC]), 5)
        running.create(TOPIC)
        request = messages.OffsetFetchRequest(
            groups=[messages.OffsetFetchRequestOffsetFetchRequestGroup(group_id="g", topics=None)]
        )
        response: Any = running.ask(request, 8)
        assert response.groups[0].topics == []


def test_another_key_type_has_no_coordinator_yet(tmp_path: Path) -> None:
    with Running(tmp_path) as running:
        request = messages.FindCoordinatorRequest(key_type=2, coordinator_keys=["t"])
        response: Any = running.ask(request, 6)
        (found,) = response.coordinators
        assert found.error_code == ErrorCode.COORDINATOR_NOT_AVAILABLE
        assert "share groups" in found.error_message
