"""Members of KIP-848 groups: what they say, and the rounds it takes until nothing moves any more."""

from typing import Any

from barnabas.protocol import messages as m
from tests.interop.group_situations.talk import Talk

BOTH = (0, 1)
"""Steps that differ to a consumer's heartbeat: in version 1 it draws its member id itself."""

REBALANCE_MS = 30_000
ROUNDS_MAX = 8

Owned = dict[str, list[int]]


def owned_of(talk: Talk, owned: Owned) -> list[m.ConsumerGroupHeartbeatRequestTopicPartitions]:
    """Partitions as a heartbeat tells them."""
    return [
        m.ConsumerGroupHeartbeatRequestTopicPartitions(
            topic_id=talk.topic_ids[name], partitions=list(numbers)
        )
        for name, numbers in owned.items()
    ]


def beat_request(talk: Talk, who: str, epoch: int, **fields: Any) -> m.ConsumerGroupHeartbeatRequest:
    """A heartbeat of a member as it is.

    Args:
        fields: of the request, by name; `owned` as {topic: partitions}, `topics` for the names.
    """
    request = m.ConsumerGroupHeartbeatRequest(
        group_id=talk.group,
        member_id=fields.pop("member", talk.ids.get(who, "" if talk.step == 0 else f"m-{who}")),
        member_epoch=epoch,
    )
    if "owned" in fields:
        owned = fields.pop("owned")
        request.topic_partitions = None if owned is None else owned_of(talk, owned)
    if "topics" in fields:
        request.subscribed_topic_names = fields.pop("topics")
    for name, value in fields.items():
        setattr(request, name, value)
    return request


def beat(talk: Talk, who: str, epoch: int, **fields: Any) -> Any:
    """Heartbeat and hear."""
    return talk.ask(who, beat_request(talk, who, epoch, **fields))


def enter(talk: Talk, who: str, *topics: str, **fields: Any) -> Any:
    """A member's first heartbeat."""
    first = {"topics": list(topics) or ["six"], "owned": {}, "rebalance_timeout_ms": REBALANCE_MS}
    return beat(talk, who, 0, **first | fields)


def full(talk: Talk, who: str, epoch: int, owned: Owned, *topics: str, **fields: Any) -> Any:
    """A heartbeat that tells everything."""
    told = {"topics": list(topics) or ["six"], "owned": owned, "rebalance_timeout_ms": REBALANCE_MS}
    return beat(talk, who, epoch, **told | fields)


def assigned(talk: Talk, answer: Any) -> Owned | None:
    """What an answer assigns, by topic name; None when it says nothing of it."""
    if answer.assignment is None:
        return None
    names = {topic_id: name for name, topic_id in talk.topic_ids.items()}
    return {
        names[bytes(topic.topic_id)]: list(topic.partitions) for topic in answer.assignment.topic_partitions
    }


def settle(talk: Talk, epochs: dict[str, int]) -> dict[str, int]:
    """Let members beat in turn, taking over what they are assigned, until nothing new is said.

    Returns:
        Their epochs.
    """
    owned: dict[str, Owned] = {who: {} for who in epochs}
    for _ in range(ROUNDS_MAX):
        moved = False
        for who, epoch in list(epochs.items()):
            answer = beat(talk, who, epoch, owned=owned[who])
            given = assigned(talk, answer)
            moved |= answer.member_epoch != epoch or (given is not None and given != owned[who])
            epochs[who] = answer.member_epoch
            if given is not None:
                owned[who] = given
        if not moved:
            return epochs
    raise AssertionError(f"the group does not settle: {epochs}, {owned}")


def form(talk: Talk, *names: str) -> dict[str, int]:
    """Let members enter one after the other and settle; return their epochs."""
    epochs = {who: enter(talk, who).member_epoch for who in names}
    return settle(talk, epochs)


def leave(talk: Talk, who: str, epoch: int = -1, **fields: Any) -> Any:
    """A member's last heartbeat; -2 of a static one that comes back."""
    return beat(talk, who, epoch, **fields)


def describe(talk: Talk, *groups: str, operations: bool = False) -> Any:
    """ConsumerGroupDescribe of the situation's group unless others are named."""
    request = m.ConsumerGroupDescribeRequest(
        group_ids=list(groups) or [talk.group], include_authorized_operations=operations
    )
    return talk.ask("x", request)
