"""What members of a classic group speak: the vote on a protocol, and the topics inside a subscription.

Metadata is opaque to the broker but for one case: consumers say which topics they read, and offsets of topics
that somebody reads must not expire.

A tied vote is decided as Apache Kafka decides it, by the order of a Java hash table, so that a group that
moves between the two brokers selects the same protocol. Rejected: the order of the first member's wishes,
which looks fairer and would differ.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Sequence

from barnabas.base.errors import DecodeError
from barnabas.base.hints import Final
from barnabas.coordinator.runtime.partition_for import java_hash_code
from barnabas.protocol import messages

_VERSION_BYTES: Final = 2
_SUBSCRIPTION_VERSION_MAX: Final = 3
_TABLE_SIZE: Final = 16
_TABLE_LOAD: Final = 0.75


def select_protocol(candidates: Collection[str], wishes: Iterable[Sequence[tuple[str, bytes]]]) -> str:
    """Return the candidate with the most votes; each member votes for the first candidate it wishes.

    Args:
        candidates: protocols that every member knows; not empty.
        wishes: of each member its protocols, the dearest first.
    """
    votes: dict[str, int] = {}
    for protocols in wishes:
        vote = next(name for name, _ in protocols if name in candidates)
        votes[vote] = votes.get(vote, 0) + 1
    most = max(votes.values())
    return next(name for name in _in_java_order(votes) if votes[name] == most)


def subscribed_topics(subscriptions: Iterable[bytes]) -> frozenset[str] | None:
    """Return all topics of consumers' metadata (ConsumerProtocolSubscription behind its version).

    Versions that are not known yet are read as the newest known one, as clients do.

    Returns:
        None when one is no such thing: who subscribes to what is not known then.
    """
    topics: set[str] = set()
    for subscription in subscriptions:
        version = int.from_bytes(subscription[:_VERSION_BYTES], "big", signed=True)
        if len(subscription) < _VERSION_BYTES or version < 0:
            return None
        try:
            decoded = messages.ConsumerProtocolSubscription.decode(
                subscription, min(version, _SUBSCRIPTION_VERSION_MAX), _VERSION_BYTES
            )
        except DecodeError:
            return None
        topics.update(decoded.topics)
    return frozenset(topics)


def _in_java_order(names: Collection[str]) -> list[str]:
    """Sort as a java.util.HashMap lists its keys: by bucket, within one by age."""
    size = _TABLE_SIZE
    while len(names) > size * _TABLE_LOAD:
        size *= 2

    def bucket(name: str) -> int:
        value = java_hash_code(name) & 0xFFFFFFFF
        return (value ^ value >> 16) & (size - 1)

    return sorted(names, key=bucket)
