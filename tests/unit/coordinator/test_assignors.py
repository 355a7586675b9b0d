"""What assignors promise whatever the input: everything assigned once, evenly, to subscribers, and few moves.

That they come to the very assignments of Apache Kafka is tests/golden/test_assignors.py.
"""

import random
from collections.abc import Mapping

import pytest

from barnabas.coordinator.assignors.assignments import MemberSpec, Partitions
from barnabas.coordinator.assignors.assignor import ASSIGNORS

T, U = b"t" * 16, b"u" * 16


def spec(*topic_ids: bytes, target: Partitions | None = None, instance_id: str | None = None) -> MemberSpec:
    return MemberSpec(topic_ids=frozenset(topic_ids), target=target or {}, instance_id=instance_id)


def pairs(partitions: Partitions) -> set[tuple[bytes, int]]:
    return {(topic_id, number) for topic_id, numbers in partitions.items() for number in numbers}


def sizes(targets: Mapping[str, Partitions]) -> list[int]:
    return [len(pairs(target)) for target in targets.values()]


def is_homogeneous(members: Mapping[str, MemberSpec]) -> bool:
    return len({member.topic_ids for member in members.values()}) == 1


@pytest.mark.parametrize("name", ASSIGNORS)
@pytest.mark.parametrize("seed", range(40))
def test_every_partition_goes_to_one_subscriber(name: str, seed: int) -> None:
    draw = random.Random(seed)
    counts = {bytes([number]) * 16: draw.randint(1, 9) for number in range(draw.randint(1, 5))}
    members: dict[str, MemberSpec] = {}
    for _ in range(6):
        for number in range(draw.randint(1, 6)):
            wanted = frozenset(draw.sample(sorted(counts), draw.randint(0, len(counts))))
            kept = members.get(f"m{number}")
            members[f"m{number}"] = spec(*wanted, target=None if kept is None else kept.target)
        targets = ASSIGNORS[name](members, is_homogeneous(members), counts)
        assert targets.keys() == members.keys()
        given = [pair for target in targets.values() for pair in pairs(target)]
        assert len(given) == len(set(given))
        for member_id, target in targets.items():
            assert target.keys() <= members[member_id].topic_ids
            assert all(target.values()), "no topic without partitions"
        subscribed = frozenset[bytes]().union(*(member.topic_ids for member in members.values()))
        assert len(given) == sum(counts[topic_id] for topic_id in subscribed)
        members = {
            member_id: spec(*member.topic_ids, target=targets[member_id])
            for member_id, member in members.items()
        }
        members.pop(draw.choice(list(members)))


def test_uniform_is_even_to_one_partition_over_all_topics() -> None:
    members = {name: spec(T, U) for name in "abcd"}
    targets = ASSIGNORS["uniform"](members, True, {T: 5, U: 5})
    assert sorted(sizes(targets)) == [2, 2, 3, 3]


def test_uniform_moves_only_what_a_newcomer_needs() -> None:
    counts = {T: 12}
    old = ASSIGNORS["uniform"]({name: spec(T) for name in "ab"}, True, counts)
    members = {name: spec(T, target=old.get(name)) for name in "abc"}
    new = ASSIGNORS["uniform"](members, True, counts)
    assert sizes(new) == [4, 4, 4]
    assert all(pairs(new[name]) <= pairs(old[name]) for name in "ab")


def test_uniform_leaves_the_extra_partition_with_whoever_has_it() -> None:
    target = {"a": {T: frozenset({0})}, "b": {T: frozenset({1, 2})}}
    members = {name: spec(T, target=target[name]) for name in "ab"}
    assert ASSIGNORS["uniform"](members, True, {T: 3}) == target


def test_uniform_returns_the_very_target_of_a_member_that_nothing_happens_to() -> None:
    counts = {T: 6, U: 1}
    old = ASSIGNORS["uniform"]({name: spec(T) for name in "ab"}, True, counts)
    for members in (
        {name: spec(T, target=old[name]) for name in "ab"},
        {
            "a": spec(T, target=old["a"]),
            "b": spec(T, target=old["b"]),
            "c": spec(U, target={U: frozenset({0})}),
        },
    ):
        new = ASSIGNORS["uniform"](members, is_homogeneous(members), counts)
        assert all(new[name] is old[name] for name in "ab")


def test_uniform_evens_out_those_who_could_swap_when_subscriptions_differ() -> None:
    had = {T: frozenset(range(6))}
    members = {"a": spec(T, U, target=had), "b": spec(T), "c": spec(U)}
    targets = ASSIGNORS["uniform"](members, False, {T: 6, U: 6})
    a, b, c = sizes(targets)
    assert abs(a - b) <= 1
    assert abs(a - c) <= 1


def test_uniform_with_different_subscriptions_takes_topics_away_that_are_no_longer_wanted() -> None:
    members = {"a": spec(U, target={T: frozenset({0, 1})}), "b": spec(T)}
    targets = ASSIGNORS["uniform"](members, False, {T: 2, U: 1})
    assert targets == {"a": {U: frozenset({0})}, "b": {T: frozenset({0, 1})}}


def test_nobody_gets_anything_of_topics_that_do_not_exist() -> None:
    for name in ASSIGNORS:
        assert ASSIGNORS[name]({"a": spec(), "b": spec()}, True, {}) == {"a": {}, "b": {}}
        assert ASSIGNORS[name]({}, True, {}) == {}


def test_range_gives_runs_and_the_first_members_one_more() -> None:
    targets = ASSIGNORS["range"]({name: spec(T) for name in "ba"}, True, {T: 5})
    assert targets == {"a": {T: frozenset({0, 1, 2})}, "b": {T: frozenset({3, 4})}}


def test_range_co_partitions_topics_of_the_same_size() -> None:
    targets = ASSIGNORS["range"]({name: spec(T, U) for name in "abc"}, True, {T: 7, U: 7})
    assert all(target[T] == target[U] for target in targets.values())


def test_range_puts_static_members_first_in_the_order_of_their_instance_ids() -> None:
    members = {"a": spec(T), "b": spec(T, instance_id="2"), "c": spec(T, instance_id="1")}
    targets = ASSIGNORS["range"](members, True, {T: 3})
    assert targets == {"c": {T: frozenset({0})}, "b": {T: frozenset({1})}, "a": {T: frozenset({2})}}


def test_range_gives_nothing_to_members_beyond_the_partitions() -> None:
    assert sizes(ASSIGNORS["range"]({name: spec(T) for name in "abc"}, True, {T: 2})) == [1, 1, 0]
