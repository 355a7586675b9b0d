"""LeaveGroup: each member is answered on its own, the others share what it had."""

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.classic.group import ClassicGroupState
from tests.classic_groups_setup import ClassicDriver


@pytest.fixture
def driver() -> ClassicDriver:
    made = ClassicDriver()
    made.load()
    return made


def errors(answer: object) -> list[ErrorCode]:
    return [ErrorCode(member.error_code) for member in answer.response.members]  # type: ignore[attr-defined]


def test_a_member_that_leaves_is_gone_at_once(driver: ClassicDriver) -> None:
    left, stays = driver.stable(2)
    answer = driver.leave(left)
    assert errors(answer) == [ErrorCode.NONE]
    assert driver.heartbeat(left) is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.heartbeat(stays) is ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.join(stays).response.leader == stays


def test_each_is_answered_on_its_own(driver: ClassicDriver) -> None:
    names = driver.stable(2)
    answer = driver.leave(names[0], "stranger", names[1])
    assert errors(answer) == [ErrorCode.NONE, ErrorCode.UNKNOWN_MEMBER_ID, ErrorCode.NONE]
    assert [member.member_id for member in answer.response.members] == [names[0], "stranger", names[1]]
    assert driver.group.state is ClassicGroupState.EMPTY


def test_strangers_disturb_nobody(driver: ClassicDriver) -> None:
    driver.stable(2)
    driver.leave("stranger")
    assert driver.group.state is ClassicGroupState.STABLE


def test_an_id_that_was_only_given_out_can_be_given_back(driver: ClassicDriver) -> None:
    leader, other = driver.stable(2)
    given_out = driver.join().response.member_id
    waiting = [driver.join(leader), driver.join(other)]
    assert all(answer.is_waiting for answer in waiting)
    assert errors(driver.leave(given_out)) == [ErrorCode.NONE]
    assert all(answer.error is ErrorCode.NONE for answer in waiting), "nobody is missing any more"


def test_a_member_that_leaves_while_it_joins_is_told(driver: ClassicDriver) -> None:
    leader, other = driver.stable(2)
    joining = driver.join(leader)
    driver.leave(leader)
    assert joining.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert joining.response.member_id == ""
    assert driver.group.leader_id == other
    assert driver.group.awaiting_join == 0


def test_a_member_that_leaves_while_it_fetches_is_told(driver: ClassicDriver) -> None:
    driver.configure(group_initial_rebalance_delay_ms=1)
    joined = [driver.join_new()[0] for _ in range(2)]
    driver.advance(10)
    fetching = driver.sync(joined[1])
    driver.leave(joined[1])
    assert fetching.error is ErrorCode.UNKNOWN_MEMBER_ID


def test_a_static_member_is_removed_by_its_instance_id(driver: ClassicDriver) -> None:
    driver.join(instance="i")
    driver.advance(0)
    answer = driver.leave(("", "i"))
    assert errors(answer) == [ErrorCode.NONE]
    assert answer.response.members[0].group_instance_id == "i"
    assert driver.group.state is ClassicGroupState.EMPTY
    assert driver.group.static_members == {}


@pytest.mark.parametrize(
    ("identity", "error"),
    [
        (("", "other"), ErrorCode.UNKNOWN_MEMBER_ID),
        (("stranger", "i"), ErrorCode.FENCED_INSTANCE_ID),
        (("stranger", "other"), ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_what_does_not_name_a_static_member_is_refused(
    driver: ClassicDriver, identity: tuple[str, str], error: ErrorCode
) -> None:
    driver.join(instance="i")
    driver.advance(0)
    assert errors(driver.leave(identity)) == [error]
    assert "i" in driver.group.static_members


def test_an_empty_id_without_an_instance_names_nobody(driver: ClassicDriver) -> None:
    driver.stable(1)
    assert errors(driver.leave("")) == [ErrorCode.UNKNOWN_MEMBER_ID]


def test_no_group_knows_nobody(driver: ClassicDriver) -> None:
    assert errors(driver.leave("a", "b", group_id="no group")) == [ErrorCode.UNKNOWN_MEMBER_ID] * 2
    assert driver.leave("a", group_id="").error is ErrorCode.INVALID_GROUP_ID


def test_nobody_to_remove_is_fine(driver: ClassicDriver) -> None:
    driver.stable(1)
    assert driver.leave().response.members == []
    assert driver.group.state is ClassicGroupState.STABLE
