"""Requests about several groups: each is answered by its own shard, and all answers go out together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barnabas.base.errors import ApiError
from barnabas.base.hints import Final, TypeVar

Part = TypeVar("Part")

Ask = Callable[[str, Callable[[Part], None], Callable[[ApiError], None]], None]
"""Asks a group's shard: (group id, how it is answered, how it fails); one of the two is called, once."""

GROUP_OPERATIONS: Final = sum(1 << operation for operation in (3, 6, 8, 10, 11))
"""READ, DELETE, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS (KIP-430): all, since there is no authorizer."""


def ask_all(
    group_ids: Sequence[str],
    ask: Ask[Part],
    failed: Callable[[str, ApiError], Part],
    done: Callable[[list[Part]], None],
) -> None:
    """Ask for every group and hand the answers on, in the order of the request, when the last is there.

    Args:
        failed: makes the answer for a group that could not be asked.
        done: called once, perhaps before this returns.
    """
    parts: list[Part | None] = [None] * len(group_ids)
    left = len(group_ids)

    def answered(number: int, part: Part) -> None:
        nonlocal left
        assert parts[number] is None, f"{group_ids[number]} is answered twice"
        parts[number] = part
        left -= 1
        if left == 0:
            done([part for part in parts if part is not None])

    if not group_ids:
        done([])
    for number, group_id in enumerate(group_ids):
        ask(
            group_id,
            lambda part, number=number: answered(number, part),  # type: ignore[misc]
            lambda error, number=number, group_id=group_id: answered(number, failed(group_id, error)),  # type: ignore[misc]
        )
