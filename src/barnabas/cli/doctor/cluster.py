"""What the metadata log says there should be: topics and their ids, who has which directory.

It is opened as a start opens it, over a disk whose changes nobody sees; so what stops a start is found as
well.
"""

from collections.abc import Sequence

from barnabas.base.clock import SystemClock
from barnabas.base.dataclass import dataclass, field
from barnabas.base.disk import Disk
from barnabas.base.entropy import SystemEntropy
from barnabas.base.errors import ApiError
from barnabas.base.overlay_disk import OverlayDisk
from barnabas.base.uuids import uuid_text
from barnabas.cli.doctor.findings import Finding, Severity
from barnabas.metadata.formatting import (
    META_PROPERTIES,
    MetaProperties,
    read_bootstrap_checkpoint,
    read_meta_properties,
)
from barnabas.metadata.image import ConfigResourceType, MetadataImage
from barnabas.metadata.metadata_log import DIRECTORY_NAME, MetadataLog, MetadataLogConfig
from barnabas.metadata.records import MetadataError
from barnabas.storage.loading.directory_check import cluster_of_last_use
from barnabas.storage.loading.segment_check import UnsupportedLogError
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_manager import LOCK_FILE

_INTERNAL_COMPACTED = frozenset(("__consumer_offsets", "__transaction_state", "__share_group_state"))


@dataclass(slots=True, kw_only=True)
class Cluster:
    """What is known of the whole.

    Attributes:
        image: None when there is no metadata log among the directories, or it cannot be replayed.
        properties: of each root that has them.
        metadata_root: where the metadata log lies.
        deleted_topic_ids: of topics that were deleted since the newest snapshot of the metadata.
    """

    image: MetadataImage | None = None
    properties: dict[str, MetaProperties] = field(default_factory=dict)
    metadata_root: str | None = None
    deleted_topic_ids: set[bytes] = field(default_factory=set)
    findings: list[Finding] = field(default_factory=list)

    def topic_id(self, topic: str) -> bytes | None:
        """Return the id that a topic's partitions must have."""
        known = None if self.image is None else self.image.topics.get(topic)
        return None if known is None else known.topic_id

    def is_compacted(self, topic: str) -> bool:
        """Whether compaction may have left gaps in a topic's logs."""
        if topic in _INTERNAL_COMPACTED:
            return True
        if self.image is None:
            return False
        return "compact" in self.image.config(ConfigResourceType.TOPIC, topic).get("cleanup.policy", "")


def read_cluster(disk: Disk, roots: Sequence[str]) -> Cluster:
    """Read who the directories belong to, and what the metadata say."""
    cluster = Cluster()
    for root in roots:
        path = f"{root}/{META_PROPERTIES}"
        try:
            properties = read_meta_properties(disk, root)
        except (MetadataError, OSError) as error:
            cluster.findings.append(_finding("meta-properties", path, str(error)))
            continue
        if properties is None:
            cluster.findings.append(
                _finding(
                    "meta-properties", path, "is missing: a start would format the directory, or refuse it"
                )
            )
            continue
        cluster.properties[root] = properties
    _compare_properties(cluster)
    cluster.metadata_root = next((root for root in roots if disk.is_dir(f"{root}/{DIRECTORY_NAME}")), None)
    if cluster.metadata_root is not None:
        _load_image(disk, cluster)
    _compare_registration(disk, cluster)
    return cluster


def _compare_properties(cluster: Cluster) -> None:
    known = list(cluster.properties.items())
    seen: dict[bytes, str] = {}
    for root, properties in known:
        path = f"{root}/{META_PROPERTIES}"
        first_root, first = known[0]
        for name, this, that in (
            ("cluster.id", properties.cluster_id, first.cluster_id),
            ("node.id", properties.node_id, first.node_id),
        ):
            if this != that:
                cause = f"{name} is {this}, in {first_root} it is {that}"
                cluster.findings.append(_finding("meta-properties", path, cause))
        if properties.directory_id is not None:
            other = seen.setdefault(properties.directory_id, root)
            if other != root:
                cluster.findings.append(
                    _finding("meta-properties", path, f"has the directory.id of {other}: one is a copy")
                )


def _load_image(disk: Disk, cluster: Cluster) -> None:
    root = cluster.metadata_root
    assert root is not None
    path = f"{root}/{DIRECTORY_NAME}"
    properties = cluster.properties.get(root)
    if properties is None:
        return  # whose metadata they are is not known; that was told
    image = MetadataImage()
    overlay = OverlayDisk(disk)
    log = MetadataLog(
        directory=LogDirectory(overlay, root),
        node_id=properties.node_id,
        clock=SystemClock(),
        entropy=SystemEntropy(),
        config=MetadataLogConfig(),
    )
    try:
        loaded = log.load(image, read_bootstrap_checkpoint(overlay, root))
        log.open()
    except (MetadataError, ApiError, UnsupportedLogError, OSError) as error:
        cluster.findings.append(_finding("metadata", path, f"cannot be replayed: {error}"))
        return
    cluster.image = image
    cluster.deleted_topic_ids = loaded.topic_ids_deleted


def _compare_registration(disk: Disk, cluster: Cluster) -> None:
    image = cluster.image
    if image is None:
        return
    for root, properties in cluster.properties.items():
        broker = image.brokers.get(properties.node_id)
        path = f"{root}/{META_PROPERTIES}"
        if broker is None:
            if image.brokers:
                known = ", ".join(map(str, image.brokers))
                cause = f"node.id is {properties.node_id}, the metadata know {known}"
                cluster.findings.append(_finding("meta-properties", path, cause))
            continue
        cluster_id = _cluster_of_last_use(disk, root, broker.broker_epoch)
        if cluster_id not in (None, properties.cluster_id):
            cause = (
                f"cluster.id is {properties.cluster_id}, but {LOCK_FILE} says that the broker was of "
                f"{cluster_id}"
            )
            cluster.findings.append(_finding("meta-properties", path, cause))
        directory_id = properties.directory_id
        if directory_id is None and broker.log_dirs:
            known = ", ".join(map(uuid_text, broker.log_dirs))
            cause = (
                f"names no directory.id, the metadata know {known}: a start gives it another, and what lies "
                "in it would be offline"
            )
            cluster.findings.append(_finding("meta-properties", path, cause))
        if directory_id is not None and broker.log_dirs and directory_id not in broker.log_dirs:
            known = ", ".join(map(uuid_text, broker.log_dirs))
            cause = f"directory.id {uuid_text(directory_id)} was never registered; the metadata know {known}"
            cluster.findings.append(_finding("meta-properties", path, cause))


def _cluster_of_last_use(disk: Disk, root: str, broker_epoch: int) -> str | None:
    try:
        lock = disk.open_readonly(f"{root}/{LOCK_FILE}")
    except OSError:
        return None
    try:
        return cluster_of_last_use(lock, broker_epoch)
    except OSError:
        return None
    finally:
        lock.close()


def _finding(kind: str, path: str, cause: str) -> Finding:
    return Finding(severity=Severity.START, kind=kind, file=path, cause=cause)
