"""What a consumer group answers to those who do not care how it rebalances, and what records make of it."""

import pytest

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.consumer import records
from barnabas.coordinator.consumer.group import ConsumerGroup, ConsumerGroupState
from barnabas.coordinator.consumer.member import (
    ClassicMetadata,
    ClassicProtocol,
    ConsumerGroupMember,
    MemberState,
)
from barnabas.coordinator.consumer.regex import ResolvedRegex
from barnabas.coordinator.consumer.replay import replay
from barnabas.coordinator.groups.group import Group
from barnabas.coordinator.runtime.outcome import CoordinatorRecord
from barnabas.protocol import messages

T = b"t" * 16
CONSUMER = ConsumerGroupMember(
    member_id="a",
    member_epoch=5,
    previous_member_epoch=4,
    subscribed_topic_names=frozenset({"t"}),
    assigned={T: {0: 3, 1: 5}},
    pending_revocation={T: {2: 2}},
    state=MemberState.UNREVOKED_PARTITIONS,
)
CLASSIC = ConsumerGroupMember(
    member_id="b", member_epoch=5, classic=ClassicMetadata(session_timeout_ms=6000, protocols=())
)


@pytest.fixture
def group() -> ConsumerGroup:
    made = ConsumerGroup("g")
    made.update_member(CONSUMER)
    made.update_member(CLASSIC)
    return made


def commit(
    group: ConsumerGroup, member_id: str, epoch: int, partition: int = 0, version: int = 9, **more: bool
) -> ErrorCode:
    """Return the error that a commit of one partition comes to."""
    instance_id = None
    try:
        check = group.check_offset_commit(
            member_id,
            instance_id,
            epoch,
            is_transactional=more.get("is_transactional", False),
            api_version=version,
        )
        if check is not None:
            check("t", T, partition)
    except ApiError as error:
        return error.code
    return ErrorCode.NONE


@pytest.mark.parametrize(
    ("member_id", "epoch", "partition", "expected"),
    [
        ("a", 5, 9, ErrorCode.NONE),
        ("a", 6, 0, ErrorCode.STALE_MEMBER_EPOCH),
        ("a", 3, 0, ErrorCode.NONE),
        ("a", 3, 1, ErrorCode.STALE_MEMBER_EPOCH),
        ("a", 4, 2, ErrorCode.NONE),
        ("a", 4, 9, ErrorCode.STALE_MEMBER_EPOCH),
        ("nobody", 5, 0, ErrorCode.UNKNOWN_MEMBER_ID),
        ("", -1, 0, ErrorCode.UNKNOWN_MEMBER_ID),
        ("b", 6, 0, ErrorCode.ILLEGAL_GENERATION),
        ("b", 4, 0, ErrorCode.ILLEGAL_GENERATION),
        ("b", 5, 0, ErrorCode.NONE),
    ],
)
def test_an_older_epoch_may_commit_what_it_has_had_since(
    group: ConsumerGroup, member_id: str, epoch: int, partition: int, expected: ErrorCode
) -> None:
    assert commit(group, member_id, epoch, partition) == expected


def test_commits_without_member_need_an_empty_group_or_a_transaction(group: ConsumerGroup) -> None:
    assert commit(ConsumerGroup("g"), "", -1) == ErrorCode.NONE
    assert commit(ConsumerGroup("g"), "", 0) == ErrorCode.UNKNOWN_MEMBER_ID
    assert commit(group, "", -1, is_transactional=True) == ErrorCode.NONE


def test_a_consumer_commits_with_a_version_that_knows_its_epoch(group: ConsumerGroup) -> None:
    assert commit(group, "a", 5, version=8) == ErrorCode.UNSUPPORTED_VERSION
    assert commit(group, "b", 5, version=8) == ErrorCode.NONE
    assert commit(group, "a", 5, version=3, is_transactional=True) == ErrorCode.NONE


@pytest.mark.parametrize(
    ("member_id", "epoch", "expected"),
    [
        (None, -1, ErrorCode.NONE),
        ("a", 5, ErrorCode.NONE),
        ("a", 4, ErrorCode.STALE_MEMBER_EPOCH),
        ("b", 4, ErrorCode.ILLEGAL_GENERATION),
        ("nobody", 5, ErrorCode.UNKNOWN_MEMBER_ID),
        (None, 5, ErrorCode.UNKNOWN_MEMBER_ID),
    ],
)
def test_members_fetch_offsets_in_their_epoch(
    group: ConsumerGroup, member_id: str | None, epoch: int, expected: ErrorCode
) -> None:
    if expected is ErrorCode.NONE:
        group.check_offset_fetch(member_id, epoch)
        return
    with pytest.raises(ApiError) as refused:
        group.check_offset_fetch(member_id, epoch)
    assert refused.value.code is expected


def test_only_an_empty_group_may_be_deleted(group: ConsumerGroup) -> None:
    with pytest.raises(ApiError) as refused:
        group.check_delete()
    assert refused.value.code is ErrorCode.NON_EMPTY_GROUP
    ConsumerGroup("g").check_delete()


def test_topics_subscribed_to_by_name_or_expression_are_known(group: ConsumerGroup) -> None:
    group.set_regex("u.*", ResolvedRegex(topics=frozenset({"u1", "t"})))
    assert group.is_subscribed_to("t")
    assert group.is_subscribed_to("u1")
    assert not group.is_subscribed_to("u2")
    group.set_regex("u.*", None)
    assert not group.is_subscribed_to("u1")
    assert sorted(group.subscriptions.topics) == ["t"]


def test_the_state_follows_epochs_and_members(group: ConsumerGroup) -> None:
    assert ConsumerGroup("g").state is ConsumerGroupState.EMPTY
    group.set_group_epoch(6, 0)
    assert group.state is ConsumerGroupState.ASSIGNING
    group.set_assignment_epoch(6, 0)
    assert group.state is ConsumerGroupState.RECONCILING
    for member_id in ("a", "b"):
        group.update_member(ConsumerGroupMember(member_id=member_id, member_epoch=6))
    assert group.state is ConsumerGroupState.STABLE
    group.remove_member("a")
    group.remove_member("b")
    assert (group.state, group.is_empty) == (ConsumerGroupState.EMPTY, True)


def test_no_partition_is_held_twice(group: ConsumerGroup) -> None:
    with pytest.raises(ValueError, match="still held at epoch 5"):
        group.update_member(ConsumerGroupMember(member_id="c", member_epoch=5, assigned={T: {0: 5}}))


def test_counts_return_to_nothing_when_members_go(group: ConsumerGroup) -> None:
    for member_id in ("a", "b"):
        group.remove_member(member_id)
    assert not list(group.subscriptions.topics)
    assert group.partition_epoch(T, 0) == -1
    assert group.classic_member_count == 0


@pytest.mark.parametrize("names", [("",), ("range", "range"), ("", "range", "")])
def test_classic_members_count_once_whatever_they_call_their_protocols(
    group: ConsumerGroup, names: tuple[str, ...]
) -> None:
    protocols = tuple(ClassicProtocol(name=name, metadata=b"") for name in names)
    odd = ConsumerGroupMember(
        member_id="c", member_epoch=5, classic=ClassicMetadata(session_timeout_ms=6000, protocols=protocols)
    )
    group.update_member(odd)
    assert group.classic_member_count == 2
    assert [group.classic_protocols.get(name) for name in names] == [1] * len(names)
    group.remove_member("c")
    assert group.classic_member_count == 1


def replay_all(groups: dict[str, Group], made: list[CoordinatorRecord]) -> None:
    for record in made:
        replay(groups, record.key, record.value)


def test_the_tombstones_of_a_group_end_it(group: ConsumerGroup) -> None:
    groups: dict[str, Group] = {"g": group}
    group.set_target("a", {T: frozenset({0})})
    group.set_regex("u.*", ResolvedRegex(topics=frozenset({"u"})))
    replay_all(groups, group.tombstones())
    assert not groups


def test_tombstones_of_what_never_came_are_passed_over() -> None:
    groups: dict[str, Group] = {}
    replay_all(groups, ConsumerGroup("g").tombstones())
    replay_all(groups, records.member_tombstones("g", "a"))
    replay_all(groups, [records.regex_tombstone("g", "u.*")])
    assert not groups


def test_records_that_contradict_each_other_are_not_taken() -> None:
    groups: dict[str, Group] = {"g": ConsumerGroup("g")}
    replay_all(
        groups, [records.member_record("g", CONSUMER), records.current_assignment_record("g", CONSUMER)]
    )
    for record in (records.member_tombstone("g", "a"), records.group_epoch_tombstone("g")):
        with pytest.raises(ValueError, match="while it has"):
            replay_all(groups, [record])


def test_a_member_is_read_back_as_it_was_written(group: ConsumerGroup) -> None:
    groups: dict[str, Group] = {}
    replay_all(
        groups, [records.member_record("g", CONSUMER), records.current_assignment_record("g", CONSUMER)]
    )
    read = groups["g"]
    assert isinstance(read, ConsumerGroup)
    assert read.members == {"a": CONSUMER}


def test_a_record_from_before_assignment_epochs_counts_from_the_members_epoch() -> None:
    value = messages.ConsumerGroupCurrentMemberAssignmentValue(
        member_epoch=7,
        previous_member_epoch=6,
        state=99,
        assigned_partitions=[
            messages.ConsumerGroupCurrentMemberAssignmentValueTopicPartitions(
                topic_id=T, partitions=[0, 1], assignment_epochs=None
            )
        ],
    )
    member = ConsumerGroupMember(member_id="a").with_current_assignment(value)
    assert member.assigned == {T: {0: 7, 1: 7}}
    assert member.state is MemberState.UNKNOWN


def test_a_record_of_partition_metadata_is_deleted_at_the_next_change() -> None:
    groups: dict[str, Group] = {}
    key = messages.ConsumerGroupPartitionMetadataKey(group_id="g")
    replay(groups, key, messages.ConsumerGroupPartitionMetadataValue())
    group = groups["g"]
    assert isinstance(group, ConsumerGroup)
    assert group.has_partition_metadata_record
    replay_all(groups, [records.partition_metadata_tombstone("g")])
    assert not group.has_partition_metadata_record


@pytest.mark.parametrize(
    ("names", "regexes", "resolved", "expected"),
    [
        ([{"t"}, {"t"}], ["", ""], {}, True),
        ([{"t"}, {"t", "u"}], ["", ""], {}, False),
        ([set(), set()], ["r", "r"], {"r": {"t"}}, True),
        ([set(), set()], ["r", "s"], {"r": {"t"}, "s": {"t"}}, False),
        ([{"t"}, set()], ["r", "r"], {"r": {"u"}}, False),
        ([set(), set()], ["r", ""], {"r": {"t"}}, False),
    ],
)
def test_subscriptions_are_alike_when_names_or_the_one_expression_are(
    names: list[set[str]], regexes: list[str], resolved: dict[str, set[str]], expected: bool
) -> None:
    group = ConsumerGroup("g")
    for number, (topics, regex) in enumerate(zip(names, regexes, strict=True)):
        group.update_member(
            ConsumerGroupMember(
                member_id=str(number),
                subscribed_topic_names=frozenset(topics),
                subscribed_topic_regex=regex,
            )
        )
    for regex, matched in resolved.items():
        group.set_regex(regex, ResolvedRegex(topics=frozenset(matched)))
    assert group.is_homogeneous is expected


def test_what_another_has_taken_over_meanwhile_is_not_released(group: ConsumerGroup) -> None:
    group.update_member(ConsumerGroupMember(member_id="c", member_epoch=6, assigned={T: {0: 6}}))
    group.remove_member("a")
    assert group.partition_epoch(T, 0) == 6
    assert group.partition_epoch(T, 1) == -1


def test_an_instance_id_stays_with_its_new_member_when_the_old_one_is_removed() -> None:
    group = ConsumerGroup("g")
    for member_id in ("old", "new"):
        group.update_member(ConsumerGroupMember(member_id=member_id, instance_id="i"))
    group.remove_member("old")
    assert group.static_members == {"i": "new"}
