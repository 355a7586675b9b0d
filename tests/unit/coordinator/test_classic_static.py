"""Static members (KIP-345): one place each, which its new incarnation takes over from the old one."""

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.classic.group import ClassicGroupState
from tests.classic_groups_setup import SESSION_MS, ClassicDriver


@pytest.fixture
def driver() -> ClassicDriver:
    made = ClassicDriver()
    made.load()
    return made


def stable(driver: ClassicDriver, *instances: str, **how: object) -> list[str]:
    """Make a stable group of static members, the first leads; each is assigned its instance id."""
    driver.configure(group_initial_rebalance_delay_ms=1)
    answers = [driver.join(instance=instance, **how) for instance in instances]  # type: ignore[arg-type]
    driver.advance(len(instances) + 1)
    names = [answer.response.member_id for answer in answers]
    assignments = {name: instance.encode() for name, instance in zip(names, instances, strict=True)}
    driver.sync(names[0], assignments)
    for name, instance in zip(names[1:], instances[1:], strict=True):
        driver.sync(name, instance=instance)
    assert driver.group.state is ClassicGroupState.STABLE
    return names


def test_a_static_member_joins_without_being_sent_back(driver: ClassicDriver) -> None:
    answer = driver.join(instance="i")
    driver.advance(0)
    assert answer.response.member_id.startswith("i-")
    assert answer.response.members[0].group_instance_id == "i"


def test_one_that_is_back_takes_its_place_without_a_rebalance(driver: ClassicDriver) -> None:
    leader, follower = stable(driver, "a", "b")
    answer = driver.join(instance="b")
    assert answer.error is ErrorCode.NONE
    assert answer.response.generation_id == 1
    assert (answer.response.leader, answer.response.members) == (leader, [])
    assert not answer.response.skip_assignment
    assert driver.group.state is ClassicGroupState.STABLE
    name = answer.response.member_id
    assert name != follower
    assert driver.sync(name, instance="b").response.assignment == b"b"
    assert driver.heartbeat(name, instance="b") is ErrorCode.NONE


def test_the_leader_that_is_back_need_not_assign_and_is_told_so(driver: ClassicDriver) -> None:
    stable(driver, "a", "b")
    answer = driver.join(instance="a")
    name = answer.response.member_id
    assert answer.response.leader == name
    assert answer.response.skip_assignment
    assert {member.group_instance_id for member in answer.response.members} == {"a", "b"}
    assert name in {member.member_id for member in answer.response.members}


def test_older_leaders_are_told_that_somebody_else_leads(driver: ClassicDriver) -> None:
    leader, _ = stable(driver, "a", "b")
    answer = driver.join(instance="a", version=8)
    assert answer.response.leader == leader != answer.response.member_id
    assert answer.response.members == []
    assert not answer.response.skip_assignment
    assert driver.group.leader_id == answer.response.member_id


def test_the_new_id_is_written_before_it_is_told(driver: ClassicDriver) -> None:
    leader, follower = stable(driver, "a", "b")
    answer = driver.join(instance="b", protocols=[("range", b"new")], session_ms=20_000)
    record = driver.records[-1]
    assert record is not None
    written = {member.group_instance_id: member for member in record.members}
    assert written["b"].member_id == answer.response.member_id
    assert (bytes(written["b"].subscription), written["b"].session_timeout) == (b"new", 20_000)
    assert bytes(written["b"].assignment) == b"b"
    assert (record.generation, record.leader, written["a"].member_id) == (1, leader, leader)
    assert follower not in {member.member_id for member in record.members}


def test_an_id_that_could_not_be_written_changes_nothing(driver: ClassicDriver) -> None:
    _, follower = stable(driver, "a", "b")
    driver.refuses = ErrorCode.COORDINATOR_NOT_AVAILABLE
    answer = driver.join(instance="b", protocols=[("range", b"new")])
    assert len(answer.responses) == 1
    assert answer.error is ErrorCode.COORDINATOR_NOT_AVAILABLE
    assert driver.heartbeat(follower, instance="b") is ErrorCode.NONE
    assert driver.member(follower).protocols == (("range", b"r"),)
    driver.advance(SESSION_MS - 1)
    assert follower in driver.group.members
    driver.advance(1)
    assert follower not in driver.group.members, "its session still runs"


def test_the_former_incarnation_is_fenced(driver: ClassicDriver) -> None:
    _, follower = stable(driver, "a", "b")
    driver.join(instance="b")
    assert driver.heartbeat(follower, instance="b") is ErrorCode.FENCED_INSTANCE_ID
    assert driver.sync(follower, instance="b").error is ErrorCode.FENCED_INSTANCE_ID
    assert driver.join(follower, instance="b").error is ErrorCode.FENCED_INSTANCE_ID
    assert driver.heartbeat(follower) is ErrorCode.UNKNOWN_MEMBER_ID


def test_one_that_is_back_while_its_former_self_joins_fences_that(driver: ClassicDriver) -> None:
    leader, follower = stable(driver, "a", "b")
    former = driver.join(follower, instance="b", protocols=[("range", b"new")])
    latter = driver.join(instance="b")
    assert former.error is ErrorCode.FENCED_INSTANCE_ID
    assert former.response.member_id == follower
    assert latter.is_waiting
    assert driver.group.awaiting_join == 1
    driver.join(leader, instance="a")
    assert latter.response.generation_id == 2


def test_one_that_is_back_while_its_former_self_fetches_fences_that(driver: ClassicDriver) -> None:
    driver.configure(group_initial_rebalance_delay_ms=1)
    first, second = driver.join(instance="a"), driver.join(instance="b")
    driver.advance(10)
    fetching = driver.sync(second.response.member_id, instance="b")
    assert driver.join(instance="b").is_waiting
    assert fetching.error is ErrorCode.FENCED_INSTANCE_ID
    assert driver.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert first.response.leader == first.response.member_id


def test_other_metadata_for_the_same_protocol_rebalances_nothing(driver: ClassicDriver) -> None:
    stable(driver, "a", "b")
    answer = driver.join(instance="b", protocols=[("range", b"new")])
    assert answer.error is ErrorCode.NONE
    assert driver.member(answer.response.member_id).protocols == (("range", b"new"),)
    assert driver.group.state is ClassicGroupState.STABLE


def test_another_choice_of_protocol_rebalances(driver: ClassicDriver) -> None:
    (only,) = stable(driver, "a", protocols=[("range", b""), ("sticky", b"")])
    answer = driver.join(instance="a", protocols=[("sticky", b""), ("range", b"")])
    assert driver.group.protocol_name == "sticky"
    assert answer.response.generation_id == 2
    assert only not in driver.group.members


def test_static_members_that_are_away_are_waited_for_and_kept(driver: ClassicDriver) -> None:
    leader, away = stable(driver, "a", "b", session_ms=300_000)
    answer = driver.join(leader, instance="a", session_ms=300_000)
    driver.advance(60_000)
    assert answer.response.generation_id == 2
    assert away in driver.group.members
    assert {member.group_instance_id for member in answer.response.members} == {"a", "b"}


def test_a_rebalance_without_anybody_waits_on(driver: ClassicDriver) -> None:
    stable(driver, "a", "b", session_ms=300_000)
    newcomer, _ = driver.join_new(session_ms=300_000)
    driver.leave(newcomer)
    driver.advance(200_000)
    assert driver.group.state is ClassicGroupState.PREPARING_REBALANCE
    assert len(driver.group.members) == 2
    answers = [driver.join(instance=instance, session_ms=300_000) for instance in ("a", "b")]
    assert all(answer.response.generation_id == 2 for answer in answers)


def test_a_static_member_that_stays_away_expires_with_its_session(driver: ClassicDriver) -> None:
    leader, away = stable(driver, "a", "b")
    driver.advance(5_000)
    driver.heartbeat(leader, instance="a")
    driver.advance(5_000)
    assert away not in driver.group.members
    assert driver.group.static_members == {"a": leader}


def test_a_new_incarnation_that_never_fetches_is_out_as_well(driver: ClassicDriver) -> None:
    driver.configure(group_initial_rebalance_delay_ms=1)
    answers = [driver.join(instance=instance, session_ms=300_000) for instance in ("a", "b")]
    driver.advance(10)
    driver.sync(answers[0].response.member_id, {}, instance="a")
    back = driver.join(instance="b", session_ms=300_000).response.member_id
    assert driver.group.pending_sync == {back}
    driver.advance(60_000)
    assert back not in driver.group.members


def test_a_new_incarnation_that_fetches_ends_the_wait(driver: ClassicDriver) -> None:
    driver.configure(group_initial_rebalance_delay_ms=1)
    answers = [driver.join(instance=instance, session_ms=300_000) for instance in ("a", "b")]
    driver.advance(10)
    driver.sync(answers[0].response.member_id, {}, instance="a")
    back = driver.join(instance="b", session_ms=300_000).response.member_id
    driver.sync(back, instance="b")
    driver.advance(60_000)
    assert driver.group.state is ClassicGroupState.STABLE


def test_static_members_survive_a_restart(driver: ClassicDriver) -> None:
    stable(driver, "a", "b")
    back = driver.join(instance="b").response.member_id
    driver.restart()
    assert driver.group.static_members["b"] == back
    assert driver.heartbeat(back, instance="b") is ErrorCode.NONE
    assert driver.sync(back, instance="b").response.assignment == b"b"


@pytest.mark.parametrize("instance", ["i" * 32_767, "\u00e9" * 16_383])
def test_a_name_of_the_greatest_length_leaves_room_for_the_rest_of_an_id(
    driver: ClassicDriver, instance: str
) -> None:
    driver.configure(group_initial_rebalance_delay_ms=1)
    answers = [driver.join(instance=name, version=5) for name in (instance, "b")]
    driver.advance(10)
    member_id = answers[0].response.member_id
    assert len(member_id.encode()) in (32_766, 32_767)
    for answer in answers:
        answer.response.encode(5)
    assert driver.sync(member_id, {member_id: b"a"}, instance=instance).response.assignment == b"a"
    driver.restart()
    assert driver.group.static_members[instance] == member_id
