"""Rebalances: who is waited for, who leads, what is chosen, how groups become empty."""

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.classic.group import ClassicGroupState
from tests.classic_groups_setup import ClassicDriver


@pytest.fixture
def driver() -> ClassicDriver:
    made = ClassicDriver()
    made.load()
    return made


def test_members_that_do_not_join_again_in_time_are_out(driver: ClassicDriver) -> None:
    leader, absent = driver.stable(2, session_ms=300_000)
    _, answer = driver.join_new(session_ms=300_000)
    driver.join(leader, session_ms=300_000)
    driver.advance(59_999)
    assert answer.is_waiting
    driver.advance(1)
    assert answer.error is ErrorCode.NONE
    assert absent not in driver.group.members
    assert driver.heartbeat(absent) is ErrorCode.UNKNOWN_MEMBER_ID


def test_the_longest_rebalance_timeout_counts(driver: ClassicDriver) -> None:
    leader, _ = driver.stable(2, session_ms=300_000)
    driver.join_new(session_ms=300_000, rebalance_ms=90_000)
    leading = driver.join(leader, session_ms=300_000)
    driver.advance(60_000)
    assert leading.is_waiting
    driver.advance(30_000)
    assert leading.error is ErrorCode.NONE


def test_a_leader_that_does_not_join_is_followed_by_one_who_did(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2, session_ms=300_000)
    answer = driver.join(follower, protocols=[("range", b"new")], session_ms=300_000)
    driver.advance(60_000)
    assert answer.response.leader == follower
    assert leader not in driver.group.members
    assert [member.member_id for member in answer.response.members] == [follower]


def test_while_members_are_missing_heartbeats_tell_of_the_rebalance(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    driver.join(leader)
    assert driver.heartbeat(follower) is ErrorCode.REBALANCE_IN_PROGRESS
    driver.join(follower)
    assert driver.heartbeat(follower) is ErrorCode.NONE, "it has not got its assignment, but it is in"


def test_the_protocol_most_members_prefer_is_chosen(driver: ClassicDriver) -> None:
    sticky_first = [("sticky", b""), ("range", b"")]
    driver.configure(group_initial_rebalance_delay_ms=10)
    _, answer = driver.join_new(protocols=[("range", b""), ("sticky", b"")])
    driver.join_new(protocols=sticky_first)
    driver.join_new(protocols=sticky_first)
    driver.advance(20)
    assert answer.response.protocol_name == "sticky"


def test_only_what_all_speak_is_chosen(driver: ClassicDriver) -> None:
    driver.configure(group_initial_rebalance_delay_ms=10)
    _, answer = driver.join_new(protocols=[("sticky", b""), ("range", b"")])
    driver.join_new(protocols=[("sticky", b""), ("range", b"")])
    driver.join_new(protocols=[("range", b"")])
    driver.advance(20)
    assert answer.response.protocol_name == "range"


def test_a_rolling_change_of_protocols_ends_with_the_new_one(driver: ClassicDriver) -> None:
    both = [("cooperative-sticky", b""), ("range", b"")]
    names = driver.stable(2)
    for name in names:
        driver.join(name, protocols=both)
    assert driver.group.protocol_name == "cooperative-sticky"


def test_a_group_that_everybody_left_is_written_as_empty(driver: ClassicDriver) -> None:
    names = driver.stable(2)
    driver.leave(*names)
    assert driver.group.state is ClassicGroupState.EMPTY
    record = driver.records[-1]
    assert record is not None
    assert (record.generation, record.members, record.protocol, record.leader) == (2, [], None, None)
    assert record.protocol_type == "consumer"
    assert record.current_state_timestamp == driver.clock.wall_ms() == driver.group.state_since_ms


def test_generations_go_on_after_a_group_was_empty(driver: ClassicDriver) -> None:
    driver.leave(*driver.stable(1))
    _, answer = driver.join_new(protocol_type="connect", protocols=[("default", b"")])
    driver.advance(0)
    assert answer.response.generation_id == 3
    assert answer.response.protocol_type == "connect", "an empty group takes any protocol"


def test_a_group_that_cannot_be_written_as_empty_tries_again(driver: ClassicDriver) -> None:
    (name,) = driver.stable(1)
    driver.refuses = ErrorCode.NOT_COORDINATOR
    assert driver.leave(name).error is ErrorCode.NOT_COORDINATOR
    assert driver.group.state is ClassicGroupState.PREPARING_REBALANCE
    driver.refuses = None
    driver.advance(500)
    assert driver.group.state is ClassicGroupState.EMPTY
    assert driver.group.generation_id == 2


def test_a_member_may_join_a_group_that_could_not_be_written_as_empty(driver: ClassicDriver) -> None:
    (name,) = driver.stable(1)
    driver.refuses = ErrorCode.NOT_COORDINATOR
    driver.leave(name)
    driver.refuses = None
    _, answer = driver.join_new()
    driver.advance(500)
    assert answer.error is ErrorCode.NONE


def test_a_member_that_leaves_during_the_first_delay_leaves_nothing_behind(driver: ClassicDriver) -> None:
    driver.configure(group_initial_rebalance_delay_ms=3_000)
    name, _ = driver.join_new()
    driver.leave(name)
    assert driver.group.state is ClassicGroupState.PREPARING_REBALANCE
    driver.advance(3_000)
    assert driver.group.state is ClassicGroupState.EMPTY
    assert len(driver.timers) == 0


def test_a_newcomer_in_the_first_delay_may_follow_one_that_left(driver: ClassicDriver) -> None:
    driver.configure(group_initial_rebalance_delay_ms=3_000)
    name, _ = driver.join_new()
    driver.leave(name)
    _, answer = driver.join_new()
    driver.advance(6_000)
    assert answer.error is ErrorCode.NONE


def test_statistics_count_groups_members_and_rebalances(driver: ClassicDriver) -> None:
    names = driver.stable(3)
    statistics = driver.classic.statistics()
    assert statistics.groups[ClassicGroupState.STABLE] == 1
    assert (statistics.members, statistics.rebalances, statistics.completed_rebalances) == (3, 1, 1)
    driver.leave(*names)
    statistics = driver.classic.statistics()
    assert statistics.groups[ClassicGroupState.EMPTY] == 1
    assert (statistics.members, statistics.rebalances, statistics.completed_rebalances) == (0, 2, 1)


def test_a_rebalance_before_the_assignment_starts_from_nothing(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    driver.join(leader)
    driver.join(follower)
    assert driver.group.pending_sync == {leader, follower}
    assert driver.member(leader).assignment == b"0", "it owns that until it is assigned anew"
    waiting = len(driver.timers)
    driver.join_new()
    assert driver.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert driver.group.pending_sync == set()
    assert driver.member(leader).assignment == b""
    # The one for SyncGroups is gone, those of the rebalance and the newcomer are there.
    assert len(driver.timers) == waiting - 1 + 2
