"""Groups that change their protocol while they run, and classic members in consumer groups."""

from typing import Any

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.classic.group import ClassicGroup, ClassicGroupState
from barnabas.coordinator.consumer.group import ConsumerGroup
from barnabas.coordinator.groups.consumer_protocol import read_assignment, write_assignment
from barnabas.protocol import messages
from tests.consumer_members import GROUP, Members
from tests.group_host import HostConnection

SESSION_MS = 30_000
REBALANCE_MS = 20_000


def subscription(topics: list[str], owned: dict[str, list[int]] | None = None) -> bytes:
    message = messages.ConsumerProtocolSubscription(
        topics=topics,
        owned_partitions=[
            messages.ConsumerProtocolSubscriptionTopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in (owned or {}).items()
        ],
    )
    return b"\0\3" + message.encode(3)


class Classic(Members):
    """Members that speak the classic protocol."""

    def join_classic(
        self,
        member_id: str = "",
        owned: dict[str, list[int]] | None = None,
        metadata: bytes | None = None,
        version: int = 9,
        **fields: Any,
    ) -> messages.JoinGroupResponse:
        """Send a JoinGroup that is answered at once."""
        response = self.ask(self.join_request(member_id, owned, metadata, **fields), version)
        assert isinstance(response, messages.JoinGroupResponse)
        return response

    @staticmethod
    def join_request(
        member_id: str = "",
        owned: dict[str, list[int]] | None = None,
        metadata: bytes | None = None,
        **fields: Any,
    ) -> messages.JoinGroupRequest:
        told: dict[str, Any] = {"protocol_type": "consumer", "session_timeout_ms": SESSION_MS} | fields
        return messages.JoinGroupRequest(
            group_id=GROUP,
            member_id=member_id,
            rebalance_timeout_ms=REBALANCE_MS,
            protocols=[
                messages.JoinGroupRequestJoinGroupRequestProtocol(
                    name="cooperative-sticky", metadata=metadata or subscription(["t"], owned)
                )
            ],
            **told,
        )

    def sync(self, member_id: str, generation: int, **fields: Any) -> messages.SyncGroupResponse:
        """Send a SyncGroup."""
        request = messages.SyncGroupRequest(
            group_id=GROUP,
            member_id=member_id,
            generation_id=generation,
            protocol_name="cooperative-sticky",
            **({"protocol_type": "consumer"} | fields),
        )
        response = self.ask(request, 5)
        assert isinstance(response, messages.SyncGroupResponse)
        return response

    def has(self, member_id: str, generation: int) -> list[int]:
        """Sync and return the partitions of t."""
        response = self.sync(member_id, generation)
        assert response.error_code == 0
        assignment = read_assignment(bytes(response.assignment))
        return [number for topic in assignment.assigned_partitions for number in topic.partitions]

    def classic_beat(self, member_id: str, generation: int, **fields: Any) -> int:
        """Send a Heartbeat; return its error."""
        request = messages.HeartbeatRequest(
            group_id=GROUP, member_id=member_id, generation_id=generation, **fields
        )
        return int(self.ask(request, 4).error_code)

    def leave_classic(self, member_id: str, instance_id: str | None = None) -> int:
        """Send a LeaveGroup; return the member's error."""
        identity = messages.LeaveGroupRequestMemberIdentity(
            member_id=member_id, group_instance_id=instance_id
        )
        return int(
            self.ask(messages.LeaveGroupRequest(group_id=GROUP, members=[identity]), 5).members[0].error_code
        )

    @property
    def classic_group(self) -> ClassicGroup:
        group = self.host.shard.groups[GROUP]
        assert isinstance(group, ClassicGroup)
        return group

    def form_classic(self, member_id: str = "", **fields: Any) -> str:
        """Form a stable classic group of one member, which has all partitions of t."""
        given = self.join_classic(member_id, **fields)
        if given.error_code == ErrorCode.MEMBER_ID_REQUIRED:
            given = self.join_classic(given.member_id, **fields)
        assert given.error_code == 0
        everything = write_assignment({"t": [0, 1, 2, 3, 4, 5]}, 3)
        assignment = messages.SyncGroupRequestSyncGroupRequestAssignment(
            member_id=given.member_id, assignment=everything
        )
        instance_id = fields.get("group_instance_id")
        synced = self.sync(
            given.member_id,
            given.generation_id,
            assignments=[assignment],
            group_instance_id=instance_id,
            protocol_type=fields.get("protocol_type", "consumer"),
        )
        assert synced.error_code == 0
        assert self.classic_group.state is ClassicGroupState.STABLE
        return given.member_id


@pytest.fixture
def members() -> Classic:
    return Classic(group_initial_rebalance_delay_ms=0)


# Classic to consumer


def test_a_consumer_makes_a_consumer_group_of_a_classic_one_whose_members_keep_what_they_have(
    members: Classic,
) -> None:
    old = members.form_classic()
    members.written()
    joined = members.join("new")
    assert joined.error_code == 0
    assert members.given(joined) == {}
    assert members.written()[0] == "-GroupMetadata"
    group = members.group
    assert list(group.members) == [old, "new"]
    assert group.members[old].uses_classic_protocol
    assert members.assigned(old) == {"t": [0, 1, 2, 3, 4, 5]}
    assert group.members[old].member_epoch == 1


def test_a_classic_member_gives_up_by_joining_again_and_the_consumer_gets_it(members: Classic) -> None:
    old = members.form_classic()
    members.join("new")
    assert members.classic_beat(old, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    first = members.join_classic(old, owned={"t": [0, 1, 2, 3, 4, 5]})
    assert (first.error_code, first.generation_id, first.protocol_name) == (0, 1, "cooperative-sticky")
    assert first.leader == ""
    assert members.has(old, 1) == [0, 1, 2]
    assert members.beat("new", 2, owned={}).assignment is None
    # It heartbeats on with what it is to keep, is told to join once more, and has let go by then.
    assert members.classic_beat(old, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    second = members.join_classic(old, owned={"t": [0, 1, 2]})
    assert second.generation_id == 2
    assert members.has(old, 2) == [0, 1, 2]
    assert members.classic_beat(old, 2) == 0
    assert members.given(members.beat("new", 2, owned={})) == {"t": [3, 4, 5]}


def test_whoever_waits_in_the_classic_group_is_told_to_join_again(members: Classic) -> None:
    old = members.form_classic()
    waiting = HostConnection("waiting")
    members.host.send(waiting, Classic.join_request(old, session_timeout_ms=SESSION_MS), 9)
    other = members.join_classic()
    members.host.send(waiting, Classic.join_request(other.member_id), 9)
    waiting.answers.clear()
    members.join("new")
    assert isinstance(members.host.shard.groups[GROUP], ConsumerGroup)
    errors = [answer.error_code for _, answer in waiting.answers]
    assert set(errors) <= {ErrorCode.REBALANCE_IN_PROGRESS}


@pytest.mark.parametrize("policy", ["disabled", "downgrade"])
def test_without_leave_to_upgrade_a_classic_group_stays_one(policy: str) -> None:
    members = Classic(group_initial_rebalance_delay_ms=0, group_consumer_migration_policy=policy)
    members.form_classic()
    assert members.join("new").error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert members.classic_group.state is ClassicGroupState.STABLE


def test_a_group_of_another_kind_or_too_large_stays_as_it_is(members: Classic) -> None:
    members.form_classic(protocol_type="connect", metadata=b"whatever")
    refused = members.join("new")
    assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "does not use the consumer embedded protocol" in (refused.error_message or "")
    small = Classic(group_initial_rebalance_delay_ms=0, group_consumer_max_size=0)
    small.form_classic()
    assert small.join("new").error_code == ErrorCode.GROUP_ID_NOT_FOUND


def test_a_subscription_that_cannot_be_read_keeps_the_group_classic(members: Classic) -> None:
    members.form_classic(metadata=b"\0\3\xff\xff")
    refused = members.join("new")
    assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "malformed" in (refused.error_message or "")
    assert members.classic_group.members


def test_a_member_of_a_classic_group_that_never_hears_of_the_upgrade_is_gone_after_its_session(
    members: Classic,
) -> None:
    old = members.form_classic()
    members.join("new")
    members.host.advance_ms(SESSION_MS - 1)
    assert old in members.group.members
    members.host.advance_ms(1)
    assert list(members.group.members) == ["new"]


def test_deadlines_of_one_life_as_a_consumer_group_do_not_reach_into_the_next(members: Classic) -> None:
    old = members.form_classic()
    members.join("new")
    assert members.classic_beat(old, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    members.beat("new", -1)
    generation = members.join_classic(old).generation_id
    members.host.advance_ms(REBALANCE_MS // 2)
    members.classic_beat(old, generation)
    members.join("newer")
    members.host.advance_ms(REBALANCE_MS // 2 + 1)
    assert old in members.group.members


def test_an_upgrade_survives_a_restart(members: Classic) -> None:
    old = members.form_classic()
    members.join("new")
    before = members.group
    members.host.restart(compacted=True)
    assert members.group.members == before.members
    assert members.classic_beat(old, 1) == ErrorCode.REBALANCE_IN_PROGRESS


# Consumer to classic


def test_when_the_last_consumer_leaves_the_group_becomes_classic_and_rebalances(members: Classic) -> None:
    old = members.form_classic()
    members.join("new")
    members.written()
    members.beat("new", -1)
    assert members.written()[-1] == "GroupMetadata"
    group = members.classic_group
    assert group.state is ClassicGroupState.PREPARING_REBALANCE
    assert (list(group.members), group.generation_id) == ([old], 2)
    assert members.classic_beat(old, 2) == ErrorCode.REBALANCE_IN_PROGRESS
    again = members.join_classic(old, owned={"t": [0, 1, 2, 3, 4, 5]})
    assert (again.error_code, again.generation_id, again.leader) == (0, 3, old)


def test_when_the_last_consumer_is_fenced_the_group_becomes_classic(members: Classic) -> None:
    old = members.form_classic()
    members.join("new")
    for _ in range(5):
        members.host.advance_ms(9_000)
        members.classic_beat(old, 1)
        members.join_classic(old, owned={})
        members.classic_beat(old, 2)
    assert list(members.classic_group.members) == [old]


def test_sessions_of_a_group_that_became_classic_end_as_they_do_there(members: Classic) -> None:
    members.form_classic()
    members.join("new")
    members.beat("new", -1)
    members.host.advance_ms(SESSION_MS + REBALANCE_MS)
    assert members.classic_group.is_empty


def test_without_leave_to_downgrade_it_stays_a_consumer_group() -> None:
    members = Classic(group_initial_rebalance_delay_ms=0, group_consumer_migration_policy="upgrade")
    old = members.form_classic()
    members.join("new")
    members.beat("new", -1)
    assert list(members.group.members) == [old]


def test_a_downgrade_that_cannot_be_written_leaves_a_consumer_group(members: Classic) -> None:
    members.form_classic()
    members.join("new")
    members.host.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert members.beat("new", -1).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert "new" in members.group.members


def test_a_static_member_that_was_the_last_consumer_comes_back_classic(members: Classic) -> None:
    old = members.form_classic()
    members.join("new", instance_id="i")
    members.join_classic(old, owned={"t": [0, 1, 2, 3, 4, 5]})
    members.join_classic(old, owned={"t": [0, 1, 2]})
    members.beat("new", 2, owned={}, instance_id="i")
    members.beat("new", -2, instance_id="i")
    back = members.join_classic(group_instance_id="i")
    assert back.error_code == 0
    group = members.classic_group
    assert sorted(group.members) == sorted([old, back.member_id])
    assert group.state is ClassicGroupState.STABLE
    given = read_assignment(group.members[back.member_id].assignment)
    assert [topic.partitions for topic in given.assigned_partitions] == [[3, 4, 5]]


# Classic members in a consumer group


def test_a_classic_member_joins_a_consumer_group_without_waiting(members: Classic) -> None:
    members.join("new")
    asked = members.join_classic()
    assert asked.error_code == ErrorCode.MEMBER_ID_REQUIRED
    joined = members.join_classic(asked.member_id)
    assert (joined.error_code, joined.generation_id, joined.protocol_type) == (0, 3, "consumer")
    assert members.has(joined.member_id, 3) == []
    members.settle("new")
    # Its partitions are free now: it is told to come for them.
    assert members.classic_beat(joined.member_id, 3) == ErrorCode.REBALANCE_IN_PROGRESS
    members.join_classic(joined.member_id, owned={})
    assert members.has(joined.member_id, 3) == [3, 4, 5]


def test_an_old_client_without_id_is_let_in_at_once(members: Classic) -> None:
    members.join("new")
    assert members.join_classic(version=3).error_code == 0


def test_with_migration_disabled_no_classic_member_gets_in() -> None:
    members = Classic(group_consumer_migration_policy="disabled")
    members.join("new")
    assert members.join_classic("x").error_code == ErrorCode.INCONSISTENT_GROUP_PROTOCOL


@pytest.mark.parametrize(
    ("fields", "expected"),
    [
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"metadata": b"\0\3\xff\xff"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"metadata": b""}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"group_instance_id": "unknown"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"session_timeout_ms": 1}, ErrorCode.INVALID_SESSION_TIMEOUT),
    ],
)
def test_classic_members_that_do_not_fit_are_refused(
    members: Classic, fields: dict[str, Any], expected: ErrorCode
) -> None:
    members.join("new")
    if fields.get("metadata") == b"":
        fields = {"metadata": b"\0"}
    assert members.join_classic("x", **fields).error_code == expected
    assert list(members.group.members) == ["new"]


def test_requests_of_members_are_checked(members: Classic) -> None:
    old = members.form_classic()
    members.join("new")
    assert members.classic_beat("nobody", 1) == ErrorCode.UNKNOWN_MEMBER_ID
    assert members.classic_beat(old, 7) == ErrorCode.ILLEGAL_GENERATION
    assert members.classic_beat("new", 2) == ErrorCode.UNKNOWN_MEMBER_ID
    assert members.sync("new", 2).error_code == ErrorCode.UNKNOWN_MEMBER_ID
    assert members.sync(old, 7).error_code == ErrorCode.ILLEGAL_GENERATION
    assert members.sync(old, 1).error_code == ErrorCode.REBALANCE_IN_PROGRESS
    assert members.classic_beat(old, 1, group_instance_id="i") == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_classic_member_lives_by_its_own_session_timeout(members: Classic) -> None:
    old = members.form_classic()
    members.join("new")
    members.join_classic(old, owned={})
    members.sync(old, members.group.members[old].member_epoch)
    members.host.advance_ms(SESSION_MS - 1)
    assert old in members.group.members
    members.host.advance_ms(1)
    assert list(members.group.members) == ["new"]


def test_who_joins_and_does_not_sync_is_fenced_after_its_rebalance_timeout(members: Classic) -> None:
    old = members.form_classic()
    members.join("new")
    epoch = members.join_classic(old, owned={}).generation_id
    members.host.advance_ms(REBALANCE_MS - 1)
    members.classic_beat(old, epoch)
    members.host.advance_ms(1)
    assert list(members.group.members) == ["new"]


def test_who_is_told_to_join_and_does_not_is_fenced_after_its_rebalance_timeout(members: Classic) -> None:
    old = members.form_classic()
    members.join("new")
    for _ in range(2):
        assert members.classic_beat(old, 1) == ErrorCode.REBALANCE_IN_PROGRESS
        members.host.advance_ms(REBALANCE_MS // 2)
    assert list(members.group.members) == ["new"]


def test_who_joined_and_synced_in_time_is_not_fenced_later(members: Classic) -> None:
    old = members.form_classic()
    members.join("new")
    assert members.classic_beat(old, 1) == ErrorCode.REBALANCE_IN_PROGRESS
    members.join_classic(old, owned={"t": [0, 1, 2, 3, 4, 5]})
    members.join_classic(old, owned={"t": [0, 1, 2]})
    members.sync(old, 2)
    for _ in range(3):
        members.host.advance_ms(9_000)
        assert members.classic_beat(old, 2) == 0


def test_leave_group_removes_members_of_either_protocol(members: Classic) -> None:
    members.join("a", instance_id="i")
    members.join("b")
    members.join("c")
    assert members.leave_classic("", "i") == 0
    assert members.leave_classic("b") == 0
    assert members.leave_classic("b") == ErrorCode.UNKNOWN_MEMBER_ID
    assert members.leave_classic("", "j") == ErrorCode.UNKNOWN_MEMBER_ID
    assert list(members.group.members) == ["c"]


def test_a_member_of_either_protocol_is_told_apart(members: Classic) -> None:
    old = members.form_classic()
    members.join("new")
    described = members.ask(messages.ConsumerGroupDescribeRequest(group_ids=[GROUP]), 1).groups[0]
    assert {member.member_id: member.member_type for member in described.members} == {old: 0, "new": 1}


def test_an_empty_consumer_group_gives_way_to_a_classic_one(members: Classic) -> None:
    members.join("new")
    members.beat("new", -1)
    members.form_classic()


def test_a_classic_group_that_never_had_a_generation_can_become_a_consumer_group() -> None:
    members = Classic(group_initial_rebalance_delay_ms=3000)
    waiting = HostConnection("waiting")
    member_id = members.join_classic().member_id
    members.host.send(waiting, Classic.join_request(member_id), 9)
    assert not waiting.answers
    joined = members.join("new")
    assert joined.error_code == 0
    assert [answer.error_code for _, answer in waiting.answers] == [ErrorCode.REBALANCE_IN_PROGRESS]
    again = members.join_classic(member_id)
    assert again.error_code == 0
    members.settle("new")
    members.join_classic(member_id)
    assert len(members.has(member_id, members.group.members[member_id].member_epoch)) == 3


def test_the_rebalance_timeout_of_a_classic_member_runs_from_when_it_is_told_to_join(
    members: Classic,
) -> None:
    old = members.form_classic()
    members.join("new")
    epoch = members.join_classic(old, owned={"t": [0, 1, 2, 3, 4, 5]}).generation_id
    members.sync(old, epoch)
    members.host.advance_ms(REBALANCE_MS - 5_000)
    assert members.classic_beat(old, epoch) == ErrorCode.REBALANCE_IN_PROGRESS
    members.host.advance_ms(6_000)
    assert old in members.group.members


def test_an_assignment_with_data_of_an_assignor_of_its_own_keeps_the_group_classic(members: Classic) -> None:
    member_id = members.form_classic()
    given = messages.ConsumerProtocolAssignment(user_data=b"mine")
    members.classic_group.members[member_id].assignment = b"\0\3" + given.encode(3)
    refused = members.join("new")
    assert refused.error_code == ErrorCode.GROUP_ID_NOT_FOUND
    assert "custom assignor" in (refused.error_message or "")


def test_a_group_larger_than_group_max_size_does_not_become_classic() -> None:
    members = Classic(group_initial_rebalance_delay_ms=0, group_max_size=1)
    members.join("new")
    for name in ("x", "y"):
        assert members.join_classic(name).error_code == 0
    members.beat("new", -1)
    assert sorted(members.group.members) == ["x", "y"]


def test_the_rack_of_a_classic_member_is_known(members: Classic) -> None:
    members.join("new")
    message = messages.ConsumerProtocolSubscription(topics=["t"], rack_id="r")
    members.join_classic("x", metadata=b"\0\3" + message.encode(3))
    assert members.group.members["x"].rack_id == "r"


def test_after_a_restart_a_classic_member_has_its_own_session(members: Classic) -> None:
    members.join("new")
    members.join_classic("x")
    members.sync("x", members.group.members["x"].member_epoch)
    members.host.restart()
    members.host.advance_ms(SESSION_MS)
    assert list(members.group.members) == ["new"]
