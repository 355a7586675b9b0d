"""Both protocols on one group: what the one says to members of the other, upgrade and downgrade."""

from barnabas.protocol import messages as m
from tests.interop.group_situations import classic_admin
from tests.interop.group_situations.consumer_talk import beat, describe, enter, form, leave
from tests.interop.group_situations.situations import Situations
from tests.interop.group_situations.talk import Talk, assignment, subscription

situations = Situations("two protocols")

OFFERED = {"range": subscription("six", version=3)}
STEPS = (5, 9)


def _form_classic(talk: Talk, *names: str) -> int:
    return talk.form(*names, protocols=OFFERED)


@situations.in_steps(STEPS)
def a_consumer_enters_a_classic_group(talk: Talk) -> None:
    generation = _form_classic(talk, "a")
    enter(talk, "b", member="m-b")
    talk.heartbeat("a", generation)
    describe(talk)
    classic_admin.describe(talk)
    classic_admin.listed(talk)


@situations.in_steps(STEPS)
def a_classic_member_goes_along(talk: Talk) -> None:
    generation = _form_classic(talk, "a")
    enter(talk, "b", member="m-b")
    talk.heartbeat("a", generation)
    answer = talk.join("a", protocols={"range": subscription("six", owned={"six": [0, 1]}, version=3)})
    talk.sync("a", answer.generation_id)
    talk.heartbeat("a", answer.generation_id)
    beat(talk, "b", 2, owned={})
    describe(talk)


@situations.in_steps(STEPS)
def a_consumer_enters_an_empty_classic_group(talk: Talk) -> None:
    generation = _form_classic(talk, "a")
    talk.commit("a", generation, {"six": {0: 10}})
    talk.leave("a")
    enter(talk, "b", member="m-b")
    talk.fetch("b", {"six": [0]})
    describe(talk)


@situations.in_steps(STEPS)
def a_consumer_enters_a_group_with_offsets_only(talk: Talk) -> None:
    talk.commit("a", -1, {"six": {0: 10}})
    enter(talk, "b", member="m-b")
    talk.fetch("b", {"six": [0]})
    classic_admin.listed(talk)


@situations.in_steps(STEPS)
def a_consumer_enters_a_group_of_another_kind(talk: Talk) -> None:
    talk.join("a", protocol_type="connect", protocols={"default": b"any bytes"})
    enter(talk, "b", member="m-b")
    classic_admin.describe(talk)


@situations.in_steps(STEPS)
def a_consumer_enters_a_group_with_other_bytes(talk: Talk) -> None:
    talk.join("a", protocols={"range": b"any"})
    enter(talk, "b", member="m-b")
    classic_admin.describe(talk)


@situations.in_steps(STEPS)
def a_consumer_enters_while_the_group_prepares(talk: Talk) -> None:
    _form_classic(talk, "a")
    talk.enter("c", protocols=OFFERED)
    talk.until_state("PreparingRebalance", 2)
    enter(talk, "b", member="m-b")
    talk.hear("c")
    talk.heartbeat("a", 1)
    classic_admin.listed(talk)


@situations.in_steps(STEPS)
def a_classic_member_enters_a_consumer_group(talk: Talk) -> None:
    epochs = enter(talk, "a", member="m-a")
    answer = talk.join("b", protocols=OFFERED)
    talk.sync("b", answer.generation_id)
    talk.heartbeat("b", answer.generation_id)
    beat(talk, "a", epochs.member_epoch, owned={"six": [0, 1, 2, 3, 4, 5]})
    describe(talk)
    talk.leave("b")
    describe(talk)


@situations.in_steps(STEPS)
def a_classic_member_enters_an_empty_consumer_group(talk: Talk) -> None:
    enter(talk, "a", member="m-a")
    talk.commit("a", 1, {"six": {0: 10}}, member="m-a") if talk.step >= 7 else None
    leave(talk, "a", member="m-a")
    talk.ids.clear()
    answer = talk.join("b", protocols=OFFERED)
    talk.sync("b", answer.generation_id, given={"b": assignment(six=[0])})
    classic_admin.describe(talk)
    classic_admin.listed(talk)


@situations.in_steps(STEPS)
def the_last_consumer_leaves_classic_members_behind(talk: Talk) -> None:
    _form_classic(talk, "a")
    enter(talk, "b", member="m-b")
    leave(talk, "b", member="m-b")
    classic_admin.listed(talk)
    classic_admin.describe(talk)


@situations.in_steps(STEPS)
def refused_of_classic_members(talk: Talk) -> None:
    enter(talk, "a", member="m-a")
    talk.ask("b", talk.join_request("b", member="nobody", protocols=OFFERED))
    talk.ask("b", talk.join_request("b", member="", protocols={"sticky": b"no subscription"}))
    talk.ask("b", talk.join_request("b", protocol_type="connect", protocols={"default": b"x"}))
    talk.ask("b", talk.join_request("b", protocols={}))
    talk.sync("b", 1, member="nobody")
    talk.heartbeat("b", 1, member="nobody")
    talk.heartbeat("b", 1, member="m-a")
    talk.sync("b", 1, member="m-a")
    talk.leave("b", ("nobody", None))


@situations.in_steps(STEPS)
def a_consumer_is_removed_by_leave_group(talk: Talk) -> None:
    enter(talk, "a", member="m-a")
    talk.leave("x", ("m-a", None))
    describe(talk)


@situations.in_steps(STEPS)
def a_consumer_group_with_a_static_classic_member(talk: Talk) -> None:
    form(talk, "a") if talk.step == 0 else enter(talk, "a", member="m-a")
    answer = talk.join("b", instance="i-b", protocols=OFFERED)
    talk.sync("b", answer.generation_id, instance="i-b")
    talk.heartbeat("b", answer.generation_id, instance="i-b")
    old = talk.ids.pop("b")
    again = talk.join("b", instance="i-b", protocols=OFFERED)
    talk.heartbeat("x", again.generation_id, member=old, instance="i-b")
    talk.leave("x", ("", "i-b"))
    describe(talk)


@situations.in_steps(STEPS)
def offsets_of_classic_members_of_a_consumer_group(talk: Talk) -> None:
    enter(talk, "a", member="m-a")
    answer = talk.join("b", protocols=OFFERED)
    talk.sync("b", answer.generation_id)
    for generation in (answer.generation_id, answer.generation_id - 1, answer.generation_id + 1, -1):
        talk.commit("b", generation, {"six": {0: 10 + generation}}, member=talk.ids["b"])
    talk.fetch("b", {"six": [0]})


@situations.in_steps(STEPS)
def admin_of_the_wrong_protocol(talk: Talk) -> None:
    _form_classic(talk, "a")
    describe(talk)
    talk.ask("x", m.ConsumerGroupDescribeRequest(group_ids=[talk.group, f"{talk.group}-unknown"]))
