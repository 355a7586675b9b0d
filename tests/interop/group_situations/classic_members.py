"""Heartbeat and LeaveGroup, sessions that end, and what the others notice of it."""

from barnabas.protocol import messages as m
from tests.interop.group_situations.situations import ALL, Situations
from tests.interop.group_situations.talk import Talk

situations = Situations("members")

SHORT_MS = 1500


def _describe(talk: Talk) -> None:
    talk.ask("x", m.DescribeGroupsRequest(groups=[talk.group]))


@situations.in_steps(ALL)
def heartbeat_of_another_generation(talk: Talk) -> None:
    generation = talk.form("a")
    talk.heartbeat("a", generation - 1)
    talk.heartbeat("a", generation + 1)
    talk.heartbeat("a", -1)


@situations.in_steps(ALL)
def heartbeat_of_nobody(talk: Talk) -> None:
    talk.heartbeat("a", 1, member="nobody")
    talk.form("b")
    talk.heartbeat("a", 1, member="nobody")
    talk.heartbeat("a", 1, member="")


@situations.in_steps(ALL)
def heartbeat_without_group_id(talk: Talk) -> None:
    talk.heartbeat("a", 1, member="nobody", group_id="")


@situations.in_steps((0, 4, 9))
def heartbeat_while_the_group_prepares(talk: Talk) -> None:
    generation = talk.form("a")
    talk.enter("b")
    talk.until_state("PreparingRebalance", 2)
    talk.heartbeat("a", generation)
    talk.heartbeat("a", generation + 1)


@situations.in_steps((0, 4, 9))
def heartbeat_while_the_group_completes(talk: Talk) -> None:
    talk.join("a")
    talk.heartbeat("a", 1)


@situations.in_steps((4, 9))
def heartbeat_of_a_pending_member(talk: Talk) -> None:
    talk.form("a")
    talk.ask("b", talk.join_request("b"))
    talk.heartbeat("b", 1)
    talk.heartbeat("b", -1)


@situations.in_steps((4, 9))
def heartbeat_of_a_pending_member_of_an_empty_group(talk: Talk) -> None:
    talk.ask("b", talk.join_request("b"))
    talk.heartbeat("b", -1)
    _describe(talk)


@situations.in_steps(ALL)
def leaving(talk: Talk) -> None:
    generation = talk.form("a")
    talk.leave("a")
    talk.heartbeat("a", generation)
    talk.leave("a")
    _describe(talk)


@situations.in_steps((0, 3, 9))
def leaving_one_of_two(talk: Talk) -> None:
    generation = talk.form("a", "b")
    talk.leave("b")
    talk.until_state("PreparingRebalance", 1)
    talk.heartbeat("a", generation)
    talk.join("a")
    talk.heartbeat("b", generation)


@situations.in_steps((0, 3, 9))
def the_leader_leaves(talk: Talk) -> None:
    talk.form("a", "b")
    talk.leave("a")
    talk.until_state("PreparingRebalance", 1)
    answer = talk.join("b")
    talk.sync("b", answer.generation_id, given={"b": b"all"})


@situations.in_steps((0, 4, 9))
def leaving_while_another_waits_to_join(talk: Talk) -> None:
    talk.form("a")
    talk.enter("b")
    talk.until_state("PreparingRebalance", 2)
    talk.expect_waiting("b")
    talk.leave("a")
    talk.hear("b")


@situations.in_steps((0, 4, 9))
def leaving_while_one_waits_itself(talk: Talk) -> None:
    talk.form("a")
    talk.enter("b")
    talk.until_state("PreparingRebalance", 2)
    talk.leave("x", (_member_of(talk, "b"), None))
    talk.hear("b")
    talk.until_state("PreparingRebalance", 1)
    talk.join("a")


def _member_of(talk: Talk, who: str) -> str:
    """The id of a member that may not have been told it yet."""
    if who not in talk.ids:
        known = set(talk.ids.values())
        found = talk.aside(m.DescribeGroupsRequest(groups=[talk.group]), 5).groups[0].members
        (talk.ids[who],) = [member.member_id for member in found if member.member_id not in known]
        talk.known[talk.ids[who]] = f"member {who}"
    return talk.ids[who]


@situations.in_steps((0, 4, 9))
def leaving_while_the_group_completes(talk: Talk) -> None:
    talk.join("a")
    talk.leave("a")
    talk.sync("a", 1)
    _describe(talk)


@situations.in_steps((4, 9))
def a_pending_member_leaves(talk: Talk) -> None:
    generation = talk.form("a")
    talk.ask("b", talk.join_request("b"))
    talk.leave("b")
    talk.ask("b", talk.join_request("b"))
    talk.heartbeat("a", generation)


@situations.in_steps((3, 5))
def several_leave_at_once(talk: Talk) -> None:
    talk.form("a", "b")
    talk.leave("a", (talk.ids["a"], None), ("nobody", None), (talk.ids["b"], None), ("", None))
    _describe(talk)


@situations.in_steps((3, 9))
def a_member_leaves_twice_in_one_request(talk: Talk) -> None:
    talk.form("a", "b")
    talk.leave("b", (talk.ids["b"], None), (talk.ids["b"], None))


@situations.in_steps((3, 9))
def nobody_leaves(talk: Talk) -> None:
    talk.form("a")
    talk.ask("a", m.LeaveGroupRequest(group_id=talk.group, members=[]))
    talk.ask("a", m.LeaveGroupRequest(group_id=talk.group + "-unknown", members=[]))


@situations.in_steps(ALL)
def leaving_a_group_that_is_not_there(talk: Talk) -> None:
    talk.leave("a", ("nobody", None))
    talk.leave("a", ("nobody", None), group_id="")


@situations.in_steps((0, 4, 9))
def a_session_ends(talk: Talk) -> None:
    talk.form("a", session_timeout_ms=SHORT_MS)
    talk.until_state("Empty", 0)
    talk.heartbeat("a", 1)
    talk.sync("a", 1)
    talk.ask("a", talk.join_request("a"))
    _describe(talk)


@situations.in_steps((0, 4, 9))
def the_session_of_one_of_two_ends(talk: Talk) -> None:
    talk.form("a")
    talk.enter("b", session_timeout_ms=SHORT_MS)
    talk.until_state("PreparingRebalance", 2)
    talk.send("a", talk.join_request("a"))
    talk.hear("b")
    talk.hear("a")
    talk.sync("a", 2, given={"b": b"b"})
    talk.sync("b", 2)
    talk.until_state("PreparingRebalance", 1)
    talk.heartbeat("b", 2)
    talk.heartbeat("a", 2)
    talk.join("a")


@situations.in_steps((0, 4, 9))
def a_member_that_waits_outlives_its_session(talk: Talk) -> None:
    talk.form("a")
    talk.enter("b", session_timeout_ms=1000)
    talk.until_state("PreparingRebalance", 2)
    for _ in range(5):
        talk.expect_waiting("b")
    talk.send("a", talk.join_request("a"))
    talk.hear("a")
    talk.hear("b")


@situations.in_steps((4, 9))
def a_pending_member_never_comes(talk: Talk) -> None:
    talk.ask("a", talk.join_request("a", session_timeout_ms=1000))
    talk.until(
        lambda: talk.aside(talk.join_request("a", member="no one"), 9).error_code == 25, "the group is there"
    )
    talk.until(lambda: _is_forgotten(talk), "the pending member is forgotten")
    talk.heartbeat("a", -1)


def _is_forgotten(talk: Talk) -> bool:
    asked = m.HeartbeatRequest(group_id=talk.group, generation_id=-1, member_id=talk.ids["a"])
    return bool(talk.aside(asked, 4).error_code == 25)


@situations.in_steps((0, 9))
def who_hangs_up_stays_a_member(talk: Talk) -> None:
    generation = talk.form("a", "b")
    talk.hang_up("b")
    talk.heartbeat("a", generation)
    talk.heartbeat("b", generation)


@situations.in_steps((0, 9))
def a_new_generation_after_all_left(talk: Talk) -> None:
    talk.form("a")
    talk.leave("a")
    talk.ids.clear()
    answer = talk.join("b")
    talk.sync("b", answer.generation_id, given={"b": b"again"})
