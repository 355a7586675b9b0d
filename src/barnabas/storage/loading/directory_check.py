"""Looking at log directories before anything in them is touched: may this broker go on with them?

A start that finds a partition in two directories, or the message formats of Kafka 0.10, has to stop before it
takes away the marker of a clean stop or writes its first record, so that whoever wrote the directory can
still have it back. Formats are only looked for where another broker was last: its name is not in the lock
file, the one file that neither broker minds.

Looking at the first batch of a partition is enough: formats only ever went up, so the oldest batch has the
oldest one. Reading all was rejected, since a start has to be short; what a copy or an accident put elsewhere
keeps its own partition from being opened.
"""

import zlib
from collections.abc import Callable, Iterable, Iterator
from struct import Struct

from barnabas.base.disk import Disk, DiskFile
from barnabas.base.entropy import Entropy
from barnabas.base.logger import Logger
from barnabas.protocol.record_batch import LOG_OVERHEAD_BYTES
from barnabas.storage.loading.directory_loading import METADATA_PARTITION, LogManagerError
from barnabas.storage.loading.segment_check import UnsupportedLogError
from barnabas.storage.partition_directory import parse_name, stray_name
from barnabas.storage.segment import LOG_SUFFIX
from barnabas.storage.swap_files import is_offset
from barnabas.storage.topic_partition import TopicPartition

_log = Logger(__name__)

_HEAD = Struct(">8xiIb")  # length, CRC-32, magic behind the offset
_CRC_FROM = 16
_SIZE_MIN = 26
_MESSAGE_BYTES_MAX = 64 * 1024 * 1024
_USE = "barnabas, broker epoch "
_CLUSTER = "cluster "
_USE_BYTES_MAX = 400


def find_twins(
    disk: Disk, roots: Iterable[str], assigned: Callable[[TopicPartition], str | None]
) -> list[tuple[str, TopicPartition]]:
    """Return which directories of partitions are not the partition's: it lies in another one, too.

    So it is when the disk failed, and the power, in the last step of a move between directories: the metadata
    say which of the two counts.

    Args:
        roots: log.dirs; one that cannot be listed is passed over, as it goes offline.
        assigned: in which of them the metadata have a partition; None when in none.
    Raises:
        LogManagerError: nobody can tell which holds its records; names both, and what to do.
    """
    seen: dict[TopicPartition, str] = {}
    twins = []
    for root in roots:
        for key in _partitions(disk, root):
            other = seen.setdefault(key, root)
            if other == root:
                continue
            if assigned(key) not in (root, other):
                raise LogManagerError(
                    f"{key} lies in {root} and in {other}: a move between directories was interrupted, or "
                    "one is a copy; take the one with fewer records away (barnabas dump-log tells)"
                )
            twins.append((other if assigned(key) == root else root, key))
            seen[key] = assigned(key) or root
    return twins


def set_aside(disk: Disk, twins: Iterable[tuple[str, TopicPartition]], entropy: Entropy) -> None:
    """Rename directories to `-stray`; their records are kept.

    Raises:
        OSError: a disk refuses.
    """
    for root, key in twins:
        name = stray_name(key, entropy.random_bytes(16).hex())
        _log.warning("%s/%s is not where the metadata have it and is set aside as %s", root, key, name)
        disk.rename(f"{root}/{key}", f"{root}/{name}")
        disk.sync_dir(root)


def check_formats(disk: Disk, roots: Iterable[str]) -> None:
    """Refuse partitions that begin with message format 0 or 1.

    Raises:
        UnsupportedLogError: names the segment and the format.
    """
    for root in roots:
        for key in _partitions(disk, root):
            path = f"{root}/{key}"
            try:
                names = disk.list_dir(path)
            except OSError:
                continue
            stems = (name.removesuffix(LOG_SUFFIX) for name in names if name.endswith(LOG_SUFFIX))
            first = next(filter(is_offset, stems), None)
            if first is not None:
                _check_first_batch(disk, f"{path}/{first}{LOG_SUFFIX}")


def _partitions(disk: Disk, root: str) -> Iterator[TopicPartition]:
    try:
        names = disk.list_dir(root)
    except OSError:
        return
    for name in names:
        key = parse_name(name)
        if key is not None and key != METADATA_PARTITION:
            yield key


def _check_first_batch(disk: Disk, path: str) -> None:
    try:
        file = disk.open_readonly(path)
    except OSError:
        return  # told when the log is opened
    try:
        head = file.read_at(0, _HEAD.size)
        if len(head) < _HEAD.size:
            return
        length, stored, magic = _HEAD.unpack(head)
        size = length + LOG_OVERHEAD_BYTES
        if magic not in (0, 1) or not _SIZE_MIN <= size <= min(file.size(), _MESSAGE_BYTES_MAX):
            return
        if zlib.crc32(file.read_at(_CRC_FROM, size - _CRC_FROM)) != stored:
            return  # damage, which is not an old format
    except OSError:
        return
    finally:
        file.close()
    raise UnsupportedLogError(
        f"{path} holds message format {magic}; this broker reads format 2 (Kafka 0.11 and later): copy the "
        "topic into a new one with Apache Kafka, or let its retention take the old records first"
    )


def used_here_last(locks: Iterable[DiskFile], broker_epoch: int) -> bool:
    """Whether this broker was the last to register on these directories.

    Args:
        locks: the open lock files.
        broker_epoch: of the last registration in the metadata log; -1 without one.
    """
    expected = _use(broker_epoch)
    try:
        return all(lock.read_at(0, len(expected)) == expected for lock in locks)
    except OSError:
        return False


def note_use(locks: Iterable[DiskFile], broker_epoch: int, cluster_id: str) -> None:
    """Say in the lock files that this broker registered; a note that is lost costs a look at the formats.

    Args:
        broker_epoch: of this broker's registration.
        cluster_id: nothing else tells when a bit of it flips in meta.properties.
    """
    note = _use(broker_epoch) + f"{_CLUSTER}{cluster_id}\n".encode()
    for lock in locks:
        try:
            lock.truncate(0)
            lock.write_at(0, [note])
        except OSError:
            continue  # the directory's first real write tells


def cluster_of_last_use(lock: DiskFile, broker_epoch: int) -> str | None:
    """Return the cluster of the broker that was the last to register; None when the lock file does not tell.

    Args:
        broker_epoch: as for `used_here_last`.

    Raises:
        OSError: the file cannot be read.
    """
    use, found, rest = lock.read_at(0, _USE_BYTES_MAX).partition(_CLUSTER.encode())
    if not found or use != _use(broker_epoch):
        return None
    return rest.removesuffix(b"\n").decode("utf-8", "replace")


def _use(broker_epoch: int) -> bytes:
    return f"{_USE}{broker_epoch}\n".encode()
