"""KIP-848: offsets of members, checked by their epoch."""

from barnabas.protocol import messages as m
from tests.interop.group_situations.consumer_talk import beat, enter, form, leave
from tests.interop.group_situations.situations import Situations
from tests.interop.group_situations.talk import Talk

situations = Situations("consumer offsets")

FROM_9 = (7, 8)
"""Steps whose OffsetCommit is in version 9, the first for these groups, and 10."""


@situations.in_steps((0, 3, 6, 7, 8))
def committed_by_a_member(talk: Talk) -> None:
    enter(talk, "a", member="m-a")
    for epoch in (1, 0, 2, -1):
        talk.commit("a", epoch, {"six": {0: 10 + epoch}}, member="m-a")
    talk.fetch("a", {"six": [0]})


@situations.in_steps(FROM_9)
def committed_by_others(talk: Talk) -> None:
    enter(talk, "a", member="m-a")
    talk.commit("x", 1, {"six": {0: 1}}, member="nobody")
    talk.commit("x", -1, {"six": {0: 2}}, member="")
    talk.commit("x", 1, {"six": {0: 3}}, member="")
    talk.fetch("x", {"six": [0]})


@situations.in_steps(FROM_9)
def committed_with_an_older_epoch(talk: Talk) -> None:
    epochs = form(talk, "a")
    enter(talk, "b", member="m-b")
    beat(talk, "a", epochs["a"], owned={"six": [0, 1, 2, 3, 4, 5]})
    talk.commit("a", epochs["a"], {"six": {0: 1}})
    beat(talk, "a", epochs["a"], owned={"six": [0, 1, 2]})
    talk.commit("a", epochs["a"], {"six": {0: 2, 5: 3}})
    talk.commit("b", 2, {"six": {5: 4}}, member="m-b")
    talk.fetch("a", {"six": [0, 5]})


@situations.in_steps(FROM_9)
def committed_after_it_left(talk: Talk) -> None:
    epochs = form(talk, "a")
    leave(talk, "a")
    talk.commit("a", epochs["a"], {"six": {0: 1}})
    talk.commit("x", -1, {"six": {0: 2}}, member="")
    talk.fetch("a", {"six": [0]})


@situations.in_steps((8, 9))
def fetched_by_members(talk: Talk) -> None:
    enter(talk, "a", member="m-a")
    talk.commit("a", 1, {"six": {0: 10}}, member="m-a")
    for member, epoch in (
        ("m-a", 1),
        ("m-a", 2),
        ("m-a", 0),
        ("nobody", 1),
        (None, -1),
        (None, 1),
        ("", -1),
        ("m-a", -1),
    ):
        talk.fetch("a", {"six": [0]}, member=member, epoch=epoch)


@situations.in_steps((8,))
def deleted(talk: Talk) -> None:
    enter(talk, "a", member="m-a")
    talk.commit("a", 1, {"six": {0: 10}, "one": {0: 1}}, member="m-a")
    for topic in ("six", "one"):
        asked = m.OffsetDeleteRequestOffsetDeleteRequestTopic(
            name=topic, partitions=[m.OffsetDeleteRequestOffsetDeleteRequestPartition(partition_index=0)]
        )
        talk.ask("x", m.OffsetDeleteRequest(group_id=talk.group, topics=[asked]))
    talk.fetch("a", {"six": [0], "one": [0]})
