"""log.dirs before the first start and at every one after: who owns a directory, and what the log begins with.

An empty set of directories is formatted as Apache Kafka 4.4's storage tool does for a standalone quorum:
`meta.properties` in each, and in the metadata directory a first checkpoint with the voters and the features.
A directory that was formatted is checked before anything is written in any of them; one that holds anything
else is refused, since formatting it could bury somebody's data. `meta.properties` is written last, so a crash
in between leaves a directory that is formatted again.
"""

from __future__ import annotations

import os
from collections.abc import Mapping, Sequence

from barnabas.base.dataclass import dataclass
from barnabas.base.disk import Disk, write_file_durably
from barnabas.base.entropy import Entropy
from barnabas.base.hints import Final
from barnabas.base.uuids import random_uuid, uuid_from_text, uuid_text
from barnabas.metadata.features import bootstrap_feature_records
from barnabas.metadata.image import Endpoint
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
_FILE_BYTES_MAX: Final = 64 * 1024
_HARMLESS: Final = frozenset({".lock", "lost+found", META_PROPERTIES + ".tmp"})


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


@dataclass(frozen=True, slots=True, kw_only=True)
class LogDirsPlan:
    """Checked log directories, and what is still to be written in them.

    Attributes:
        log_dirs: as they will be.
        node_id: whose they are, or will be.
        unnamed: paths with a meta.properties that lacks a directory.id: of a release before 3.7.
    """

    log_dirs: LogDirs
    node_id: int
    unnamed: tuple[str, ...] = ()

    @property
    def is_new(self) -> bool:
        """Whether there is no metadata yet."""
        return self.log_dirs.metadata_dir in self.log_dirs.formatted


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
    """Check formatted directories and format empty ones: inspect_log_dirs() and prepare_log_dirs() in one.

    Args:
        controller_endpoint: the address under which this node votes.
        now_ms: milliseconds since 1970.
    Raises:
        MetadataError, OSError: as those.
    """
    plan = inspect_log_dirs(
        disk=disk,
        log_dirs=log_dirs,
        metadata_dir=metadata_dir,
        node_id=node_id,
        entropy=entropy,
        cluster_id=cluster_id,
    )
    prepare_log_dirs(disk, plan, controller_endpoint=controller_endpoint, now_ms=now_ms)
    return plan.log_dirs


def inspect_log_dirs(
    *,
    disk: Disk,
    log_dirs: Sequence[str],
    metadata_dir: str,
    node_id: int,
    entropy: Entropy,
    cluster_id: str | None = None,
) -> LogDirsPlan:
    """Find out whose directories these are and what they lack; changes nothing.

    Args:
        log_dirs: absolute paths; they may be missing.
        metadata_dir: where the metadata log lives: metadata.log.dir, or the first of log_dirs.
        cluster_id: to format with, or to insist on; None takes what is there, else a random one.
    Raises:
        MetadataError: a directory belongs to another cluster or node, holds something else, or is damaged.
        OSError: the disk refused.
    """
    paths = list(dict.fromkeys([*log_dirs, metadata_dir]))
    found = {path: read_meta_properties(disk, path) for path in paths}
    known = {path: properties for path, properties in found.items() if properties is not None}
    existing = _check_owner(known, node_id, cluster_id)
    stored = {path: properties.directory_id for path, properties in known.items()}
    named = [directory_id for directory_id in stored.values() if directory_id is not None]
    if len(set(named)) != len(named):
        twins = [path for path, one in stored.items() if one is not None and named.count(one) > 1]
        raise MetadataError(
            f"{' and '.join(twins)} have the same directory.id: one is a copy of the other; take the copy "
            "out of log.dirs"
        )
    if existing is not None and metadata_dir not in known:
        raise MetadataError(
            f"{metadata_dir} holds no metadata, but other log.dirs belong to cluster {existing}; "
            "metadata.log.dir, or the order of log.dirs, was changed"
        )
    for path in paths:
        if path not in known:
            _check_empty(disk, path)
        elif path != metadata_dir and disk.exists(f"{path}/{DIRECTORY_NAME}"):
            raise MetadataError(
                f"{path} holds a metadata log, but it is looked for in {metadata_dir}: metadata.log.dir, or "
                "the order of log.dirs, was changed"
            )
    if existing is not None and not _has_metadata(disk, metadata_dir):
        raise MetadataError(
            f"{metadata_dir} is formatted, but its metadata are gone: neither {DIRECTORY_NAME} nor "
            f"{BOOTSTRAP_CHECKPOINT} is there; restore them from a copy, or start on an empty directory"
        )
    return LogDirsPlan(
        log_dirs=LogDirs(
            cluster_id=cluster_id or existing or uuid_text(random_uuid(entropy)),
            metadata_dir=metadata_dir,
            directory_ids={path: stored.get(path) or random_uuid(entropy) for path in paths},
            # The metadata directory goes first: after a crash the others, still empty, join its cluster.
            formatted=tuple(sorted((p for p in paths if p not in known), key=lambda p: p != metadata_dir)),
        ),
        node_id=node_id,
        unnamed=tuple(path for path, directory_id in stored.items() if directory_id is None),
    )


def _has_metadata(disk: Disk, metadata_dir: str) -> bool:
    if disk.exists(f"{metadata_dir}/{BOOTSTRAP_CHECKPOINT}"):
        return True
    log_path = f"{metadata_dir}/{DIRECTORY_NAME}"
    return disk.is_dir(log_path) and any(
        name.endswith((".log", ".checkpoint")) for name in disk.list_dir(log_path)
    )


def _check_owner(known: Mapping[str, MetaProperties], node_id: int, cluster_id: str | None) -> str | None:
    """Return the cluster that all directories belong to, None when none is formatted."""
    for path, properties in known.items():
        if properties.node_id != node_id:
            raise MetadataError(
                f"{path} belongs to node.id {properties.node_id}, but node.id is {node_id}; "
                "use its own directories or set node.id"
            )
    clusters = {path: properties.cluster_id for path, properties in known.items()}
    if len(set(clusters.values())) > 1:
        listed = ", ".join(f"{path}: {name}" for path, name in clusters.items())
        raise MetadataError(f"log.dirs belong to different clusters ({listed})")
    existing = next(iter(clusters.values()), None)
    if cluster_id is not None and existing is not None and cluster_id != existing:
        raise MetadataError(f"log.dirs belong to cluster {existing}, not to {cluster_id}")
    return existing


def prepare_log_dirs(disk: Disk, plan: LogDirsPlan, *, controller_endpoint: Endpoint, now_ms: int) -> None:
    """Format what is empty, and give a directory of a release before 3.7 its id, as Apache Kafka does.

    Args:
        controller_endpoint: the address under which this node votes.
        now_ms: milliseconds since 1970.
    Raises:
        OSError: the disk refused.
    """
    dirs = plan.log_dirs
    for path in (*dirs.formatted, *plan.unnamed):
        properties = MetaProperties(
            cluster_id=dirs.cluster_id, node_id=plan.node_id, directory_id=dirs.directory_ids[path]
        )
        if path in plan.unnamed:
            write_meta_properties(disk, path, properties)
            continue
        quorum = None
        if path == dirs.metadata_dir:
            quorum = standalone_quorum(plan.node_id, dirs.directory_ids[path], controller_endpoint)
        _format_one(disk, path, properties, quorum, now_ms)


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
        version = values["version"]
        if version == "0":
            raise MetadataError(
                f"{name} is of version 0, of a broker that was run with ZooKeeper; this broker reads version "
                "1: migrate the cluster to KRaft with Apache Kafka 3.9 first"
            )
        if version != "1":
            raise MetadataError(
                f"{name} is of version {version}; this broker reads version 1: use a broker of the release "
                "that wrote it"
            )
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
    disk: Disk, path: str, properties: MetaProperties, quorum: Quorum | None, now_ms: int
) -> None:
    """Make a directory; with a quorum it is the one of the metadata."""
    disk.make_dirs(path)
    if quorum is not None:
        log_path = f"{path}/{DIRECTORY_NAME}"
        disk.make_dirs(log_path)
        batches = encode_snapshot(
            bootstrap_feature_records(), quorum=quorum, epoch=0, last_timestamp=now_ms, timestamp=now_ms
        )
        write_snapshot_file(disk, log_path, BOOTSTRAP_ID, batches)
    disk.sync_dir(path)
    write_meta_properties(disk, path, properties)
    parent = os.path.dirname(path.rstrip("/"))
    if parent:
        disk.sync_dir(parent)


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
