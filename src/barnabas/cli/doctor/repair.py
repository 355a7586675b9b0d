"""Mending what was found, in an order that a crash cannot hurt.

First the copies and their names are on the disk. Then the marker of a clean stop goes, and the recovery
points of
the logs that will change are taken back to their beginnings: a start after a crash in the middle checks all
of them. Then segments get their new files, one rename each, and everything that is made of them is made
anew by the storage layer's recovery, which a start would use. Checkpoints are written last, of what is
there then.

A second repair finds nothing to do.
"""

import os
from collections.abc import Sequence
from datetime import UTC, datetime

from barnabas.base.clock import SystemClock
from barnabas.base.dataclass import dataclass, field
from barnabas.base.disk import Disk, OsDisk
from barnabas.base.entropy import SystemEntropy
from barnabas.base.errors import ApiError
from barnabas.base.hints import Any
from barnabas.cli.doctor.backup import Backup, free_name
from barnabas.cli.doctor.directory import RootReport
from barnabas.cli.doctor.examination import Examination
from barnabas.cli.doctor.findings import Finding, Fix, PartitionReport, Patch, Severity
from barnabas.cli.doctor.mending import TEMPORARY_SUFFIX, SegmentMending, mend_segment
from barnabas.cli.doctor.partition import METADATA_TOPIC, PartitionQuestion, examine_partition
from barnabas.storage.checkpoints import checkpoint_file
from barnabas.storage.checkpoints.directory_checkpoints import CLEAN_SHUTDOWN_FILE
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.loading.recovery import OpeningLog, open_log
from barnabas.storage.loading.segment_check import UnsupportedLogError
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.partition_metadata import write_topic_id
from barnabas.storage.segment import LOG_SUFFIX
from barnabas.storage.segment_cache import SegmentCache
from barnabas.storage.topic_partition import TopicPartition

_BYTES_MAX = 2**31 - 1


class CannotRepairError(Exception):
    """Nothing was changed, or no more than was told."""


@dataclass(frozen=True, slots=True, kw_only=True)
class Action:
    """One thing that was done."""

    path: str
    what: str

    def to_json(self) -> dict[str, Any]:
        return {"file": self.path, "done": self.what}


@dataclass(slots=True, kw_only=True)
class Repaired:
    """What was done.

    Attributes:
        left: findings that are still there.
        copies: directories that hold what was changed, as it was.
    """

    actions: list[Action] = field(default_factory=list)
    left: int = 0
    copies: list[str] = field(default_factory=list)

    def did(self, path: str, what: str) -> None:
        self.actions.append(Action(path=path, what=what))


@dataclass(frozen=True, slots=True, kw_only=True)
class _Plan:
    """What is to be done to a partition."""

    question: PartitionQuestion
    report: PartitionReport
    mendings: Sequence[SegmentMending]
    removed: Sequence[str]
    set_aside: Sequence[str]
    rebuild: bool
    topic_id: bytes | None


def repair(found: Examination, *, mode: str, backup_to: str | None) -> Repaired:
    """Mend what the mode allows.

    Args:
        found: still holding the directories' locks.
        mode: "lossless", "drop-batches" or "truncate".
        backup_to: where copies go; None for beside each directory.

    Raises:
        CannotRepairError, OSError: the disk refuses; a start or another repair finds everything usable.
    """
    disk = OsDisk()
    done = Repaired()
    stamp = datetime.now(UTC).strftime("%Y%m%d-%H%M%S")
    for root in found.roots:
        name = f"{os.path.basename(root.path)}.doctor-{stamp}"
        target = free_name(os.path.join(backup_to or os.path.dirname(root.path), name))
        if f"{os.path.realpath(target)}/".startswith(f"{os.path.realpath(root.path)}/"):
            raise CannotRepairError(
                f"the copies would lie within {root.path}, where a broker would look at them"
            )
        _repair_root(disk, found, root, Backup(root.path, target), mode, done)
    left = [f for f in found.all_findings() if f.severity is not Severity.NOTE]
    done.left = len(left)
    return done


def _repair_root(  # noqa: PLR0917 - called once
    disk: Disk, found: Examination, root: RootReport, backup: Backup, mode: str, done: Repaired
) -> None:
    mine = [pair for pair in found.partitions if os.path.dirname(pair[0].path) == root.path]
    plans = [
        plan for plan in (_plan(question, report, mode) for question, report in mine) if plan is not None
    ]
    of_root = [finding for finding in root.findings if finding.fix in (Fix.REBUILD, Fix.SET_ASIDE)]
    if not plans and not of_root:
        return
    for name in (*root.offsets, *(f.file.rpartition("/")[2] for f in of_root), CLEAN_SHUTDOWN_FILE):
        if os.path.isfile(f"{root.path}/{name}"):
            backup.keep(f"{root.path}/{name}")
    for plan in plans:
        for name in disk.list_dir(plan.question.path):
            path = f"{plan.question.path}/{name}"
            if not path.endswith(TEMPORARY_SUFFIX):
                backup.keep(path)
    if backup.used:
        backup.sync()
        done.copies.append(backup.target)
    _forget_wrong_starts(disk, root, mine, done)
    _doubt(disk, root, plans)
    for plan in plans:
        _carry_out(disk, found, root, plan, backup, done)
    for finding in list(of_root):
        if finding.fix is Fix.SET_ASIDE and os.path.exists(finding.file):
            backup.move(finding.file)
            done.did(finding.file, f"moved to {backup.target}")
        root.findings.remove(finding)
    _write_checkpoints(disk, found, root, done, told={f.file for f in of_root})


def _forget_wrong_starts(
    disk: Disk, root: RootReport, mine: Sequence[tuple[PartitionQuestion, PartitionReport]], done: Repaired
) -> None:
    """Take starts that cannot be out of the checkpoint: a start, or this repair, would drop the records."""
    starts = root.offsets.get(checkpoint_file.LOG_START_OFFSET_FILE, {})
    wrong = {
        key
        for question, report in mine
        if (key := TopicPartition(question.topic, question.partition)) in starts
        and question.path == f"{root.path}/{question.name}"
        and root.start_is_wrong(key, report)
    }
    if wrong:
        right = {key: offset for key, offset in starts.items() if key not in wrong}
        path = f"{root.path}/{checkpoint_file.LOG_START_OFFSET_FILE}"
        checkpoint_file.write_offsets(disk, path, right)
        root.offsets[checkpoint_file.LOG_START_OFFSET_FILE] = right
        done.did(path, "written without starts that lie behind their logs")


def _doubt(disk: Disk, root: RootReport, plans: Sequence[_Plan]) -> None:
    """Have a start check everything of the logs that are going to change."""
    marker = f"{root.path}/{CLEAN_SHUTDOWN_FILE}"
    if disk.exists(marker):
        disk.unlink(marker)
        disk.sync_dir(root.path)
    root.clean = False
    points = dict(root.offsets.get(checkpoint_file.RECOVERY_POINT_FILE, {}))
    for plan in plans:
        points.pop(TopicPartition(plan.question.topic, plan.question.partition), None)
    checkpoint_file.write_offsets(disk, f"{root.path}/{checkpoint_file.RECOVERY_POINT_FILE}", points)


def _plan(question: PartitionQuestion, report: PartitionReport, mode: str) -> _Plan | None:
    """Return what is to be done, None for nothing."""
    if not question.path.endswith(f"/{question.name}"):
        return None  # a move that is not finished begins anew
    fixable = [finding for finding in report.findings if finding.fix is not Fix.NONE]
    # What was never synced is cut by any start; it is of no use to anybody.
    damage = [f for f in report.damage if f.severity is Severity.DAMAGE]
    tails = [f for f in report.damage if f.severity is Severity.NOTE]
    if not [f for f in fixable if f.severity is not Severity.NOTE]:
        return None
    allowed = mode == "truncate" or (mode == "drop-batches" and question.topic != METADATA_TOPIC)
    patches: dict[str, list[Patch]] = {}
    for finding in fixable:
        if finding.fix is Fix.RESTORE:
            patches.setdefault(finding.file, []).extend(finding.patches)
    ends: dict[str, int] = {f.file: f.position or 0 for f in tails}
    dropped: dict[str, list[Finding]] = {}
    removed: list[str] = []
    if damage and allowed:
        first = min(damage, key=lambda f: (f.file, f.position or 0))
        if mode == "truncate":
            ends[first.file] = first.position or 0
            removed = [path for path in _segments(question.path) if path > first.file]
        else:
            for finding in damage:
                if finding.fix is Fix.CUT:
                    ends[finding.file] = finding.position or 0
                else:
                    dropped.setdefault(finding.file, []).append(finding)
    files = sorted({*patches, *ends, *dropped} - set(removed))
    mendings = [
        SegmentMending(
            path=path, patches=patches.get(path, ()), dropped=dropped.get(path, ()), end=ends.get(path)
        )
        for path in files
    ]
    names_id = any(f.kind == "partition-metadata" and f.fix is Fix.REBUILD for f in fixable)
    plan = _Plan(
        question=question,
        report=report,
        mendings=mendings,
        removed=removed,
        set_aside=[f.file for f in fixable if f.fix is Fix.SET_ASIDE],
        # Recovery would end the log at damage that is to stay.
        rebuild=not damage or allowed,
        topic_id=question.topic_id if names_id else None,
    )
    return plan if plan.rebuild or plan.mendings or plan.set_aside or plan.topic_id is not None else None


def _segments(path: str) -> list[str]:
    return sorted(f"{path}/{name}" for name in os.listdir(path) if name.endswith(LOG_SUFFIX))


def _carry_out(  # noqa: PLR0917 - called once
    disk: Disk, found: Examination, root: RootReport, plan: _Plan, backup: Backup, done: Repaired
) -> None:
    question = plan.question
    for name in disk.list_dir(question.path):
        if name.endswith(TEMPORARY_SUFFIX):
            disk.unlink(f"{question.path}/{name}")  # of a repair that was interrupted
    for path in plan.set_aside:
        backup.move(path)
        done.did(path, f"moved to {backup.target}")
    # From the last: what is left after a crash in between has no hole.
    for path in reversed(plan.removed):
        os.unlink(path)
        done.did(path, "removed: it lies behind the first damage")
    for mending in reversed(plan.mendings):
        mend_segment(disk, mending)
        done.did(mending.path, _mending_text(mending))
    if plan.topic_id is not None:
        write_topic_id(disk, question.path, plan.topic_id)
        done.did(f"{question.path}/partition.metadata", "written with the topic id of the metadata")
    if plan.rebuild:
        _rebuild(disk, root, plan, done)
    report = examine_partition(disk, _as_mended(question))
    for number, (known, _) in enumerate(found.partitions):
        if known is question:
            found.partitions[number] = (question, report)


def _mending_text(mending: SegmentMending) -> str:
    parts = []
    if mending.patches:
        parts.append(f"{len(mending.patches)} places put right")
    if mending.dropped:
        parts.append(f"{len(mending.dropped)} damaged stretches left out")
    if mending.end is not None:
        parts.append(f"cut at byte {mending.end}")
    return ", ".join(parts)


def _as_mended(question: PartitionQuestion) -> PartitionQuestion:
    return PartitionQuestion(
        path=question.path,
        topic=question.topic,
        partition=question.partition,
        clean=question.topic != METADATA_TOPIC,
        compacted=question.compacted,
        log_start_offset=question.log_start_offset,
        topic_id=question.topic_id,
    )


def _rebuild(disk: Disk, root: RootReport, plan: _Plan, done: Repaired) -> None:
    """Make everything anew that is made of the batches."""
    question = plan.question
    clock = SystemClock()
    key = TopicPartition(question.topic, question.partition)
    try:
        opening = OpeningLog(
            directory=LogDirectory(disk, root.path),
            path=question.path,
            topic=question.topic,
            partition=question.partition,
            config=LogConfig(
                segment_bytes=_BYTES_MAX,
                max_message_bytes=_BYTES_MAX,
                retention_bytes=-1,
                retention_ms=-1,
                # Gaps that are there are to stay: what was to be cut is cut.
                cleanup_policy=frozenset({"compact"}),
            ),
            clock=clock,
            cache=SegmentCache(),
            deletions=PendingDeletions(disk),
            random_below=SystemEntropy().random_below,
            recovery_point=0,
            log_start_offset=root.offsets.get(checkpoint_file.LOG_START_OFFSET_FILE, {}).get(key, 0),
            names=[n for n in disk.list_dir(question.path) if not n.endswith(TEMPORARY_SUFFIX)],
        )
        open_log(opening).log.close()
    except (ApiError, UnsupportedLogError) as error:
        raise CannotRepairError(f"{question.path}: {error}") from error
    done.did(question.path, "indexes, producer snapshots and leader epochs made anew")


def _write_checkpoints(
    disk: Disk, found: Examination, root: RootReport, done: Repaired, *, told: set[str]
) -> None:
    """Write the checkpoints as far as they fit the logs."""
    logs = {
        TopicPartition(question.topic, question.partition): report
        for question, report in found.partitions
        if question.path == f"{root.path}/{question.name}" and question.topic != METADATA_TOPIC
    }
    for name in (
        checkpoint_file.RECOVERY_POINT_FILE,
        checkpoint_file.LOG_START_OFFSET_FILE,
        checkpoint_file.HIGH_WATERMARK_FILE,
        checkpoint_file.CLEANER_OFFSET_FILE,
    ):
        path = f"{root.path}/{name}"
        known = root.offsets.get(name)
        made = name in (checkpoint_file.RECOVERY_POINT_FILE, checkpoint_file.HIGH_WATERMARK_FILE)
        offsets: dict[TopicPartition, int] = {}
        for key, log in logs.items():
            offset = None if known is None else known.get(key)
            if not log.readable:
                # What could not be read may still be mended, or copied, and then needs what is known of it.
                if offset is not None:
                    offsets[key] = offset
                continue
            if offset is None and not (
                made and (known is None or name == checkpoint_file.RECOVERY_POINT_FILE)
            ):
                continue
            end = log.log_end_offset
            offsets[key] = end if offset is None else min(max(offset, 0), end)
        if known is None or offsets != known:
            if known is None and not disk.exists(path):
                continue
            checkpoint_file.write_offsets(disk, path, offsets)
            root.offsets[name] = offsets
            if path in told:
                done.did(path, "written of what the logs hold")
        elif name == checkpoint_file.RECOVERY_POINT_FILE:
            checkpoint_file.write_offsets(disk, path, offsets)
