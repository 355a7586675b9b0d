"""The messages that consumers of the classic protocol put into JoinGroup and SyncGroup.

The broker reads them only where such a consumer is in a KIP-848 group, or its group becomes one. They begin
with a version; what is newer than known is read as the newest that is, as clients do.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.base.errors import DecodeError
from barnabas.base.hints import Final
from barnabas.coordinator.assignors.assignments import Partitions
from barnabas.metadata.image import MetadataImage
from barnabas.protocol import messages

CONSUMER_PROTOCOL_TYPE: Final = "consumer"

_VERSION_BYTES: Final = 2
_VERSION_MAX: Final = 3


def protocol_version(message: bytes) -> int:
    """Return the version that a message is read as.

    Raises:
        DecodeError: it has none.
    """
    version = int.from_bytes(message[:_VERSION_BYTES], "big", signed=True)
    if len(message) < _VERSION_BYTES or version < 0:
        raise DecodeError("no version of the consumer protocol")
    return min(version, _VERSION_MAX)


def read_subscription(message: bytes) -> messages.ConsumerProtocolSubscription:
    """Read what a consumer said when it joined.

    Raises:
        DecodeError
    """
    return messages.ConsumerProtocolSubscription.decode(message, protocol_version(message), _VERSION_BYTES)


def read_assignment(message: bytes) -> messages.ConsumerProtocolAssignment:
    """Read what a leader gave to a consumer.

    Raises:
        DecodeError
    """
    return messages.ConsumerProtocolAssignment.decode(message, protocol_version(message), _VERSION_BYTES)


def write_assignment(partitions: Mapping[str, list[int]], version: int) -> bytes:
    """Return an assignment by topic name, for a consumer that speaks `version`."""
    assignment = messages.ConsumerProtocolAssignment(
        assigned_partitions=[
            messages.ConsumerProtocolAssignmentTopicPartition(topic=topic, partitions=numbers)
            for topic, numbers in partitions.items()
        ]
    )
    return version.to_bytes(_VERSION_BYTES, "big") + bytes(assignment.encode(version))


def named(
    partitions: Mapping[bytes, Mapping[int, int]] | Partitions, image: MetadataImage
) -> dict[str, list[int]]:
    """Return partitions by the topic's name, without those of topics that are gone."""
    return {
        image.topics_by_id[topic_id].name: sorted(numbers)
        for topic_id, numbers in partitions.items()
        if topic_id in image.topics_by_id
    }
