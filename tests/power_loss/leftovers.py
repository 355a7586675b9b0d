"""What may lie in a log directory once everything is quiet: nothing that nobody needs."""

from __future__ import annotations

from typing import Any

from barnabas.sim.disk import MemoryDisk
from tests.power_loss.history import expect
from tests.power_loss.machine import ROOT

_ROOT_FILES = {
    ".barnabas-unchecked-transactions",
    ".lock",
    "meta.properties",
    "recovery-point-offset-checkpoint",
    "log-start-offset-checkpoint",
    "replication-offset-checkpoint",
    "cleaner-offset-checkpoint",
}
_PARTITION_FILES = {"partition.metadata", "leader-epoch-checkpoint"}
_SEGMENT_SUFFIXES = (".log", ".index", ".timeindex", ".txnindex")
_SNAPSHOT_SUFFIX = ".snapshot"


def check_leftovers(disk: MemoryDisk, logs: Any) -> None:
    """Check every name of the log directory against what the open logs need."""
    open_logs = {log.name: log for log in logs.logs.values()}
    for name in disk.list_dir(ROOT):
        path = f"{ROOT}/{name}"
        # What was on its way when the power went is overwritten the next time: one file at most.
        if not disk.is_dir(path):
            expect(name.removesuffix(".tmp") in _ROOT_FILES | {".kafka_cleanshutdown"}, f"{path} is left")
        elif name == "__cluster_metadata-0" or name.endswith("-stray"):
            continue
        else:
            expect(name in open_logs, f"{path} is left")
            _check_partition(disk, path, open_logs[name])


def _check_partition(disk: MemoryDisk, path: str, log: Any) -> None:
    bases = set(log.segments.base_offsets)
    snapshots = 0
    for name in disk.list_dir(path):
        if name.removesuffix(".tmp") in _PARTITION_FILES:
            continue
        stem, dot, suffix = name.partition(".")
        is_segment = dot + suffix in _SEGMENT_SUFFIXES and stem.isdigit() and int(stem) in bases
        is_snapshot = dot + suffix == _SNAPSHOT_SUFFIX
        snapshots += is_snapshot
        expect(is_segment or is_snapshot, f"{path}/{name} is left")
    expect(snapshots <= len(bases) + 2, f"{path} has {snapshots} snapshots for {len(bases)} segments")
