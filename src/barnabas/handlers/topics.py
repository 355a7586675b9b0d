"""What several APIs need to know of topics: which are internal, and what may be done with them.

Without an authorizer every operation is allowed; clients that ask get the bits Apache Kafka sends then.
"""

from barnabas.base.hints import Final
from barnabas.replica.produce import INTERNAL_TOPICS

OPERATIONS_NOT_ASKED: Final = -(2**31)
"""Stands for "not asked for" in authorized-operations fields."""


def _bits(*operations: int) -> int:
    return sum(1 << operation for operation in operations)


TOPIC_OPERATIONS: Final = _bits(3, 4, 5, 6, 7, 8, 10, 11)
"""READ, WRITE, CREATE, DELETE, ALTER, DESCRIBE, DESCRIBE_CONFIGS, ALTER_CONFIGS (KIP-430)."""

CLUSTER_OPERATIONS: Final = _bits(5, 7, 8, 9, 10, 11, 12)
"""CREATE, ALTER, DESCRIBE, CLUSTER_ACTION, DESCRIBE_CONFIGS, ALTER_CONFIGS, IDEMPOTENT_WRITE (KIP-430)."""


def is_internal(topic: str) -> bool:
    """Whether only the broker itself writes this topic."""
    return topic in INTERNAL_TOPICS
