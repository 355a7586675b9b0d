"""SyncGroup: the leader's assignment is in the log before anyone has it."""

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.classic.group import ClassicGroupState
from tests.classic_groups_setup import GROUP, Answer, ClassicDriver


@pytest.fixture
def driver() -> ClassicDriver:
    made = ClassicDriver()
    made.load()
    return made


def completing(driver: ClassicDriver, count: int = 2) -> list[str]:
    """Bring a group of some members to where the leader is to assign; return their ids, the leader first."""
    driver.configure(group_initial_rebalance_delay_ms=1)
    names = [driver.join_new(session_ms=300_000)[0] for _ in range(count)]
    driver.advance(count + 1)
    assert driver.group.state is ClassicGroupState.COMPLETING_REBALANCE
    return names


def test_a_member_waits_for_the_leader_and_gets_its_own(driver: ClassicDriver) -> None:
    leader, follower = completing(driver)
    waiting = driver.sync(follower)
    assert waiting.is_waiting
    leading = driver.sync(leader, {leader: b"for the leader", follower: b"for the follower"})
    assert (leading.error, leading.response.assignment) == (ErrorCode.NONE, b"for the leader")
    assert (waiting.error, waiting.response.assignment) == (ErrorCode.NONE, b"for the follower")
    assert (waiting.response.protocol_type, waiting.response.protocol_name) == ("consumer", "range")
    assert driver.group.state is ClassicGroupState.STABLE


def test_who_comes_later_is_answered_at_once(driver: ClassicDriver) -> None:
    leader, follower = completing(driver)
    driver.sync(leader, {follower: b"yours"})
    assert driver.sync(follower).response.assignment == b"yours"


def test_members_the_leader_left_out_get_nothing(driver: ClassicDriver) -> None:
    leader, follower = completing(driver)
    assert driver.sync(leader, {leader: b"all"}).error is ErrorCode.NONE
    late = driver.sync(follower)
    assert (late.error, late.response.assignment) == (ErrorCode.NONE, b"")


def test_assignments_of_strangers_are_not_written(driver: ClassicDriver) -> None:
    leader, follower = completing(driver)
    driver.sync(leader, {"stranger": b"x", leader: b"l", follower: b"f"})
    record = driver.records[-1]
    assert record is not None
    assert {member.member_id: bytes(member.assignment) for member in record.members} == {
        leader: b"l",
        follower: b"f",
    }


def test_the_record_says_all_that_a_restart_needs(driver: ClassicDriver) -> None:
    leader, follower = completing(driver)
    driver.sync(leader, {leader: b"l", follower: b"f"})
    record = driver.records[-1]
    assert record is not None
    assert (record.protocol_type, record.generation) == ("consumer", 1)
    assert (record.protocol, record.leader) == ("range", leader)
    member = record.members[1]
    assert (member.member_id, member.client_id, member.client_host) == (follower, "client", "/127.0.0.1")
    assert (member.session_timeout, member.rebalance_timeout) == (300_000, 60_000)
    assert bytes(member.subscription) == b"r"


def test_nobody_has_an_assignment_that_could_not_be_written(driver: ClassicDriver) -> None:
    leader, follower = completing(driver)
    waiting = driver.sync(follower)
    driver.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE
    leading = driver.sync(leader, {leader: b"l", follower: b"f"})
    assert waiting.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert len(leading.responses) == 1, "the runtime answers who asked"
    assert leading.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert driver.member(leader).assignment == b""
    assert driver.group.state is ClassicGroupState.PREPARING_REBALANCE


def test_after_a_failed_write_the_group_comes_to_rest_again(driver: ClassicDriver) -> None:
    names = completing(driver)
    driver.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE
    driver.sync(names[0], {})
    driver.refuses = None
    answers = [driver.join(name, session_ms=300_000) for name in names]
    assert [answer.error for answer in answers] == [ErrorCode.NONE, ErrorCode.NONE]
    assert driver.sync(names[0], {names[1]: b"f"}).error is ErrorCode.NONE
    assert driver.sync(names[1]).response.assignment == b"f"


def test_a_rebalance_sends_waiting_members_back_to_join(driver: ClassicDriver) -> None:
    _, follower = completing(driver)
    waiting = driver.sync(follower)
    driver.join_new()
    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert waiting.response.assignment == b""


def test_while_members_join_there_is_nothing_to_fetch(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    driver.join(leader)
    assert driver.sync(follower).error is ErrorCode.REBALANCE_IN_PROGRESS


def test_members_that_never_fetch_are_out_after_the_rebalance_timeout(driver: ClassicDriver) -> None:
    leader, silent = completing(driver)
    driver.sync(leader, {})
    driver.advance(59_990)
    assert silent in driver.group.members
    driver.advance(20)
    assert silent not in driver.group.members
    assert driver.heartbeat(leader) is ErrorCode.REBALANCE_IN_PROGRESS


def test_a_leader_that_never_assigns_is_out_after_the_rebalance_timeout(driver: ClassicDriver) -> None:
    leader, follower = completing(driver)
    waiting = driver.sync(follower)
    driver.advance(60_010)
    assert waiting.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert leader not in driver.group.members
    assert driver.group.leader_id == follower


def test_a_group_whose_members_all_fetched_waits_for_nothing(driver: ClassicDriver) -> None:
    leader, follower = completing(driver)
    driver.sync(leader, {})
    driver.sync(follower)
    for _ in range(7):
        driver.advance(10_000)
        assert driver.heartbeat(leader) is ErrorCode.NONE
        assert driver.heartbeat(follower) is ErrorCode.NONE


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"protocol": "sticky"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": "connect"}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol": None}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"protocol_type": None}, ErrorCode.INCONSISTENT_GROUP_PROTOCOL),
        ({"instance": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_what_does_not_fit_is_refused(
    driver: ClassicDriver, how: dict[str, int | str], error: ErrorCode
) -> None:
    _, follower = completing(driver)
    assert driver.sync(follower, **how).error is error  # type: ignore[arg-type]


def test_before_version_5_the_protocol_need_not_be_said(driver: ClassicDriver) -> None:
    _, follower = completing(driver)
    assert driver.sync(follower, protocol=None, protocol_type=None, version=4).is_waiting


def test_strangers_get_nothing(driver: ClassicDriver) -> None:
    completing(driver)
    assert driver.sync("somebody").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.sync("somebody", group_id="no group").error is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.sync("somebody", group_id="").error is ErrorCode.INVALID_GROUP_ID


def test_fetching_over_another_connection_takes_the_answer_there(driver: ClassicDriver) -> None:
    leader, follower = completing(driver)
    first: Answer = driver.sync(follower)
    second = driver.sync(follower)
    assert first.error is ErrorCode.REBALANCE_IN_PROGRESS
    driver.sync(leader, {follower: b"f"})
    assert second.response.assignment == b"f"


def test_an_assignment_of_an_older_generation_does_not_count(driver: ClassicDriver) -> None:
    leader, follower = completing(driver)
    driver.join(follower, protocols=[("range", b"new")], session_ms=300_000)
    assert driver.sync(leader, {leader: b"old"}).error is ErrorCode.REBALANCE_IN_PROGRESS
    assert len([record for record in driver.records if record and record.members]) == 0
    assert GROUP in driver.groups
