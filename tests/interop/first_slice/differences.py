"""Where the answers of Barnabas and Apache Kafka 4.4 differ and may: every entry has its reason."""

from collections.abc import Iterator
from dataclasses import dataclass
from fnmatch import fnmatchcase
from typing import Any


@dataclass(frozen=True, slots=True, kw_only=True)
class Allowed:
    """A difference that is right.

    Args:
        situation: `<api> v<version> <situation>`, may hold `*`.
        path: `.topics.partitions.error_code`, indexes left out, may hold `*`.
    """

    reason: str
    situation: str
    path: str = "*"


ALLOWED = (
    Allowed(
        reason="An error says why; Apache Kafka leaves most of them to its log.",
        situation="Produce v*",
        path="*.error_message",
    ),
    Allowed(
        reason="Apache Kafka refuses these before it knows the partition; ours knows where its log starts.",
        situation="Produce v* [!n]*",
        path=".responses.partition_responses.log_start_offset",
    ),
    Allowed(
        reason="Codec or compressed bytes are wrong: an error that says so instead of a fault of the server.",
        situation="Produce v* *",
        path=".responses.partition_responses.error_code=-1",
    ),
    Allowed(
        reason="A batch cannot claim the broker's append time (fetch-path P3).",
        situation="Produce v* log append time bit",
    ),
    Allowed(
        reason="All records are refused for the batch's timestamp type; naming each adds nothing.",
        situation="Produce v* append time, bit set",
        path=".responses.partition_responses.record_errors*",
    ),
    Allowed(
        reason="Both are appended and answered; Apache Kafka silently drops the first.",
        situation="Produce v* partition twice",
    ),
    Allowed(
        reason="Clients below v10 cannot read zstd: they are told so instead of failing on the bytes (F2b).",
        situation="Fetch v[4-9] zstd topic at [01]",
    ),
    Allowed(
        reason="The broker's own encoder compressed these: other bytes, the same records.",
        situation="Fetch v* zstd topic at [01]",
        path=".responses.partitions.records",
    ),
    Allowed(
        reason="An isolation level nobody defines is an invalid request, not a fault of the server.",
        situation="* isolation [57]",
        path="*.error_code=-1",
    ),
    Allowed(
        reason="A negative limit is a limit of 0; Apache Kafka answers a fault of the server.",
        situation="Fetch v* * limit -1",
    ),
    Allowed(
        reason="There are no fetch sessions yet: answered as by a broker without a free slot.",
        situation="Fetch v* session 77 epoch 0",
        path=".session_id",
    ),
    Allowed(
        reason="Each of the two is answered; Apache Kafka answers once.",
        situation="ListOffsets v* partition twice",
    ),
    Allowed(
        reason="Both are carried out and answered in order; Apache Kafka drops the first.",
        situation="DeleteRecords v* [[](0, 5), (0, 6)]",
    ),
    Allowed(
        reason="A topic with neither name nor id is an invalid request, not a fault of the server.",
        situation="Metadata v* neither*",
        path="*.error_code=-1",
    ),
    Allowed(
        reason="Words where Apache Kafka has none.",
        situation="FindCoordinator v* type 2 *",
        path=".coordinators.error_message",
    ),
)


def unexplained(situation: str, theirs: Any, ours: Any) -> list[str]:
    """Return the differences between two plain answers that no entry of ALLOWED covers."""
    return [
        f"{situation}: {path}: Apache Kafka {left!r}, Barnabas {right!r}"
        for path, left, right in _differences(theirs, ours, "")
        if not any(_covers(rule, situation, path, left) for rule in ALLOWED)
    ]


def _covers(rule: Allowed, situation: str, path: str, theirs: Any) -> bool:
    wanted, _, value = rule.path.partition("=")
    return (
        fnmatchcase(situation, rule.situation)
        and fnmatchcase(path, wanted)
        and (not value or str(theirs) == value)
    )


def _differences(theirs: Any, ours: Any, path: str) -> Iterator[tuple[str, Any, Any]]:
    if isinstance(theirs, dict) and isinstance(ours, dict):
        for name in sorted(theirs.keys() | ours.keys()):
            yield from _differences(theirs.get(name), ours.get(name), f"{path}.{name}")
    elif isinstance(theirs, list) and isinstance(ours, list) and len(theirs) == len(ours):
        for left, right in zip(theirs, ours, strict=True):
            yield from _differences(left, right, path)
    elif theirs != ours:
        yield path, theirs, ours
