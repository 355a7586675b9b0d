"""Transactions, as the rest of the broker sees them: where an id is coordinated, and what can be asked.

Each method finds the shard of a transactional id through the runtime and runs one operation of it. The answer
goes to `reply`, once, when what it says is committed; what is wrong goes to `failed` instead, and both may
happen before the method returns. Besides the errors of each operation there are the runtime's:
NOT_COORDINATOR, COORDINATOR_LOAD_IN_PROGRESS, COORDINATOR_NOT_AVAILABLE.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial

from barnabas.base.clock import Clock
from barnabas.base.cold_reads import ColdReads
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final, TypeVar
from barnabas.base.logger import Logger
from barnabas.coordinator.runtime.appender import TransactionEnd
from barnabas.coordinator.runtime.config import RuntimeConfig
from barnabas.coordinator.runtime.internal_topic import InternalTopic
from barnabas.coordinator.runtime.outcome import Outcome, Reply, Timers
from barnabas.coordinator.runtime.record_codec import RecordCodec
from barnabas.coordinator.runtime.runtime import CoordinatorRuntime, RuntimeStatistics
from barnabas.coordinator.runtime.shard_timers import RETRY_DELAY_MS
from barnabas.coordinator.transactions.changes import FIRST_WITH_EPOCH_BUMPS
from barnabas.coordinator.transactions.config import TransactionConfig, TransactionContext
from barnabas.coordinator.transactions.lost import ProducerInLog, producers_in_logs
from barnabas.coordinator.transactions.markers import MarkerResults, MarkerWriter
from barnabas.coordinator.transactions.records import RECORD_FILE
from barnabas.coordinator.transactions.shard import TransactionShard
from barnabas.coordinator.transactions.state import (
    PRODUCER_EPOCH_MAX,
    ProducerIdAndEpoch,
    TopicPartition,
    TransactionMetadata,
    TransactionState,
)
from barnabas.metadata.controller import Controller
from barnabas.metadata.topic_changes import TopicCreation
from barnabas.replica.manager import ReplicaManager
from barnabas.replica.produce import OFFSETS_TOPIC, TRANSACTION_TOPIC
from barnabas.timing.timer_wheel import TimerWheel

if TYPE_CHECKING:
    from barnabas.coordinator.groups.coordinator import GroupCoordinator

TRANSACTION_VERSION: Final = "transaction.version"
"""The feature that tells clients which protocol to follow (KIP-890)."""

_log = Logger(__name__)

Response = TypeVar("Response")

Failed = Callable[[ApiError], None]


class TransactionCoordinator:
    """All transactional ids of this broker.

    Args:
        config: of transactions.
        runtime_config: `partition_count` gives way to the topic's when it exists.
        topic: how `__transaction_state` is made when it is first needed.
        new_producer_id: returns an id that was never given.
        groups: returns the group coordinator, which takes markers for offsets.
        was_clean: the last stop was, so that logs and the coordinator know the same.
    """

    def __init__(
        self,
        *,
        config: TransactionConfig,
        runtime_config: RuntimeConfig,
        topic: TopicCreation,
        new_producer_id: Callable[[], int],
        groups: Callable[[], GroupCoordinator],
        controller: Controller,
        replicas: ReplicaManager,
        clock: Clock,
        wheel: TimerWheel,
        call_soon: Callable[[Callable[[], None]], None],
        cold_reads: ColdReads | None = None,
        was_clean: bool = True,
    ) -> None:
        self._config = config
        self._was_clean = was_clean
        self._unended_count = 0  # lost transactions whose marker could not be written yet
        self._has_looked_for_lost = was_clean
        self._clock = clock
        self._wheel = wheel
        self._topic = InternalTopic(topic, controller)
        self._new_producer_id = new_producer_id
        self._groups = groups
        self._controller = controller
        self._replicas = replicas
        self._markers = MarkerWriter(replicas=replicas, groups=groups, exists=self._exists, clock=clock)
        self._runtime = CoordinatorRuntime(
            config=runtime_config,
            codec=RecordCodec(RECORD_FILE),
            replicas=replicas,
            clock=clock,
            wheel=wheel,
            call_soon=call_soon,
            make_shard=self._make_shard,
            cold_reads=cold_reads,
        )
        self._follow_topic()

    def _make_shard(self, partition: int, timers: Timers) -> TransactionShard:
        context = TransactionContext(
            config=self._config,
            timers=timers,
            new_producer_id=self._new_producer_id,
            server_version=lambda: self.server_version,
            write_markers=lambda decided, done: self._write_markers(partition, decided, done),
            run=self._run,
            producers_in_logs=None if self._was_clean else partial(producers_in_logs, self._replicas),
            abort_lost=lambda found: self._abort_lost(partition, found),
        )
        return TransactionShard(context, partition)

    @property
    def server_version(self) -> int:
        """The transaction.version that is finalised."""
        return self._controller.image.features.get(TRANSACTION_VERSION, 0)

    # Where transactional ids are

    def ensure_topic(self) -> None:
        """Make `__transaction_state` when it does not exist (`InternalTopic.ensure`)."""
        self._topic.ensure()

    def partition_of(self, transactional_id: str) -> int:
        """Return the partition of `__transaction_state` that a transactional id belongs to."""
        return self._runtime.partition_of(transactional_id)

    def leader_of(self, transactional_id: str) -> int:
        """Return the broker that coordinates a transactional id.

        Raises:
            ApiError: COORDINATOR_NOT_AVAILABLE: its partition has no leader.
        """
        return self._topic.leader_of(self.partition_of(transactional_id))

    # Requests

    def init_producer_id(
        self,
        transactional_id: str,
        timeout_ms: int,
        expected: ProducerIdAndEpoch | None,
        reply: Reply[ProducerIdAndEpoch],
        failed: Failed,
    ) -> None:
        """Give a transactional id its producer and fence every older one (KIP-98, KIP-360).

        Args:
            timeout_ms: how long each of its transactions may take.
            expected: what the producer believes to be, None for one that begins.

        Fails with INVALID_REQUEST, INVALID_TRANSACTION_TIMEOUT, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS.
        """

        def answer(response: ProducerIdAndEpoch | ErrorCode) -> None:
            if isinstance(response, ProducerIdAndEpoch):
                reply(response)
            else:
                failed(ApiError(response))

        self._runtime.write(
            transactional_id,
            lambda shard, now_ms: shard.init_producer_id(transactional_id, timeout_ms, expected, now_ms),
            answer,
            failed,
        )

    def add_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Iterable[TopicPartition],
        *,
        client_version: int,
        reply: Reply[ErrorCode],
        failed: Failed,
    ) -> None:
        """Make partitions a part of the transaction, which begins with the first of them; answers NONE.

        Args:
            client_version: the transaction.version that the client follows: 2 when its request is one that
                only clients of KIP-890 send, else 0.

        Fails with INVALID_REQUEST, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS.
        """
        added = frozenset(partitions)
        self._runtime.write(
            transactional_id,
            lambda shard, now_ms: shard.add_partitions(
                transactional_id, producer, added, client_version, now_ms
            ),
            reply,
            failed,
        )

    def verify_partitions(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        partitions: Iterable[TopicPartition],
        reply: Reply[dict[TopicPartition, ErrorCode]],
        failed: Failed,
    ) -> None:
        """Tell of each partition whether it is a part of the transaction (KIP-890).

        Answers NONE or TRANSACTION_ABORTABLE for each, fails as `add_partitions`.
        """
        asked = frozenset(partitions)
        self._read(
            transactional_id,
            lambda shard: shard.verify_partitions(transactional_id, producer, asked),
            reply,
            failed,
        )

    def add_offsets(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        group_id: str,
        *,
        client_version: int,
        reply: Reply[ErrorCode],
        failed: Failed,
    ) -> None:
        """Make the partition of a group's offsets a part of the transaction; as `add_partitions`."""
        offsets = (OFFSETS_TOPIC, self._groups().partition_of(group_id))
        self.add_partitions(
            transactional_id, producer, [offsets], client_version=client_version, reply=reply, failed=failed
        )

    def end(
        self,
        transactional_id: str,
        producer: ProducerIdAndEpoch,
        *,
        commit: bool,
        client_version: int,
        reply: Reply[ProducerIdAndEpoch],
        failed: Failed,
    ) -> None:
        """Commit or abort; answers as which producer the client goes on.

        Fails with INVALID_REQUEST, INVALID_PRODUCER_ID_MAPPING, PRODUCER_FENCED, CONCURRENT_TRANSACTIONS,
        INVALID_TXN_STATE.
        """
        self._runtime.write(
            transactional_id,
            lambda shard, now_ms: shard.end(
                transactional_id, producer, commit=commit, client_version=client_version, now_ms=now_ms
            ),
            reply,
            failed,
        )

    def write_markers(
        self,
        end: TransactionEnd,
        partitions: Iterable[TopicPartition],
        transaction_version: int,
        done: Callable[[MarkerResults], None],
    ) -> None:
        """Append markers that another coordinator decided on, or a tool; `done` is told each one's code."""
        self._markers.write_checked(end, partitions, transaction_version, done)

    # Looking

    def describe(self, transactional_id: str, reply: Reply[TransactionMetadata], failed: Failed) -> None:
        """Tell what is known of an id; fails with INVALID_REQUEST, TRANSACTIONAL_ID_NOT_FOUND."""
        self._read(transactional_id, lambda shard: shard.describe(transactional_id), reply, failed)

    def transactions(self) -> Iterator[TransactionMetadata]:
        """Yield all ids of the shards that are loaded."""
        for shard in self._runtime.active_shards():
            yield from shard.transactions.values()

    @property
    def is_loading(self) -> bool:
        """Whether some ids are not known yet; a list is not complete then."""
        return self._runtime.is_loading

    def statistics(self) -> RuntimeStatistics:
        """Return gauges and counts of the runtime."""
        return self._runtime.statistics()

    @property
    def has_followed_logs(self) -> bool:
        """Whether nothing hangs in logs any more that a start after a power failure has to abort."""
        return self._has_looked_for_lost and not self._unended_count

    # What the broker tells

    def load_all(self) -> None:
        """Begin to load all ids there are; what is decided is ended, what takes too long is aborted."""
        self._runtime.load_all()
        if not self._was_clean:
            self._runtime.on_loaded = self._abort_unknown
            if not self._runtime.is_loading:
                self._abort_unknown()

    def metadata_changed(self) -> None:
        """The image holds a change; partitions are as it says."""
        self._follow_topic()
        self._runtime.partitions_changed()

    def partitions_changed(self) -> None:
        """A log directory failed: its ids have no coordinator any more."""
        self._runtime.partitions_changed()

    def stop(self) -> None:
        """Take no more requests; what is decided goes on with the next start."""
        self._runtime.stop()

    # Ways to the shards

    def _read(
        self,
        transactional_id: str,
        operation: Callable[[TransactionShard], Response],
        reply: Reply[Response],
        failed: Failed,
    ) -> None:
        self._runtime.read(transactional_id, lambda shard, _: operation(shard), reply, failed)

    def _run(
        self,
        transactional_id: str,
        operation: Callable[[int], Outcome[None]],
        failed: Callable[[], None],
    ) -> None:
        self._runtime.write(
            transactional_id, lambda _, now_ms: operation(now_ms), _ignore, lambda _: failed()
        )

    def _write_markers(
        self,
        partition: int,
        decided: TransactionMetadata,
        done: Callable[[frozenset[TopicPartition]], None],
    ) -> None:
        leader = self._replicas.partitions.by_name.get((TRANSACTION_TOPIC, partition))
        end = TransactionEnd(
            producer_id=decided.producer_id,
            producer_epoch=decided.producer_epoch,
            coordinator_epoch=0 if leader is None else leader.leader_epoch,
            committed=decided.state is TransactionState.PREPARE_COMMIT,
        )
        self._markers.write_until_none_is_left(end, decided.partitions, done)

    # After a power failure

    def _abort_unknown(self) -> None:
        """Once all ids are known, end the transactions of producers that belong to none."""
        self._runtime.on_loaded = None
        if self._runtime.is_stopped or not self._runtime.has_all:
            return  # perhaps they belong to ids that could not be loaded; another start looks again
        known: set[int] = set()
        for metadata in self.transactions():
            known.update((metadata.producer_id, metadata.previous_producer_id, metadata.next_producer_id))
        for found in list(producers_in_logs(self._replicas, None)):
            if found.is_open and found.producer_id not in known:
                self._abort_lost(0, found)
        self._has_looked_for_lost = True

    def _abort_lost(self, partition: int, found: ProducerInLog) -> None:
        """Append the marker of a transaction that is lost.

        Args:
            partition: of `__transaction_state`, in whose coordinator's name.
        """
        leader = self._replicas.partitions.by_name.get((TRANSACTION_TOPIC, partition))
        bumps = self.server_version >= FIRST_WITH_EPOCH_BUMPS
        end = TransactionEnd(
            producer_id=found.producer_id,
            producer_epoch=min(found.producer_epoch + bumps, PRODUCER_EPOCH_MAX),
            coordinator_epoch=0 if leader is None else leader.leader_epoch,
            committed=False,
        )
        _log.warning(
            "%s-%d has records of a transaction of producer %d that nobody knows; it is aborted",
            *found.partition, found.producer_id,
        )  # fmt: skip

        def written(left: frozenset[TopicPartition]) -> None:
            if not left:
                self._unended_count -= 1
            elif not self._runtime.is_stopped:
                self._retry(lambda: self._markers.write_until_none_is_left(end, left, written))

        self._unended_count += 1
        self._markers.write_until_none_is_left(end, [found.partition], written)

    def _retry(self, call: Callable[[], None]) -> None:
        self._wheel.add(self._clock.monotonic_ms() + RETRY_DELAY_MS, call)

    def _exists(self, partition: TopicPartition) -> bool:
        return self._controller.image.partition(*partition) is not None

    def _follow_topic(self) -> None:
        topic = self._topic.image
        if topic is not None:
            self._runtime.topic_is(topic.topic_id, len(topic.partitions))


def _ignore(_response: object) -> None:
    """Nobody waits for the answer."""
