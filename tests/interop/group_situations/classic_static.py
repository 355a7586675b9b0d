"""Static members (KIP-345): they come back without a rebalance, and their double is fenced."""

from barnabas.protocol import messages as m
from tests.interop.group_situations.situations import STATIC, Situations
from tests.interop.group_situations.talk import Talk, subscription

situations = Situations("static")

SHORT_MS = 1500


def _describe(talk: Talk) -> None:
    talk.ask("x", m.DescribeGroupsRequest(groups=[talk.group]))


def _form(talk: Talk, *names: str, session_ms: int = 30_000) -> int:
    """Static members `i-a`, `i-b`, in this order."""
    answer = talk.join(names[0], instance=f"i-{names[0]}", session_timeout_ms=session_ms)
    for number, who in enumerate(names[1:], 2):
        talk.enter(who, instance=f"i-{who}", session_timeout_ms=session_ms)
        talk.until_state("PreparingRebalance", number)
        for other in names[: number - 1]:
            talk.send(other, talk.join_request(other, instance=f"i-{other}", session_timeout_ms=session_ms))
        for other in names[:number]:
            answer = talk.hear(other)
    generation = int(answer.generation_id)
    given = {who: f"of {who}".encode() for who in names}
    talk.sync(names[0], generation, given=given, instance=f"i-{names[0]}")
    for who in names[1:]:
        talk.sync(who, generation, instance=f"i-{who}")
    return generation


@situations.in_steps(STATIC)
def alone(talk: Talk) -> None:
    generation = _form(talk, "a")
    talk.heartbeat("a", generation, instance="i-a")
    _describe(talk)


@situations.in_steps((5, 7, 9))
def two_members(talk: Talk) -> None:
    generation = _form(talk, "a", "b")
    talk.heartbeat("a", generation, instance="i-a")
    talk.heartbeat("b", generation, instance="i-b")
    _describe(talk)


@situations.in_steps(STATIC)
def a_follower_comes_back(talk: Talk) -> None:
    generation = _form(talk, "a", "b")
    old = talk.ids.pop("b")
    talk.join("b", instance="i-b")
    talk.heartbeat("a", generation, instance="i-a")
    talk.sync("b", generation, instance="i-b")
    talk.heartbeat("x", generation, member=old)
    talk.heartbeat("x", generation, member=old, instance="i-b")
    talk.sync("x", generation, member=old, instance="i-b")
    talk.ask("x", talk.join_request("x", member=old, instance="i-b"))


@situations.in_steps(STATIC)
def the_leader_comes_back(talk: Talk) -> None:
    generation = _form(talk, "a", "b")
    talk.ids.pop("a")
    talk.join("a", instance="i-a")
    talk.heartbeat("b", generation, instance="i-b")
    talk.sync("a", generation, instance="i-a")


@situations.in_steps((5, 7, 9))
def it_comes_back_with_another_subscription(talk: Talk) -> None:
    generation = _form(talk, "a", "b")
    talk.ids.pop("b")
    talk.join("b", instance="i-b", protocols={"range": subscription("three")})
    talk.heartbeat("a", generation, instance="i-a")
    _describe(talk)


@situations.in_steps((5, 9))
def it_comes_back_and_another_protocol_is_chosen(talk: Talk) -> None:
    both = {"range": subscription("six"), "sticky": subscription("six")}
    talk.join("a", instance="i-a", protocols=both)
    talk.enter("b", instance="i-b", protocols=both)
    talk.until_state("PreparingRebalance", 2)
    talk.send("a", talk.join_request("a", instance="i-a", protocols=both))
    talk.hear("a")
    talk.hear("b")
    talk.sync("a", 2, given={"b": b"b"}, instance="i-a")
    talk.sync("b", 2, instance="i-b")
    talk.ids.pop("b")
    talk.enter("b", instance="i-b", protocols={"sticky": subscription("six")})
    talk.until_state("PreparingRebalance", 2)
    talk.heartbeat("a", 2, instance="i-a")
    talk.send("a", talk.join_request("a", instance="i-a", protocols=both))
    talk.hear("a")
    talk.hear("b")


@situations.in_steps((5, 9))
def it_comes_back_with_no_protocol_in_common(talk: Talk) -> None:
    _form(talk, "a", "b")
    talk.ids.pop("b")
    talk.join("b", instance="i-b", protocols={"sticky": subscription("six")})
    _describe(talk)


@situations.in_steps((5, 9))
def it_comes_back_while_the_group_prepares(talk: Talk) -> None:
    _form(talk, "a", "b")
    talk.enter("c", instance="i-c")
    talk.until_state("PreparingRebalance", 3)
    talk.ids.pop("b")
    talk.enter("b", instance="i-b")
    talk.expect_waiting("b", "c")
    talk.send("a", talk.join_request("a", instance="i-a"))
    for who in "abc":
        talk.hear(who)


@situations.in_steps((5, 9))
def its_double_fences_it_while_it_waits_to_join(talk: Talk) -> None:
    _form(talk, "a", "b")
    talk.enter("c", instance="i-c")
    talk.until_state("PreparingRebalance", 3)
    talk.send("b", talk.join_request("b", instance="i-b"))
    talk.expect_waiting("b")
    talk.send("b2", talk.join_request("b2", instance="i-b"))
    talk.hear("b")
    talk.expect_waiting("b2", "c")
    talk.send("a", talk.join_request("a", instance="i-a"))
    for who in ("a", "b2", "c"):
        talk.hear(who)


@situations.in_steps((5, 9))
def its_double_fences_it_while_it_waits_to_sync(talk: Talk) -> None:
    talk.join("a", instance="i-a")
    talk.enter("b", instance="i-b")
    talk.until_state("PreparingRebalance", 2)
    talk.send("a", talk.join_request("a", instance="i-a"))
    talk.hear("a")
    talk.hear("b")
    talk.send("b", talk.sync_request("b", 2, instance="i-b"))
    talk.expect_waiting("b")
    talk.send("b2", talk.join_request("b2", instance="i-b"))
    talk.hear("b")
    talk.until_state("PreparingRebalance", 2)
    talk.send("a", talk.join_request("a", instance="i-a"))
    talk.hear("a")
    talk.hear("b2")


@situations.in_steps(STATIC)
def an_instance_id_that_nobody_has(talk: Talk) -> None:
    generation = _form(talk, "a")
    talk.heartbeat("a", generation, instance="i-z")
    talk.sync("a", generation, instance="i-z")
    talk.leave("a", ("", "i-z"))
    talk.commit("a", generation, {"six": {0: 1}}, instance="i-z")
    talk.ask("a", talk.join_request("a", instance="i-z"))


@situations.in_steps(STATIC)
def a_member_id_of_somebody_else(talk: Talk) -> None:
    generation = _form(talk, "a", "b")
    other = talk.ids["b"]
    talk.heartbeat("a", generation, instance="i-a", member=other)
    talk.sync("a", generation, instance="i-a", member=other)
    talk.commit("a", generation, {"six": {0: 1}}, instance="i-a", member=other)
    talk.leave("a", (other, "i-a"))
    talk.ask("a", talk.join_request("a", instance="i-a", member=other))
    talk.heartbeat("a", generation, instance="i-a", member="")


@situations.in_steps(STATIC)
def a_member_id_that_nobody_has(talk: Talk) -> None:
    talk.ask("a", talk.join_request("a", instance="i-a", member="nobody"))
    generation = _form(talk, "b")
    talk.heartbeat("a", generation, instance="i-b", member="nobody")
    talk.leave("a", ("nobody", "i-b"))
    talk.ask("a", talk.join_request("a", instance="i-b", member="nobody"))


@situations.in_steps(STATIC)
def without_its_instance_id(talk: Talk) -> None:
    generation = _form(talk, "a")
    talk.heartbeat("a", generation)
    talk.sync("a", generation)
    talk.commit("a", generation, {"six": {0: 1}})
    talk.leave("a")
    _describe(talk)


@situations.in_steps((5, 9))
def removed_by_its_instance_id(talk: Talk) -> None:
    generation = _form(talk, "a", "b")
    talk.leave("x", ("", "i-b"), ("", "i-b"), ("", "i-z"))
    talk.until_state("PreparingRebalance", 1)
    talk.heartbeat("b", generation, instance="i-b")
    talk.join("a", instance="i-a")


@situations.in_steps((5, 9))
def its_session_ends(talk: Talk) -> None:
    _form(talk, "a", session_ms=SHORT_MS)
    talk.until_state("Empty", 0)
    talk.heartbeat("a", 1, instance="i-a")
    talk.ask("a", talk.join_request("a", instance="i-a"))
    talk.ids.clear()
    talk.join("a", instance="i-a")


@situations.in_steps((5, 9))
def beside_a_dynamic_member(talk: Talk) -> None:
    talk.join("a", instance="i-a")
    talk.enter("b")
    talk.until_state("PreparingRebalance", 2)
    talk.send("a", talk.join_request("a", instance="i-a"))
    talk.hear("a")
    talk.hear("b")
    talk.sync("a", 2, given={"a": b"a", "b": b"b"}, instance="i-a")
    talk.sync("b", 2)
    talk.ids.pop("a")
    talk.join("a", instance="i-a")
    talk.heartbeat("b", 2)


@situations.in_steps((5, 9))
def more_than_group_max_size(talk: Talk) -> None:
    _form(talk, "a", "b", "c", "d")
    talk.ask("e", talk.join_request("e", instance="i-e"))
    talk.ids.pop("b")
    talk.join("b", instance="i-b")
