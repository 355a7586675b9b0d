"""What in a metadata log this broker cannot carry on, told before anything is written.

Apache Kafka and this broker use one directory in turns, so a start must not assume that it wrote what it
finds: another release may have finalised features that change what records mean, and other nodes may hold
votes or replicas. Each finding is one line: what there is, what this broker can do, what to do about it.

Going on with the part that is understood was rejected: the next snapshot would drop the rest, and an election
among replicas of which most are elsewhere could lose what they have.
"""

from __future__ import annotations

from collections.abc import Iterable

from barnabas.base.hints import Final
from barnabas.metadata.features import KRAFT_VERSION, SUPPORTED_FEATURES
from barnabas.metadata.image import METADATA_VERSION, ConfigResourceType, MetadataImage
from barnabas.metadata.records import MetadataError
from barnabas.metadata.snapshots import Quorum

_NAMED_MAX: Final = 3
"""Topics that a line names; further ones are counted."""

_ZK_MIGRATION_STATES: Final = {1: "before", 2: "in the middle of"}
"""ZkMigrationStateRecord: what is neither none nor over."""


def check_features(features: Iterable[tuple[str, int]]) -> None:
    """Refuse finalised levels that this broker does not know.

    Raises:
        MetadataError: names the feature, its level, and what is known.
    """
    for name, level in sorted(features):
        supported = SUPPORTED_FEATURES.get(name)
        if supported is None:
            raise MetadataError(
                f"feature {name} is finalised at level {level}, and this broker does not know it; take it "
                "back with the release that has it (kafka-features downgrade), or use a newer broker"
            )
        low, high = supported
        if not low <= level <= high:
            raise MetadataError(
                f"{name} is at level {level}; this broker supports levels {low} to {high}: "
                "use a broker of that release, or one of today's levels"
            )


def check_image(image: MetadataImage, node_id: int) -> None:
    """Refuse a cluster that is not this node's alone, or that keeps records where they cannot be read.

    Raises:
        MetadataError: of features, other brokers, other replicas, tiered topics, an unfinished migration.
    """
    check_features(image.features.items())
    state = _ZK_MIGRATION_STATES.get(image.zk_migration_state)
    if state is not None:
        raise MetadataError(
            f"the cluster is {state} its migration from ZooKeeper, which only Apache Kafka 3.x can end"
        )
    _check_replicas(image, node_id)
    _check_brokers(image, node_id)
    _check_tiered(image)


def _check_replicas(image: MetadataImage, node_id: int) -> None:
    others: set[int] = set()
    shared = []
    for topic in image.topics.values():
        for partition in topic.partitions.values():
            if partition.replicas != (node_id,):
                shared.append(f"{topic.name}-{partition.partition}")
                others.update(partition.replicas)
    others.discard(node_id)
    if shared:
        raise MetadataError(
            f"{_named(shared, 'partition')} {'has' if len(shared) == 1 else 'have'} replicas on other "
            f"brokers ({_numbers(others)}); this broker runs alone as node {node_id}: move all replicas to "
            "it (kafka-reassign-partitions), or start on the directory of a cluster of one node"
        )


def _check_brokers(image: MetadataImage, node_id: int) -> None:
    """A broker that holds nothing and was shut down may stay registered; one that may be alive must not."""
    alive = [broker.broker_id for broker in image.brokers.values() if not broker.fenced]
    others = sorted(set(alive) - {node_id})
    if others:
        raise MetadataError(
            f"other brokers belong to this cluster and were not shut down ({_numbers(others)}); this broker "
            f"runs alone as node {node_id}: stop them before the node that is to be taken over, and "
            "unregister them (kafka-cluster unregister)"
        )


def _check_tiered(image: MetadataImage) -> None:
    tiered = sorted(
        name
        for (kind, name), values in image.configs.items()
        if kind is ConfigResourceType.TOPIC and values.get("remote.storage.enable", "").lower() == "true"
    )
    if tiered:
        raise MetadataError(
            f"{_named(tiered, 'topic')} {'keeps' if len(tiered) == 1 else 'keep'} records in tiered storage "
            "(remote.storage.enable), which this broker cannot read: turn it off with Apache Kafka first "
            "(remote.storage.enable=false, remote.log.delete.on.disable=true), or delete them there"
        )


def check_quorum(quorum: Quorum, voters: Iterable[int], node_id: int) -> None:
    """Refuse a quorum of which this node is not the only voter.

    Args:
        voters: ids that quorum-state or the log's last election name, for a quorum without recorded voters.
    Raises:
        MetadataError: names the voters.
    """
    low, high = SUPPORTED_FEATURES[KRAFT_VERSION]
    if not low <= quorum.kraft_version <= high:
        raise MetadataError(
            f"{KRAFT_VERSION} is at level {quorum.kraft_version}; this broker supports levels {low} to "
            f"{high}: use a broker of that release"
        )
    if quorum.voters is not None:
        voters = [voter.voter_id for voter in quorum.voters.voters]
    ids = sorted(set(voters))
    if quorum.kraft_version > 0 and not ids:
        raise MetadataError(
            "the directory was formatted without initial controllers, to join a quorum that exists; this "
            "broker runs alone: format with --standalone, or let this broker format an empty directory"
        )
    if ids and ids != [node_id]:
        raise MetadataError(
            f"the metadata belongs to a quorum of the voters {ids}; this broker runs alone as node {node_id} "
            "and cannot join one: remove the other voters (kafka-metadata-quorum remove-controller) before"
        )


def check_first_features(levels: dict[str, int]) -> None:
    """Refuse what a formatter finalised for a log that is still empty; raises as check_features()."""
    low, high = SUPPORTED_FEATURES[METADATA_VERSION]
    level = levels.get(METADATA_VERSION)
    if levels and level is None:
        raise MetadataError(f"the first records name no {METADATA_VERSION}; levels {low} to {high} are known")
    check_features((name, level) for name, level in levels.items() if level)


def _named(names: list[str], what: str) -> str:
    if len(names) == 1:
        return f"{what} {names[0]}"
    more = f" and {len(names) - _NAMED_MAX} more" if len(names) > _NAMED_MAX else ""
    return f"{what}s {', '.join(names[:_NAMED_MAX])}{more}"


def _numbers(ids: Iterable[int]) -> str:
    return ", ".join(map(str, sorted(ids)))
