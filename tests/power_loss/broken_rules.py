"""Rules of durability, each broken by hand: what a simulation is worth shows in what it does not overlook.

Each entry changes one thing in the broker's code that a tired programmer could get wrong, and nothing of the
simulation. `test_power_loss.py` runs seeds until one of them fails. That a start syncs what a killed process
wrote is not among them, since three thousand seeds do not need it: test_group_commit.py tests it alone.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager
from typing import Any
from unittest import mock

from barnabas.base import disk as base_disk
from barnabas.coordinator.transactions.shard import TransactionShard
from barnabas.metadata import formatting, quorum_state
from barnabas.metadata.controller import PRODUCER_ID_BLOCK, Controller
from barnabas.metadata.metadata_log import MetadataLog
from barnabas.server.coordinators import Coordinators
from barnabas.sim.disk import MemoryFile
from barnabas.storage import leader_epochs, partition_metadata
from barnabas.storage.checkpoints import checkpoint_file, directory_checkpoints
from barnabas.storage.compaction import cleaned_segment
from barnabas.storage.flush import durable_logs
from barnabas.storage.flush.durability import Durability
from barnabas.storage.flush.work import FlushWork
from barnabas.storage.loading import directory_loading, recovery
from barnabas.storage.log import Log
from barnabas.storage.producer_state import replay

Patches = Iterator[tuple[Any, str, Any]]

DURABLE_WRITERS = (
    checkpoint_file,
    directory_checkpoints,
    leader_epochs,
    partition_metadata,
    formatting,
    quorum_state,
)


def nothing(*_: Any, **__: Any) -> None:
    """Leave it out."""


def appended_names_are_not_synced() -> Patches:
    yield FlushWork, "add_directory", nothing


def files_are_not_synced_but_said_to_be() -> Patches:
    yield FlushWork, "run", nothing


def sealed_segments_are_not_synced_with_the_rest() -> Patches:
    yield Durability, "_add_sealed", nothing


def appends_are_answered_before_their_sync() -> Patches:
    yield Log, "_hold_from", nothing


def recovery_points_run_ahead_of_syncs() -> Patches:
    begin = Durability.begin

    def ahead(self: Durability, end: int, *args: Any) -> Any:
        work = begin(self, end, *args)
        self.recovery_point = max(self.recovery_point, end)
        return work

    yield Durability, "begin", ahead


def the_clean_marker_stays() -> Patches:
    def keep(directory: Any) -> bool:
        path = f"{directory.path}/{directory_checkpoints.CLEAN_SHUTDOWN_FILE}"
        return bool(directory.disk.exists(path))

    yield directory_checkpoints, "take_clean_marker", keep


def the_clean_marker_is_unlinked_without_a_sync() -> Patches:
    def forget(directory: Any) -> bool:
        path = f"{directory.path}/{directory_checkpoints.CLEAN_SHUTDOWN_FILE}"
        if not directory.disk.exists(path):
            return False
        directory.disk.unlink(path)
        return True

    yield directory_checkpoints, "take_clean_marker", forget


def a_clean_stop_syncs_nothing() -> Patches:
    def close(directory: Any, logs: Any, *_: Any) -> bool:
        for known in list(logs):
            known.abandon()
        return True

    yield durable_logs, "close_logs", close
    yield durable_logs, "flush_logs", lambda *_: True


def metadata_are_answered_before_their_sync() -> Patches:
    yield MetadataLog, "flush", nothing


def producer_ids_are_not_reserved() -> Patches:
    given: dict[int, int] = {}

    def unreserved(self: Controller) -> range:
        first = given.get(id(self), max(self.image.next_producer_id, 0))
        given[id(self)] = first + PRODUCER_ID_BLOCK
        return range(first, first + PRODUCER_ID_BLOCK)

    yield Controller, "allocate_producer_ids", unreserved


def replaced_files_are_not_synced() -> Patches:
    write = base_disk._write_whole

    def unsynced(disk: Any, path: str, content: bytes, *, sync: bool) -> None:
        write(disk, path, content, sync=False)

    yield base_disk, "_write_whole", unsynced


def replaced_names_are_not_synced() -> Patches:
    def write(disk: Any, path: str, content: bytes) -> None:
        base_disk._write_whole(disk, f"{path}.tmp", content, sync=True)
        disk.rename(f"{path}.tmp", path)

    for module in DURABLE_WRITERS:
        yield module, "write_file_durably", write


def batches_are_not_checked_after_a_crash() -> Patches:
    finish = recovery.OpeningLog.prepare

    def trusting(self: Any) -> None:
        finish(self)
        self.to_scan = self.to_scan[-1:]
        self._unflushed = self._unflushed[-1:]

    yield recovery.OpeningLog, "prepare", trusting


def holes_are_served() -> Patches:
    yield recovery.OpeningLog, "_hole_behind", lambda *_: False


def producers_are_not_told_of_batches_after_a_crash() -> Patches:
    yield replay, "apply_head", nothing
    yield recovery, "apply_scan", _without_producers(recovery.apply_scan)


def _without_producers(apply: Callable[..., Any]) -> Callable[..., Any]:
    def applied(segment: Any, scan: Any, epochs: Any, producers: Any, *args: Any) -> Any:
        before = dict(producers.producers)
        result = apply(segment, scan, epochs, producers, *args)
        producers.producers.clear()
        producers.producers.update(before)
        return result

    return applied


def cleaned_segments_are_not_synced() -> Patches:
    yield cleaned_segment, "_sync_files", nothing
    finish = cleaned_segment.CleanedSegment.finish

    def unsynced(self: Any, *args: Any) -> Any:
        with mock.patch.object(MemoryFile, "sync", nothing):
            return finish(self, *args)

    yield cleaned_segment.CleanedSegment, "finish", unsynced


def decided_transactions_are_not_finished_after_a_crash() -> Patches:
    yield TransactionShard, "_write_markers", nothing


def lost_transactions_are_left_alone() -> Patches:
    yield TransactionShard, "_follow_logs", nothing


def stops_forget_that_lost_transactions_were_not_looked_for() -> Patches:
    yield Coordinators, "note_unchecked", nothing


def gaps_of_compacted_logs_are_served() -> Patches:
    yield directory_loading.DirectoryLoading, "_gapless_from", lambda *_: None


RULES: dict[str, Callable[[], Patches]] = {
    rule.__name__: rule
    for rule in (
        appended_names_are_not_synced,
        files_are_not_synced_but_said_to_be,
        sealed_segments_are_not_synced_with_the_rest,
        appends_are_answered_before_their_sync,
        recovery_points_run_ahead_of_syncs,
        the_clean_marker_stays,
        the_clean_marker_is_unlinked_without_a_sync,
        a_clean_stop_syncs_nothing,
        metadata_are_answered_before_their_sync,
        producer_ids_are_not_reserved,
        replaced_files_are_not_synced,
        replaced_names_are_not_synced,
        batches_are_not_checked_after_a_crash,
        holes_are_served,
        producers_are_not_told_of_batches_after_a_crash,
        cleaned_segments_are_not_synced,
        decided_transactions_are_not_finished_after_a_crash,
        lost_transactions_are_left_alone,
        stops_forget_that_lost_transactions_were_not_looked_for,
        gaps_of_compacted_logs_are_served,
    )
}


@contextmanager
def broken(rule: Callable[[], Patches]) -> Iterator[None]:
    """Break a rule for a while."""
    with ExitStack() as stack:
        for target, name, replacement in rule():
            stack.enter_context(mock.patch.object(target, name, replacement))
        yield
