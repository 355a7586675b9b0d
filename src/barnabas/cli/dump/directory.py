"""Which reader a file gets: by its name, and for its records' meaning by the directory it lies in."""

import os
import re
from collections.abc import Iterator

from barnabas.base.dataclass import dataclass
from barnabas.base.disk import Disk, DiskFile
from barnabas.cli.dump.batches import BatchOptions, BatchSpan, dump_batches, read_spans
from barnabas.cli.dump.decoded_records import decoder_for
from barnabas.cli.dump.findings import Findings, Problem
from barnabas.cli.dump.indexes import (
    SegmentSpans,
    dump_offset_index,
    dump_time_index,
    dump_transaction_index,
)
from barnabas.cli.dump.state_files import (
    dump_checkpoint,
    dump_json,
    dump_producer_snapshot,
    dump_properties,
)

STATE_FILE_BYTES_MAX = 256 * 1024 * 1024
"""Small files are read whole; one of this size is something else."""

_LEFT_ENDINGS = (".deleted", ".cleaned", ".swap", ".part")
"""What a file's name ends with while it is deleted or compacted; it is read as what it was or will be."""

_OFFSET_DIGITS = 20
_PARTITION_DIRECTORY = re.compile(r"(?P<topic>.+)-\d+(\.[0-9a-f]{32}-(delete|future|stray))?")
_KNOWN_ENDINGS = (".log", ".index", ".timeindex", ".txnindex", ".snapshot", ".checkpoint")
_KNOWN_NAMES = frozenset(
    {
        "leader-epoch-checkpoint",
        "recovery-point-offset-checkpoint",
        "log-start-offset-checkpoint",
        "replication-offset-checkpoint",
        "cleaner-offset-checkpoint",
        "partition.metadata",
        "meta.properties",
        "quorum-state",
        ".kafka_cleanshutdown",
    }
)


@dataclass(frozen=True, slots=True, kw_only=True)
class DumpOptions:
    """What to show; checks are made in any case.

    Args:
        deep: records too.
        print_data: keys, values and headers of records.
        decode: show the meaning of records of Kafka's own topics.
        topic: whose records they are; None goes by the directory.
    """

    deep: bool = False
    print_data: bool = False
    decode: bool = True
    topic: str | None = None


def files_under(disk: Disk, path: str) -> Iterator[str]:
    """Yield the files that can be dumped: the path itself, or those in it and its partition directories."""
    if not disk.is_dir(path):
        yield path
        return
    for name in disk.list_dir(path):
        inner = os.path.join(path, name)
        if disk.is_dir(inner):
            if _PARTITION_DIRECTORY.fullmatch(name):
                yield from files_under(disk, inner)
        elif name in _KNOWN_NAMES or _without_left_ending(name)[0].endswith(_KNOWN_ENDINGS):
            yield inner


def dump_file(disk: Disk, path: str, options: DumpOptions) -> Findings:
    """Yield what a file holds and what is wrong with it.

    Raises:
        OSError: it cannot be read.
    """
    file = disk.open_readonly(path)
    try:
        yield from _dump(disk, path, file, options)
    finally:
        file.close()


def _dump(disk: Disk, path: str, file: DiskFile, options: DumpOptions) -> Findings:
    name, left_ending = _without_left_ending(os.path.basename(path))
    stem, ending = os.path.splitext(name)
    base_offset = _base_offset(stem)
    if ending == ".log" or (ending == ".checkpoint" and (stem == "bootstrap" or "-" in stem)):
        topic = options.topic or ("__cluster_metadata" if ending == ".checkpoint" else _topic_of(path))
        batches = BatchOptions(
            deep=options.deep,
            print_data=options.print_data,
            decode=decoder_for(topic) if options.decode else None,
        )
        yield from dump_batches(file, base_offset if ending == ".log" else None, batches)
    elif ending in (".index", ".timeindex", ".txnindex"):
        if base_offset is None:
            yield Problem(text=f"the name is no {_OFFSET_DIGITS}-digit base offset")
            return
        log = _log_beside(disk, os.path.join(os.path.dirname(path), f"{stem}.log{left_ending}"))
        if log is None:
            yield Problem(text="there is no log beside this index", damage=False)
        readers = {
            ".index": dump_offset_index,
            ".timeindex": dump_time_index,
            ".txnindex": dump_transaction_index,
        }
        yield from readers[ending](file, base_offset, log)
    else:
        yield from _dump_state(name, file)


def _dump_state(name: str, file: DiskFile) -> Findings:
    size = file.size()
    if size > STATE_FILE_BYTES_MAX:
        yield Problem(text=f"{size} bytes are too many for this kind of file")
        return
    data = file.read_at(0, size)
    if name.endswith(".snapshot"):
        yield from dump_producer_snapshot(data)
    elif name == "leader-epoch-checkpoint":
        yield from dump_checkpoint(data, ("epoch", "start_offset"))
    elif name.endswith("-checkpoint"):
        yield from dump_checkpoint(data, ("topic", "partition", "offset"))
    elif name in ("partition.metadata", "meta.properties"):
        yield from dump_properties(data)
    elif name in ("quorum-state", ".kafka_cleanshutdown"):
        yield from dump_json(data)
    else:
        yield Problem(text="not a file of a log directory")


def _without_left_ending(name: str) -> tuple[str, str]:
    """Return a name without what says that the file is on its way, and that."""
    for ending in _LEFT_ENDINGS:
        if name.endswith(ending):
            return name.removesuffix(ending), ending
    return name, ""


def _base_offset(stem: str) -> int | None:
    return int(stem) if len(stem) == _OFFSET_DIGITS and stem.isascii() and stem.isdigit() else None


def _topic_of(path: str) -> str | None:
    found = _PARTITION_DIRECTORY.fullmatch(os.path.basename(os.path.dirname(os.path.abspath(path))))
    return found["topic"] if found else None


def _log_beside(disk: Disk, path: str) -> SegmentSpans | None:
    if not disk.exists(path):
        return None
    file = disk.open_readonly(path)
    try:
        return SegmentSpans.of([span for span in read_spans(file) if isinstance(span, BatchSpan)])
    finally:
        file.close()
