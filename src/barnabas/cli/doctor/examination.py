"""All of a broker's directories, partition by partition, by as many processes as there are to be.

A pool of processes, not of threads: checksums are C, but walking batches is not.
"""

import errno
import os
import stat
from collections.abc import Callable, Iterator, Sequence

from barnabas.base.dataclass import dataclass, field
from barnabas.base.disk import Disk, DiskFile, OsDisk
from barnabas.cli.doctor.cluster import Cluster, read_cluster
from barnabas.cli.doctor.directory import (
    RootReport,
    compare_checkpoints,
    compare_marker,
    look_at_root,
    questions,
    twins,
)
from barnabas.cli.doctor.findings import Finding, PartitionReport, Severity
from barnabas.cli.doctor.partition import METADATA_TOPIC, PartitionQuestion, examine_partition
from barnabas.storage.checkpoints.checkpoint_file import LEADER_EPOCH_FILE
from barnabas.storage.log_manager import LOCK_FILE
from barnabas.storage.partition_metadata import FILE_NAME as PARTITION_METADATA_FILE
from barnabas.storage.producer_state.snapshots import SUFFIX as SNAPSHOT_SUFFIX
from barnabas.storage.segment import SEGMENT_SUFFIXES
from barnabas.storage.topic_partition import TopicPartition

_SPECIAL = (stat.S_IFIFO, stat.S_IFCHR, stat.S_IFBLK)
_FILE_ENDINGS = (*SEGMENT_SUFFIXES, SNAPSHOT_SUFFIX, LEADER_EPOCH_FILE, PARTITION_METADATA_FILE)

Tell = Callable[[PartitionReport, int, int], None]
"""Called with a partition's report, how many are done, and how many there are."""


class CannotExamineError(Exception):
    """The directories cannot be looked at: not there, in use, unreadable."""


@dataclass(slots=True, kw_only=True)
class Examination:
    """What was found in all directories."""

    roots: list[RootReport] = field(default_factory=list)
    cluster: Cluster = field(default_factory=Cluster)
    partitions: list[tuple[PartitionQuestion, PartitionReport]] = field(default_factory=list)
    findings: list[Finding] = field(default_factory=list)

    def all_findings(self) -> Iterator[Finding]:
        """Return all of them: of the whole, of each directory, of each partition."""
        yield from self.findings
        yield from self.cluster.findings
        for root in self.roots:
            yield from root.findings
        for _, report in self.partitions:
            yield from report.findings

    @property
    def is_clean(self) -> bool:
        """Whether there is nothing but notes."""
        return all(finding.severity is Severity.NOTE for finding in self.all_findings())

    def release(self) -> None:
        """Let go of the directories."""
        for root in self.roots:
            if root.lock is not None:
                root.lock.close()
                root.lock = None


def lock_roots(disk: Disk, roots: Sequence[str], *, live: bool, must_lock: bool) -> list[DiskFile | None]:
    """Hold the directories, so that no broker starts on them meanwhile.

    Args:
        live: look all the same at what a broker holds.
        must_lock: make the lock file when there is none.
    Raises:
        CannotExamineError: one is held, or is not there.
    """
    locks: list[DiskFile | None] = []
    for root in roots:
        if not disk.is_dir(root):
            raise CannotExamineError(f"{root} is no directory")
        path = f"{root}/{LOCK_FILE}"
        lock = None
        if must_lock or disk.exists(path):
            try:
                lock = disk.lock(path)
            except OSError as error:
                if must_lock:
                    raise CannotExamineError(f"{path}: {error}") from error
            else:
                if lock is None and not live:
                    for held in locks:
                        if held is not None:
                            held.close()
                    raise CannotExamineError(
                        f"{root} is in use: a broker or a tool holds {path}. Stop it, or look with "
                        "--live, which passes over what a running broker has not finished"
                    )
        locks.append(lock)
    return locks


def examine(roots: Sequence[str], *, jobs: int, live: bool, must_lock: bool, tell: Tell) -> Examination:
    """Read everything.

    Args:
        jobs: processes.
        live: see `lock_roots`.

    Raises:
        CannotExamineError: nothing can be said.
    """
    disk = OsDisk()
    found = Examination()
    locks = lock_roots(disk, roots, live=live, must_lock=must_lock)
    try:
        for path in roots:
            _refuse_special_files(path)
        found.roots = [look_at_root(disk, root) for root in roots]
        for root, lock in zip(found.roots, locks, strict=True):
            root.lock = lock
        found.cluster = read_cluster(disk, roots)
        asked: list[PartitionQuestion] = []
        for root in found.roots:
            compare_marker(root, found.cluster)
            asked += questions(disk, root, found.cluster, live=live)
        found.findings += twins(
            [(TopicPartition(q.topic, q.partition), q.path) for q in asked if not _is_future(q)]
        )
        _examine_all(asked, found, jobs, tell)
    except OSError as error:
        found.release()
        raise CannotExamineError(str(error)) from error
    for root in found.roots:
        logs = {
            TopicPartition(question.topic, question.partition): report
            for question, report in found.partitions
            if question.path.rpartition("/")[0] == root.path and not _is_future(question)
        }
        compare_checkpoints(root, logs, live=live, cluster=found.cluster)
    return found


def _is_future(question: PartitionQuestion) -> bool:
    return not question.path.endswith(f"/{question.name}")


def _examine_all(asked: Sequence[PartitionQuestion], found: Examination, jobs: int, tell: Tell) -> None:
    def done(question: PartitionQuestion, report: PartitionReport) -> None:
        found.partitions.append((question, report))
        tell(report, len(found.partitions), len(asked))

    if jobs <= 1 or len(asked) <= 1:
        for question in asked:
            done(question, _examine_one(question))
        return
    from concurrent.futures import ProcessPoolExecutor

    with ProcessPoolExecutor(min(jobs, len(asked))) as pool:
        for question, report in zip(asked, pool.map(_examine_one, asked), strict=True):
            done(question, report)


def _examine_one(question: PartitionQuestion) -> PartitionReport:
    """Run in a process of the pool; what cannot be read is a finding, and the next partition's turn."""
    try:
        _refuse_what_is_no_file(question.path)
        return examine_partition(OsDisk(), question)
    except OSError as error:
        report = PartitionReport(path=question.path, name=question.name, readable=False)
        where = error.filename or question.path
        report.add(
            Finding(
                severity=Severity.DAMAGE,
                kind="unreadable",
                file=str(where),
                cause=f"cannot be read: {error.strerror or error}",
            )
        )
        return report


def _refuse_special_files(root: str) -> None:
    """Refuse a data directory whose own files, or the metadata's, are none."""
    with os.scandir(root) as entries:
        for entry in entries:
            if stat.S_IFMT(os.lstat(entry.path).st_mode) in _SPECIAL:
                raise OSError(errno.EINVAL, "it is no regular file", entry.path)
    metadata = f"{root}/{METADATA_TOPIC}-0"
    if os.path.isdir(metadata):
        _refuse_what_is_no_file(metadata)


def _refuse_what_is_no_file(folder: str) -> None:
    """Refuse a folder where a broker's file is a pipe, a device, a directory or a link to nothing.

    Who opens a pipe waits for a writer, and a device may never end.

    Raises:
        OSError: naming it.
    """
    with os.scandir(folder) as entries:
        for entry in entries:
            is_link_or_special = not entry.is_file() and not entry.is_dir()
            if is_link_or_special or (entry.is_dir() and entry.name.endswith(_FILE_ENDINGS)):
                raise OSError(errno.EINVAL, "it is no regular file", entry.path)
