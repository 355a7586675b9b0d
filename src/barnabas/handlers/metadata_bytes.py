"""Metadata responses put together from the bytes of their topics.

A topic is encoded once for each version that clients speak and kept with its image, which dies when the topic
or a broker changes; so an answer about ten thousand partitions is a join. The rest of a response is encoded
with no topics in it, and cut open where they belong: what stands behind the topics has one size in each
version. An encoder of our own for topics was rejected: it would have to be kept equal to the generated one.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.base.hints import Final
from barnabas.protocol import messages
from barnabas.protocol.varint import encode_uvarint

_CLUSTER_OPERATIONS_VERSIONS: Final = range(8, 11)
_FIRST_FLEXIBLE: Final = 9
_FIRST_WITH_ERROR: Final = 13
_NO_TOPICS: Final = messages.MetadataResponse()


def _tail_bytes(version: int) -> int:
    """Return how much stands behind the topics: authorized operations, error code, tagged fields."""
    return (
        4 * (version in _CLUSTER_OPERATIONS_VERSIONS)
        + 2 * (version >= _FIRST_WITH_ERROR)
        + (version >= _FIRST_FLEXIBLE)
    )


def _count(count: int, version: int) -> bytes:
    if version >= _FIRST_FLEXIBLE:
        return encode_uvarint(count + 1)
    return count.to_bytes(4, "big")


def encode_topic(topic: messages.MetadataResponseMetadataResponseTopic, version: int) -> bytes:
    """Return a topic's bytes as they stand in a response."""
    around = len(_NO_TOPICS.encode(version))
    whole = messages.MetadataResponse(topics=[topic]).encode(version)
    tail = _tail_bytes(version)
    return whole[around - tail : len(whole) - tail]


def encode_response(response: messages.MetadataResponse, topics: Sequence[bytes], version: int) -> bytes:
    """Return the body of `response` with encoded topics in place of its own, which must be none."""
    assert not response.topics
    empty = response.encode(version)
    end = len(empty) - _tail_bytes(version)
    head = empty[: end - len(_count(0, version))]
    return b"".join((head, _count(len(topics), version), *topics, empty[end:]))
