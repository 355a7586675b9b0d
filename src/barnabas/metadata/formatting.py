"""log.dirs before the first start and at every one after: who owns a directory, and what the log begins with.

An empty set of directories is formatted as Apache Kafka 4.4's storage tool does for a standalone quorum:
`meta.properties` in each, and in the metadata directory a first checkpoint with the voters and the features.
A directory that was formatted is checked, never changed; one that holds anything else is refused, since
formatting it could bury somebody's data. `meta.properties` is written last, so a crash in between leaves a
directory that is formatted again.
"""

from __future__ import annotations

import os
from collections.abc import Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.disk import Disk, write_file_durably
from barnabas.base.entropy import Entropy
from barnabas.base.hints import Final
from barnabas.base.uuids import random_uuid, uuid_from_text, uuid_text
from barnabas.metadata.image import METADATA_VERSION, METADATA_VERSION_MAX, METADATA_VERSION_MIN, Endpoint
from barnabas.metadata.java_properties import parse_properties
from barnabas.metadata.metadata_log import DIRECTORY_NAME
from barnabas.metadata.records import MetadataError, VersionedRecord
from barnabas.metadata.snapshots import (
    BOOTSTRAP_ID,
    PART_SUFFIX,
    Quorum,
    encode_snapshot,
    read_snapshot_file,
    write_snapshot_file,
)
from barnabas.protocol import messages

META_PROPERTIES: Final = "meta.properties"
BOOTSTRAP_CHECKPOINT: Final = "bootstrap.checkpoint"
KRAFT_VERSION: Final = "kraft.version"
_FILE_BYTES_MAX: Final = 64 * 1024
_HARMLESS: Final = frozenset({".lock", "lost+found", META_PROPERTIES + ".tmp"})

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


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirs:
    """Formatted, checked log directories.

    Attributes:
        directory_ids: path -> directory.id, in the order of log.dirs.
        formatted: the paths this start formatted.
    """

    cluster_id: str
    metadata_dir: str
    directory_ids: dict[str, bytes]
    formatted: tuple[str, ...] = ()


@dataclass(frozen=True, slots=True, kw_only=True)
class MetaProperties:
    """The content of a meta.properties file of version 1."""

    cluster_id: str
    node_id: int
    directory_id: bytes | None


def open_log_dirs(
    *,
    disk: Disk,
    log_dirs: Sequence[str],
    metadata_dir: str,
    node_id: int,
    controller_endpoint: Endpoint,
    entropy: Entropy,
    now_ms: int,
    cluster_id: str | None = None,
) -> LogDirs:
    """Check formatted directories and format empty ones.

    Args:
        log_dirs: absolute paths; made when missing.
        metadata_dir: where the metadata log lives: metadata.log.dir, or the first of log_dirs.
        controller_endpoint: the address under which this node votes.
        now_ms: milliseconds since 1970.
        cluster_id: to format with, or to insist on; None takes what is there, else a random one.
    Raises:
        MetadataError: a directory belongs to another cluster or node, holds something else, or is damaged.
        OSError: the disk refused.
    """
    paths = list(dict.fromkeys([*log_dirs, metadata_dir]))
    found = {path: read_meta_properties(disk, path) for path in paths}
    for path, properties in found.items():
        if properties is not None and properties.node_id != node_id:
            raise MetadataError(
                f"{path} belongs to node.id {properties.node_id}, but node.id is {node_id}; "
                "use its own directories or set node.id"
            )
    known = {path: properties.cluster_id for path, properties in found.items() if properties is not None}
    if len(set(known.values())) > 1:
        listed = ", ".join(f"{path}: {name}" for path, name in known.items())
        raise MetadataError(f"log.dirs belong to different clusters ({listed})")
    existing = next(iter(known.values()), None)
    if cluster_id is not None and existing is not None and cluster_id != existing:
        raise MetadataError(f"log.dirs belong to cluster {existing}, not to {cluster_id}")
    if existing is not None and found[metadata_dir] is None:
        raise MetadataError(
            f"{metadata_dir} holds no metadata, but other log.dirs belong to cluster {existing}; "
            "metadata.log.dir, or the order of log.dirs, was changed"
        )
    chosen = cluster_id or existing or uuid_text(random_uuid(entropy))
    ids: dict[str, bytes] = {}
    formatted: list[str] = []
    # The metadata directory goes first: after a crash the others, still empty, join the cluster it names.
    for path in sorted(paths, key=lambda item: item != metadata_dir):
        properties = found[path]
        if properties is None:
            _check_empty(disk, path)
            ids[path] = random_uuid(entropy)
            _format_one(
                disk,
                path,
                cluster_id=chosen,
                node_id=node_id,
                directory_id=ids[path],
                with_metadata=path == metadata_dir,
                endpoint=controller_endpoint,
                now_ms=now_ms,
            )
            formatted.append(path)
        else:
            ids[path] = properties.directory_id or _add_directory_id(disk, path, properties, entropy)
    if len(set(ids.values())) != len(ids):
        raise MetadataError("two log.dirs have the same directory.id: one is a copy of the other")
    return LogDirs(
        cluster_id=chosen,
        metadata_dir=metadata_dir,
        directory_ids={path: ids[path] for path in paths},
        formatted=tuple(formatted),
    )


def read_meta_properties(disk: Disk, path: str) -> MetaProperties | None:
    """Return what a directory's meta.properties says; None when there is none.

    Raises:
        MetadataError: it is damaged, or not of version 1 (version 0 is of ZooKeeper's time).
    """
    name = f"{path}/{META_PROPERTIES}"
    if not disk.exists(name):
        return None
    file = disk.open_readonly(name)
    try:
        content = file.read_at(0, min(file.size(), _FILE_BYTES_MAX))
    finally:
        file.close()
    try:
        values = parse_properties(content.decode("utf-8"))
        version = values.get("version")
        if version != "1":
            raise MetadataError(f"{name} is of version {version}; this broker reads version 1")
        cluster_id = values["cluster.id"]
        node_id = int(values["node.id"])
        directory = values.get("directory.id")
        directory_id = None if directory is None else uuid_from_text(directory)
    except KeyError as error:
        raise MetadataError(f"{name} lacks {error.args[0]}") from error
    except ValueError as error:
        raise MetadataError(f"{name} is damaged: {error}") from error
    return MetaProperties(cluster_id=cluster_id, node_id=node_id, directory_id=directory_id)


def write_meta_properties(disk: Disk, path: str, properties: MetaProperties) -> None:
    """Write meta.properties durably."""
    lines = [
        "version=1",
        f"cluster.id={properties.cluster_id}",
        f"node.id={properties.node_id}",
    ]
    if properties.directory_id is not None:
        lines.append(f"directory.id={uuid_text(properties.directory_id)}")
    write_file_durably(disk, f"{path}/{META_PROPERTIES}", ("\n".join(lines) + "\n").encode())


def bootstrap_feature_records() -> list[VersionedRecord]:
    """Return the records that finalise the default features."""
    return [
        VersionedRecord(messages.FeatureLevelRecord(name=name, feature_level=level))
        for name, level in DEFAULT_FEATURES.items()
    ]


def read_bootstrap_checkpoint(disk: Disk, metadata_dir: str) -> list[VersionedRecord]:
    """Return the records of `bootstrap.checkpoint`, which formatting for configured voters leaves.

    Raises:
        MetadataError: it is damaged.
    """
    path = f"{metadata_dir}/{BOOTSTRAP_CHECKPOINT}"
    if not disk.exists(path):
        return []
    return [entry.record for entry in read_snapshot_file(disk, path) if entry.record is not None]


def standalone_quorum(node_id: int, directory_id: bytes, endpoint: Endpoint) -> Quorum:
    """Return a quorum of this node alone (KIP-853)."""
    voter = messages.VotersRecordVoter(
        voter_id=node_id,
        voter_directory_id=directory_id,
        endpoints=[messages.VotersRecordEndpoint(name=endpoint.name, host=endpoint.host, port=endpoint.port)],
        kraft_version_feature=messages.VotersRecordKRaftVersionFeature(
            min_supported_version=0, max_supported_version=1
        ),
    )
    return Quorum(kraft_version=1, voters=messages.VotersRecord(version=0, voters=[voter]))


def _format_one(
    disk: Disk,
    path: str,
    *,
    cluster_id: str,
    node_id: int,
    directory_id: bytes,
    with_metadata: bool,
    endpoint: Endpoint,
    now_ms: int,
) -> None:
    disk.make_dirs(path)
    if with_metadata:
        log_path = f"{path}/{DIRECTORY_NAME}"
        disk.make_dirs(log_path)
        batches = encode_snapshot(
            bootstrap_feature_records(),
            quorum=standalone_quorum(node_id, directory_id, endpoint),
            epoch=0,
            last_timestamp=now_ms,
            timestamp=now_ms,
        )
        write_snapshot_file(disk, log_path, BOOTSTRAP_ID, batches)
    disk.sync_dir(path)
    write_meta_properties(
        disk, path, MetaProperties(cluster_id=cluster_id, node_id=node_id, directory_id=directory_id)
    )
    parent = os.path.dirname(path.rstrip("/"))
    if parent:
        disk.sync_dir(parent)


def _add_directory_id(disk: Disk, path: str, properties: MetaProperties, entropy: Entropy) -> bytes:
    """Give a directory of a release before 3.7 an id, as Apache Kafka does when it starts on one."""
    directory_id = random_uuid(entropy)
    write_meta_properties(
        disk,
        path,
        MetaProperties(
            cluster_id=properties.cluster_id, node_id=properties.node_id, directory_id=directory_id
        ),
    )
    return directory_id


def _check_empty(disk: Disk, path: str) -> None:
    if not disk.exists(path):
        return
    if not disk.is_dir(path):
        raise MetadataError(f"{path} is no directory")
    left_by_formatting = {BOOTSTRAP_ID.file_name, BOOTSTRAP_ID.file_name.replace(".checkpoint", PART_SUFFIX)}
    for name in disk.list_dir(path):
        if name in _HARMLESS:
            continue
        if name == DIRECTORY_NAME and set(disk.list_dir(f"{path}/{name}")) <= left_by_formatting:
            continue
        raise MetadataError(
            f"{path} holds {name!r} but no {META_PROPERTIES}, so it is neither empty nor a log directory; "
            "name another one in log.dirs"
        )
