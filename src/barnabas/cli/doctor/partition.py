"""One partition's directory: every file of it, against the batches and against what the broker keeps
elsewhere.

The batches are read once. Indexes, producers and leader epochs are compared as they go by, so that memory
is bounded by the index files of one segment and the producers of one partition.
"""

import re
from collections.abc import Sequence

from barnabas.base.dataclass import dataclass, field
from barnabas.base.disk import Disk
from barnabas.base.errors import DecodeError
from barnabas.base.uuids import uuid_text
from barnabas.cli.doctor.batches import GoodBatch, SegmentPlace, SegmentScan
from barnabas.cli.doctor.epochs import EpochRuns, check_epoch_file
from barnabas.cli.doctor.findings import Finding, Fix, Loss, PartitionReport, Severity
from barnabas.cli.doctor.indexes import OffsetIndexCheck, TimeIndexCheck, TransactionIndexCheck
from barnabas.cli.doctor.metadata_files import check_metadata_files
from barnabas.cli.doctor.producers import ProducerTracker
from barnabas.cli.dump.decoded_records import decoder_for
from barnabas.protocol.record_batch import parse_records
from barnabas.storage.checkpoints.checkpoint_file import LEADER_EPOCH_FILE
from barnabas.storage.partition_metadata import FILE_NAME as PARTITION_METADATA_FILE
from barnabas.storage.partition_metadata import PartitionMetadataError, read_topic_id
from barnabas.storage.producer_state import snapshots
from barnabas.storage.segment import (
    INDEX_SUFFIX,
    LOG_SUFFIX,
    SEGMENT_SUFFIXES,
    TIME_INDEX_SUFFIX,
    TRANSACTION_INDEX_SUFFIX,
)
from barnabas.storage.segment_files import DELETED_SUFFIX
from barnabas.storage.swap_files import CLEANED_SUFFIX, SWAP_SUFFIX, is_offset

EVERYTHING = 2**63 - 1
METADATA_TOPIC = "__cluster_metadata"
_OTHERS_OF_METADATA = re.compile(
    r"\d{20}-\d{10}\.checkpoint(\.part|\.deleted)?|bootstrap\.checkpoint|quorum-state"
)


@dataclass(frozen=True, slots=True, kw_only=True)
class PartitionQuestion:
    """A partition's directory, and what is known of it from elsewhere.

    Attributes:
        clean: the broker left the marker of a clean stop, so that all files must be finished.
        live: a broker may be at it: what is unfinished is not judged.
        compacted: offsets may be missing.
        recovery_point: what was synced; None when the checkpoint does not say.
        log_start_offset: where the log begins by the checkpoint; 0 when it does not say.
        topic_id: of the metadata; None when that is not known.
    """

    path: str
    topic: str
    partition: int
    clean: bool = False
    live: bool = False
    compacted: bool = False
    recovery_point: int | None = None
    log_start_offset: int = 0
    topic_id: bytes | None = None

    @property
    def name(self) -> str:
        return f"{self.topic}-{self.partition}"


@dataclass(slots=True, kw_only=True)
class _Files:
    """The names of a directory, sorted out."""

    bases: list[int] = field(default_factory=list)
    snapshots: list[int] = field(default_factory=list)
    names: set[str] = field(default_factory=set)


def examine_partition(disk: Disk, question: PartitionQuestion) -> PartitionReport:
    """Read all of a partition.

    Raises:
        OSError: the disk refuses.
    """
    report = PartitionReport(path=question.path, name=question.name)
    files = _sort_out(disk, question, report)
    _Examination(disk, question, report, files).run()
    _check_topic_id(disk, question, report, files)
    if question.topic == METADATA_TOPIC:
        last_epoch = report.epochs[-1][0] if report.epochs else -1
        report.add_all(check_metadata_files(disk, question.path, last_epoch))
    return report


def _sort_out(disk: Disk, question: PartitionQuestion, report: PartitionReport) -> _Files:
    files = _Files()
    names = disk.list_dir(question.path)
    files.names = set(names)
    left = 0
    for name in names:
        stem, dot, ending = name.partition(".")
        suffix = dot + ending
        if suffix == LOG_SUFFIX and is_offset(stem):
            files.bases.append(int(stem))
        elif suffix == snapshots.SUFFIX and is_offset(stem):
            files.snapshots.append(int(stem))
        elif suffix in SEGMENT_SUFFIXES and is_offset(stem):
            if stem + LOG_SUFFIX not in files.names:
                report.add(_leftover(question, name, "belongs to no segment; a start deletes it"))
        elif name in (LEADER_EPOCH_FILE, PARTITION_METADATA_FILE) or (
            question.topic == METADATA_TOPIC and _OTHERS_OF_METADATA.fullmatch(name)
        ):
            continue
        elif name.endswith((DELETED_SUFFIX, CLEANED_SUFFIX, SWAP_SUFFIX)):
            left += 1
        elif suffix in SEGMENT_SUFFIXES:
            report.add(
                Finding(
                    severity=Severity.START,
                    kind="unknown-name",
                    file=f"{question.path}/{name}",
                    cause="is named like a segment, but not by 20 digits: Apache Kafka cannot load this log",
                    fix=Fix.SET_ASIDE,
                )
            )
        else:
            report.add(_leftover(question, name, "is no file of a partition; brokers pass it over"))
    if left:
        cause = f"{left} files are left of deletions or compactions; a start sees to them"
        report.add(Finding(severity=Severity.NOTE, kind="leftover", file=question.path, cause=cause))
    files.bases.sort()
    return files


def _leftover(question: PartitionQuestion, name: str, cause: str) -> Finding:
    return Finding(severity=Severity.NOTE, kind="leftover", file=f"{question.path}/{name}", cause=cause)


def _check_topic_id(disk: Disk, question: PartitionQuestion, report: PartitionReport, files: _Files) -> None:
    path = f"{question.path}/{PARTITION_METADATA_FILE}"
    wrong = None
    try:
        report.topic_id = read_topic_id(disk, question.path)
    except PartitionMetadataError as error:
        wrong = str(error)
    if wrong is None and report.topic_id is not None and not _is_as_written(disk, path, report.topic_id):
        wrong = "is not as a broker writes it: Apache Kafka would not load the log"
    if wrong is None and report.topic_id is None and question.topic != METADATA_TOPIC:
        wrong = "is empty" if PARTITION_METADATA_FILE in files.names else "is missing"
        if not report.batches:
            return  # it is written before the first record
    known = question.topic_id
    if wrong is None and None not in (known, report.topic_id) and known != report.topic_id:
        wrong = "names another topic id than the metadata: a broker sets the partition aside as stray"
    if wrong is not None:
        fix = Fix.REBUILD if known is not None else Fix.NONE
        report.add(
            Finding(severity=Severity.START, kind="partition-metadata", file=path, cause=wrong, fix=fix)
        )


def _is_as_written(disk: Disk, path: str, topic_id: bytes) -> bool:
    file = disk.open_readonly(path)
    try:
        lines = file.read_at(0, 1024).decode("utf-8", "replace").splitlines()
    finally:
        file.close()
    return lines == ["version: 0", f"topic_id: {uuid_text(topic_id)}"]


class _Examination:
    """One pass over all segments."""

    def __init__(
        self, disk: Disk, question: PartitionQuestion, report: PartitionReport, files: _Files
    ) -> None:
        self._disk = disk
        self._question = question
        self._report = report
        self._files = files
        self._next_offset = files.bases[0] if files.bases else 0
        self._producers = ProducerTracker(
            disk,
            question.path,
            knows_all=self._next_offset == 0 and bool(files.bases),
            gaps=question.compacted,
        )
        self._snapshots = sorted(files.snapshots)
        self._epochs = EpochRuns()
        self._decode = decoder_for(question.topic)
        self._first_damage: Finding | None = None

    def run(self) -> None:
        report, bases = self._report, self._files.bases
        report.log_start_offset = report.log_end_offset = self._next_offset
        for number, base in enumerate(bases):
            limit = bases[number + 1] if number + 1 < len(bases) else None
            self._segment(base, limit)
        report.log_end_offset = self._next_offset
        self._compare_snapshots(None)
        self._check_end()
        report.add_all(self._epochs.findings(self._epoch_entries(), self._epochs_may_lack_from()))
        report.epochs = self._epochs.first_offsets()
        report.cut_loss = self._cut_loss()

    def _segment(self, base: int, limit: int | None) -> None:
        question, report = self._question, self._report
        stem = f"{question.path}/{base:020d}"
        path = stem + LOG_SUFFIX
        if base != self._next_offset:
            self._between_segments(path, base)
        file = self._disk.open_readonly(path)
        try:
            place = SegmentPlace(
                path=path,
                base_offset=base,
                limit=limit,
                gaps=question.compacted,
                synced_to=self._synced_to(),
            )
            scan = SegmentScan(file, place, max(base, self._next_offset))
            finished = question.clean and not question.live
            offsets = OffsetIndexCheck(self._disk, stem + INDEX_SUFFIX, base, clean=finished)
            times = TimeIndexCheck(
                self._disk, stem + TIME_INDEX_SUFFIX, base, clean=finished, sealed=limit is not None
            )
            transactions = TransactionIndexCheck(self._disk, stem + TRANSACTION_INDEX_SUFFIX, base)
            for batch in scan:
                self._take(scan)
                self._batch(batch, base, path)
                offsets.batch(batch)
                times.batch(batch)
            self._take(scan)
            self._next_offset = scan.next_offset
            report.segments += 1
            report.size_bytes += file.size()
        finally:
            file.close()
        offsets.finish()
        times.finish()
        unfinished = limit is None and not finished
        transactions.finish(self._producers.aborted, may_lack=unfinished, may_keep=question.compacted)
        self._producers.aborted.clear()
        if limit is None and question.live:
            return  # the active segment's are written when it rolls
        for index in (offsets, times):
            if not index.exists:
                report.add(index.finding("is missing; a start makes it anew"))
        for findings in (offsets.findings(), times.findings(), transactions.findings()):
            report.add_all(findings)

    def _between_segments(self, path: str, base: int) -> None:
        due = self._next_offset
        if base < due:
            cause = f"begins with offset {base}, the segment before reaches {due - 1}"
        elif self._question.compacted:
            return
        else:
            cause = f"offsets {due} to {base - 1} are missing before it, and the topic is not compacted"
        self._producers.lost_some()
        self._report.add(
            Finding(severity=Severity.DAMAGE, kind="offset-gap", file=path, offset=due, cause=cause)
        )

    def _synced_to(self) -> int:
        question = self._question
        if question.live:
            return 0
        return EVERYTHING if question.clean else max(question.recovery_point or 0, 0)

    def _take(self, scan: SegmentScan) -> None:
        """Take over what a scan found so far."""
        for finding in scan.findings:
            self._report.add(finding)
            if finding.fix in (Fix.CUT, Fix.DROP) or finding.kind == "offset-gap":
                self._producers.lost_some()
                self._first_damage = self._first_damage or finding
        scan.findings.clear()

    def _batch(self, batch: GoodBatch, segment_base: int, path: str) -> None:
        header = batch.header
        self._compare_snapshots(header.base_offset)
        self._report.batches += 1
        self._report.records += header.records_count
        self._epochs.batch(header.partition_leader_epoch, header.base_offset, path, batch.position)
        self._producers.batch(batch, segment_base)
        if self._decode is not None and not header.is_control:
            self._decode_records(batch, path)

    def _compare_snapshots(self, next_base: int | None) -> None:
        """Compare the snapshots of offsets that all batches below went by of; None at the end."""
        end = self._next_offset if next_base is None else next_base
        while self._snapshots and (self._snapshots[0] <= end or next_base is None):
            offset = self._snapshots.pop(0)
            path = f"{self._question.path}/{offset:020d}{snapshots.SUFFIX}"
            if next_base is None and offset > self._report.log_end_offset:
                self._report.add(
                    Finding(
                        severity=Severity.DERIVED,
                        kind="producer-snapshot",
                        file=path,
                        fix=Fix.REBUILD,
                        cause=f"is of offset {offset}, the log ends at {self._report.log_end_offset}",
                    )
                )
                continue
            self._report.add_all(self._producers.compare(self._disk, path))

    def _decode_records(self, batch: GoodBatch, path: str) -> None:
        assert self._decode is not None
        try:
            records = parse_records(batch.content, 0, batch.header)
        except DecodeError:
            return
        for record in records:
            problem = self._decode(record).get("undecodable")
            if problem is not None:
                is_metadata = self._question.topic == METADATA_TOPIC
                self._report.add(
                    Finding(
                        severity=Severity.START if is_metadata else Severity.NOTE,
                        kind="internal-record",
                        file=path,
                        position=batch.position,
                        offset=record.offset,
                        cause=f"the record of {self._question.topic} cannot be understood: {problem}",
                    )
                )

    def _check_end(self) -> None:
        question, report = self._question, self._report
        if question.clean and not self._files.snapshots and not self._producers.is_empty:
            report.add(
                Finding(
                    severity=Severity.DERIVED,
                    kind="producer-snapshot",
                    file=question.path,
                    fix=Fix.REBUILD,
                    cause="the log has producers and no snapshot: after a clean stop none would be known",
                )
            )
        if question.live or question.recovery_point is None or self._first_damage is not None:
            return
        if report.log_end_offset < question.recovery_point:
            missing = question.recovery_point - report.log_end_offset
            report.add(
                Finding(
                    severity=Severity.DAMAGE,
                    kind="log-end",
                    file=question.path,
                    offset=report.log_end_offset,
                    cause=f"the log ends there, but was synced up to {question.recovery_point}",
                    loss=Loss(
                        first_offset=report.log_end_offset,
                        last_offset=question.recovery_point - 1,
                        records=missing,
                    ),
                )
            )

    def _epoch_entries(self) -> Sequence[tuple[int, int]] | None:
        """Return the entries of the leader epoch file; None when there is none, or it is damaged."""
        question = self._question
        if LEADER_EPOCH_FILE not in self._files.names:
            return None
        entries, finding = check_epoch_file(
            self._disk,
            f"{question.path}/{LEADER_EPOCH_FILE}",
            self._epochs.first_offsets(),
            report=self._report,
            log_start_offset=max(question.log_start_offset, self._report.log_start_offset),
            may_lack_from=self._epochs_may_lack_from(),
            compacted=question.compacted,
        )
        if finding is not None:
            self._report.add(finding)
        return entries

    def _epochs_may_lack_from(self) -> int | None:
        """Return from where on the leader epoch file may lack epochs; None after a clean stop."""
        question = self._question
        return None if question.clean and not question.live else max(question.recovery_point or 0, 0)

    def _cut_loss(self) -> Loss:
        """Return what ending the log at its first damage would lose."""
        first = self._first_damage
        if first is None or first.offset is None:
            return Loss()
        size = 0
        for base in self._files.bases:
            path = f"{self._question.path}/{base:020d}{LOG_SUFFIX}"
            if path == first.file:
                size += self._disk.size(path) - (first.position or 0)
            elif path > first.file:
                size += self._disk.size(path)
        last = self._report.log_end_offset - 1
        return Loss(
            first_offset=first.offset,
            last_offset=max(last, first.loss.last_offset),
            size_bytes=size,
            records=max(last, first.loss.last_offset) - first.offset + 1,
        )
