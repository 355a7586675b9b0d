"""ElectLeaders for one node: whoever is asked for leads already, so the answers are all there is."""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.errors import ErrorCode
from barnabas.metadata.image import MetadataImage


@dataclass(frozen=True, slots=True, kw_only=True)
class ElectionResult:
    """How an election of one partition went."""

    topic: str
    partition: int
    error: ErrorCode = ErrorCode.NONE
    message: str | None = None


def answer_election(
    image: MetadataImage, election_type: int, partitions: Sequence[tuple[str, int]] | None
) -> list[ElectionResult]:
    """Answer an election (KIP-460).

    Args:
        election_type: 0 preferred, 1 unclean.
        partitions: None for all, which answers with no partition at all.
    """
    results = []
    for topic, number in partitions or ():
        known = image.topics.get(topic)
        if election_type not in (0, 1):
            error, why = ErrorCode.INVALID_REQUEST, f"Unknown election type {election_type}"
        elif known is None:
            error, why = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such topic as {topic}"
        elif number not in known.partitions:
            error, why = ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"No such partition as {topic}-{number}"
        else:
            error, why = ErrorCode.ELECTION_NOT_NEEDED, "Leader election not needed for topic partition."
        results.append(ElectionResult(topic=topic, partition=number, error=error, message=why))
    return results
