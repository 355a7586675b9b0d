"""A directory of log.dirs: whose it is, what lies in it, and whether its checkpoints fit its logs."""

import re
from collections.abc import Iterator, Mapping, Sequence

from barnabas.base.dataclass import dataclass, field
from barnabas.base.disk import Disk, DiskFile
from barnabas.base.uuids import METADATA_TOPIC_ID
from barnabas.cli.doctor.cluster import Cluster
from barnabas.cli.doctor.epochs import is_as_written
from barnabas.cli.doctor.findings import Finding, Fix, Loss, PartitionReport, Severity
from barnabas.cli.doctor.metadata_files import check_snapshot
from barnabas.cli.doctor.partition import METADATA_TOPIC, PartitionQuestion
from barnabas.metadata.formatting import BOOTSTRAP_CHECKPOINT
from barnabas.storage.checkpoints import checkpoint_file
from barnabas.storage.checkpoints.checkpoint_file import CheckpointError
from barnabas.storage.checkpoints.directory_checkpoints import CLEAN_SHUTDOWN_FILE
from barnabas.storage.partition_directory import parse_name
from barnabas.storage.partition_metadata import PartitionMetadataError, read_topic_id
from barnabas.storage.topic_partition import TopicPartition

OFFSET_FILES = (
    checkpoint_file.RECOVERY_POINT_FILE,
    checkpoint_file.LOG_START_OFFSET_FILE,
    checkpoint_file.HIGH_WATERMARK_FILE,
    checkpoint_file.CLEANER_OFFSET_FILE,
)
_LEAVING = re.compile(r"(?P<topic>.+)-(?P<partition>\d+)\.[0-9a-f]{32}-(?P<how>delete|future|stray)")
_LEAVING_CUT = re.compile(r".+\.[0-9a-f]{32}-(delete|stray)")
_MARKER_BYTES_MAX = 4096


@dataclass(slots=True, kw_only=True)
class RootReport:
    """What a directory holds and what was found.

    Attributes:
        path: of the directory.
        clean: whether the broker left the marker of a clean stop.
        broker_epoch: what the marker says of it; None for nothing.
        offsets: by checkpoint file, what it says; a damaged one says nothing.
        lock: held while it is looked at; None when it could not be had.
    """

    path: str
    clean: bool = False
    broker_epoch: int | None = None
    offsets: dict[str, dict[TopicPartition, int]] = field(default_factory=dict)
    findings: list[Finding] = field(default_factory=list)
    lock: DiskFile | None = None

    def recovery_point(self, key: TopicPartition) -> int | None:
        return self.offsets.get(checkpoint_file.RECOVERY_POINT_FILE, {}).get(key)

    def start_is_wrong(self, key: TopicPartition, log: PartitionReport) -> bool:
        """Whether a log has never come to where it starts by the checkpoint; else it has lost its end."""
        others = (checkpoint_file.RECOVERY_POINT_FILE, checkpoint_file.HIGH_WATERMARK_FILE)
        reached = max(self.offsets.get(name, {}).get(key, 0) for name in others)
        start = self.offsets.get(checkpoint_file.LOG_START_OFFSET_FILE, {}).get(key, 0)
        return log.readable and start > max(log.log_end_offset, reached)


def look_at_root(disk: Disk, root: str) -> RootReport:
    """Read the files in a directory's root."""
    report = RootReport(path=root)
    marker = f"{root}/{CLEAN_SHUTDOWN_FILE}"
    report.clean = disk.exists(marker)
    if report.clean:
        _check_marker(disk, marker, report)
    bootstrap = f"{root}/{BOOTSTRAP_CHECKPOINT}"
    if disk.exists(bootstrap):
        report.findings += check_snapshot(disk, bootstrap, is_newest=True)
    for name in OFFSET_FILES:
        path = f"{root}/{name}"
        try:
            offsets = checkpoint_file.read_offsets(disk, path)
            lines = [f"{key.topic} {key.partition} {offset}" for key, offset in offsets.items()]
            if disk.exists(path) and disk.size(path) and not is_as_written(disk, path, lines):
                raise CheckpointError("it is not as a broker writes it")
            report.offsets[name] = offsets
        except CheckpointError as error:
            cause = f"is damaged, and taken for absent: {error}"
            report.findings.append(_finding("checkpoint", path, cause, Fix.REBUILD))
    return report


def _check_marker(disk: Disk, path: str, report: RootReport) -> None:
    import json

    file = disk.open_readonly(path)
    try:
        content = file.read_at(0, _MARKER_BYTES_MAX)
    finally:
        file.close()
    try:
        fields = json.loads(content)
        is_right = (
            fields["version"] == 0 and isinstance(fields["brokerEpoch"], int) and fields["brokerEpoch"] >= -1
        )
        report.broker_epoch = fields["brokerEpoch"] if is_right else None
    except (ValueError, KeyError, TypeError):
        is_right = False
    if not is_right and content:  # Kafka before 3.7 left it empty
        report.findings.append(_finding("clean-marker", path, "is no marker of a clean stop", Fix.SET_ASIDE))


def questions(disk: Disk, report: RootReport, cluster: Cluster, *, live: bool) -> Iterator[PartitionQuestion]:
    """Return the partitions to read; note the names that are none."""
    for name in disk.list_dir(report.path):
        path = f"{report.path}/{name}"
        if not disk.is_dir(path):
            continue
        leaving = _LEAVING.fullmatch(name)
        key = parse_name(name)
        if leaving is not None or _LEAVING_CUT.fullmatch(name):
            report.findings.append(_leaving(path, leaving["how"] if leaving else "delete"))
            if leaving is None or leaving["how"] != "future":
                continue
            key = TopicPartition(leaving["topic"], int(leaving["partition"]))
        if key is None:
            report.findings.append(
                Finding(
                    severity=Severity.START,
                    kind="unknown-name",
                    file=path,
                    fix=Fix.SET_ASIDE,
                    cause="is no partition's directory: Apache Kafka does not start beside it",
                )
            )
            continue
        is_metadata = key.topic == METADATA_TOPIC
        cleaned = report.offsets.get(checkpoint_file.CLEANER_OFFSET_FILE, {})
        starts = report.offsets.get(checkpoint_file.LOG_START_OFFSET_FILE, {})
        _check_known(disk, report, cluster, key, path)
        yield PartitionQuestion(
            path=path,
            topic=key.topic,
            partition=key.partition,
            # The metadata log is synced with every append, and its checkpoint entry is not kept.
            clean=report.clean and not is_metadata and leaving is None,
            live=live,
            compacted=not is_metadata and (cluster.is_compacted(key.topic) or key in cleaned),
            recovery_point=None if is_metadata or leaving else report.recovery_point(key),
            log_start_offset=0 if is_metadata or leaving else starts.get(key, 0),
            topic_id=METADATA_TOPIC_ID if is_metadata else cluster.topic_id(key.topic),
        )


def compare_marker(report: RootReport, cluster: Cluster) -> None:
    """Say whether the marker of a clean stop is of the broker's last run."""
    properties = cluster.properties.get(report.path)
    if cluster.image is None or properties is None or report.broker_epoch is None:
        return
    broker = cluster.image.brokers.get(properties.node_id)
    if broker is not None and report.broker_epoch not in (-1, broker.broker_epoch):
        path = f"{report.path}/{CLEAN_SHUTDOWN_FILE}"
        cause = f"is of broker epoch {report.broker_epoch}, the metadata know {broker.broker_epoch}"
        report.findings.append(_finding("clean-marker", path, cause, Fix.SET_ASIDE))


def _leaving(path: str, how: str) -> Finding:
    what = {
        "delete": "is being deleted; a start goes on with that",
        "stray": "was set aside, since the metadata did not know it; nothing reads it",
        "future": "is a move between directories that is not finished; a broker goes on with it",
    }
    return Finding(severity=Severity.NOTE, kind="leftover", file=path, cause=what[how])


def _check_known(disk: Disk, report: RootReport, cluster: Cluster, key: TopicPartition, path: str) -> None:
    image = cluster.image
    if image is None or key.topic == METADATA_TOPIC:
        return
    if image.partition(key.topic, key.partition) is None:
        if _was_deleted(disk, cluster, path):
            cause = "is of a topic that was deleted; a start of Barnabas goes on with that"
            report.findings.append(Finding(severity=Severity.NOTE, kind="leftover", file=path, cause=cause))
            return
        cause = "is of no partition that the metadata know: a start sets it aside as stray"
        report.findings.append(Finding(severity=Severity.START, kind="stray", file=path, cause=cause))


def _was_deleted(disk: Disk, cluster: Cluster, path: str) -> bool:
    try:
        return read_topic_id(disk, path) in cluster.deleted_topic_ids
    except (PartitionMetadataError, OSError):
        return False  # told with the partition


def compare_checkpoints(
    report: RootReport, logs: Mapping[TopicPartition, PartitionReport], *, live: bool, cluster: Cluster
) -> None:
    """Say where the checkpoints of a directory do not fit its logs."""
    for name, offsets in report.offsets.items():
        path = f"{report.path}/{name}"
        for key, offset in offsets.items():
            if key.topic == METADATA_TOPIC:
                continue
            log = logs.get(key)
            if log is None:
                _missing_log(report, path, key, offset, cluster)
            elif log.readable:
                wrong = _misfit(name, key, offset, log, clean=report.clean and not live)
                if wrong is not None and not live:
                    report.findings.append(_finding("checkpoint", path, wrong, Fix.REBUILD))
    points = report.offsets.get(checkpoint_file.RECOVERY_POINT_FILE)
    if report.clean and not live and points is not None:
        path = f"{report.path}/{checkpoint_file.RECOVERY_POINT_FILE}"
        for key, log in logs.items():
            if key not in points and log.batches and key.topic != METADATA_TOPIC:
                report.findings.append(_finding("checkpoint", path, f"does not name {key}", Fix.REBUILD))


def _missing_log(report: RootReport, path: str, key: TopicPartition, offset: int, cluster: Cluster) -> None:
    known = cluster.image is not None and cluster.image.partition(*key) is not None
    name = path.rpartition("/")[2]
    if known and offset > 0:
        report.findings.append(
            Finding(
                severity=Severity.DAMAGE,
                kind="missing-log",
                file=f"{report.path}/{key}",
                cause=f"is not there; {name} has offset {offset} of it: a start makes it anew, empty",
                loss=Loss(first_offset=0, last_offset=offset - 1, records=offset),
            )
        )
    elif not known and cluster.image is not None:
        cause = f"names {key}, which the metadata do not know"
        report.findings.append(_finding("checkpoint", path, cause, Fix.REBUILD))


def _misfit(name: str, key: TopicPartition, offset: int, log: PartitionReport, *, clean: bool) -> str | None:
    start, end = log.log_start_offset, log.log_end_offset
    if name == checkpoint_file.LOG_START_OFFSET_FILE:
        fits = start <= offset <= end or (offset < start)
        return None if fits else f"{key} starts at {offset}, but ends at {end}: a start drops all its records"
    if not 0 <= offset <= end:
        return f"{key}: {offset}, the log ends at {end}"
    if name == checkpoint_file.RECOVERY_POINT_FILE and clean and offset != end:
        return f"{key}: {offset}, after a clean stop it is the log's end, {end}"
    return None


def twins(paths: Sequence[tuple[TopicPartition, str]]) -> Iterator[Finding]:
    """Say which partitions lie in two directories."""
    seen: dict[TopicPartition, str] = {}
    for key, path in paths:
        other = seen.setdefault(key, path)
        if other != path:
            cause = f"lies in {other}, too: no broker starts; the one with fewer records has to go"
            yield Finding(severity=Severity.START, kind="twin", file=path, cause=cause)


def _finding(kind: str, path: str, cause: str, fix: Fix) -> Finding:
    return Finding(severity=Severity.DERIVED, kind=kind, file=path, cause=cause, fix=fix)
