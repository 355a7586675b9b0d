"""Which partitions this broker hosts, kept in step with the metadata image.

The image says what should be; a delta says where to look. Partitions appear and go with their logs; one
whose log cannot be opened is remembered as offline, so that clients hear KAFKA_STORAGE_ERROR and not that
it does not exist. A flat table by (topic, number) is what the hot path looks up; per-topic tables
would cost a second look-up for each partition of each fetch.

One request may create ten thousand partitions, and their files take seconds to make. So a change opens some
at once and the rest in later turns of the loop, with everybody else's requests in between. Until then a
partition answers NOT_LEADER_OR_FOLLOWER, as Apache Kafka's do for a moment after they were created, and
clients try again.
"""

from collections import deque
from collections.abc import Callable, Collection, Iterable, Iterator, Mapping
from itertools import islice

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Protocol
from barnabas.base.logger import Logger
from barnabas.base.uuids import uuid_text
from barnabas.metadata.image import (
    DIRECTORY_MIGRATING,
    DIRECTORY_UNASSIGNED,
    ConfigResourceType,
    MetadataDelta,
    MetadataImage,
    PartitionImage,
    TopicImage,
)
from barnabas.replica.partition import Partition
from barnabas.replica.partition_state import PartitionState
from barnabas.replica.partition_traffic import PartitionTraffic
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.topic_partition import TopicPartition

logger = Logger(__name__)

OPENED_PER_TURN = 64
"""New partitions opened in one turn of the loop at most: about 30 ms on an idle disk."""

DELETED_PER_TURN = 256
"""Logs of deleted partitions taken away in one turn at most: about 10 ms."""

TURN_MS = 15
"""After which no further one is begun in this turn: a disk that others keep busy takes ten times as long."""

FIRST_TURN_MS = 60
"""The same in the turn in which partitions are made: a small topic is best whole when its making is told."""


class LogStore(Protocol):
    """What this layer needs of storage's log manager."""

    @property
    def high_watermarks(self) -> Mapping[tuple[str, int], int]:
        """As the checkpoints had them at start."""

    @property
    def logs(self) -> Mapping[TopicPartition, Log]:
        """All open logs."""

    def get_or_create(
        self, topic: str, partition: int, topic_id: bytes, config: LogConfig, *, is_new: bool
    ) -> Log:
        """Return the log of a partition, made if there is none.

        Args:
            is_new: the partition was just made, so its log cannot lie on a directory that is offline.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR; INCONSISTENT_TOPIC_ID, the log is another topic's of that name.
        """

    def set_aside(self, topic: str, partition: int) -> None:
        """Rename a log that the metadata does not know to `-stray`; its records are kept.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """

    def delete(self, topic: str, partition: int) -> None:
        """Take a log away; its files go later, slices in flight stay good.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """

    def checkpoint_high_watermarks(self, high_watermarks: Mapping[tuple[str, int], int]) -> None:
        """Write the replication-offset-checkpoint of every directory."""

    def when_log_starts_are_written(self, changed: Iterable[LogDirectory], then: Callable[[], None]) -> None:
        """Call back once the log starts of directories are on the disk, or the directories offline."""


class HostedPartitions:
    """The partitions of one broker.

    Args:
        local_id: this broker's node id.
        image: the live image; read, never kept parts of.
        log_config_for: the effective log configuration of a topic as the image has it now.
        now_ms: reads the monotonic clock.
        call_soon: runs a function at the end of the loop's turn, or of the next one; None opens all at once.

    Attributes:
        directory_ids: of `log.dirs`; a partition that lies in none of them is offline instead of made anew,
            empty. None where that is not known.
        deleted_topic_ids: topics that the metadata log says were deleted; their logs that `load` finds are
            what a crash has left of the deletion.
        on_opened: told (topic id, number) of partitions that were opened in a later turn than they were made.
        retired_traffic: the sum of what partitions that are gone had counted.
    """

    __slots__ = (
        "_call_soon",
        "_image",
        "_local_id",
        "_log_config_for",
        "_log_manager",
        "_now_ms",
        "_to_delete",
        "_unopened",
        "_waiting",
        "by_name",
        "deleted_topic_ids",
        "directory_ids",
        "on_opened",
        "retired_traffic",
    )

    def __init__(
        self,
        *,
        local_id: int,
        image: MetadataImage,
        log_manager: LogStore,
        log_config_for: Callable[[str], LogConfig],
        now_ms: Callable[[], int],
        call_soon: Callable[[Callable[[], None]], None] | None = None,
    ) -> None:
        self._call_soon = call_soon
        self._local_id = local_id
        self._image = image
        self._log_manager = log_manager
        self._log_config_for = log_config_for
        self._now_ms = now_ms
        self.by_name: dict[tuple[str, int], Partition] = {}
        self.retired_traffic = PartitionTraffic()
        # Hosted by the image's word, but their log could not be opened.
        self._unopened: set[tuple[str, int]] = set()
        self._waiting: deque[tuple[bytes, int]] = deque()  # to be opened, by topic id and number
        self._to_delete: dict[tuple[str, int], None] = {}  # logs of partitions that are gone, in order
        self.directory_ids: Collection[bytes] | None = None
        self.deleted_topic_ids: Collection[bytes] = ()
        self.on_opened: Callable[[list[tuple[bytes, int]]], None] | None = None

    def __len__(self) -> int:
        return len(self.by_name)

    def __iter__(self) -> Iterator[Partition]:
        return iter(self.by_name.values())

    @property
    def offline_count(self) -> int:
        """Partitions that cannot be served: their directory failed, or their log could not be opened."""
        offline = sum(partition.state is PartitionState.OFFLINE for partition in self.by_name.values())
        return offline + len(self._unopened)

    def missing_error(self, topic: str, partition: int) -> ErrorCode:
        """Return why a partition is not in `by_name`: 56, 6 when others host it, 3 when nobody does (F10)."""
        if (topic, partition) in self._unopened:
            return ErrorCode.KAFKA_STORAGE_ERROR
        if self._image.partition(topic, partition) is not None:
            return ErrorCode.NOT_LEADER_OR_FOLLOWER
        return ErrorCode.UNKNOWN_TOPIC_OR_PARTITION

    def get(self, topic: str, partition: int) -> Partition:
        """Return a hosted partition.

        Raises:
            ApiError: as `missing_error`, or KAFKA_STORAGE_ERROR when it is offline.
        """
        found = self.by_name.get((topic, partition))
        if found is None:
            raise ApiError(self.missing_error(topic, partition))
        if found.state is PartitionState.OFFLINE:
            raise ApiError(ErrorCode.KAFKA_STORAGE_ERROR, f"{found} is offline")
        return found

    def leader_of(self, topic: str, partition: int) -> tuple[int, int]:
        """Return a partition's leader and its epoch as the metadata has them, (-1, -1) when unknown."""
        known = self._image.partition(topic, partition)
        return (-1, -1) if known is None else (known.leader, known.leader_epoch)

    def load(self) -> None:
        """Open every partition the image gives this broker: at start, once the logs are loaded.

        Logs that the metadata does not give this broker are set aside, as Apache Kafka does: the topic was
        moved away while this broker was down, say, or its deletion is so old that no record tells of it any
        more. Where one does, this broker was killed while it deleted the topic, and goes on with that.
        """
        for topic in self._image.topics.values():
            config = self._log_config_for(topic.name)
            for number, partition in topic.partitions.items():
                self._apply_partition(topic, number, partition, config, is_new=False)
        deleted = 0
        for name in [name for name in self._log_manager.logs if name not in self.by_name]:
            try:
                deleted += self._remove_unknown(name)
            except ApiError as error:
                logger.warning("%s-%d, unknown to the metadata, stays where it is: %s", *name, error)

        if deleted:
            logger.info("%d partitions of topics that were deleted before this start are deleted", deleted)

    def apply_delta(self, delta: MetadataDelta) -> list[Partition]:
        """Follow a change of the image; return the partitions whose watchers must be woken."""
        touched: list[Partition] = []
        deleting = bool(self._to_delete)
        for topic in delta.topics_deleted.values():
            for number in topic.partitions:
                self._remove(topic.name, number, PartitionState.DELETED, touched)
        config: tuple[str, LogConfig] | None = None  # of the last topic: partitions come topic by topic
        room, begun = OPENED_PER_TURN, len(self._waiting)
        until_ms = self._now_ms() + FIRST_TURN_MS
        for (topic_id, number), before in delta.partitions_changed.items():
            topic_now = self._image.topics_by_id.get(topic_id)
            if topic_now is None:
                continue
            partition_now = topic_now.partitions.get(number)
            if partition_now is None or self._local_id not in partition_now.replicas:
                self._remove(topic_now.name, number, PartitionState.REMOVED, touched)
                continue
            is_new = before is None or self._local_id not in before.replicas
            if is_new:
                room -= 1
                if self._call_soon is not None and (room < 0 or begun or self._now_ms() >= until_ms):
                    self._waiting.append((topic_id, number))
                    continue
            if config is None or config[0] != topic_now.name:
                config = topic_now.name, self._log_config_for(topic_now.name)
            changed = self._apply_partition(topic_now, number, partition_now, config[1], is_new=is_new)
            if changed is not None:
                touched.append(changed)
        if self._to_delete and not deleting:
            self._delete_some()
        self._apply_configs(delta)
        if self._waiting and not begun:
            self._continue_opening()
        return touched

    def _continue_opening(self) -> None:
        assert self._call_soon is not None
        self._call_soon(self._open_waiting)

    def _open_waiting(self) -> None:
        opened = []
        until_ms = self._now_ms() + TURN_MS
        for _ in range(min(OPENED_PER_TURN, len(self._waiting))):
            topic_id, number = self._waiting.popleft()
            # It may be gone by now, or a later change of it has opened it.
            topic = self._image.topics_by_id.get(topic_id)
            partition = None if topic is None else topic.partitions.get(number)
            if topic is not None and partition is not None and (topic.name, number) not in self.by_name:
                self._apply_partition(topic, number, partition, self._log_config_for(topic.name), is_new=True)
                opened.append((topic_id, number))
                if self._now_ms() >= until_ms:
                    break
        if self._waiting:
            self._continue_opening()
        if opened and self.on_opened is not None:
            self.on_opened(opened)

    def directory_failed(self, directory: LogDirectory) -> list[Partition]:
        """Take the partitions of a failed log directory offline; return them, for their watchers (F43)."""
        failed = [
            partition
            for partition in self.by_name.values()
            if partition.state is PartitionState.ONLINE and partition.log.directory is directory
        ]
        for partition in failed:
            partition.become(PartitionState.OFFLINE)
        return failed

    def high_watermark(self, name: tuple[str, int]) -> int | None:
        """Return a partition's high watermark, which bounds retention; None when it is not hosted."""
        partition = self.by_name.get(name)
        return None if partition is None else partition.high_watermark

    def high_watermarks(self) -> dict[tuple[str, int], int]:
        """Return the high watermark of every partition that is online, for the checkpoint."""
        return {
            name: partition.high_watermark
            for name, partition in self.by_name.items()
            if partition.state is PartitionState.ONLINE
        }

    def _apply_partition(
        self, topic: TopicImage, number: int, now: PartitionImage, config: LogConfig, *, is_new: bool
    ) -> Partition | None:
        if self._local_id not in now.replicas:
            return None
        name = (topic.name, number)
        partition = self.by_name.get(name)
        if partition is None:
            partition = self._open(topic, number, config, is_new=is_new)
            if partition is None:
                return None
        if partition.state is PartitionState.ONLINE:
            partition.apply_leadership(
                leader_id=now.leader,
                leader_epoch=now.leader_epoch,
                partition_epoch=now.partition_epoch,
                replicas=now.replicas,
                isr=now.isr,
                now_ms=self._now_ms(),
            )
        return partition

    def _open(self, topic: TopicImage, number: int, config: LogConfig, *, is_new: bool) -> Partition | None:
        name = (topic.name, number)
        if name in self._to_delete:
            self._delete_log(name)  # the new topic's log gets the old one's name
        try:
            if not is_new:
                self._check_directory(topic, number)
            log = self._open_log(topic, number, config, is_new=is_new)
        except ApiError as error:
            if error.code is not ErrorCode.KAFKA_STORAGE_ERROR:
                raise
            logger.warning("%s-%d is offline: %s", *name, error)
            self._unopened.add(name)
            return None
        self._unopened.discard(name)
        high_watermark = self._log_manager.high_watermarks.get(name, 0)
        made = Partition(
            topic.name,
            topic.topic_id,
            number,
            local_id=self._local_id,
            log=log,
            high_watermark=high_watermark,
        )
        self.by_name[name] = made
        return made

    def _check_directory(self, topic: TopicImage, number: int) -> None:
        """Refuse a partition whose directory was left out of `log.dirs`, or is not mounted (KIP-858)."""
        partition = topic.partitions[number]
        directory = partition.directories[partition.replicas.index(self._local_id)]
        if (
            self.directory_ids is None
            or directory in self.directory_ids
            or directory in (DIRECTORY_MIGRATING, DIRECTORY_UNASSIGNED)
            or TopicPartition(topic.name, number) in self._log_manager.logs
        ):
            return
        raise ApiError(
            ErrorCode.KAFKA_STORAGE_ERROR,
            f"it lies in the directory with directory.id {uuid_text(directory)}, which is none of log.dirs",
        )

    def _open_log(self, topic: TopicImage, number: int, config: LogConfig, *, is_new: bool) -> Log:
        try:
            return self._log_manager.get_or_create(topic.name, number, topic.topic_id, config, is_new=is_new)
        except ApiError as error:
            if error.code is not ErrorCode.INCONSISTENT_TOPIC_ID:
                raise
            # The topic was deleted and made again while this broker was down.
            self._remove_unknown(TopicPartition(topic.name, number))
        return self._log_manager.get_or_create(topic.name, number, topic.topic_id, config, is_new=True)

    def _remove_unknown(self, name: TopicPartition) -> bool:
        """Delete a log whose topic was deleted, and set any other aside; return whether it was deleted."""
        log = self._log_manager.logs[name]
        # The topic id is written with the first record: without both there is nothing to keep.
        if log.topic_id in self.deleted_topic_ids or (log.topic_id is None and log.log_end_offset == 0):
            self._log_manager.delete(*name)
            return True
        self._log_manager.set_aside(*name)
        return False

    def _remove(self, topic: str, number: int, to: PartitionState, touched: list[Partition]) -> None:
        name = (topic, number)
        self._unopened.discard(name)
        partition = self.by_name.pop(name, None)
        if partition is not None:
            partition.become(to)
            partition.traffic.fetches = partition.fetches
            self.retired_traffic.add(partition.traffic)
            touched.append(partition)
            self._to_delete[name] = None

    def delete_waiting(self) -> None:
        """Take away all logs that wait for it: a stop must not leave them for the next start to wonder at."""
        while self._to_delete:
            self._delete_log(next(iter(self._to_delete)))

    def _delete_some(self) -> None:
        if self._call_soon is None:
            self.delete_waiting()
        until_ms = self._now_ms() + TURN_MS
        for name in list(islice(self._to_delete, DELETED_PER_TURN)):
            self._delete_log(name)
            if self._now_ms() >= until_ms:
                break
        if self._to_delete and self._call_soon is not None:
            self._call_soon(self._delete_some)

    def _delete_log(self, name: tuple[str, int]) -> None:
        del self._to_delete[name]
        try:
            self._log_manager.delete(*name)
        except ApiError as error:
            # Its directory failed; the other partitions of this change must not suffer for it.
            logger.warning("the log of %s-%d was not deleted: %s", *name, error)

    def _apply_configs(self, delta: MetadataDelta) -> None:
        topics: set[str] = set()
        for kind, name in delta.configs_changed:
            if kind is ConfigResourceType.TOPIC:
                topics.add(name)
            elif kind is ConfigResourceType.BROKER:
                topics.update(self._image.topics)  # topics inherit what the broker sets
        for name in topics:
            topic = self._image.topics.get(name)
            if topic is None:
                continue
            config = self._log_config_for(name)
            for number in topic.partitions:
                partition = self.by_name.get((name, number))
                if partition is not None:
                    partition.log.config = config
