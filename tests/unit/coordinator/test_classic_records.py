"""What the log says of classic groups, what a restart makes of it, and how groups end."""

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.coordinator.classic.group import ClassicGroup, ClassicGroupState
from barnabas.coordinator.runtime.outcome import CoordinatorRecord, Outcome
from barnabas.protocol import messages
from tests.classic_groups_setup import GROUP, ClassicDriver, subscription


@pytest.fixture
def driver() -> ClassicDriver:
    made = ClassicDriver()
    made.load()
    return made


def test_a_stable_group_survives_a_restart_whole(driver: ClassicDriver) -> None:
    names = driver.stable(3, protocols=[("range", subscription("t"))])
    before = driver.group
    driver.restart()
    after = driver.group
    assert after is not before
    assert after.state is ClassicGroupState.STABLE
    for attribute in ("generation_id", "leader_id", "protocol_type", "protocol_name", "subscribed"):
        assert getattr(after, attribute) == getattr(before, attribute), attribute
    for name in names:
        assert driver.heartbeat(name) is ErrorCode.NONE
        assert driver.sync(name).response.assignment == before.members[name].assignment


def test_after_a_restart_members_have_whole_sessions(driver: ClassicDriver) -> None:
    (name,) = driver.stable(1)
    driver.advance(9_000)
    driver.restart()
    driver.advance(9_999)
    assert name in driver.group.members
    driver.advance(1)
    assert driver.group.state is ClassicGroupState.EMPTY


def test_a_restart_forgets_a_rebalance_and_members_begin_one_again(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    newcomer, _ = driver.join_new()
    driver.restart()
    assert driver.group.state is ClassicGroupState.STABLE
    assert driver.join(newcomer).error is ErrorCode.UNKNOWN_MEMBER_ID
    assert driver.heartbeat(follower) is ErrorCode.NONE
    assert driver.join(leader).is_waiting


def test_an_empty_group_survives_with_its_generation_and_since_when(driver: ClassicDriver) -> None:
    driver.leave(*driver.stable(1))
    emptied_ms = driver.group.state_since_ms
    driver.advance(1_000)
    driver.restart()
    assert driver.group.state is ClassicGroupState.EMPTY
    assert driver.group.generation_id == 2
    assert driver.group.state_since_ms == emptied_ms
    assert driver.group.protocol_type == "consumer"


def test_a_group_that_nobody_ever_joined_survives_as_empty(driver: ClassicDriver) -> None:
    driver.join()
    driver.restart()
    assert driver.group.state is ClassicGroupState.EMPTY
    assert driver.group.generation_id == 0
    _, answer = driver.join_new()
    driver.advance(0)
    assert answer.response.generation_id == 1


@pytest.mark.parametrize("version", [0, 1, 2, 3, 4])
def test_records_of_every_version_are_read(driver: ClassicDriver, version: int) -> None:
    value = messages.GroupMetadataValue(
        protocol_type="consumer",
        generation=7,
        protocol="range",
        leader="m2",
        members=[
            messages.GroupMetadataValueMemberMetadata(
                member_id=name, client_id="c", client_host="/::1", session_timeout=9_000, assignment=b"a"
            )
            for name in ("m1", "m2")
        ],
    )
    record = CoordinatorRecord(messages.GroupMetadataKey(group=GROUP), value, version)
    driver.log.append(driver.codec.encode(record))
    driver.restart()
    assert driver.group.generation_id == 7
    assert driver.group.leader_id == "m2"
    member = driver.member("m1")
    assert member.rebalance_timeout_ms == 9_000, "where a record has none it is the session's"
    assert driver.heartbeat("m1") is ErrorCode.NONE


def test_a_leader_that_is_no_member_is_replaced(driver: ClassicDriver) -> None:
    value = messages.GroupMetadataValue(
        protocol_type="consumer",
        generation=1,
        protocol="range",
        leader="gone",
        members=[messages.GroupMetadataValueMemberMetadata(member_id="m1", session_timeout=9_000)],
    )
    record = CoordinatorRecord(messages.GroupMetadataKey(group=GROUP), value, 3)
    driver.log.append(driver.codec.encode(record))
    driver.restart()
    assert driver.group.leader_id == "m1"


def test_a_tombstone_ends_a_group_and_its_timers(driver: ClassicDriver) -> None:
    driver.leave(*driver.stable(1))
    driver.join()
    driver.append(Outcome(records=driver.group.tombstones()))
    assert GROUP not in driver.groups
    assert len(driver.timers) == 0
    driver.restart()
    assert GROUP not in driver.groups


def test_who_waits_in_a_group_that_becomes_another_joins_again(driver: ClassicDriver) -> None:
    driver.configure(group_initial_rebalance_delay_ms=1)
    names = [driver.join_new()[0] for _ in range(2)]
    driver.advance(10)
    fetching = driver.sync(names[1])
    driver.append(Outcome(records=driver.group.tombstones()))
    assert fetching.error is ErrorCode.REBALANCE_IN_PROGRESS
    _, joining = driver.join_new()
    driver.append(Outcome(records=driver.group.tombstones()))
    assert joining.error is ErrorCode.REBALANCE_IN_PROGRESS
    assert len(driver.timers) == 0


def test_a_group_made_by_a_record_lives_once_it_is_resumed(driver: ClassicDriver) -> None:
    value = messages.GroupMetadataValue(
        protocol_type="consumer",
        generation=5,
        protocol="range",
        leader="m1",
        members=[messages.GroupMetadataValueMemberMetadata(member_id="m1", session_timeout=9_000)],
    )
    key = messages.GroupMetadataKey(group=GROUP)
    driver.append(Outcome(records=[CoordinatorRecord(key, value, 3)]))
    driver.classic.resume(driver.group)
    driver.classic.prepare_rebalance(driver.group, "it was a consumer group", driver.clock.wall_ms())
    assert driver.heartbeat("m1") is ErrorCode.REBALANCE_IN_PROGRESS
    assert driver.join("m1").response.generation_id == 6


def test_who_waits_when_the_shard_goes_looks_for_another_coordinator(driver: ClassicDriver) -> None:
    driver.configure(group_initial_rebalance_delay_ms=1)
    names = [driver.join_new()[0] for _ in range(2)]
    driver.advance(10)
    fetching = driver.sync(names[1])
    _, joining = driver.join_new(group_id="other")
    driver.classic.unloaded()
    assert fetching.error is ErrorCode.NOT_COORDINATOR
    assert joining.error is ErrorCode.NOT_COORDINATOR
    assert driver.group.state is ClassicGroupState.DEAD


class EmptyOther:
    """An empty group of another type, as far as a JoinGroup asks."""

    group_id = GROUP
    is_empty = True

    def tombstones(self) -> list[CoordinatorRecord]:
        return [CoordinatorRecord(messages.GroupMetadataKey(group="stands for its records"), None)]


def test_an_empty_group_of_another_type_gives_way(driver: ClassicDriver) -> None:
    driver.groups[GROUP] = EmptyOther()  # type: ignore[assignment]
    assert driver.join().error is ErrorCode.MEMBER_ID_REQUIRED
    assert isinstance(driver.groups[GROUP], ClassicGroup)
    assert [value is None for value in driver.records] == [True, False]


def test_an_empty_group_of_another_type_stays_when_nothing_can_be_written(driver: ClassicDriver) -> None:
    other = EmptyOther()
    driver.groups[GROUP] = other  # type: ignore[assignment]
    driver.refuses = ErrorCode.NOT_COORDINATOR
    assert driver.join().error is ErrorCode.NOT_COORDINATOR
    assert driver.groups[GROUP] is other


def test_a_group_of_another_type_with_members_does_not(driver: ClassicDriver) -> None:
    other = EmptyOther()
    other.is_empty = False
    driver.groups[GROUP] = other  # type: ignore[assignment]
    assert driver.join().error is ErrorCode.INCONSISTENT_GROUP_PROTOCOL
    assert driver.groups[GROUP] is other
