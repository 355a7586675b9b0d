"""JoinGroup and SyncGroup: who is let in, who leads, by which protocol, and what is refused."""

from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey
from tests.interop.group_situations.situations import ALL, LAST, Situations
from tests.interop.group_situations.talk import Talk, assignment, subscription

situations = Situations("joining")

TOLD = subscription("six")


@situations.in_steps(ALL)
def alone(talk: Talk) -> None:
    answer = talk.join("a")
    talk.sync("a", answer.generation_id, given={"a": assignment(six=[0, 1, 2, 3, 4, 5])})
    talk.heartbeat("a", answer.generation_id)


@situations.in_steps(ALL)
def two_members(talk: Talk) -> None:
    generation = talk.form("a", "b")
    talk.heartbeat("a", generation)
    talk.heartbeat("b", generation)


@situations.in_steps((0, 4, 9))
def three_members(talk: Talk) -> None:
    generation = talk.form("a", "b", "c")
    for who in "abc":
        talk.heartbeat(who, generation)


@situations.in_steps((0, 3, 4, 9))
def more_than_group_max_size(talk: Talk) -> None:
    talk.form("a", "b", "c", "d")
    talk.ask("e", talk.join_request("e"))


@situations.in_steps((4, 9))
def a_member_id_given_away_counts_for_group_max_size(talk: Talk) -> None:
    for who in "abcd":
        talk.ask(who, talk.join_request(who))
    talk.ask("e", talk.join_request("e"))


@situations.in_steps(ALL)
def member_id_unknown(talk: Talk) -> None:
    talk.ask("a", talk.join_request("a", member="nobody"))


@situations.in_steps((0, 4, 9))
def member_id_unknown_of_a_group_that_is_there(talk: Talk) -> None:
    talk.form("a")
    talk.ask("b", talk.join_request("b", member="nobody"))


@situations.in_steps((4, 6, 9))
def a_member_id_twice(talk: Talk) -> None:
    talk.ask("a", talk.join_request("a"))
    talk.ask("b", talk.join_request("b"))
    talk.ask("a", talk.join_request("a"))


@situations.in_steps(ALL)
def no_group_id(talk: Talk) -> None:
    talk.ask("a", talk.join_request("a", group_id=""))


@situations.in_steps(ALL)
def session_timeout_too_short(talk: Talk) -> None:
    talk.ask("a", talk.join_request("a", session_timeout_ms=999))


@situations.in_steps((0, 9))
def session_timeout_too_long(talk: Talk) -> None:
    talk.ask("a", talk.join_request("a", session_timeout_ms=1_800_001))


@situations.in_steps((0, 9))
def session_timeout_at_its_bounds(talk: Talk) -> None:
    talk.join("a", session_timeout_ms=1_800_000)
    talk.leave("a")


@situations.in_steps(ALL)
def no_protocols(talk: Talk) -> None:
    talk.ask("a", talk.join_request("a", protocols={}))


@situations.in_steps(ALL)
def no_protocol_type(talk: Talk) -> None:
    talk.ask("a", talk.join_request("a", protocol_type=""))


@situations.in_steps((0, 4, 9))
def neither_protocols_nor_type(talk: Talk) -> None:
    talk.ask("a", talk.join_request("a", protocol_type="", protocols={}))


@situations.in_steps((0, 4, 7, 9))
def another_protocol_type(talk: Talk) -> None:
    talk.form("a")
    talk.ask("b", talk.join_request("b", protocol_type="connect"))


@situations.in_steps((0, 4, 7, 9))
def no_protocol_in_common(talk: Talk) -> None:
    talk.form("a")
    talk.ask("b", talk.join_request("b", protocols={"sticky": TOLD}))


@situations.in_steps((0, 4, 9))
def the_last_member_may_change_its_protocols(talk: Talk) -> None:
    talk.form("a")
    talk.join("a", protocols={"sticky": TOLD})


@situations.in_steps((0, 4, 9))
def one_of_two_may_not_change_to_protocols_of_its_own(talk: Talk) -> None:
    talk.form("a", "b")
    talk.ask("a", talk.join_request("a", protocols={"sticky": TOLD}))


@situations.in_steps((0, 4, 7, 9))
def an_empty_group_takes_another_protocol_type(talk: Talk) -> None:
    talk.form("a")
    talk.leave("a")
    talk.ids.clear()
    talk.join("b", protocol_type="connect", protocols={"default": b"any bytes"})


@situations.in_steps((0, 4, 7, 9))
def the_protocol_that_most_want(talk: Talk) -> None:
    offers = {
        "a": {"range": TOLD, "sticky": b"a"},
        "b": {"sticky": b"b", "range": TOLD},
        "c": {"sticky": b"c", "range": TOLD},
    }
    talk.join("a", protocols=offers["a"])
    talk.enter("b", protocols=offers["b"])
    talk.until_state("PreparingRebalance", 2)
    talk.enter("c", protocols=offers["c"])
    talk.until_state("PreparingRebalance", 3)
    talk.send("a", talk.join_request("a", protocols=offers["a"]))
    for who in "abc":
        talk.hear(who)


@situations.in_steps((0, 9))
def only_what_all_have(talk: Talk) -> None:
    talk.join("a", protocols={"one": b"1", "both": b"2"})
    talk.enter("b", protocols={"two": b"3", "both": b"4"})
    talk.until_state("PreparingRebalance", 2)
    talk.send("a", talk.join_request("a", protocols={"one": b"1", "both": b"2"}))
    talk.hear("a")
    talk.hear("b")


@situations.in_steps((0, 2, 9))
def protocols_of_another_kind_than_consumers(talk: Talk) -> None:
    talk.join("a", protocol_type="connect", protocols={"compatible": b"\x00\x01", "default": b""})
    talk.send(
        "a",
        talk.sync_request(
            "a",
            1,
            given={"a": b"whatever"},
            **({"protocol_type": "connect", "protocol_name": "compatible"} if talk.step >= 5 else {}),
        ),
    )
    talk.hear("a")
    talk.ask("x", m.DescribeGroupsRequest(groups=[talk.group]))


@situations.in_steps((0, 4, 9))
def the_leader_joins_again(talk: Talk) -> None:
    talk.form("a")
    answer = talk.join("a")
    talk.sync("a", answer.generation_id, given={"a": b"second"})


@situations.in_steps((0, 4, 9))
def a_follower_joins_again_with_the_same(talk: Talk) -> None:
    generation = talk.form("a", "b")
    talk.join("b")
    talk.heartbeat("a", generation)


@situations.in_steps((0, 4, 9))
def a_follower_joins_again_with_something_new(talk: Talk) -> None:
    generation = talk.form("a", "b")
    told = {"range": subscription("three")}
    talk.send("b", talk.join_request("b", protocols=told))
    talk.until_state("PreparingRebalance", 2)
    talk.heartbeat("a", generation)
    talk.expect_waiting("b")
    talk.send("a", talk.join_request("a"))
    talk.hear("a")
    talk.hear("b")


@situations.in_steps((0, 4, 9))
def before_it_synced_with_the_same(talk: Talk) -> None:
    talk.join("a")
    talk.join("a")


@situations.in_steps((0, 4, 9))
def while_the_others_still_sync(talk: Talk) -> None:
    talk.join("a")
    talk.enter("b")
    talk.until_state("PreparingRebalance", 2)
    talk.send("a", talk.join_request("a"))
    talk.hear("a")
    talk.hear("b")
    talk.send("b", talk.sync_request("b", 2))
    talk.expect_waiting("b")
    talk.enter("c")
    talk.until_state("PreparingRebalance", 3)
    talk.hear("b")
    talk.sync("a", 2, given={"a": b"late"})


@situations.in_steps((0, 1, 4, 9))
def the_rebalance_timeout_passes(talk: Talk) -> None:
    short = {"session_timeout_ms": 1500} | ({"rebalance_timeout_ms": 1500} if talk.step else {})
    talk.join("a", **short)
    talk.sync("a", 1, given={"a": b"first"})
    talk.enter("b", **short)
    talk.hear("b")
    talk.heartbeat("a", 2)
    talk.ask("x", m.DescribeGroupsRequest(groups=[talk.group]))


# SyncGroup -----------------------------------------------------------------------------------------


@situations.in_steps(ALL)
def sync_followers_wait_for_the_leader(talk: Talk) -> None:
    talk.join("a")
    talk.enter("b")
    talk.until_state("PreparingRebalance", 2)
    talk.send("a", talk.join_request("a"))
    talk.hear("a")
    talk.hear("b")
    talk.send("b", talk.sync_request("b", 2))
    talk.expect_waiting("b")
    talk.heartbeat("x", 2, member=talk.ids["a"])
    talk.sync("a", 2, given={"a": b"of a", "b": b"of b"})
    talk.hear("b")


@situations.in_steps((0, 4, 9))
def sync_by_a_follower_with_assignments(talk: Talk) -> None:
    talk.join("a")
    talk.enter("b")
    talk.until_state("PreparingRebalance", 2)
    talk.send("a", talk.join_request("a"))
    talk.hear("a")
    talk.hear("b")
    talk.send("b", talk.sync_request("b", 2, given={"a": b"b's idea", "b": b"b's idea"}))
    talk.expect_waiting("b")
    talk.sync("a", 2, given={"b": b"a's idea"})
    talk.hear("b")
    talk.sync("b", 2)


@situations.in_steps((0, 4, 9))
def sync_with_assignments_for_nobody(talk: Talk) -> None:
    talk.join("a")
    talk.sync("a", 1, given={"stranger": b"lost"})


@situations.in_steps(ALL)
def sync_again(talk: Talk) -> None:
    generation = talk.form("a")
    talk.sync("a", generation)
    talk.sync("a", generation, given={"a": b"too late"})


@situations.in_steps(ALL)
def sync_of_another_generation(talk: Talk) -> None:
    generation = talk.form("a")
    talk.sync("a", generation - 1)
    talk.sync("a", generation + 1)


@situations.in_steps(ALL)
def sync_of_nobody(talk: Talk) -> None:
    talk.sync("a", 1, member="nobody")
    talk.form("b")
    talk.sync("a", 1, member="nobody")
    talk.sync("a", 1, member="")


@situations.in_steps((0, 9))
def sync_without_group_id(talk: Talk) -> None:
    talk.sync("a", 1, member="nobody", group_id="")


@situations.in_steps((5, 9))
def sync_of_another_protocol(talk: Talk) -> None:
    generation = talk.form("a")
    talk.sync("a", generation, protocol_type="connect")
    talk.sync("a", generation, protocol_name="sticky")
    talk.sync("a", generation, protocol_type=None)
    talk.sync("a", generation, protocol_name=None)
    talk.sync("a", generation, protocol_name=None, protocol_type=None)


@situations.in_steps((0, 4, 9))
def sync_while_the_group_prepares(talk: Talk) -> None:
    generation = talk.form("a")
    talk.enter("b")
    talk.until_state("PreparingRebalance", 2)
    talk.sync("a", generation)


@situations.in_steps((4, 9))
def sync_of_a_pending_member(talk: Talk) -> None:
    talk.form("a")
    talk.ask("b", talk.join_request("b"))
    talk.sync("b", 1)
    talk.sync("b", -1)


@situations.in_steps((0, 4, 9))
def the_leader_never_syncs(talk: Talk) -> None:
    short = {"session_timeout_ms": 1500} | ({"rebalance_timeout_ms": 1500} if talk.step else {})
    talk.join("a", **short)
    talk.until_state("Empty")
    talk.heartbeat("a", 1)
    talk.ask("x", m.DescribeGroupsRequest(groups=[talk.group]))


@situations.in_steps(LAST)
def a_reason_is_taken(talk: Talk) -> None:
    talk.join("a", reason="a reason of " + "many " * 100 + "words")
    assert talk.v(ApiKey.JOIN_GROUP) == LAST[0]
