"""Where logs lie, as the metadata are told, and what moves of logs need: threads, their word, the quota.

Most brokers never move a log: code and threads are there when first one is to move.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping

from barnabas.base.clock import Clock
from barnabas.base.entropy import Entropy
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING
from barnabas.base.logger import Logger
from barnabas.base.worker_pool import WorkerPool
from barnabas.metadata.controller import Controller
from barnabas.net.reactor import Reactor
from barnabas.server.settings import Settings
from barnabas.storage.deletions import PendingDeletions
from barnabas.storage.log import Log
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_manager import LogManager
from barnabas.storage.topic_partition import TopicPartition

if TYPE_CHECKING:
    from barnabas.storage.log_moves.future_logs import FutureLogs

_log = Logger(__name__)

QUOTA = "replica.alter.log.dirs.io.max.bytes.per.second"
THREADS = "num.replica.alter.log.dirs.threads"


class LogMoves:
    """Makes FutureLogs for a LogManager.

    Args:
        current_settings: with what is dynamic.
        directory_ids: path -> id of each log directory.
    """

    __slots__ = (
        "_clock",
        "_config_for",
        "_controller",
        "_current_settings",
        "_directory_ids",
        "_entropy",
        "_logs",
        "_node_id",
        "_pool",
        "_reactor",
    )

    def __init__(
        self,
        logs: LogManager,
        *,
        clock: Clock,
        entropy: Entropy,
        reactor: Reactor,
        controller: Controller,
        node_id: int,
        directory_ids: Mapping[str, bytes],
        config_for: Callable[[str], LogConfig],
        current_settings: Callable[[], Settings],
    ) -> None:
        self._logs = logs
        self._clock = clock
        self._entropy = entropy
        self._reactor = reactor
        self._controller = controller
        self._node_id = node_id
        self._directory_ids = directory_ids
        self._config_for = config_for
        self._current_settings = current_settings
        self._pool: WorkerPool | None = None
        logs.make_future_logs = self._make

    def _make(self, deletions: PendingDeletions) -> FutureLogs:
        from barnabas.storage.log_moves.future_logs import FutureLogs  # noqa: PLC0415

        settings = self._current_settings()
        # Kafka's default: as many as there are directories.
        threads = settings.optional_integer(THREADS) or len(self._logs.directories)
        self._pool = WorkerPool(
            self._reactor.call_soon_threadsafe, threads_max=max(1, threads), name="barnabas-mover"
        )
        made = FutureLogs(
            self._logs,
            clock=self._clock,
            entropy=self._entropy,
            deletions=deletions,
            config_for=self._config_for,
            run_blocking=self._pool.run,
            call_later=self._reactor.call_later,
            assign=self._assign,
            threads_max=max(1, threads),
        )
        made.quota.bytes_per_second = settings.optional_integer(QUOTA)
        made.pause_cleaning = self._pause_cleaning
        made.resume_cleaning = self._resume_cleaning
        return made

    def _pause_cleaning(self, key: TopicPartition) -> None:
        if self._logs.cleaner is not None:
            self._logs.cleaner.abort(key)

    def _resume_cleaning(self, key: TopicPartition, way: tuple[LogDirectory, LogDirectory] | None) -> None:
        """The cleaner leaves alone what moves; here it is only told where the log is now."""
        if way is not None:
            self._logs.checkpoints.cleaned_part_moved(key, *way)

    def settle(self) -> None:
        """Go on with what the last run had not finished; call when logs and metadata are loaded."""
        self._logs.settle_future_logs(self._assigned)

    def tell_all(self) -> None:
        """As `tell`, of all partitions: somebody may have moved a log while the broker was down."""
        self.tell(
            (topic.topic_id, number)
            for topic in self._controller.image.topics.values()
            for number in topic.partitions
        )

    def tell(self, partitions: Iterable[tuple[bytes, int]]) -> None:
        """Have the metadata say where logs lie, if there is more than one directory (KIP-858).

        Args:
            partitions: (topic id, partition); those without a log are left out.
        """
        if len(self._directory_ids) > 1:
            which = list(partitions)
            # Later: a change is perhaps still being told to others, and a log perhaps about to move.
            self._reactor.call_soon(lambda: self._tell(which))

    def _tell(self, partitions: list[tuple[bytes, int]]) -> None:
        placed = {}
        for topic_id, number in partitions:
            topic = self._controller.image.topics_by_id.get(topic_id)
            log = None if topic is None else self._logs.get(topic.name, number)
            if log is not None:
                placed[topic_id, number] = self._directory_ids[log.directory.path]
        try:
            self._controller.assign_directories(placed)
        except ApiError as error:
            _log.error("the metadata do not say where logs lie: %s", error)

    def settings_changed(self, settings: Settings) -> None:
        """Take over a new quota."""
        if self._logs.made_future_logs is not None:
            self._logs.made_future_logs.quota.bytes_per_second = settings.optional_integer(QUOTA)

    def close(self) -> None:
        """Wait for what helpers have in hand; they begin nothing any more."""
        if self._pool is not None:
            self._pool.close()

    def _assign(self, log: Log, directory: LogDirectory) -> None:
        topic = self._controller.image.topics.get(log.topic)
        if topic is None:
            raise ApiError(ErrorCode.UNKNOWN_TOPIC_OR_PARTITION, f"{log.name} was deleted")
        place = {(topic.topic_id, log.partition): self._directory_ids[directory.path]}
        self._controller.assign_directories(place)

    def _assigned(self, key: TopicPartition) -> str | None:
        partition = self._controller.image.partition(*key)
        if partition is None or self._node_id not in partition.replicas:
            return None
        directory_id = partition.directories[partition.replicas.index(self._node_id)]
        return next((path for path, known in self._directory_ids.items() if known == directory_id), "")
