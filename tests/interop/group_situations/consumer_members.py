"""KIP-848: members that come, are reconciled and go, static ones, and what is refused."""

from collections.abc import Callable
from typing import Any

from barnabas.protocol import messages as m
from tests.interop.group_situations import classic_admin
from tests.interop.group_situations.consumer_talk import (
    BOTH,
    beat,
    beat_request,
    describe,
    enter,
    form,
    full,
    leave,
    settle,
)
from tests.interop.group_situations.situations import Play, Situations
from tests.interop.group_situations.talk import Talk

situations = Situations("consumer")


@situations.in_steps(BOTH)
def alone(talk: Talk) -> None:
    epochs = form(talk, "a")
    beat(talk, "a", epochs["a"])
    describe(talk)


@situations.in_steps((1,))
def two_members(talk: Talk) -> None:
    form(talk, "a", "b")
    describe(talk)


@situations.in_steps((1,))
def three_members_one_after_the_other(talk: Talk) -> None:
    epochs = form(talk, "a")
    for who in ("b", "c"):
        epochs[who] = enter(talk, who).member_epoch
        describe(talk)
        epochs = settle(talk, epochs)
    describe(talk)


@situations.in_steps((1,))
def one_of_two_leaves(talk: Talk) -> None:
    epochs = form(talk, "a", "b")
    leave(talk, "b")
    describe(talk)
    del epochs["b"]
    settle(talk, epochs)
    describe(talk)


@situations.in_steps(BOTH)
def the_last_leaves(talk: Talk) -> None:
    epochs = form(talk, "a")
    leave(talk, "a")
    describe(talk)
    beat(talk, "a", epochs["a"])
    leave(talk, "a")


@situations.in_steps((1,))
def a_partition_is_revoked_before_it_is_given(talk: Talk) -> None:
    epochs = form(talk, "a")
    enter(talk, "b")
    answer = beat(talk, "a", epochs["a"], owned={"six": [0, 1, 2, 3, 4, 5]})
    describe(talk)
    beat(talk, "b", 2, owned={})
    kept = sorted(answer.assignment.topic_partitions[0].partitions) if answer.assignment else [0, 1, 2]
    beat(talk, "a", epochs["a"], owned={"six": [*kept, 5] if 5 not in kept else [*kept, 0]})
    beat(talk, "a", epochs["a"], owned={"six": kept})
    beat(talk, "b", 2, owned={})
    describe(talk)


@situations.in_steps((1,))
def the_same_said_again(talk: Talk) -> None:
    epochs = form(talk, "a")
    everything = {"six": [0, 1, 2, 3, 4, 5]}
    full(talk, "a", epochs["a"], everything)
    full(talk, "a", epochs["a"], everything)
    full(talk, "a", epochs["a"], {})
    enter(talk, "a")


@situations.in_steps((1,))
def the_first_heartbeat_twice(talk: Talk) -> None:
    enter(talk, "a")
    enter(talk, "a")
    enter(talk, "a", "three")
    describe(talk)


@situations.in_steps(BOTH)
def another_subscription(talk: Talk) -> None:
    epochs = form(talk, "a")
    answer = full(talk, "a", epochs["a"], {"six": [0, 1, 2, 3, 4, 5]}, "six", "three")
    describe(talk)
    beat(talk, "a", answer.member_epoch, owned={"six": [0, 1, 2, 3, 4, 5]})
    settle(talk, {"a": answer.member_epoch})
    describe(talk)


@situations.in_steps(BOTH)
def a_topic_that_is_not_there(talk: Talk) -> None:
    enter(talk, "a", "six", "nowhere")
    describe(talk)


@situations.in_steps(BOTH)
def only_a_topic_that_is_not_there(talk: Talk) -> None:
    answer = enter(talk, "a", "nowhere")
    beat(talk, "a", answer.member_epoch, owned={})
    describe(talk)


@situations.in_steps((1,))
def subscribed_to_nothing(talk: Talk) -> None:
    enter(talk, "a", topics=[])
    describe(talk)


@situations.in_steps((1,))
def the_range_assignor(talk: Talk) -> None:
    epochs = {
        who: enter(talk, who, "three", "six", server_assignor="range").member_epoch for who in ("a", "b")
    }
    settle(talk, epochs)
    describe(talk)


@situations.in_steps((1,))
def the_assignor_that_most_want(talk: Talk) -> None:
    epochs = {}
    for who, assignor in (("a", "uniform"), ("b", "range"), ("c", "range")):
        epochs[who] = enter(talk, who, "three", "six", server_assignor=assignor).member_epoch
    settle(talk, epochs)
    describe(talk)


@situations.in_steps((1,))
def different_subscriptions(talk: Talk) -> None:
    epochs = {
        "a": enter(talk, "a", "six", "three").member_epoch,
        "b": enter(talk, "b", "six").member_epoch,
        "c": enter(talk, "c", "three", "one").member_epoch,
    }
    settle(talk, epochs)
    describe(talk)


@situations.in_steps((1,))
def a_regular_expression(talk: Talk) -> None:
    expression = {"topics": None, "subscribed_topic_regex": "thr.*|si[x]"}
    answer = enter(talk, "a", **expression)
    talk.until(lambda: _epoch(talk) > answer.member_epoch, "the expression is resolved")
    settle(talk, {"a": answer.member_epoch})
    describe(talk)


@situations.in_steps((1,))
def a_regular_expression_that_is_none(talk: Talk) -> None:
    enter(talk, "a", topics=None, subscribed_topic_regex="[")
    describe(talk)


@situations.in_steps((1,))
def partitions_are_added(talk: Talk) -> None:
    topic = talk.own_topic("grows", 1)
    answer = enter(talk, "a", topic)
    epochs = settle(talk, {"a": answer.member_epoch})
    talk.add_partitions(topic, 2)
    # Which heartbeat brings it is chance, so that one is none of those that are compared.
    talk.until(lambda: _beat_aside(talk, "a", epochs["a"]) and _epoch(talk) > epochs["a"], "a new epoch")
    full(talk, "a", _epoch(talk), {topic: [0]}, topic)
    describe(talk)


def _epoch(talk: Talk) -> int:
    asked = m.ConsumerGroupDescribeRequest(group_ids=[talk.group])
    return int(talk.aside(asked, 1).groups[0].group_epoch)


def _beat_aside(talk: Talk, who: str, epoch: int) -> bool:
    return bool(talk.aside(beat_request(talk, who, epoch), 1).error_code == 0)


@situations.in_steps(BOTH)
def more_than_group_consumer_max_size(talk: Talk) -> None:
    for who in "abcd":
        enter(talk, who)
    enter(talk, "e")


@situations.in_steps((1,))
def a_session_ends(talk: Talk) -> None:
    talk.configure_group(consumer_session_timeout_ms=1500, consumer_heartbeat_interval_ms=500)
    epochs = form(talk, "a")
    talk.until_listed("Empty")
    describe(talk)
    beat(talk, "a", epochs["a"])


@situations.in_steps((1,))
def a_revocation_takes_too_long(talk: Talk) -> None:
    answer = enter(talk, "a", rebalance_timeout_ms=1500)
    epochs = settle(talk, {"a": answer.member_epoch})
    enter(talk, "b")
    beat(talk, "a", epochs["a"], owned={"six": [0, 1, 2, 3, 4, 5]})
    talk.until(
        lambda: (
            len(talk.aside(m.ConsumerGroupDescribeRequest(group_ids=[talk.group]), 1).groups[0].members) == 1
        ),
        "the member that does not let go is fenced",
    )
    beat(talk, "a", epochs["a"], owned={"six": [0, 1, 2, 3, 4, 5]})
    describe(talk)


# Static members ------------------------------------------------------------------------------------


@situations.in_steps(BOTH)
def a_static_member_comes_back(talk: Talk) -> None:
    answer = enter(talk, "a", instance_id="i-a")
    epochs = settle(talk, {"a": answer.member_epoch})
    leave(talk, "a", -2, instance_id="i-a")
    describe(talk)
    again = enter(talk, "a2", instance_id="i-a")
    settle(talk, {"a2": again.member_epoch})
    describe(talk)
    beat(talk, "a", epochs["a"])


@situations.in_steps(BOTH)
def a_static_member_has_a_double(talk: Talk) -> None:
    enter(talk, "a", instance_id="i-a")
    enter(talk, "a2", instance_id="i-a")
    describe(talk)


@situations.in_steps(BOTH)
def a_static_member_leaves_for_good(talk: Talk) -> None:
    enter(talk, "a", instance_id="i-a")
    leave(talk, "a", -1, instance_id="i-a")
    describe(talk)


@situations.in_steps(BOTH)
def a_static_member_that_nobody_knows(talk: Talk) -> None:
    enter(talk, "a", instance_id="i-a")
    leave(talk, "b", -2, instance_id="i-b", member="m-b")
    leave(talk, "b", -2, instance_id="i-a", member="m-b")
    leave(talk, "b", -1, instance_id="i-a", member="m-b")
    beat(talk, "b", 1, instance_id="i-a", member="m-b")


@situations.in_steps(BOTH)
def a_dynamic_member_leaves_as_a_static_one(talk: Talk) -> None:
    enter(talk, "a")
    leave(talk, "a", -2)


# Refused -------------------------------------------------------------------------------------------


def _refused(**fields: Any) -> Play:
    def play(talk: Talk) -> None:
        enter(talk, "a", **fields)

    return play


_REFUSED: dict[str, dict[str, Any]] = {
    "no group id": {"group_id": ""},
    "a blank group id": {"group_id": "  "},
    "a blank instance id": {"instance_id": " "},
    "an empty instance id": {"instance_id": ""},
    "a blank rack": {"rack_id": " "},
    "an unknown assignor": {"server_assignor": "nobody's"},
    "no rebalance timeout": {"rebalance_timeout_ms": -1},
    "no topics": {"topics": None},
    "no partitions told": {"owned": None},
    "partitions of the first heartbeat": {"owned": {"six": [0]}},
}
for _name, _fields in _REFUSED.items():
    situations.add(f"first heartbeat with {_name}", BOTH, _refused(**_fields))
situations.add("first heartbeat without a member id", (1,), _refused(member=""))
situations.add("first heartbeat with a blank member id", (1,), _refused(member=" "))
situations.add(
    "first heartbeat with a regular expression beside names", (1,), _refused(subscribed_topic_regex="t.*")
)
situations.add(
    "first heartbeat with an empty regular expression", (1,), _refused(topics=None, subscribed_topic_regex="")
)


def _beaten(act: Callable[[Talk, int], object]) -> Play:
    def play(talk: Talk) -> None:
        epochs = form(talk, "a")
        act(talk, epochs["a"])
        beat(talk, "a", epochs["a"])

    return play


situations.add("an epoch behind", BOTH, _beaten(lambda talk, epoch: beat(talk, "a", epoch - 1 or -3)))
situations.add("an epoch ahead", BOTH, _beaten(lambda talk, epoch: beat(talk, "a", epoch + 1)))
situations.add("an epoch below -2", BOTH, _beaten(lambda talk, epoch: beat(talk, "a", -3)))
situations.add(
    "a member that nobody knows", BOTH, _beaten(lambda talk, epoch: beat(talk, "z", 1, member="m-z"))
)
situations.add("a member without an id", BOTH, _beaten(lambda talk, epoch: beat(talk, "z", 1, member="")))
situations.add(
    "an unknown assignor later",
    BOTH,
    _beaten(lambda talk, epoch: beat(talk, "a", epoch, server_assignor="x")),
)
situations.add(
    "an instance id later", BOTH, _beaten(lambda talk, epoch: beat(talk, "a", epoch, instance_id="i-a"))
)
situations.add(
    "partitions that nobody gave",
    (1,),
    _beaten(lambda talk, epoch: beat(talk, "a", epoch, owned={"three": [0]})),
)
situations.add(
    "a previous epoch with what it owned",
    (1,),
    _beaten(lambda talk, epoch: full(talk, "a", epoch - 1, {"six": [0, 1, 2, 3, 4, 5]})),
)


@situations.in_steps(BOTH)
def a_group_that_is_not_there(talk: Talk) -> None:
    beat(talk, "a", 1, member="m-a")
    leave(talk, "a", member="m-a")


# Admin ----------------------------------------------------------------------------------------------


@situations.in_steps(BOTH)
def describe_what_is_not_there(talk: Talk) -> None:
    describe(talk)
    describe(talk, talk.group, f"{talk.group}-other", talk.group, operations=True)
    talk.ask("x", m.ConsumerGroupDescribeRequest(group_ids=[]))


@situations.in_steps(BOTH)
def describe_with_operations(talk: Talk) -> None:
    form(talk, "a")
    describe(talk, operations=True)


@situations.in_steps((0, 5, 6))
def described_as_a_classic_group(talk: Talk) -> None:
    enter(talk, "a", member="m-a")
    classic_admin.describe(talk)


@situations.in_steps((1, 4, 5))
def listed(talk: Talk) -> None:
    epochs = form(talk, "a")
    classic_admin.listed(talk)
    if talk.step >= 4:
        for states in (("Stable",), ("stable",), ("Empty",), ("Reconciling", "Assigning")):
            classic_admin.listed(talk, states)
    if talk.step >= 5:
        for types in (("consumer",), ("classic",)):
            classic_admin.listed(talk, (), types)
    enter(talk, "b", member="m-b")
    classic_admin.listed(talk)
    leave(talk, "a")
    leave(talk, "b")
    classic_admin.listed(talk)
    assert epochs


@situations.in_steps((1, 3))
def deleted(talk: Talk) -> None:
    form(talk, "a")
    classic_admin.delete(talk)
    leave(talk, "a")
    classic_admin.delete(talk)
    classic_admin.delete(talk)
    describe(talk)
