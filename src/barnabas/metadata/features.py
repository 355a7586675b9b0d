"""The features of a cluster: the levels this broker knows, and those that formatting finalises.

They are Apache Kafka 4.4's, also where what a feature brings is not served here: a directory goes back and
forth between the two, and a level that one of them did not know would keep it from starting.
"""

from __future__ import annotations

from barnabas.base.hints import Final
from barnabas.metadata.image import METADATA_VERSION, METADATA_VERSION_MAX, METADATA_VERSION_MIN
from barnabas.metadata.records import VersionedRecord
from barnabas.protocol import messages

KRAFT_VERSION: Final = "kraft.version"

SUPPORTED_FEATURES: Final[dict[str, tuple[int, int]]] = {
    "eligible.leader.replicas.version": (0, 1),
    "group.version": (0, 1),
    KRAFT_VERSION: (0, 1),
    METADATA_VERSION: (METADATA_VERSION_MIN, METADATA_VERSION_MAX),
    "share.version": (0, 2),
    "streams.version": (0, 1),
    "transaction.version": (0, 2),
}
"""Feature -> lowest and highest level, as a broker of Apache Kafka 4.4 registers them."""

DEFAULT_FEATURES: Final[dict[str, int]] = {
    METADATA_VERSION: METADATA_VERSION_MAX,
    "eligible.leader.replicas.version": 1,
    "group.version": 1,
    "share.version": 2,
    "streams.version": 1,
    "transaction.version": 2,
}
"""What formatting finalises, in the order of the records."""


def bootstrap_feature_records() -> list[VersionedRecord]:
    """Return the records that finalise the default features."""
    return [
        VersionedRecord(messages.FeatureLevelRecord(name=name, feature_level=level))
        for name, level in DEFAULT_FEATURES.items()
    ]
