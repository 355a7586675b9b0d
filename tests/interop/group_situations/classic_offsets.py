"""OffsetCommit, OffsetFetch and OffsetDelete, by members and by those that never join."""

from barnabas.protocol import messages as m
from tests.interop.group_situations.situations import ALL, LAST, Situations
from tests.interop.group_situations.talk import Talk

situations = Situations("offsets")

NOBODY = -1


@situations.in_steps(ALL)
def of_a_simple_consumer(talk: Talk) -> None:
    talk.commit("a", NOBODY, {"six": {0: 10, 3: 0}, "one": {0: 7}})
    talk.fetch("a", {"six": [0, 1, 3], "one": [0]})
    talk.fetch("a", {"six": [3]})


@situations.in_steps(ALL)
def all_of_a_group(talk: Talk) -> None:
    talk.commit("a", NOBODY, {"six": {0: 10, 3: 0}, "one": {0: 7}}, metadata="noted")
    talk.fetch("a", None if talk.step >= 1 else {})


@situations.in_steps(ALL)
def none_asked_for(talk: Talk) -> None:
    talk.commit("a", NOBODY, {"six": {0: 10}})
    talk.fetch("a", {})
    talk.fetch("a", {"six": []})


@situations.in_steps(ALL)
def of_a_group_that_is_not_there(talk: Talk) -> None:
    talk.fetch("a", {"six": [0, 5]})
    talk.fetch("a", {"nowhere": [0]})
    talk.fetch("a", None if talk.step >= 1 else {})


@situations.in_steps(ALL)
def committed_again(talk: Talk) -> None:
    talk.commit("a", NOBODY, {"six": {0: 10}}, metadata="first")
    talk.commit("a", NOBODY, {"six": {0: 5}}, metadata="second")
    talk.fetch("a", {"six": [0]})


@situations.in_steps(ALL)
def nothing_in_a_commit(talk: Talk) -> None:
    talk.commit("a", NOBODY, {"six": {0: 10, 1: 11}})
    talk.commit("a", NOBODY, {})
    talk.commit("a", NOBODY, {"six": {}})
    talk.fetch("a", {"six": [0, 1]})


@situations.in_steps(ALL)
def leader_epochs_are_kept(talk: Talk) -> None:
    epoch = {"leader_epoch": 7} if talk.step >= 4 else {}
    talk.commit("a", NOBODY, {"six": {0: 10}}, **epoch)
    talk.fetch("a", {"six": [0, 1]})


@situations.in_steps(ALL)
def metadata_too_large(talk: Talk) -> None:
    talk.commit("a", NOBODY, {"six": {0: 1}}, metadata="m" * 101)
    talk.commit("a", NOBODY, {"six": {1: 1}}, metadata="m" * 100)
    talk.commit("a", NOBODY, {"six": {2: 1}}, metadata="\N{GREEK SMALL LETTER ALPHA}" * 60)
    talk.fetch("a", {"six": [0, 1, 2]})


@situations.in_steps((0, 4, 8, 9))
def metadata_null(talk: Talk) -> None:
    talk.commit("a", NOBODY, {"six": {0: 1}}, metadata=None)
    talk.fetch("a", {"six": [0]})


@situations.in_steps(ALL)
def of_unknown_topics_and_partitions(talk: Talk) -> None:
    talk.commit("a", NOBODY, {"nowhere": {0: 1}, "six": {0: 2, 6: 3, -1: 4}})
    talk.fetch("a", {"nowhere": [0], "six": [0, 6, -1]})
    talk.fetch("a", None if talk.step >= 1 else {})


@situations.in_steps((0, 9))
def negative(talk: Talk) -> None:
    talk.commit("a", NOBODY, {"six": {0: -1, 1: -5}})
    talk.fetch("a", {"six": [0, 1]})


@situations.in_steps(LAST)
def of_the_group_without_a_name(talk: Talk) -> None:
    """One conversation over all versions: there is but one such group."""
    for step in ALL:
        talk.step = step
        talk.commit("a", NOBODY, {"six": {0: step}}, group_id="")
        talk.fetch("a", {"six": [0, 1]}, group_id="")
        talk.commit("a", 1, {"six": {0: 100}}, group_id="", member="nobody")
    talk.ask("x", m.DescribeGroupsRequest(groups=[""]))
    talk.ask("x", m.ConsumerGroupDescribeRequest(group_ids=[""]))
    _delete(talk, {"six": [0]}, group_id="")
    talk.ask("x", m.DeleteGroupsRequest(groups_names=[""]))
    talk.ask("x", m.DeleteGroupsRequest(groups_names=[""]))
    talk.ask("x", m.DescribeGroupsRequest(groups=[""]))
    _delete(talk, {"six": [0]}, group_id="")


@situations.in_steps(ALL)
def by_a_member(talk: Talk) -> None:
    generation = talk.form("a")
    talk.commit("a", generation, {"six": {0: 1}})
    talk.fetch("a", {"six": [0]})
    talk.commit("a", generation - 1, {"six": {0: 2}})
    talk.commit("a", generation + 1, {"six": {0: 3}})
    talk.commit("x", generation, {"six": {0: 4}}, member="nobody")
    talk.commit("x", NOBODY, {"six": {0: 5}})
    talk.commit("x", NOBODY, {"six": {0: 6}}, member=talk.ids["a"])
    talk.commit("x", generation, {"six": {0: 7}}, member="")
    talk.fetch("a", {"six": [0]})


@situations.in_steps(ALL)
def of_a_generation_of_a_group_that_is_not_there(talk: Talk) -> None:
    talk.commit("a", 5, {"six": {0: 1}}, member="nobody")
    talk.commit("a", NOBODY, {"six": {0: 1}}, member="nobody")
    talk.commit("a", 0, {"six": {0: 1}}, member="")
    talk.fetch("a", {"six": [0]})


@situations.in_steps((0, 4, 9))
def while_the_group_prepares(talk: Talk) -> None:
    generation = talk.form("a")
    talk.enter("b")
    talk.until_state("PreparingRebalance", 2)
    talk.commit("a", generation, {"six": {0: 1}})
    talk.fetch("a", {"six": [0]})


@situations.in_steps((0, 4, 9))
def while_the_group_completes(talk: Talk) -> None:
    talk.join("a")
    talk.commit("a", 1, {"six": {0: 1}})
    talk.fetch("a", {"six": [0]})


@situations.in_steps((0, 9))
def after_all_left(talk: Talk) -> None:
    generation = talk.form("a")
    talk.commit("a", generation, {"six": {0: 1}})
    talk.leave("a")
    talk.commit("a", generation, {"six": {0: 2}})
    talk.commit("a", NOBODY, {"six": {1: 3}})
    talk.fetch("a", {"six": [0, 1]})


@situations.in_steps((4, 9))
def of_a_pending_member(talk: Talk) -> None:
    talk.form("a")
    talk.ask("b", talk.join_request("b"))
    talk.commit("b", 1, {"six": {0: 1}})
    talk.commit("x", NOBODY, {"six": {0: 1}}, member=talk.ids["b"])


@situations.in_steps((6, 7, 8, 9))
def require_stable(talk: Talk) -> None:
    talk.commit("a", NOBODY, {"six": {0: 10}})
    talk.fetch("a", {"six": [0, 1]}, require_stable=True)
    talk.fetch("a", None, require_stable=True)


@situations.in_steps((7, 8, 9))
def of_several_groups_at_once(talk: Talk) -> None:
    version = min(talk.step + 1, 10)
    other = f"{talk.group}-other"
    talk.commit("a", NOBODY, {"six": {0: 10}})
    talk.commit("a", NOBODY, {"one": {0: 20}}, group_id=other)
    groups = [
        talk.fetch_group(version, {"six": [0, 1]}),
        talk.fetch_group(version, None, group_id=other),
        talk.fetch_group(version, {"six": [0]}, group_id=f"{talk.group}-unknown"),
    ]
    talk.ask("a", m.OffsetFetchRequest(groups=groups), version)
    talk.ask("a", m.OffsetFetchRequest(groups=[]), version)


@situations.in_steps((8, 9))
def fetched_by_members(talk: Talk) -> None:
    generation = talk.form("a")
    talk.commit("a", generation, {"six": {0: 10}})
    for member, epoch in (
        (talk.ids["a"], generation),
        (talk.ids["a"], generation + 1),
        ("nobody", generation),
        (None, generation),
        (None, -1),
        ("", -1),
    ):
        talk.fetch("a", {"six": [0]}, member=member, epoch=epoch)


# OffsetDelete, of which there is one version ----------------------------------------------------------


def _delete(talk: Talk, topics: dict[str, list[int]], group_id: str | None = None) -> None:
    asked = [
        m.OffsetDeleteRequestOffsetDeleteRequestTopic(
            name=name,
            partitions=[
                m.OffsetDeleteRequestOffsetDeleteRequestPartition(partition_index=number)
                for number in numbers
            ],
        )
        for name, numbers in topics.items()
    ]
    talk.ask("d", m.OffsetDeleteRequest(group_id=talk.group if group_id is None else group_id, topics=asked))


@situations.in_steps(LAST)
def deleted(talk: Talk) -> None:
    talk.commit("a", NOBODY, {"six": {0: 10, 1: 11}, "one": {0: 3}})
    _delete(talk, {"six": [0], "one": [0]})
    talk.fetch("a", {"six": [0, 1], "one": [0]})
    _delete(talk, {"six": [0, 5]})


@situations.in_steps(LAST)
def deleted_of_unknown_topics_and_partitions(talk: Talk) -> None:
    talk.commit("a", NOBODY, {"six": {0: 10}})
    _delete(talk, {"nowhere": [0], "six": [0, 9]})
    talk.fetch("a", {"six": [0]})


@situations.in_steps(LAST)
def deleted_of_no_topics(talk: Talk) -> None:
    talk.commit("a", NOBODY, {"six": {0: 10}})
    _delete(talk, {})
    _delete(talk, {"six": []})


@situations.in_steps(LAST)
def deleted_of_a_group_that_is_not_there(talk: Talk) -> None:
    _delete(talk, {"six": [0]})


@situations.in_steps(LAST)
def deleted_while_subscribed(talk: Talk) -> None:
    generation = talk.form("a")
    talk.commit("a", generation, {"six": {0: 10}, "one": {0: 3}})
    _delete(talk, {"six": [0], "one": [0]})
    talk.fetch("a", {"six": [0], "one": [0]})


@situations.in_steps(LAST)
def deleted_of_a_group_of_another_kind(talk: Talk) -> None:
    talk.commit("a", NOBODY, {"six": {0: 10}})
    talk.join("b", protocol_type="connect", protocols={"default": b"any bytes"})
    _delete(talk, {"six": [0]})
    talk.fetch("a", {"six": [0]})


@situations.in_steps(LAST)
def deleted_after_all_left(talk: Talk) -> None:
    generation = talk.form("a")
    talk.commit("a", generation, {"six": {0: 10}})
    talk.leave("a")
    _delete(talk, {"six": [0]})
    talk.fetch("a", {"six": [0]})


@situations.in_steps((8, 9))
def the_topic_is_deleted(talk: Talk) -> None:
    topic = talk.own_topic("gone", 2)
    talk.commit("a", NOBODY, {topic: {0: 10, 1: 11}, "six": {0: 1}})
    talk.fetch("a", {topic: [0, 1]})
    talk.delete_topic(topic)
    talk.until(
        lambda: all(
            partition.committed_offset < 0
            for found in talk.aside(
                m.OffsetFetchRequest(
                    group_id=talk.group,
                    topics=[
                        m.OffsetFetchRequestOffsetFetchRequestTopic(name=topic, partition_indexes=[0, 1])
                    ],
                ),
                7,
            ).topics
            for partition in found.partitions
        ),
        "offsets of a deleted topic are gone",
    )
    talk.fetch("a", {topic: [0, 1], "six": [0]})
    talk.commit("a", NOBODY, {topic: {0: 12}})
