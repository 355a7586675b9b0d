"""Steps about the cluster: quorum, features, brokers, elections, reassignments."""

from __future__ import annotations

from collections.abc import Iterator

from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey as K
from tests.golden.admin_step import NODE_ID, Step, step, versions

METADATA_TOPIC = "__cluster_metadata"


def cluster_steps() -> Iterator[Step]:
    """Yield steps that change nothing."""
    yield from _describe_cluster()
    yield from _describe_quorum()
    yield from _update_features()
    yield from _elect_leaders()
    yield from _reassignments()
    for version in versions(K.LIST_GROUPS):
        yield step(K.LIST_GROUPS, version, "none", m.ListGroupsRequest())
    for version in versions(K.DESCRIBE_ACLS):
        every = m.DescribeAclsRequest(
            resource_type_filter=1,
            resource_name_filter=None,
            principal_filter=None,
            host_filter=None,
            operation=1,
            permission_type=1,
        )
        yield step(K.DESCRIBE_ACLS, version, "every", every)
    for version in versions(K.UNREGISTER_BROKER):
        yield step(K.UNREGISTER_BROKER, version, "unknown", m.UnregisterBrokerRequest(broker_id=77))


def _describe_cluster() -> Iterator[Step]:
    for version in versions(K.DESCRIBE_CLUSTER):
        plain = m.DescribeClusterRequest(include_cluster_authorized_operations=True)
        yield step(K.DESCRIBE_CLUSTER, version, "operations", plain)
        if version >= 1:
            yield step(K.DESCRIBE_CLUSTER, version, "controllers", m.DescribeClusterRequest(endpoint_type=2))
            yield step(K.DESCRIBE_CLUSTER, version, "nothing", m.DescribeClusterRequest(endpoint_type=9))
    yield step(K.DESCRIBE_CLUSTER, 2, "fenced", m.DescribeClusterRequest(include_fenced_brokers=True))


def _describe_quorum() -> Iterator[Step]:
    def of(name: str, *partitions: int) -> m.Message:
        parts = [m.DescribeQuorumRequestPartitionData(partition_index=index) for index in partitions]
        return m.DescribeQuorumRequest(
            topics=[m.DescribeQuorumRequestTopicData(topic_name=name, partitions=parts)]
        )

    for version in versions(K.DESCRIBE_QUORUM):
        yield step(K.DESCRIBE_QUORUM, version, "metadata", of(METADATA_TOPIC, 0))
        yield step(K.DESCRIBE_QUORUM, version, "other-topic", of("alpha", 0))
        yield step(K.DESCRIBE_QUORUM, version, "other-partition", of(METADATA_TOPIC, 1))
        yield step(K.DESCRIBE_QUORUM, version, "two-partitions", of(METADATA_TOPIC, 0, 1))
        yield step(K.DESCRIBE_QUORUM, version, "nothing", m.DescribeQuorumRequest(topics=[]))


def _update_features() -> Iterator[Step]:
    for version in versions(K.UPDATE_FEATURES):

        def of(
            *updates: tuple[str, int], kind: int = 1, version: int = version, validate_only: bool = True
        ) -> m.Message:
            keys = []
            for name, level in updates:
                key = m.UpdateFeaturesRequestFeatureUpdateKey(feature=name, max_version_level=level)
                if version == 0:
                    key.allow_downgrade = kind != 1
                else:
                    key.upgrade_type = kind
                keys.append(key)
            request = m.UpdateFeaturesRequest(timeout_ms=10_000, feature_updates=keys)
            if version >= 1:
                request.validate_only = validate_only
            return request

        asks = {
            "same": of(("group.version", 1)),
            "unknown": of(("no.such.feature", 1)),
            "too-high": of(("group.version", 9)),
            "negative": of(("group.version", -1)),
            "no-such-to-remove": of(("no.such.feature", 0), kind=2),
            "no-such-to-zero": of(("no.such.feature", 0)),
            "downgrade-undeclared": of(("share.version", 0)),
            "metadata-too-high": of(("metadata.version", 99)),
            "metadata-downgrade-undeclared": of(("metadata.version", 20)),
            "metadata-downgrade": of(("metadata.version", 20), kind=2),
            "kraft-downgrade": of(("kraft.version", 0), kind=2),
            "one-of-two-wrong": of(("group.version", 1), ("no.such.feature", 1)),
            "twice": of(("group.version", 1), ("group.version", 1)),
            "empty": of(),
        }
        if version >= 1:
            asks |= {
                "unsafe-metadata-downgrade": of(("metadata.version", 20), kind=3),
                "bad-kind": of(("group.version", 1), kind=9),
                "downgrade-validated": of(("share.version", 1), kind=2),
            }
        for scenario, request in asks.items():
            yield step(K.UPDATE_FEATURES, version, scenario, request)


def _elect_leaders() -> Iterator[Step]:
    for version in versions(K.ELECT_LEADERS):

        def of(
            *partitions: tuple[str, list[int]],
            kind: int = 0,
            version: int = version,
            everything: bool = False,
        ) -> m.Message:
            topics = [m.ElectLeadersRequestTopicPartitions(topic=t, partitions=p) for t, p in partitions]
            request = m.ElectLeadersRequest(topic_partitions=None if everything else topics, timeout_ms=5000)
            if version >= 1:
                request.election_type = kind
            return request

        kinds = (0, 1) if version >= 1 else (0,)
        for kind in kinds:
            yield step(K.ELECT_LEADERS, version, f"some-{kind}", of(("alpha", [0, 1]), kind=kind))
            yield step(K.ELECT_LEADERS, version, f"unknown-topic-{kind}", of(("missing", [0]), kind=kind))
            yield step(K.ELECT_LEADERS, version, f"unknown-partition-{kind}", of(("alpha", [9]), kind=kind))
            yield step(K.ELECT_LEADERS, version, f"all-{kind}", of(everything=True, kind=kind))
        yield step(K.ELECT_LEADERS, version, "none", of())
        if version >= 1:
            yield step(K.ELECT_LEADERS, version, "bad-kind", of(("alpha", [0]), kind=5))


def _reassignments() -> Iterator[Step]:
    partition = m.AlterPartitionReassignmentsRequestReassignablePartition

    def of(name: str, index: int, replicas: list[int] | None) -> m.AlterPartitionReassignmentsRequest:
        part = partition(partition_index=index, replicas=replicas)
        topic = m.AlterPartitionReassignmentsRequestReassignableTopic(name=name, partitions=[part])
        return m.AlterPartitionReassignmentsRequest(timeout_ms=5000, topics=[topic])

    for version in versions(K.ALTER_PARTITION_REASSIGNMENTS):
        asks = {
            "same": of("alpha", 0, [NODE_ID]),
            "cancel-none": of("alpha", 0, None),
            "to-unknown": of("alpha", 0, [7]),
            "to-two": of("alpha", 0, [1, 7]),
            "to-nobody": of("alpha", 0, []),
            "to-one-twice": of("alpha", 0, [1, 1]),
            "to-negative": of("alpha", 0, [-1]),
            "unknown-topic": of("missing", 0, [1]),
            "unknown-partition": of("alpha", 9, [1]),
            "cancel-unknown": of("missing", 0, None),
            "empty": m.AlterPartitionReassignmentsRequest(timeout_ms=5000, topics=[]),
        }
        if version >= 1:
            asks["factor-kept"] = of("alpha", 0, [1, 7])
            asks["factor-kept"].allow_replication_factor_change = False
            asks["factor-kept-same"] = of("alpha", 0, [1])
            asks["factor-kept-same"].allow_replication_factor_change = False
        for scenario, request in asks.items():
            yield step(K.ALTER_PARTITION_REASSIGNMENTS, version, scenario, request)
    topic = m.ListPartitionReassignmentsRequestListPartitionReassignmentsTopics
    listings = {
        "all": None,
        "some": [topic(name="alpha", partition_indexes=[0])],
        "unknown": [topic(name="missing", partition_indexes=[0])],
        "none": [],
    }
    for scenario, topics in listings.items():
        request = m.ListPartitionReassignmentsRequest(timeout_ms=5000, topics=topics)
        yield step(K.LIST_PARTITION_REASSIGNMENTS, 0, scenario, request)
