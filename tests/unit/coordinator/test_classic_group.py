"""What a classic group answers to commits, expiry, deletion and lists."""

from pathlib import Path

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.classic.group import TRANSITIONS, ClassicGroup, ClassicGroupState, told_ids
from barnabas.coordinator.classic.protocols import select_protocol, subscribed_topics
from barnabas.coordinator.groups.group import GroupType
from barnabas.protocol import messages
from barnabas.sim.clock import ManualClock
from tests.classic_groups_setup import ClassicDriver, subscription

COMMIT_MS = 1_600_000_000_000


@pytest.fixture
def driver() -> ClassicDriver:
    made = ClassicDriver()
    made.load()
    return made


def commit_error(
    group: ClassicGroup,
    member_id: str = "",
    generation: int = -1,
    instance: str | None = None,
    *,
    is_transactional: bool = False,
) -> ErrorCode:
    try:
        group.check_offset_commit(
            member_id, instance, generation, is_transactional=is_transactional, api_version=9
        )
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


def test_members_commit_in_their_generation(driver: ClassicDriver) -> None:
    (name,) = driver.stable(1)
    assert commit_error(driver.group, name, 1) is ErrorCode.NONE
    assert commit_error(driver.group, name, 2) is ErrorCode.ILLEGAL_GENERATION
    assert commit_error(driver.group, name, 0) is ErrorCode.ILLEGAL_GENERATION
    assert commit_error(driver.group, "stranger", 1) is ErrorCode.UNKNOWN_MEMBER_ID
    assert commit_error(driver.group, name, 1, "i") is ErrorCode.UNKNOWN_MEMBER_ID


def test_who_is_no_member_commits_only_to_an_empty_group(driver: ClassicDriver) -> None:
    (name,) = driver.stable(1)
    assert commit_error(driver.group) is ErrorCode.UNKNOWN_MEMBER_ID
    driver.leave(name)
    assert commit_error(driver.group) is ErrorCode.NONE
    assert commit_error(driver.group, name, 1) is ErrorCode.UNKNOWN_MEMBER_ID


def test_static_members_commit_until_they_are_fenced(driver: ClassicDriver) -> None:
    former = driver.join(instance="i")
    driver.advance(0)
    name = former.response.member_id
    driver.sync(name, {}, instance="i")
    assert commit_error(driver.group, name, 1, "i") is ErrorCode.NONE
    driver.join(instance="i")
    assert commit_error(driver.group, name, 1, "i") is ErrorCode.FENCED_INSTANCE_ID


def test_members_commit_while_others_join_but_not_before_the_assignment(driver: ClassicDriver) -> None:
    leader, follower = driver.stable(2)
    driver.join(leader)
    assert commit_error(driver.group, follower, 1) is ErrorCode.NONE
    driver.join(follower)
    assert commit_error(driver.group, follower, 2) is ErrorCode.REBALANCE_IN_PROGRESS
    assert commit_error(driver.group, follower, 2, is_transactional=True) is ErrorCode.NONE


def test_a_transaction_without_a_member_may_commit(driver: ClassicDriver) -> None:
    driver.stable(1)
    assert commit_error(driver.group, is_transactional=True) is ErrorCode.NONE


def test_only_empty_groups_are_deleted(driver: ClassicDriver) -> None:
    (name,) = driver.stable(1)
    with pytest.raises(ApiError, match="NON_EMPTY_GROUP"):
        driver.group.check_delete()
    driver.leave(name)
    driver.group.check_delete()


def test_offsets_are_deleted_where_topics_are_known_or_nobody_is_in(driver: ClassicDriver) -> None:
    driver.stable(1)
    driver.group.check_offset_delete()
    driver.group.protocol_type = "connect"
    with pytest.raises(ApiError, match="NON_EMPTY_GROUP"):
        driver.group.check_offset_delete()


def test_a_dead_group_is_nothing(driver: ClassicDriver) -> None:
    driver.stable(1)
    group = driver.group
    driver.classic.unloaded()
    assert commit_error(group) is ErrorCode.COORDINATOR_NOT_AVAILABLE
    for check in (
        group.check_delete,
        group.check_offset_delete,
        lambda: group.check_offset_fetch(None, -1),
    ):
        with pytest.raises(ApiError, match="GROUP_ID_NOT_FOUND"):
            check()


def test_subscriptions_are_those_of_all_members(driver: ClassicDriver) -> None:
    names = driver.stable(2, protocols=[("range", subscription("a"))])
    driver.join(names[0], protocols=[("range", subscription("a", "b"))])
    driver.join(names[1], protocols=[("range", subscription("c"))])
    assert [driver.group.is_subscribed_to(topic) for topic in "abcd"] == [True, True, True, False]
    driver.leave(*names)
    assert not driver.group.is_subscribed_to("a")


def test_what_cannot_be_read_counts_as_subscribed_to_everything(driver: ClassicDriver) -> None:
    driver.stable(1, protocols=[("range", b"\x00")])
    assert driver.group.is_subscribed_to("any")
    assert driver.group.offsets_expire_since_ms(COMMIT_MS) is None


def test_groups_of_other_protocols_read_no_topics(driver: ClassicDriver) -> None:
    driver.stable(1, protocol_type="consumer")
    connect = ClassicGroup("connect", ManualClock())
    connect.protocol_type = "connect"
    assert not connect.is_subscribed_to("any")


def test_offsets_expire_from_when_the_group_became_empty(driver: ClassicDriver) -> None:
    (name,) = driver.stable(1, protocols=[("range", subscription("a"))])
    assert driver.group.offsets_expire_since_ms(COMMIT_MS) == COMMIT_MS, (
        "if nobody subscribes, from the commit"
    )
    driver.join(name, protocols=[("range", subscription("a"))])
    assert driver.group.offsets_expire_since_ms(COMMIT_MS) is None, "not in a rebalance"
    driver.leave(name)
    assert driver.group.offsets_expire_since_ms(COMMIT_MS) == driver.clock.wall_ms()


def test_offsets_without_members_expire_from_their_commit(driver: ClassicDriver) -> None:
    group = driver.classic.make_empty("simple")
    assert group.offsets_expire_since_ms(COMMIT_MS) == COMMIT_MS
    assert isinstance(group, ClassicGroup)
    assert group.is_simple
    assert (group.type, group.state_name, group.protocol_type) == (GroupType.CLASSIC, "Empty", "")
    assert driver.groups["simple"] is group


def test_every_way_between_states_is_in_the_table() -> None:
    group = ClassicGroup("g", ManualClock())
    with pytest.raises(AssertionError):
        group.transition_to(ClassicGroupState.STABLE, 0)
    assert all(before is not after for before, after in TRANSITIONS)
    assert {after for _, after in TRANSITIONS} == set(ClassicGroupState)


def test_the_documentation_shows_the_table() -> None:
    documentation = (Path(__file__).parents[3] / "docs" / "groups.md").read_text()
    for (before, after), when in TRANSITIONS.items():
        assert f"| {before.value} | {after.value} | {when} |" in documentation


def wishes(*names: str) -> list[tuple[str, bytes]]:
    return [(name, b"") for name in names]


def test_votes_go_to_what_all_know() -> None:
    assert select_protocol({"b", "c"}, [wishes("a", "b", "c"), wishes("c", "b"), wishes("c", "b")]) == "c"


@pytest.mark.parametrize(
    ("tied", "chosen"),
    [
        (("range", "roundrobin"), "range"),
        (("roundrobin", "range"), "range"),
        (("cooperative-sticky", "range"), "range"),
        (("sticky", "cooperative-sticky"), "sticky"),
    ],
)
def test_a_tie_is_decided_as_apache_kafka_does(tied: tuple[str, str], chosen: str) -> None:
    both = [wishes(*tied), wishes(*reversed(tied))]
    assert select_protocol(set(tied), both) == chosen


@pytest.mark.parametrize("version", [0, 1, 2, 3])
def test_topics_are_read_out_of_every_version(version: int) -> None:
    assert subscribed_topics([subscription("a", "b", version=version)]) == {"a", "b"}


def test_topics_of_a_version_to_come_are_read_as_the_newest_known() -> None:
    newest = messages.ConsumerProtocolSubscription(topics=["a"]).encode(3)
    assert subscribed_topics([b"\x00\x09" + newest + b"more"]) == {"a"}


@pytest.mark.parametrize(
    "metadata", [b"", b"\x00", b"\xff\xff", b"\x00\x00\x7f", b"\x00\x00\x7f\xff\xff\xff"]
)
def test_what_is_no_subscription_is_no_error(metadata: bytes) -> None:
    assert subscribed_topics([subscription("a"), metadata]) is None


def test_nobody_reads_nothing() -> None:
    assert subscribed_topics([]) == frozenset()


def test_the_log_tells_few_members_by_name_and_none_at_length() -> None:
    assert told_ids(["a", "b"]) == "'a', 'b'"
    many = told_ids(["x" * 32_767] * 1_000)
    assert many.endswith("and 990 more")
    assert len(many) < 4_000
