"""JoinGroup: ids, bounds, who waits, who is answered, who is refused."""

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.classic.group import ClassicGroupState
from barnabas.coordinator.groups.config import GroupConfig
from tests.classic_groups_setup import GROUP, ClassicDriver


@pytest.fixture
def driver() -> ClassicDriver:
    made = ClassicDriver()
    made.load()
    return made


def test_a_newcomer_is_given_an_id_and_sent_back_for_it(driver: ClassicDriver) -> None:
    answer = driver.join(client_id="app")
    assert answer.error is ErrorCode.MEMBER_ID_REQUIRED
    assert answer.response.member_id.startswith("app-")
    assert len(answer.response.member_id) == len("app-") + 36
    assert driver.group.state is ClassicGroupState.EMPTY


def test_before_version_4_a_newcomer_joins_at_once(driver: ClassicDriver) -> None:
    answer = driver.join(version=3)
    assert answer.is_waiting
    driver.advance(0)
    assert answer.error is ErrorCode.NONE


def test_the_first_member_leads_generation_one_and_is_told_of_itself(driver: ClassicDriver) -> None:
    member_id, answer = driver.join_new(protocols=[("range", b"meta")])
    driver.advance(0)
    response = answer.response
    assert response.error_code == 0
    assert (response.generation_id, response.leader, response.member_id) == (1, member_id, member_id)
    assert (response.protocol_type, response.protocol_name) == ("consumer", "range")
    assert [(member.member_id, member.metadata) for member in response.members] == [(member_id, b"meta")]


def test_followers_are_not_told_of_others(driver: ClassicDriver) -> None:
    names = driver.stable(1)
    late, late_answer = driver.join_new()
    leader_answer = driver.join(names[0])
    assert {member.member_id for member in leader_answer.response.members} == {names[0], late}
    assert late_answer.response.members == []
    assert late_answer.response.leader == names[0]


def test_a_new_group_is_written_before_anyone_is_answered(driver: ClassicDriver) -> None:
    driver.join()
    (record,) = driver.records
    assert record is not None
    assert (record.generation, record.protocol_type, record.members) == (0, "", [])
    assert (record.protocol, record.leader) == (None, None)
    assert record.current_state_timestamp == driver.clock.wall_ms()


@pytest.mark.parametrize("version", [3, 9])
def test_a_group_that_cannot_be_written_is_no_group(driver: ClassicDriver, version: int) -> None:
    driver.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE
    answer = driver.join(version=version)
    assert answer.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert GROUP not in driver.groups
    assert len(driver.timers) == 0
    driver.refuses = None
    assert driver.join().error is ErrorCode.MEMBER_ID_REQUIRED


def test_an_id_of_no_group_is_unknown(driver: ClassicDriver) -> None:
    answer = driver.join("somebody")
    assert answer.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert answer.response.member_id == "somebody"
    assert GROUP not in driver.groups


def test_an_id_nobody_gave_out_is_unknown(driver: ClassicDriver) -> None:
    driver.stable(1)
    answer = driver.join("somebody")
    assert answer.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert answer.response.protocol_name is None


def test_an_empty_group_id_is_invalid(driver: ClassicDriver) -> None:
    assert driver.join(group_id="").error is ErrorCode.INVALID_GROUP_ID


@pytest.mark.parametrize("session_ms", [5_999, 1_800_001])
def test_session_timeouts_have_bounds(driver: ClassicDriver, session_ms: int) -> None:
    assert driver.join(session_ms=session_ms).error is ErrorCode.INVALID_SESSION_TIMEOUT
    assert GROUP not in driver.groups


@pytest.mark.parametrize("session_ms", [6_000, 1_800_000])
def test_session_timeouts_at_the_bounds_are_fine(driver: ClassicDriver, session_ms: int) -> None:
    assert driver.join(session_ms=session_ms).error is ErrorCode.MEMBER_ID_REQUIRED


def test_a_first_member_needs_a_protocol(driver: ClassicDriver) -> None:
    assert driver.join(protocols=[]).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.join(protocol_type="").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert GROUP not in driver.groups


def test_who_speaks_nothing_that_all_speak_is_refused(driver: ClassicDriver) -> None:
    driver.stable(2)
    assert driver.join(protocols=[("sticky", b"")]).error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.join(protocol_type="connect").error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.join(protocols=[("sticky", b""), ("range", b"")]).error is ErrorCode.MEMBER_ID_REQUIRED


def test_an_unused_id_expires_after_the_session_timeout(driver: ClassicDriver) -> None:
    member_id = driver.join(session_ms=10_000).response.member_id
    driver.advance(9_999)
    assert member_id in driver.group.pending_join
    driver.advance(1)
    assert not driver.group.pending_join
    assert driver.join(member_id).error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_rebalance_waits_for_ids_that_are_out_until_they_expire(driver: ClassicDriver) -> None:
    (leader,) = driver.stable(1)
    driver.join()
    _, joined = driver.join_new()
    driver.join(leader)
    assert joined.is_waiting
    driver.advance(10_000)
    assert joined.error is ErrorCode.NONE


def test_the_first_rebalance_waits_for_others(driver: ClassicDriver) -> None:
    driver.configure(group_initial_rebalance_delay_ms=3_000)
    _, first = driver.join_new()
    driver.advance(2_000)
    _, second = driver.join_new()
    driver.advance(999)
    assert first.is_waiting
    driver.advance(1)
    assert first.is_waiting, "somebody came, so it waits once more"
    driver.advance(3_000)
    assert first.response.generation_id == second.response.generation_id == 1


def test_the_first_rebalance_waits_no_longer_than_the_rebalance_timeout(driver: ClassicDriver) -> None:
    driver.configure(group_initial_rebalance_delay_ms=3_000)
    _, first = driver.join_new(rebalance_ms=7_000)
    for _ in range(6):
        driver.advance(1_000)
        driver.join_new(rebalance_ms=7_000)
    assert first.is_waiting
    driver.advance(999)
    assert first.is_waiting
    driver.advance(1)
    assert first.error is ErrorCode.NONE
    assert len(driver.group.members) == 7


def test_a_lone_member_waits_for_one_delay_only(driver: ClassicDriver) -> None:
    driver.configure(group_initial_rebalance_delay_ms=3_000)
    _, first = driver.join_new()
    driver.advance(2_999)
    assert first.is_waiting
    driver.advance(1)
    assert first.error is ErrorCode.NONE


def test_a_member_that_says_the_same_again_is_told_the_same_again(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    again = driver.join(follower)
    assert again.error is ErrorCode.NONE
    assert again.response.generation_id == 1
    assert driver.group.state is ClassicGroupState.STABLE
    assert leader in driver.group.members


def test_the_leader_joining_again_rebalances(driver: ClassicDriver) -> None:
    leader, _ = driver.stable(2)
    assert driver.join(leader).is_waiting
    assert driver.group.state is ClassicGroupState.PREPARING_REBALANCE


def test_other_metadata_rebalances(driver: ClassicDriver) -> None:
    _, follower = driver.stable(2)
    assert driver.join(follower, protocols=[("range", b"new")]).is_waiting
    assert driver.group.state is ClassicGroupState.PREPARING_REBALANCE


def test_before_assignments_members_are_told_the_same_again(driver: ClassicDriver) -> None:
    (leader,) = driver.stable(1)
    follower, _ = driver.join_new()
    driver.join(leader)
    assert driver.group.state is ClassicGroupState.COMPLETING_REBALANCE
    assert driver.join(follower).response.members == []
    assert len(driver.join(leader).response.members) == 2
    assert driver.group.state is ClassicGroupState.COMPLETING_REBALANCE
    assert driver.join(follower, protocols=[("range", b"new")]).is_waiting
    assert driver.group.state is ClassicGroupState.PREPARING_REBALANCE


def test_joining_again_over_another_connection_takes_the_answer_there(driver: ClassicDriver) -> None:
    leader, other = driver.stable(2)
    first = driver.join(leader)
    second = driver.join(leader)
    assert first.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.group.awaiting_join == 1
    driver.join(other)
    assert second.error is ErrorCode.NONE


def test_version_0_waits_for_the_session_timeout(driver: ClassicDriver) -> None:
    driver.join(version=0, rebalance_ms=-1, session_ms=12_000)
    assert driver.group.rebalance_timeout_ms == 12_000


def test_a_group_has_room_for_group_max_size_members(driver: ClassicDriver) -> None:
    names = driver.stable(2)
    driver.configure(group_max_size=2)
    assert driver.join().error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert driver.join(names[1]).error is ErrorCode.NONE


def test_in_a_rebalance_first_come_first_served(driver: ClassicDriver) -> None:
    names = driver.stable(2)
    driver.configure(group_max_size=1)
    assert driver.join(names[0]).is_waiting
    refused = driver.join(names[1])
    assert refused.error is ErrorCode.GROUP_MAX_SIZE_REACHED
    assert names[1] not in driver.group.members


def test_a_group_that_outgrew_the_bound_shrinks_when_loaded() -> None:
    driver = ClassicDriver(GroupConfig(group_initial_rebalance_delay_ms=0))
    driver.load()
    names = driver.stable(3)
    driver.configure(group_max_size=2)
    driver.restart()
    assert driver.group.state is ClassicGroupState.PREPARING_REBALANCE
    answers = [driver.join(name) for name in names]
    assert answers[2].error is ErrorCode.GROUP_MAX_SIZE_REACHED
    driver.advance(60_000)
    assert [answer.error for answer in answers[:2]] == [ErrorCode.NONE, ErrorCode.NONE]
    assert set(driver.group.members) == set(names[:2])
