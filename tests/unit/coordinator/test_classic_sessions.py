"""Sessions: who is heard of stays, who waits for us stays, anybody else goes on time."""

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.classic.group import ClassicGroupState
from tests.classic_groups_setup import ClassicDriver


@pytest.fixture
def driver() -> ClassicDriver:
    made = ClassicDriver()
    made.load()
    return made


def test_a_silent_member_goes_after_its_session_timeout_to_the_millisecond(driver: ClassicDriver) -> None:
    loud, silent = driver.stable(2)
    driver.advance(9_000)
    assert driver.heartbeat(loud) is ErrorCode.NONE
    driver.advance(999)
    assert silent in driver.group.members
    driver.advance(1)
    assert silent not in driver.group.members
    assert driver.heartbeat(loud) is ErrorCode.REBALANCE_IN_PROGRESS


def test_heartbeats_move_the_deadline_by_a_whole_session(driver: ClassicDriver) -> None:
    (name,) = driver.stable(1)
    for wait_ms in (3_000, 9_999, 1, 5_000):
        driver.advance(wait_ms)
        assert driver.heartbeat(name) is ErrorCode.NONE
    driver.advance(9_999)
    assert name in driver.group.members
    driver.advance(1)
    assert driver.group.state is ClassicGroupState.EMPTY


def test_heartbeats_do_not_move_timers(driver: ClassicDriver) -> None:
    (name,) = driver.stable(1)
    timer_ms = driver.member(name).session_timer_ms
    driver.advance(5_000)
    driver.heartbeat(name)
    assert driver.member(name).session_timer_ms == timer_ms
    fired = driver.wheel.statistics().fired
    driver.advance(9_999)
    assert driver.wheel.statistics().fired == fired + 1, "once, to go on to the moved deadline"


def test_a_shorter_session_counts_from_the_join_that_says_so(driver: ClassicDriver) -> None:
    (name,) = driver.stable(1, session_ms=300_000)
    driver.join(name, session_ms=6_000)
    driver.sync(name, {})
    driver.advance(5_999)
    assert name in driver.group.members
    driver.advance(1)
    assert driver.group.state is ClassicGroupState.EMPTY


def test_a_commit_restarts_the_session(driver: ClassicDriver) -> None:
    (name,) = driver.stable(1)
    driver.advance(9_000)
    driver.group.heartbeat_noted(name)
    driver.advance(9_999)
    assert name in driver.group.members
    driver.group.heartbeat_noted("somebody who is no member")


def test_while_the_leader_assigns_a_commit_restarts_nothing(driver: ClassicDriver) -> None:
    (name,) = driver.stable(1)
    driver.join(name)
    driver.advance(9_000)
    driver.group.heartbeat_noted(name)
    driver.advance(1_000)
    assert driver.group.state is ClassicGroupState.EMPTY


def test_a_member_that_waits_to_join_does_not_expire(driver: ClassicDriver) -> None:
    leader, _ = driver.stable(2)
    answer = driver.join(leader, rebalance_ms=50_000)
    driver.advance(9_000)
    assert driver.group.members
    assert answer.is_waiting
    driver.advance(1_000)
    assert answer.error is ErrorCode.NONE, "the other's session is over, so nobody is missing"
    assert leader in driver.group.members


def test_a_member_that_waits_for_its_assignment_does_not_expire(driver: ClassicDriver) -> None:
    driver.configure(group_initial_rebalance_delay_ms=1)
    leader = driver.join_new(session_ms=30_000)[0]
    follower = driver.join_new(session_ms=6_000)[0]
    driver.advance(10)
    waiting = driver.sync(follower)
    driver.advance(29_000)
    assert waiting.is_waiting
    driver.sync(leader, {follower: b"f"})
    assert waiting.response.assignment == b"f"
    driver.advance(5_999)
    assert follower in driver.group.members, "its session began when it was answered"
    driver.advance(1)
    assert follower not in driver.group.members


def test_a_new_member_is_kept_for_five_minutes_whatever_its_session(driver: ClassicDriver) -> None:
    (leader,) = driver.stable(1, session_ms=1_000_000, rebalance_ms=1_000_000)
    name, answer = driver.join_new(session_ms=6_000, rebalance_ms=1_000_000)
    driver.advance(299_000)
    assert answer.is_waiting
    driver.advance(1_000)
    assert answer.error is ErrorCode.UNKNOWN_MEMBER_ID
    assert set(driver.group.members) == {leader}
    assert name not in driver.group.members


def test_once_answered_a_new_member_has_its_own_session(driver: ClassicDriver) -> None:
    name, answer = driver.join_new(session_ms=6_000)
    driver.advance(0)
    assert answer.error is ErrorCode.NONE
    driver.advance(5_999)
    assert name in driver.group.members
    driver.advance(1)
    assert name not in driver.group.members


def test_the_last_member_that_expires_leaves_an_empty_group(driver: ClassicDriver) -> None:
    driver.stable(1)
    driver.advance(10_000)
    assert driver.group.state is ClassicGroupState.EMPTY
    assert driver.group.generation_id == 2
    assert len(driver.timers) == 0


def test_an_expiry_that_cannot_be_written_is_tried_again(driver: ClassicDriver) -> None:
    driver.stable(1)
    driver.refuses = ErrorCode.NOT_COORDINATOR
    driver.advance(10_000)
    assert driver.group.state is ClassicGroupState.PREPARING_REBALANCE
    driver.advance(5_000)
    assert driver.group.state is ClassicGroupState.PREPARING_REBALANCE
    driver.refuses = None
    driver.advance(500)
    assert driver.group.state is ClassicGroupState.EMPTY


@pytest.mark.parametrize(
    ("how", "error"),
    [
        ({"generation": 0}, ErrorCode.ILLEGAL_GENERATION),
        ({"generation": 2}, ErrorCode.ILLEGAL_GENERATION),
        ({"instance": "i"}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_id": "no group", "generation": 1}, ErrorCode.UNKNOWN_MEMBER_ID),
        ({"group_id": "", "generation": 1}, ErrorCode.INVALID_GROUP_ID),
    ],
)
def test_heartbeats_that_do_not_fit_are_refused(
    driver: ClassicDriver, how: dict[str, int | str], error: ErrorCode
) -> None:
    (name,) = driver.stable(1)
    assert driver.heartbeat(name, **how) is error  # type: ignore[arg-type]


def test_strangers_and_ids_that_were_only_given_out_have_no_heartbeat(driver: ClassicDriver) -> None:
    driver.stable(1)
    assert driver.heartbeat("somebody") is ErrorCode.UNKNOWN_MEMBER_ID
    given_out = driver.join().response.member_id
    assert driver.heartbeat(given_out) is ErrorCode.UNKNOWN_MEMBER_ID


def test_an_empty_group_knows_nobody(driver: ClassicDriver) -> None:
    (name,) = driver.stable(1)
    driver.leave(name)
    assert driver.heartbeat(name) is ErrorCode.UNKNOWN_MEMBER_ID


def test_when_the_broker_stood_still_members_get_time_to_be_heard(driver: ClassicDriver) -> None:
    heard, silent = driver.stable(2)
    driver.clock.advance_ms(60_000)  # nothing fires meanwhile, and nothing is read
    driver.wheel.advance(driver.clock.monotonic_ms())
    assert set(driver.group.members) == {heard, silent}
    driver.advance(2_999)
    assert driver.heartbeat(heard) is ErrorCode.NONE
    driver.advance(1)
    assert set(driver.group.members) == {heard}


def test_a_timer_that_is_a_little_late_gives_nobody_more_time(driver: ClassicDriver) -> None:
    driver.stable(1)
    driver.clock.advance_ms(10_900)
    driver.wheel.advance(driver.clock.monotonic_ms())
    assert driver.group.state is ClassicGroupState.EMPTY
