"""One member's step towards its target."""

import pytest

from barnabas.base.dataclass import replace
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.coordinator.consumer.member import ConsumerGroupMember, MemberState
from barnabas.coordinator.consumer.reconcile import Goal, reconcile

T, U = b"t" * 16, b"u" * 16
EVERYTHING = frozenset({T, U})


def goal(
    epoch: int,
    target: dict[bytes, set[int]],
    *,
    held: dict[tuple[bytes, int], int] | None = None,
    topic_ids: frozenset[bytes] = EVERYTHING,
    changed: bool = False,
) -> Goal:
    return Goal(
        target_epoch=epoch,
        target={topic_id: frozenset(numbers) for topic_id, numbers in target.items()},
        topic_ids=topic_ids,
        subscription_changed=changed,
        partition_epoch=lambda topic_id, number: (held or {}).get((topic_id, number), -1),
    )


def member(**fields: object) -> ConsumerGroupMember:
    return replace(ConsumerGroupMember(member_id="m", member_epoch=5, previous_member_epoch=4), **fields)


def test_a_stable_member_in_its_epoch_stays_as_it_is() -> None:
    before = member(assigned={T: {0: 5}})
    assert reconcile(before, goal(5, {T: {0}}), {T: [0]}) is before


def test_free_partitions_are_taken_with_the_epoch_of_the_target() -> None:
    after = reconcile(member(assigned={T: {0: 2}}), goal(6, {T: {0, 1}}), {T: [0]})
    assert after.assigned == {T: {0: 2, 1: 6}}
    assert (after.state, after.member_epoch, after.previous_member_epoch) == (MemberState.STABLE, 6, 5)


def test_partitions_to_give_up_come_first_and_the_epoch_stays() -> None:
    before = member(assigned={T: {0: 2, 1: 3}})
    after = reconcile(before, goal(6, {T: {0, 2}}), {T: [0, 1]})
    assert after.state is MemberState.UNREVOKED_PARTITIONS
    assert (after.member_epoch, after.assigned, after.pending_revocation) == (5, {T: {0: 2}}, {T: {1: 3}})


def test_what_the_client_does_not_have_need_not_be_given_up() -> None:
    after = reconcile(member(assigned={T: {0: 2, 1: 3}}), goal(6, {T: {0}}), {T: [0]})
    assert (after.state, after.member_epoch, after.assigned) == (MemberState.STABLE, 6, {T: {0: 2}})


@pytest.mark.parametrize("owned", [None, {T: [1]}, {T: [0, 1]}])
def test_who_has_or_may_have_what_it_must_give_up_waits(owned: dict[bytes, list[int]] | None) -> None:
    before = member(state=MemberState.UNREVOKED_PARTITIONS, pending_revocation={T: {1: 3}})
    assert reconcile(before, goal(6, {}), owned) is before


def test_who_has_given_up_moves_on() -> None:
    before = member(
        state=MemberState.UNREVOKED_PARTITIONS, assigned={T: {0: 2}}, pending_revocation={T: {1: 3}}
    )
    after = reconcile(before, goal(6, {T: {0}}), {T: [0]})
    assert (after.state, after.member_epoch, after.pending_revocation) == (MemberState.STABLE, 6, {})


def test_partitions_that_others_hold_are_waited_for() -> None:
    after = reconcile(member(), goal(6, {T: {0, 1}}, held={(T, 1): 4}), {})
    assert (after.state, after.assigned) == (MemberState.UNRELEASED_PARTITIONS, {T: {0: 6}})
    still = reconcile(after, goal(6, {T: {0, 1}}, held={(T, 0): 6, (T, 1): 4}), {T: [0]})
    assert (still.state, still.assigned) == (MemberState.UNRELEASED_PARTITIONS, {T: {0: 6}})
    done = reconcile(still, goal(6, {T: {0, 1}}, held={(T, 0): 6}), {T: [0]})
    assert (done.state, done.assigned) == (MemberState.STABLE, {T: {0: 6, 1: 6}})


def test_a_partition_on_its_way_out_is_held_by_the_member_itself_and_may_come_back() -> None:
    before = member(state=MemberState.UNREVOKED_PARTITIONS, pending_revocation={T: {1: 3}})
    after = reconcile(before, goal(6, {T: {1}}, held={(T, 1): 5}), {})
    assert (after.state, after.assigned) == (MemberState.STABLE, {T: {1: 6}})


def test_a_static_member_away_holds_its_partitions() -> None:
    after = reconcile(member(), goal(6, {T: {0}}, held={(T, 0): -2}), {})
    assert (after.state, after.assigned) == (MemberState.UNRELEASED_PARTITIONS, {})


def test_a_target_of_a_topic_that_is_no_longer_subscribed_to_is_not_taken() -> None:
    after = reconcile(member(), goal(6, {T: {0}, U: {0}}, topic_ids=frozenset({U})), {})
    assert after.assigned == {U: {0: 6}}


def test_a_topic_unsubscribed_just_now_is_given_up_in_the_same_epoch() -> None:
    before = member(assigned={T: {0: 5}, U: {0: 5}})
    target = {T: {0}, U: {0}}
    after = reconcile(before, goal(5, target, topic_ids=frozenset({T}), changed=True), None)
    assert after.state is MemberState.UNREVOKED_PARTITIONS
    assert (after.member_epoch, after.assigned, after.pending_revocation) == (5, {T: {0: 5}}, {U: {0: 5}})
    gone = reconcile(before, goal(5, target, topic_ids=frozenset({T}), changed=True), {T: [0]})
    assert (gone.state, gone.assigned, gone.pending_revocation) == (MemberState.STABLE, {T: {0: 5}}, {})


def test_unsubscribing_while_giving_up_adds_to_what_is_to_be_given_up() -> None:
    before = member(
        state=MemberState.UNREVOKED_PARTITIONS,
        assigned={T: {0: 5}, U: {0: 5}},
        pending_revocation={T: {1: 3}},
    )
    after = reconcile(before, goal(6, {}, topic_ids=frozenset({U}), changed=True), None)
    assert (after.assigned, after.pending_revocation) == ({U: {0: 5}}, {T: {0: 5, 1: 3}})


def test_a_member_in_a_state_of_a_newer_broker_begins_anew() -> None:
    before = member(state=MemberState.UNKNOWN)
    for owned in (None, {T: [0]}):
        with pytest.raises(ApiError) as refused:
            reconcile(before, goal(6, {T: {0}}), owned)
        assert refused.value.code is ErrorCode.FENCED_MEMBER_EPOCH
    after = reconcile(before, goal(6, {T: {0}}), {})
    assert (after.state, after.assigned) == (MemberState.STABLE, {T: {0: 6}})
