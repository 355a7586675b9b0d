"""Heartbeats of consumer groups: joining, reconciling, leaving, deadlines, and what is written for it."""

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.consumer.group import ConsumerGroupState
from barnabas.coordinator.consumer.member import MemberState
from barnabas.protocol import messages
from tests.consumer_members import GROUP, HEARTBEAT_MS, REBALANCE_MS, Members
from tests.group_host import HostConnection

SESSION_MS = 45_000


@pytest.fixture
def members() -> Members:
    return Members()


def test_the_first_member_gets_everything_at_once(members: Members) -> None:
    response = members.join("a")
    assert (response.error_code, response.member_epoch) == (0, 2)
    assert members.given(response) == {"t": [0, 1, 2, 3, 4, 5]}
    assert response.heartbeat_interval_ms == HEARTBEAT_MS
    assert members.written() == [
        "ConsumerGroupMemberMetadata",
        "ConsumerGroupMetadata",
        "ConsumerGroupTargetAssignmentMember",
        "ConsumerGroupTargetAssignmentMetadata",
        "ConsumerGroupCurrentMemberAssignment",
    ]
    assert members.group.state is ConsumerGroupState.STABLE


def test_a_heartbeat_that_says_nothing_new_writes_nothing(members: Members) -> None:
    members.join("a")
    members.written()
    response = members.beat("a", 2, owned={"t": range(6)})
    assert response.assignment is None
    assert not members.written()


def test_everything_said_again_is_answered_with_the_assignment(members: Members) -> None:
    members.join("a")
    members.written()
    response = members.beat(
        "a", 2, {"t": range(6)}, subscribed_topic_names=["t"], rebalance_timeout_ms=REBALANCE_MS
    )
    assert members.given(response) == {"t": [0, 1, 2, 3, 4, 5]}
    assert not members.written()


def test_a_partition_is_given_only_when_the_other_has_said_that_it_gave_it_up(members: Members) -> None:
    members.join("a")
    joined = members.join("b")
    assert (joined.member_epoch, members.given(joined)) == (3, {})
    assert members.group.members["b"].state is MemberState.UNRELEASED_PARTITIONS
    told = members.beat("a", 2, owned={"t": range(6)})
    assert (told.member_epoch, members.given(told)) == (2, {"t": [0, 1, 2]})
    # It still has them, says the owner: nothing for the other yet.
    assert members.beat("b", 3, owned={}).assignment is None
    assert members.beat("a", 2, owned={"t": range(6)}).assignment is None
    assert members.beat("a", 2, owned={"t": [0, 1, 2]}).member_epoch == 3
    assert members.given(members.beat("b", 3, owned={})) == {"t": [3, 4, 5]}
    assert members.group.state is ConsumerGroupState.STABLE


def test_a_heartbeat_that_does_not_tell_what_it_owns_confirms_nothing(members: Members) -> None:
    members.join("a")
    members.join("b")
    members.beat("a", 2, owned={"t": range(6)})
    assert members.beat("a", 2).member_epoch == 2
    assert members.group.members["a"].state is MemberState.UNREVOKED_PARTITIONS


def test_who_leaves_is_gone_at_once_and_the_others_share_what_it_had(members: Members) -> None:
    members.join("a")
    members.join("b")
    members.settle("a", "b")
    members.written()
    left = members.beat("b", -1)
    assert (left.error_code, left.member_epoch, left.member_id) == (0, -1, "b")
    assert members.written() == [
        "-ConsumerGroupCurrentMemberAssignment",
        "-ConsumerGroupTargetAssignmentMember",
        "-ConsumerGroupMemberMetadata",
        "ConsumerGroupMetadata",
    ]
    assert members.settle("a") == {"a": {"t": [0, 1, 2, 3, 4, 5]}}
    assert members.beat("b", 3).error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_the_last_to_leave_leaves_an_empty_group_that_assigns_at_once_again(members: Members) -> None:
    members.join("a")
    members.beat("a", -1)
    assert members.group.state is ConsumerGroupState.EMPTY
    assert (members.group.assignment_epoch, members.group.assigned_at_ms) == (3, 0)
    assert members.given(members.join("b")) == {"t": [0, 1, 2, 3, 4, 5]}


def test_targets_are_computed_once_in_an_interval_however_many_join() -> None:
    members = Members(group_consumer_assignment_interval_ms=1000)
    members.join("a")
    joined = members.join("b")
    # The old targets hold: it has nothing and is in their epoch.
    assert (joined.member_epoch, members.given(joined)) == (2, {})
    assert members.group.state is ConsumerGroupState.ASSIGNING
    members.host.advance_ms(999)
    members.beat("b", 2, owned={})
    assert members.group.assignment_epoch == 2
    members.host.advance_ms(1)
    members.beat("b", 2, owned={})
    assert members.group.assignment_epoch == members.group.group_epoch == 3


def test_a_session_ends_without_heartbeats_and_not_with_them(members: Members) -> None:
    members.join("a")
    members.join("b")
    members.settle("a", "b")
    for _ in range(12):
        members.host.advance_ms(HEARTBEAT_MS)
        members.beat("a", members.group.members["a"].member_epoch)
    assert list(members.group.members) == ["a"]


def test_who_does_not_give_up_in_time_is_fenced(members: Members) -> None:
    members.join("a", rebalance_timeout_ms=10_000)
    members.join("b")
    members.beat("a", 2, owned={"t": range(6)})
    for _ in range(3):
        members.host.advance_ms(3_000)
        members.beat("a", 2, owned={"t": range(6)})
    assert "a" in members.group.members
    members.host.advance_ms(1_000)
    assert "a" not in members.group.members
    assert members.given(members.beat("b", 3, owned={})) == {"t": [0, 1, 2, 3, 4, 5]}


def test_who_has_given_up_is_not_fenced_later(members: Members) -> None:
    members.join("a", rebalance_timeout_ms=10_000)
    members.join("b")
    members.beat("a", 2, owned={"t": range(6)})
    members.beat("a", 2, owned={"t": [0, 1, 2]})
    members.host.advance_ms(11_000)
    assert "a" in members.group.members


def test_a_lost_answer_is_made_up_for_by_the_previous_epoch(members: Members) -> None:
    members.join("a")
    members.join("b")
    members.settle("a", "b")
    members.beat("b", -1)
    members.beat("a", 3, owned={"t": [0, 1, 2]})  # its answer is lost: the client is still in epoch 3
    assert members.group.members["a"].member_epoch == 4
    assert members.beat("a", 3, owned={"t": [0, 1, 2]}).member_epoch == 4
    fenced = members.beat("a", 2, owned={"t": [0, 1, 2]})
    assert fenced.error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert members.beat("a", 3, owned=None).error_code == ErrorCode.FENCED_MEMBER_EPOCH
    assert members.beat("a", 5, owned={}).error_code == ErrorCode.FENCED_MEMBER_EPOCH


def test_unsubscribing_takes_the_topic_away_before_there_is_a_target_that_says_so() -> None:
    members = Members({"t": 2, "u": 2}, group_consumer_assignment_interval_ms=60_000)
    members.join("a", "t", "u")
    told = members.beat("a", 2, {"t": [0, 1], "u": [0, 1]}, subscribed_topic_names=["t"])
    assert members.given(told) == {"t": [0, 1]}
    assert members.group.assignment_epoch == 2
    assert members.group.members["a"].state is MemberState.UNREVOKED_PARTITIONS
    assert members.beat("a", 2, owned={"t": [0, 1]}).error_code == 0
    assert members.group.members["a"].pending_revocation == {}


def test_topics_that_come_grow_and_go_reach_the_group_at_its_next_heartbeat() -> None:
    members = Members({"t": 2})
    members.join("a", "t", "u")
    assert members.assigned("a") == {"t": [0, 1]}
    members.host.make_topic("u", 1)
    assert members.settle("a")["a"] == {"t": [0, 1], "u": [0]}
    members.host.grow_topic("t", 3)
    assert members.settle("a")["a"] == {"t": [0, 1, 2], "u": [0]}
    members.host.delete_topic("u")
    assert members.settle("a")["a"] == {"t": [0, 1, 2]}
    epoch = members.group.group_epoch
    members.host.make_topic("nobody-asked", 1)
    members.settle("a")
    assert members.group.group_epoch == epoch


def test_a_topic_created_anew_is_another_topic() -> None:
    members = Members({"t": 2})
    members.join("a")
    members.host.delete_topic("t")
    members.host.make_topic("t", 2, topic_id=b"another topic id")
    members.settle("a")
    assert list(members.group.members["a"].assigned) == [b"another topic id"]


def test_a_group_has_room_for_group_consumer_max_size_members() -> None:
    members = Members(group_consumer_max_size=1)
    members.join("a")
    assert members.join("b").error_code == ErrorCode.GROUP_MAX_SIZE_REACHED
    assert members.join("a").error_code == 0


def test_a_heartbeat_of_version_0_without_id_is_given_one(members: Members) -> None:
    response = members.join("", version=0)
    assert response.error_code == 0
    assert list(members.group.members) == [response.member_id]


def test_a_member_that_joins_again_keeps_its_partitions(members: Members) -> None:
    members.join("a")
    epoch = members.group.group_epoch
    again = members.join("a")
    assert members.given(again) == {"t": [0, 1, 2, 3, 4, 5]}
    assert members.group.group_epoch == epoch


def test_the_assignor_that_most_wish_is_used(members: Members) -> None:
    members.join("a", server_assignor="range")
    assert members.group.subscriptions.assignors.most_frequent(["uniform", "range"]) == "range"
    epoch = members.group.group_epoch
    members.join("b", server_assignor="uniform")
    members.join("c", server_assignor="uniform")
    assert members.group.group_epoch == epoch + 2
    described = members.ask(messages.ConsumerGroupDescribeRequest(group_ids=[GROUP]), 1).groups[0]
    assert described.assignor_name == "uniform"


# Static members


def test_a_static_member_that_comes_back_has_what_it_had_and_nobody_moves(members: Members) -> None:
    members.join("a", instance_id="i")
    members.join("b")
    had = members.settle("a", "b")["a"]
    epoch = members.group.group_epoch
    away = members.beat("a", -2, instance_id="i")
    assert (away.error_code, away.member_epoch) == (0, -2)
    back = members.join("a2", instance_id="i")
    assert members.given(back) == had
    assert members.group.group_epoch == epoch == back.member_epoch
    assert sorted(members.group.members) == ["a2", "b"]


def test_a_static_member_may_come_back_under_its_own_id_and_lives_on(members: Members) -> None:
    members.join("a", instance_id="i")
    members.beat("a", -2, instance_id="i")
    assert members.join("a", instance_id="i").error_code == 0
    for _ in range(11):
        members.host.advance_ms(HEARTBEAT_MS)
        assert members.beat("a", 2, instance_id="i").error_code == 0
    members.host.advance_ms(SESSION_MS)
    assert not members.group.members


def test_an_instance_id_in_use_is_refused_and_its_old_client_fenced(members: Members) -> None:
    members.join("a", instance_id="i")
    assert members.join("b", instance_id="i").error_code == ErrorCode.UNRELEASED_INSTANCE_ID
    assert members.beat("b", 2, instance_id="i").error_code == ErrorCode.FENCED_INSTANCE_ID
    assert members.beat("b", 2, instance_id="j").error_code == ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_that_stays_away_is_gone_after_its_session(members: Members) -> None:
    members.join("a", instance_id="i")
    members.beat("a", -2, instance_id="i")
    members.host.advance_ms(SESSION_MS)
    assert not members.group.members


def test_a_static_member_may_commit_with_any_epoch_since_it_went_away(members: Members) -> None:
    members.join("a", instance_id="i")
    members.beat("a", -2, instance_id="i")
    assert set(members.group.members["a"].assigned[members.host.topic_id("t")].values()) == {0}


# After a restart


@pytest.mark.parametrize("compacted", [False, True])
def test_a_restart_changes_nothing_of_a_group(members: Members, compacted: bool) -> None:
    members.host.make_topic("u", 4)
    members.join("a", "t", "u", instance_id="i", rack_id="r", server_assignor="range")
    members.join("b")
    members.beat("a", 2, owned={"t": range(6), "u": range(4)})
    before = members.group
    members.host.restart(compacted=compacted)
    after = members.group
    assert after is not before
    for name in ("members", "targets", "group_epoch", "assignment_epoch", "metadata_hash", "static_members"):
        assert getattr(after, name) == getattr(before, name), name
    assert after.state is before.state
    assert after.partition_epoch(members.host.topic_id("t"), 5) == before.partition_epoch(
        members.host.topic_id("t"), 5
    )
    members.settle("a", "b")


def test_after_a_restart_everybody_has_a_whole_session(members: Members) -> None:
    members.join("a")
    members.host.advance_ms(SESSION_MS - 1)
    members.host.restart()
    members.host.advance_ms(SESSION_MS - 1)
    assert "a" in members.group.members
    members.host.advance_ms(1)
    assert not members.group.members


def test_after_a_restart_who_must_give_up_still_must(members: Members) -> None:
    members.join("a", rebalance_timeout_ms=10_000)
    members.join("b")
    members.beat("a", 2, owned={"t": range(6)})
    members.host.restart()
    members.host.advance_ms(10_000)
    assert list(members.group.members) == ["b"]


# Appends that fail


def test_what_cannot_be_written_has_not_happened(members: Members) -> None:
    members.join("a")
    before = dict(members.group.members)
    members.host.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert members.join("b").error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    assert members.group.members == before
    members.host.append_error = None
    assert members.join("b").member_epoch == 3


def test_a_deadline_that_cannot_be_written_is_tried_again(members: Members) -> None:
    members.join("a")
    members.host.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    members.host.advance_ms(SESSION_MS + 100)
    assert "a" in members.group.members
    members.host.append_error = None
    members.host.advance_ms(1_000)
    assert not members.group.members


def test_topics_are_looked_at_again_when_the_new_epoch_could_not_be_written(members: Members) -> None:
    members.join("a")
    members.host.grow_topic("t", 7)
    members.host.append_error = ErrorCode.NOT_ENOUGH_REPLICAS
    assert members.beat("a", 2).error_code == ErrorCode.NOT_ENOUGH_REPLICAS
    members.host.append_error = None
    assert members.settle("a")["a"] == {"t": [0, 1, 2, 3, 4, 5, 6]}


# What else is asked


def test_statistics_count_groups_members_and_new_epochs(members: Members) -> None:
    members.join("a")
    members.join("b")
    counted = members.host.shard.consumers.statistics()
    assert counted.groups[ConsumerGroupState.RECONCILING] == 1
    assert (counted.members, counted.rebalances) == (2, 2)


def test_an_empty_classic_group_gives_way_and_its_offsets_stay(members: Members) -> None:
    members.host.shard.classic.make_empty(GROUP)
    assert members.join("a").error_code == 0
    assert members.written()[0] == "-GroupMetadata"
    assert members.group.members


def test_without_the_feature_consumer_groups_are_not_served(members: Members) -> None:
    members.host.image.features["group.version"] = 0
    assert members.join("a").error_code == ErrorCode.UNSUPPORTED_VERSION
    described = members.ask(messages.ConsumerGroupDescribeRequest(group_ids=[GROUP]), 1).groups[0]
    assert described.error_code == ErrorCode.UNSUPPORTED_VERSION


def test_members_with_the_same_topics_share_them_evenly_not_topic_by_topic() -> None:
    members = Members({"t": 2, "u": 2})
    members.join("a", "t", "u")
    members.join("b", "t", "u")
    assert members.settle("a", "b") == {"a": {"t": [0, 1]}, "b": {"u": [0, 1]}}


def test_targets_that_stay_as_they_are_are_not_written_again() -> None:
    members = Members({"t": 2, "u": 2})
    members.join("a", "t")
    members.written()
    members.join("b", "u")
    assert members.written().count("ConsumerGroupTargetAssignmentMember") == 1


def test_who_gave_up_within_its_epoch_is_not_fenced_later() -> None:
    members = Members({"t": 2, "u": 2}, group_consumer_assignment_interval_ms=60_000)
    members.join("a", "t", "u", rebalance_timeout_ms=10_000)
    members.beat("a", 2, {"t": [0, 1], "u": [0, 1]}, subscribed_topic_names=["t"])
    members.beat("a", 2, owned={"t": [0, 1]})
    assert members.group.members["a"].member_epoch == 2
    members.host.advance_ms(11_000)
    assert "a" in members.group.members


def test_a_static_member_may_go_away_while_it_gives_up(members: Members) -> None:
    members.join("a", instance_id="i", rebalance_timeout_ms=10_000)
    members.join("b")
    members.beat("a", 2, owned={"t": range(6)}, instance_id="i")
    members.beat("a", -2, instance_id="i")
    members.host.advance_ms(11_000)
    assert "a" in members.group.members


def test_who_comes_back_before_its_leaving_is_committed_lives_on(members: Members) -> None:
    members.join("a")
    members.host.commit_delay_ms = lambda: 1_000
    leaving = HostConnection("leaving")
    for epoch in (-1, 0):
        request = messages.ConsumerGroupHeartbeatRequest(
            group_id=GROUP,
            member_id="a",
            member_epoch=epoch,
            rebalance_timeout_ms=REBALANCE_MS,
            subscribed_topic_names=["t"],
            topic_partitions=[],
        )
        members.host.send(leaving, request, 1)
    members.host.advance_ms(2_000)
    assert [answer.error_code for _, answer in leaving.answers] == [0, 0]
    members.host.advance_ms(SESSION_MS)
    assert not members.group.members


def test_what_a_broker_before_4_1_kept_of_topics_is_deleted_at_the_next_epoch(members: Members) -> None:
    members.join("a")
    key = messages.ConsumerGroupPartitionMetadataKey(group_id=GROUP)
    members.host.shard.consumers.replay(key, messages.ConsumerGroupPartitionMetadataValue())
    members.written()
    members.join("b")
    assert "-ConsumerGroupPartitionMetadata" in members.written()
    members.join("c")
    assert "-ConsumerGroupPartitionMetadata" not in members.written()


def test_what_a_member_gives_up_is_described_as_its_own_until_it_has(members: Members) -> None:
    members.join("a")
    members.join("b")
    members.beat("a", 2, owned={"t": range(6)})
    described = members.ask(messages.ConsumerGroupDescribeRequest(group_ids=[GROUP]), 1).groups[0]
    a, b = described.members
    assert a.assignment.topic_partitions[0].partitions == [0, 1, 2, 3, 4, 5]
    assert a.target_assignment.topic_partitions[0].partitions == [0, 1, 2]
    assert (b.assignment.topic_partitions, b.target_assignment.topic_partitions[0].partitions) == (
        [],
        [3, 4, 5],
    )


def test_a_client_under_another_name_is_noted_without_a_new_epoch(members: Members) -> None:
    members.join("a")
    members.written()
    request = messages.ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="a", member_epoch=2)
    members.ask(request, 1, client_id="renamed")
    assert members.written() == ["ConsumerGroupMemberMetadata"]
    assert members.group.members["a"].client_id == "renamed"
