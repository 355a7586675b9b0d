"""Making many logs durable at once: at a stop, ten thousand of them.

Each log alone needs a sync of its segment, its indexes, its snapshot and its directory. From a few logs on,
one sync of the volume does all of that. It goes in steps, each for all logs: write what is still in memory;
sync; rename what replaces other files; sync again. A log's recovery point moves after the last of them, so
that a crash in between finds what it would have found after a crash in `Log.flush`. Where the system cannot
sync a volume, or tells no errors of it, each log is synced alone.

Rejected: threads that sync logs side by side. They shorten the wait by as much as the disk takes at once,
and not at all where a file system has one journal.
"""

from collections.abc import Callable, Iterable

from barnabas.base.disk import DiskFile, FileReplacements
from barnabas.base.errors import ApiError
from barnabas.base.logger import Logger
from barnabas.storage.flush.work import FlushWork
from barnabas.storage.log import Log
from barnabas.storage.log_directory import LogDirectory

log = Logger(__name__)

TOGETHER_FROM = 32
"""Logs to sync from which on the volume is synced instead, others' writes to it included."""


def flush_logs(directory: LogDirectory, logs: Iterable[Log], volume: DiskFile | None) -> bool:
    """Sync logs of one directory; return False when it failed, and is offline.

    Args:
        volume: any file on the directory's volume, open since before the first write of this run; None to
            sync each log alone.
    """
    return _make_durable(directory, list(logs), volume, Log.begin_flush, _never)


def close_logs(
    directory: LogDirectory, logs: Iterable[Log], volume: DiskFile | None, out_of_time: Callable[[], bool]
) -> bool:
    """Close logs of one directory as a clean stop does; return whether each is as it should be.

    Args:
        volume: as for `flush_logs`.
        out_of_time: asked before each log; once true, the rest is let go as it is.
    """
    to_close = list(logs)
    try:
        return _make_durable(directory, to_close, volume, _begin_close, out_of_time)
    finally:
        for known in to_close:
            known.abandon()


_Begin = Callable[[Log, int | None, FileReplacements | None], FlushWork | None]


def _begin_close(known: Log, _: int | None, replacements: FileReplacements | None) -> FlushWork | None:
    return known.begin_close(replacements)


def _never() -> bool:
    return False


def _make_durable(
    directory: LogDirectory,
    logs: list[Log],
    volume: DiskFile | None,
    begin: _Begin,
    out_of_time: Callable[[], bool],
) -> bool:
    try:
        together = (
            volume is not None
            and sum(not known.is_idle for known in logs) >= TOGETHER_FROM
            and volume.sync_volume()
        )
    except OSError as error:
        directory.failed(error, f"syncing the volume of {directory.path}")
        return False
    begun: list[tuple[Log, FlushWork]] = []
    replacements = FileReplacements(directory.disk) if together else None
    for known in logs:
        if out_of_time():
            return False
        try:
            work = begin(known, None, replacements)
            if work is None:
                continue
            if together:
                work.release()  # the volume's sync needs no open files
                begun.append((known, work))
            else:
                known.finish_flush(work, work.try_run())
        except ApiError as error:
            log.debug("flushing %s: %s", known.name, error)
            return False
    if replacements is None or volume is None:
        return True
    try:
        volume.sync_volume()
        if replacements.rename_all():
            volume.sync_volume()
    except OSError as error:
        directory.failed(error, f"syncing the volume of {directory.path}")
        return False
    for known, work in begun:
        known.finish_flush(work)
    return True
