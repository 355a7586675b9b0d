"""Requests about several groups: each is answered by its own shard, and all answers go out together."""

from __future__ import annotations

from collections.abc import Callable, Sequence

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final, TypeVar
from barnabas.base.limits import GROUPS_ANSWER_BYTES_MAX

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


def ask_once(
    group_ids: Sequence[str],
    ask: Ask[Part],
    failed: Callable[[str, ApiError], Part],
    done: Callable[[list[Part]], None],
    size_of: Callable[[Part], int],
) -> None:
    """As `ask_all`, but a group that is named several times is asked for once, and told each time.

    Args:
        size_of: what telling a group again costs, in bytes; when all of that is too much, the rest of the
            repetitions fail with INVALID_REQUEST.
    """
    distinct = list(dict.fromkeys(group_ids))

    def answered(parts: list[Part]) -> None:
        if len(distinct) < len(group_ids):
            parts = _told_again(group_ids, dict(zip(distinct, parts, strict=True)), failed, size_of)
        done(parts)

    ask_all(distinct, ask, failed, answered)


def _told_again(
    group_ids: Sequence[str],
    parts: dict[str, Part],
    failed: Callable[[str, ApiError], Part],
    size_of: Callable[[Part], int],
) -> list[Part]:
    sizes: dict[str, int | None] = dict.fromkeys(parts)
    told: set[str] = set()
    left = GROUPS_ANSWER_BYTES_MAX
    answers = []
    for group_id in group_ids:
        if group_id in told:
            size = sizes[group_id]
            if size is None:
                size = sizes[group_id] = size_of(parts[group_id])
            left -= size
        told.add(group_id)
        answers.append(
            parts[group_id] if left >= 0 else failed(group_id, ApiError(ErrorCode.INVALID_REQUEST))
        )
    return answers
