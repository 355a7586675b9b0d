"""FindCoordinator, ListGroups, DescribeGroups and DeleteGroups of classic groups."""

from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey
from tests.interop.group_situations.situations import ALL, LAST, Situations
from tests.interop.group_situations.talk import AUTHORIZED_FROM, Talk

situations = Situations("admin")

DESCRIBE_STEPS = tuple(range(7))
LIST_STEPS = tuple(range(6))
DELETE_STEPS = tuple(range(4))
FIND_STEPS = tuple(range(7))


def describe(talk: Talk, *groups: str, operations: bool = False) -> None:
    """DescribeGroups of the situation's group unless others are named."""
    request = m.DescribeGroupsRequest(groups=list(groups) or [talk.group])
    if operations and talk.v(ApiKey.DESCRIBE_GROUPS) >= AUTHORIZED_FROM[ApiKey.DESCRIBE_GROUPS]:
        request.include_authorized_operations = True
    talk.ask("x", request)


def listed(talk: Talk, states: tuple[str, ...] = (), types: tuple[str, ...] = ()) -> None:
    """ListGroups."""
    request = m.ListGroupsRequest()
    if states:
        request.states_filter = list(states)
    if types:
        request.types_filter = list(types)
    talk.ask("x", request)


def delete(talk: Talk, *groups: str) -> None:
    """DeleteGroups of the situation's group unless others are named."""
    talk.ask("x", m.DeleteGroupsRequest(groups_names=list(groups) or [talk.group]))


# FindCoordinator -------------------------------------------------------------------------------------


def _find(talk: Talk, *keys: str, key_type: int = 0) -> None:
    request = m.FindCoordinatorRequest()
    if talk.v(ApiKey.FIND_COORDINATOR) >= 4:
        request.coordinator_keys = list(keys)
    else:
        request.key = keys[0]
    if talk.v(ApiKey.FIND_COORDINATOR) >= 1:
        request.key_type = key_type
    talk.ask("a", request)


@situations.in_steps(FIND_STEPS)
def find_the_coordinator(talk: Talk) -> None:
    _find(talk, talk.group)
    _find(talk, "")


@situations.in_steps((4, 6))
def find_several_coordinators(talk: Talk) -> None:
    _find(talk, talk.group, "", "other", talk.group)
    _find(talk)


@situations.in_steps((1, 3, 4, 6))
def find_the_coordinator_of_an_unknown_type(talk: Talk) -> None:
    _find(talk, talk.group, key_type=9)
    _find(talk, talk.group, key_type=-1)


# DescribeGroups --------------------------------------------------------------------------------------


@situations.in_steps(DESCRIBE_STEPS)
def describe_what_is_not_there(talk: Talk) -> None:
    describe(talk)
    describe(talk, operations=True)


@situations.in_steps(DESCRIBE_STEPS)
def describe_a_stable_group(talk: Talk) -> None:
    talk.form("a", "b")
    describe(talk)
    describe(talk, operations=True)


@situations.in_steps((0, 6))
def describe_a_group_that_prepares(talk: Talk) -> None:
    talk.form("a")
    talk.enter("b")
    talk.until_state("PreparingRebalance", 2)
    members = talk.aside(m.DescribeGroupsRequest(groups=[talk.group]), 5).groups[0].members
    for member in members:
        talk.known.setdefault(member.member_id, "member b")
    describe(talk)


@situations.in_steps((0, 6))
def describe_a_group_that_completes(talk: Talk) -> None:
    talk.join("a")
    describe(talk)


@situations.in_steps(DESCRIBE_STEPS)
def describe_an_empty_group(talk: Talk) -> None:
    talk.form("a")
    talk.leave("a")
    describe(talk)


@situations.in_steps(DESCRIBE_STEPS)
def describe_a_group_with_offsets_only(talk: Talk) -> None:
    talk.commit("a", -1, {"six": {0: 10}})
    describe(talk, operations=True)


@situations.in_steps((4, 6))
def describe_a_group_with_a_pending_member_only(talk: Talk) -> None:
    talk.ask("a", talk.join_request("a"))
    describe(talk)


@situations.in_steps((0, 5, 6))
def describe_several(talk: Talk) -> None:
    talk.form("a")
    talk.commit("b", -1, {"six": {0: 10}}, group_id=f"{talk.group}-other")
    describe(talk, talk.group, f"{talk.group}-other", f"{talk.group}-unknown", talk.group)
    talk.ask("x", m.DescribeGroupsRequest(groups=[]))


# ListGroups ------------------------------------------------------------------------------------------


def _groups_of_all_states(talk: Talk) -> None:
    talk.form("a")
    name = talk.group
    talk.group = f"{name}-empty"
    talk.ids.clear()
    talk.form("b")
    talk.leave("b")
    talk.group = f"{name}-completing"
    talk.join("c")
    talk.group = f"{name}-preparing"
    talk.form("d")
    talk.enter("e")
    talk.until_state("PreparingRebalance", 2)
    talk.group = f"{name}-offsets"
    talk.commit("f", -1, {"six": {0: 1}})
    talk.group = name


@situations.in_steps(LIST_STEPS)
def list_all_states(talk: Talk) -> None:
    _groups_of_all_states(talk)
    listed(talk)


@situations.in_steps((4, 5))
def list_some_states(talk: Talk) -> None:
    _groups_of_all_states(talk)
    for states in (
        ("Stable",),
        ("stable", "EMPTY"),
        ("PreparingRebalance", "CompletingRebalance"),
        ("Dead",),
        ("Assigning",),
        ("nonsense",),
        ("", "Stable"),
    ):
        listed(talk, states)


@situations.in_steps((5,))
def list_some_types(talk: Talk) -> None:
    _groups_of_all_states(talk)
    for types in (("classic",), ("Consumer",), ("CLASSIC", "share"), ("nonsense",), ("streams",)):
        listed(talk, (), types)
    listed(talk, ("Stable",), ("classic",))


@situations.in_steps((4, 5))
def list_a_group_with_a_pending_member_only(talk: Talk) -> None:
    talk.ask("a", talk.join_request("a"))
    listed(talk)


# DeleteGroups ----------------------------------------------------------------------------------------


@situations.in_steps(DELETE_STEPS)
def delete_what_is_not_there(talk: Talk) -> None:
    delete(talk)
    talk.ask("x", m.DeleteGroupsRequest(groups_names=[]))


@situations.in_steps(DELETE_STEPS)
def delete_a_stable_group(talk: Talk) -> None:
    talk.form("a")
    delete(talk)
    describe(talk)


@situations.in_steps(DELETE_STEPS)
def delete_an_empty_group(talk: Talk) -> None:
    generation = talk.form("a")
    talk.commit("a", generation, {"six": {0: 1}})
    talk.leave("a")
    delete(talk)
    delete(talk)
    describe(talk)
    listed(talk)
    talk.fetch("a", {"six": [0]})


@situations.in_steps(DELETE_STEPS)
def delete_a_group_with_offsets_only(talk: Talk) -> None:
    talk.commit("a", -1, {"six": {0: 1}})
    delete(talk)
    talk.fetch("a", {"six": [0]})


@situations.in_steps((0, 3, 9))
def delete_several(talk: Talk) -> None:
    talk.form("a")
    talk.commit("b", -1, {"six": {0: 1}}, group_id=f"{talk.group}-other")
    delete(talk, talk.group, f"{talk.group}-other", f"{talk.group}-unknown", f"{talk.group}-other")


@situations.in_steps((0, 9))
def delete_a_group_that_prepares(talk: Talk) -> None:
    talk.form("a")
    talk.enter("b")
    talk.until_state("PreparingRebalance", 2)
    delete(talk)


@situations.in_steps(LAST)
def delete_a_group_with_a_pending_member_only(talk: Talk) -> None:
    talk.ask("a", talk.join_request("a"))
    delete(talk)
    talk.ask("a", talk.join_request("a"))


@situations.in_steps(ALL)
def a_deleted_group_comes_back(talk: Talk) -> None:
    talk.form("a")
    talk.leave("a")
    delete(talk)
    talk.ids.clear()
    talk.join("b")
