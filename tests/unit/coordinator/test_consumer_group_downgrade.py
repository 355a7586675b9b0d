"""Groups that become classic while others ask, and whose records are not known to be committed."""

from __future__ import annotations

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.classic.group import ClassicGroupState
from barnabas.coordinator.groups.consumer_protocol import read_assignment
from barnabas.protocol import messages
from tests.consumer_members import GROUP
from tests.group_host import HostConnection
from tests.unit.coordinator.test_consumer_group_migration import REBALANCE_MS, SESSION_MS, Classic

COMMIT_MS = 1_000
SYNC_VERSION = 5


@pytest.fixture
def members() -> Classic:
    return Classic(group_initial_rebalance_delay_ms=0)


def reconciling(members: Classic) -> tuple[str, str]:
    """Return two classic members: the first has what the second is to get when it has given it up."""
    old = members.form_classic()
    members.join("consumer")
    late = members.join_classic(group_instance_id="late").member_id
    group = members.group
    wanted = {partition for numbers in group.target(late).values() for partition in numbers}
    held = {partition for numbers in group.members[old].assigned.values() for partition in numbers}
    assert wanted & held, "it has nothing to wait for"
    return old, late


def test_nobody_is_given_what_another_has_before_a_downgrade_is_committed(members: Classic) -> None:
    _, late = reconciling(members)
    generation = members.group.group_epoch
    members.host.commit_delay_ms = lambda: COMMIT_MS
    leaving = HostConnection("leaving")
    request = messages.ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="consumer", member_epoch=-1)
    members.host.send(leaving, request, 1)
    syncing = HostConnection("syncing")
    sync = messages.SyncGroupRequest(
        group_id=GROUP,
        member_id=late,
        group_instance_id="late",
        generation_id=generation,
        protocol_type="consumer",
        protocol_name="cooperative-sticky",
    )
    members.host.send(syncing, sync, SYNC_VERSION)
    assert not leaving.answers
    assert members.classic_group.state is ClassicGroupState.PREPARING_REBALANCE
    members.host.advance_ms(COMMIT_MS)
    assert leaving.answers.popleft()[1].error_code == 0
    answer = syncing.answers.popleft()[1]
    assert (answer.error_code, bytes(answer.assignment)) == (ErrorCode.REBALANCE_IN_PROGRESS, b"")


def test_deadlines_of_a_group_that_became_classic_run_although_its_records_are_never_known_to_be_committed(
    members: Classic,
) -> None:
    reconciling(members)
    members.host.commit_delay_ms = lambda: 10 * (SESSION_MS + REBALANCE_MS)
    request = messages.ConsumerGroupHeartbeatRequest(group_id=GROUP, member_id="consumer", member_epoch=-1)
    members.host.send(HostConnection("leaving"), request, 1)
    assert members.classic_group.members
    members.host.advance_ms(SESSION_MS + REBALANCE_MS)
    assert members.classic_group.is_empty


def test_nobody_is_given_what_another_has_after_a_restart(members: Classic) -> None:
    old, late = reconciling(members)
    generation = members.group.group_epoch
    members.beat("consumer", -1)
    members.host.crash(compacted=True)
    assert members.classic_group.state is ClassicGroupState.PREPARING_REBALANCE
    synced = members.sync(late, generation, group_instance_id="late")
    assert (synced.error_code, bytes(synced.assignment)) == (ErrorCode.REBALANCE_IN_PROGRESS, b"")
    assert members.classic_beat(old, 1) == ErrorCode.ILLEGAL_GENERATION


def test_a_generation_that_follows_a_downgrade_is_stable_after_a_restart(members: Classic) -> None:
    members.form_classic()
    members.join("consumer")
    members.beat("consumer", -1)
    members.host.advance_ms(SESSION_MS + REBALANCE_MS)
    members.form_classic()
    members.host.crash(compacted=True)
    assert members.classic_group.state is ClassicGroupState.STABLE


def test_nobody_is_given_what_another_has_when_a_static_consumer_comes_back_classic(members: Classic) -> None:
    old = members.form_classic()
    members.join("consumer", instance_id="i")
    back = members.join_classic(group_instance_id="i")
    assert back.error_code == 0
    assert members.classic_group.state is ClassicGroupState.PREPARING_REBALANCE
    synced = members.sync(back.member_id, back.generation_id, group_instance_id="i")
    assert (synced.error_code, bytes(synced.assignment)) == (ErrorCode.REBALANCE_IN_PROGRESS, b"")
    assert members.classic_beat(old, 1) == ErrorCode.ILLEGAL_GENERATION


def test_a_consumer_that_comes_while_a_downgraded_group_rebalances_waits_for_what_others_have(
    members: Classic,
) -> None:
    old, _ = reconciling(members)
    members.beat("consumer", -1)
    members.join("other")
    group = members.group
    assert group.members[old].assigned == {members.host.topic_id("t"): dict.fromkeys(range(6), 3)}
    assert not any(member.assigned for name, member in group.members.items() if name != old)


def test_what_a_member_has_not_given_up_yet_is_told_as_its_own(members: Classic) -> None:
    old, _ = reconciling(members)
    members.join_classic(old, owned={"t": [0, 1, 2, 3, 4, 5]})
    assert members.group.members[old].pending_revocation
    members.beat("consumer", -1)
    told = read_assignment(members.classic_group.members[old].assignment)
    assert [sorted(topic.partitions) for topic in told.assigned_partitions] == [[0, 1, 2, 3, 4, 5]]
