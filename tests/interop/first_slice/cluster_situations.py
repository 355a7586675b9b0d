"""Topics made, described and deleted; the cluster, coordinators, producer ids, versions."""

# ruff: noqa: B023 - the short ways to ask are used up within their turn of the loop

from barnabas.protocol import messages as m
from tests.interop.first_slice.asker import UNKNOWN_ID, Asker
from tests.interop.first_slice.requests import creation, metadata, versions

NODE_ID = 1
LONGEST = 249
SERVED = frozenset((0, 1, 2, 3, 10, 18, 19, 20, 21, 22, 23, 60))
"""The APIs compared here; ApiVersions of either broker may tell of more."""


ODD_PLACES: tuple[tuple[str, list[tuple[int, list[int]]]], ...] = (
    ("unknown broker", [(0, [5])]),
    ("no broker", [(0, [])]),
    ("negative broker", [(0, [-1])]),
    ("broker twice", [(0, [NODE_ID, NODE_ID])]),
    ("partition twice", [(0, [NODE_ID]), (0, [NODE_ID])]),
    ("hole", [(0, [NODE_ID]), (2, [NODE_ID])]),
    ("starts at 1", [(1, [NODE_ID])]),
    ("negative partition", [(-1, [NODE_ID])]),
    ("uneven", [(0, [NODE_ID]), (1, [NODE_ID, 2])]),
)

ODD_CONFIGS: tuple[tuple[str, str | None], ...] = (
    ("retention.ms", "soon"), ("retention.ms", "-2"), ("retention.ms", ""), ("retention.ms", None),
    ("retention.ms", " 5 "), ("retention.ms", "1e3"), ("retention.ms", "99999999999999999999"),
    ("no.such.config", "1"), ("", "1"), ("cleanup.policy", "shred"),
    ("cleanup.policy", "compact,delete"),
    ("cleanup.policy", ""), ("cleanup.policy", "Compact"), ("compression.type", "lzma"),
    ("compression.type", "zstd"), ("compression.zstd.level", "50"), ("compression.gzip.level", "0"),
    ("segment.bytes", "10"), ("segment.bytes", "2147483648"), ("segment.bytes", "1048576"),
    ("max.message.bytes", "-1"), ("min.insync.replicas", "0"), ("min.insync.replicas", "5"),
    ("preallocate", "yes"), ("preallocate", "TRUE"), ("unclean.leader.election.enable", "1"),
    ("min.cleanable.dirty.ratio", "2"), ("min.cleanable.dirty.ratio", "0.5"),
    ("message.timestamp.type", "Never"), ("message.timestamp.type", "LogAppendTime"),
    ("message.timestamp.before.max.ms", "-1"), ("index.interval.bytes", "-1"),
    ("flush.messages", "0"),
    ("segment.ms", "0"), ("segment.jitter.ms", "-1"), ("local.retention.ms", "-3"),
    ("local.retention.bytes", "5"), ("retention.bytes", "-5"), ("remote.storage.enable", "true"),
    ("leader.replication.throttled.replicas", "0:1,1:2"),
    ("leader.replication.throttled.replicas", "x"),
    ("follower.replication.throttled.replicas", "*"), ("file.delete.delay.ms", "-1"),
    ("delete.retention.ms", "-1"), ("message.format.version", "3.0"),
    ("message.downconversion.enable", "true"), ("log.retention.ms", "5"),
)  # fmt: skip


def creations(asker: Asker) -> None:
    """CreateTopics with all that can be wrong with a topic."""
    asker.make_topic("exists")
    asker.make_topic("with.dot")
    for version in versions(19):

        def make(
            situation: str, *topics: m.CreateTopicsRequestCreatableTopic, validate: bool = False
        ) -> None:
            request = m.CreateTopicsRequest(topics=list(topics), timeout_ms=10_000, validate_only=validate)
            answer = asker.exchange(version, request)
            assert isinstance(answer, m.CreateTopicsResponse), situation
            for made in answer.topics:
                if made.error_code == 0 and version >= 7 and not validate:
                    asker.learn_topic(made.name, bytes(made.topic_id))
            asker.keep(f"CreateTopics v{version} {situation}", answer)

        for validate in (True, False):
            word = "validated" if validate else "made"
            make(word, creation(f"{word}-{version}", 3), validate=validate)
            make(f"{word} defaults", creation(f"{word}-d-{version}", -1, -1), validate=validate)
            make(
                f"{word} with configs",
                creation(
                    f"{word}-c-{version}", configs=[("retention.ms", "60000"), ("cleanup.policy", "compact")]
                ),
                validate=validate,
            )
            make(
                f"{word} assigned",
                creation(f"{word}-a-{version}", -1, -1, assignments=[(1, [NODE_ID]), (0, [NODE_ID])]),
                validate=validate,
            )
            make(f"{word} exists", creation("exists"), validate=validate)
            make(f"{word} bad name", creation("no/slash"), validate=validate)
        for name in ("", ".", "..", "a b", "ä", "x" * LONGEST, "x" * (LONGEST + 1), "with_dot", "a\0b"):
            make(f"name {name[:9]!r} of {len(name)}", creation(name), validate=True)
        make("internal name", creation("__consumer_offsets"), validate=True)
        make("metadata's name", creation("__cluster_metadata"), validate=True)
        for partitions in (0, -2, -5, 10_001, 2**31 - 1):
            make(f"{partitions} partitions", creation("count", partitions), validate=True)
        for replicas in (0, -2, 2, 3, 32_767):
            make(f"{replicas} replicas", creation("replicas", 1, replicas), validate=True)
        for situation, places in ODD_PLACES:
            make(f"assignment: {situation}", creation("placed", -1, -1, assignments=places), validate=True)
        place = [(0, [NODE_ID])]
        make("assignment and count", creation("placed", 1, -1, assignments=place), validate=True)
        make("assignment and replicas", creation("placed", -1, 1, assignments=place), validate=True)
        for name, value in ODD_CONFIGS:
            make(f"{name}={value}", creation("configured", configs=[(name, value)]), validate=True)
        lag = [("min.compaction.lag.ms", "10"), ("max.compaction.lag.ms", "5")]
        make("lags cross", creation("configured", configs=lag), validate=True)
        twice = [("retention.ms", "1"), ("retention.ms", "2")]
        make("config twice", creation("configured", configs=twice), validate=True)
        kept = [("local.retention.ms", "10"), ("retention.ms", "5")]
        make("local above total", creation("configured", configs=kept), validate=True)
        make("several", creation("exists"), creation(f"several-{version}"), creation("no/slash"))
        make("name twice", creation("twice"), creation("twice"), creation(f"beside-{version}"))
        make("names collide", creation(f"col.a-{version}"), creation(f"col_a-{version}"), validate=True)
        make("no topic")


def deletions(asker: Asker) -> None:
    """DeleteTopics by name and by id."""
    for version in versions(20):
        name = f"deleted-{version}"

        def drop(situation: str, *topics: tuple[str | None, bytes]) -> None:
            request = m.DeleteTopicsRequest(timeout_ms=10_000)
            if version >= 6:
                request.topics = [
                    m.DeleteTopicsRequestDeleteTopicState(name=n, topic_id=i) for n, i in topics
                ]
            else:
                request.topic_names = [n or "" for n, _ in topics]
            answer = asker.exchange(version, request)
            asker.keep(f"DeleteTopics v{version} {situation}", answer)

        none = bytes(16)
        asker.make_topic(name)
        drop("by name", (name, none))
        asker.wait_until_gone(name)
        drop("again", (name, none))
        drop("unknown", ("nowhere", none))
        drop("bad name", ("no/slash", none))
        drop("empty name", ("", none))
        drop("none")
        drop("unknown twice", ("nowhere", none), ("nowhere", none))
        asker.make_topic(f"{name}-twice")
        drop("one twice", (f"{name}-twice", none), (f"{name}-twice", none))
        if version >= 6:
            topic_id = asker.make_topic(f"{name}-id")
            drop("name and id", (f"{name}-id", topic_id))
            drop("id twice", (None, topic_id), (None, topic_id))
            drop("id and its name", (None, topic_id), (f"{name}-id", none))
            drop("by id", (None, topic_id))
            asker.wait_until_gone(f"{name}-id")
            drop("by id again", (None, topic_id))
            drop("unknown id", (None, UNKNOWN_ID))
            drop("neither", (None, none))
            drop("unknown of both kinds", (None, UNKNOWN_ID), ("nowhere", none))


def metadatas(asker: Asker) -> None:
    """Metadata: known, unknown, wrong; created on the fly."""
    topic_id = asker.make_topic("described", 3)
    for version in versions(3):

        def get(
            situation: str, topics: list[tuple[str | None, bytes | None]], *, create: bool = False
        ) -> None:
            answer = asker.exchange(version, metadata(version, topics, create=create))
            asker.keep(f"Metadata v{version} {situation}", answer)

        get("one", [("described", None)])
        get("one twice", [("described", None), ("described", None)])
        if version >= 1:
            get("none", [])
        if version >= 4:
            get("unknown", [("nowhere", None)])
            get("unknown among", [("nowhere", None), ("described", None)])
            get("bad name", [("no/slash", None)])
            get("empty name", [("", None)])
            get("long name", [("x" * (LONGEST + 1), None)])
            get("collides", [("describ.ed", None), ("describ_ed", None)])
        bad = [("no/slash", None), (".", None), ("", None)]
        get("bad names to create", bad, create=True)
        if version >= 8:
            asked = metadata(version, [("described", None)])
            asked.include_topic_authorized_operations = True  # type: ignore[attr-defined]
            if version <= 10:
                asked.include_cluster_authorized_operations = True  # type: ignore[attr-defined]
            asker.ask("operations", version, asked)
            unknown = metadata(version, [("nowhere", None)])
            unknown.include_topic_authorized_operations = True  # type: ignore[attr-defined]
            asker.ask("operations of unknown", version, unknown)
        if version >= 12:
            both = metadata(version, [(None, UNKNOWN_ID), (None, topic_id)])
            both.include_topic_authorized_operations = True  # type: ignore[attr-defined]
            asker.ask("operations of unknown id", version, both)
        if version >= 10:
            get("by id", [(None, topic_id)])
            get("id and name", [("described", topic_id)])
            get("unknown id", [(None, UNKNOWN_ID)])
            get("id twice", [(None, topic_id), (None, topic_id)])
            get("unknown id and name", [("described", UNKNOWN_ID)])
            get("ids and names", [(None, topic_id), ("described", None)])
            get("neither", [(None, None)])
            get("neither beside a name", [("described", None), (None, None)])


def coordinators(asker: Asker) -> None:
    """FindCoordinator with keys that it refuses."""
    for version in versions(10):
        for kind in (2, 3, -1, 9):
            if version == 0 or (kind == 2 and version >= 6):
                continue
            for keys in (["some"], [""], ["a", "b", "a"], []):
                if version >= 4:
                    request = m.FindCoordinatorRequest(key_type=kind, coordinator_keys=keys)
                elif len(keys) == 1:
                    request = m.FindCoordinatorRequest(key=keys[0])
                    if version:
                        request.key_type = kind
                else:
                    continue
                asker.ask(f"type {kind} keys {keys}", version, request)


def producer_ids(asker: Asker) -> None:
    """InitProducerId of producers without transactions, and with wrong ones."""
    first = m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=60_000)
    asker.until(lambda: asker.exchange(1, first).error_code == 0)  # type: ignore[union-attr]
    for version in versions(22):
        for transactional_id, timeout_ms, producer_id, epoch in (
            (None, 60_000, -1, -1), (None, 0, -1, -1), (None, -1, -1, -1), ("", 60_000, -1, -1),
            (None, 60_000, 4_000_000, 1), (None, 60_000, 4_000_000, -1), (None, 60_000, -1, 3),
            (None, 60_000, 5, 32_767), (None, 60_000, -5, 0),
        ):  # fmt: skip
            if version < 3 and (producer_id, epoch) != (-1, -1):
                continue
            request = m.InitProducerIdRequest(
                transactional_id=transactional_id, transaction_timeout_ms=timeout_ms
            )
            if version >= 3:
                request.producer_id, request.producer_epoch = producer_id, epoch
            answer = asker.exchange(version, request)
            if isinstance(answer, m.InitProducerIdResponse) and answer.producer_id >= 0:
                answer.producer_id = 1  # which one is nobody's business, only that there is one
            situation = f"{transactional_id!r} {timeout_ms} {producer_id} {epoch}"
            asker.keep(f"InitProducerId v{version} {situation}", answer)


def clusters(asker: Asker) -> None:
    """DescribeCluster of brokers, controllers and neither."""
    for version in versions(60):
        for kind in (1, 2, 0, 3, -1) if version else (1,):
            for operations in (False, True):
                request = m.DescribeClusterRequest(include_cluster_authorized_operations=operations)
                if version:
                    request.endpoint_type = kind
                if version >= 2:
                    request.include_fenced_brokers = operations
                asker.ask(f"endpoints {kind} operations {operations}", version, request)


def api_versions(asker: Asker) -> None:
    """ApiVersions: names, wrong ones, features; versions nobody knows."""
    for version in versions(18):
        names = [("soft", "1.0")]
        if version >= 3:
            names += [
                ("", "1"),
                ("a", ""),
                ("-a", "1"),
                ("a-", "1"),
                ("a b", "1"),
                ("a.b-c", "1.0-x"),
                ("a\n", "1"),
            ]

        def get(situation: str, request: m.ApiVersionsRequest) -> None:
            answer = asker.exchange(version, request)
            if isinstance(answer, m.ApiVersionsResponse):
                answer.api_keys = [api for api in answer.api_keys if api.api_key in SERVED]
            asker.keep(f"ApiVersions v{version} {situation}", answer)

        for name, number in names:
            request = m.ApiVersionsRequest(client_software_name=name, client_software_version=number)
            get(f"{name!r} {number!r}", request)
        if version >= 5:
            for cluster, node in ((None, -1), (None, 1), ("other", -1), ("other", 1), (None, 7), ("", 1)):
                request = m.ApiVersionsRequest(
                    client_software_name="a", client_software_version="1", cluster_id=cluster, node_id=node
                )
                get(f"expects {cluster} {node}", request)


SITUATIONS = (creations, deletions, metadatas, coordinators, producer_ids, clusters, api_versions)
