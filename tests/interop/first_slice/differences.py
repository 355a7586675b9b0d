"""Where the answers of Barnabas and Apache Kafka 4.4 differ and may: every entry has its reason."""

from functools import partial
from typing import Any

from tests.oracle.compare import Allowed, differences

_MayDiffer = partial(Allowed, same_presence=False)

ALLOWED = (
    _MayDiffer(
        reason="An error says why; Apache Kafka leaves most of them to its log.",
        api="Produce",
        scenario="v*",
        path="*.error_message",
    ),
    _MayDiffer(
        reason="Apache Kafka refuses these before it knows the partition; ours knows where its log starts.",
        api="Produce",
        scenario="v* [!n]*",
        path="responses[].partition_responses[].log_start_offset",
    ),
    _MayDiffer(
        reason="Codec or compressed bytes are wrong: an error that says so instead of a fault of the server.",
        api="Produce",
        scenario="v* *",
        path="responses[].partition_responses[].error_code",
        theirs=-1,
    ),
    _MayDiffer(
        reason="A batch cannot claim the broker's append time (fetch-path P3).",
        api="Produce",
        scenario="v* log append time bit",
    ),
    _MayDiffer(
        reason="All records are refused for the batch's timestamp type; naming each adds nothing.",
        api="Produce",
        scenario="v* append time, bit set",
        path="responses[].partition_responses[].record_errors*",
    ),
    _MayDiffer(
        reason="Both are appended and answered; Apache Kafka silently drops the first.",
        api="Produce",
        scenario="v* partition twice",
    ),
    _MayDiffer(
        reason="Clients below v10 cannot read zstd: they are told so instead of failing on the bytes (F2b).",
        api="Fetch",
        scenario="v[4-9] zstd topic at [01]",
    ),
    _MayDiffer(
        reason="The broker's own encoder compressed these: other bytes, the same records.",
        api="Fetch",
        scenario="v* zstd topic at [01]",
        path="responses[].partitions[].records",
    ),
    _MayDiffer(
        reason="An isolation level nobody defines is an invalid request, not a fault of the server.",
        scenario="v* isolation [57]",
        path="*error_code",
        theirs=-1,
    ),
    _MayDiffer(
        reason="A negative limit is a limit of 0; Apache Kafka answers a fault of the server.",
        api="Fetch",
        scenario="v* * limit -1",
    ),
    _MayDiffer(
        reason="Each of the two is answered; Apache Kafka answers once.",
        api="ListOffsets",
        scenario="v* partition twice",
    ),
    _MayDiffer(
        reason="Both are carried out and answered in order; Apache Kafka drops the first.",
        api="DeleteRecords",
        scenario="v* [[](0, 5), (0, 6)]",
    ),
    _MayDiffer(
        reason="What stays local of a topic in tiered storage means nothing without any, and is refused.",
        api="CreateTopics",
        scenario="v* local*",
    ),
    _MayDiffer(
        reason="A topic with neither name nor id is an invalid request, not a fault of the server.",
        api="Metadata",
        scenario="v* neither*",
        path="*error_code",
        theirs=-1,
    ),
    _MayDiffer(
        reason="Words where Apache Kafka has none.",
        api="FindCoordinator",
        scenario="v* type 2 *",
        path="coordinators[].error_message",
    ),
)


def unexplained(situation: str, theirs: Any, ours: Any) -> list[str]:
    """Return the differences between two plain answers that no entry of ALLOWED covers.

    Args:
        situation: `<api> v<version> <what was asked>`.
    """
    api, _, scenario = situation.partition(" ")
    left = differences(theirs, ours, api=api, scenario=scenario, allowed=ALLOWED)
    return [f"{situation}: {difference}" for difference in left]
