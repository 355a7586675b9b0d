"""Groups, as the rest of the broker sees them: where a group is coordinated, and how to ask its shard.

Handlers name a group and an operation of a shard's part (`shard.classic.join`, `shard.offsets.commit`); the
runtime finds the shard, or says why there is none. A method here for each of the twenty operations was
rejected: it would repeat their arguments and decide nothing.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator

from barnabas.base.clock import Clock
from barnabas.base.cold_reads import ColdReads
from barnabas.base.entropy import Entropy
from barnabas.base.errors import ApiError
from barnabas.base.hints import TypeVar
from barnabas.base.logger import Logger
from barnabas.coordinator.groups.config import GroupConfig
from barnabas.coordinator.groups.group import GroupContext
from barnabas.coordinator.groups.record_codec import GroupRecordCodec
from barnabas.coordinator.groups.shard import GroupShard
from barnabas.coordinator.runtime.appender import TransactionEnd
from barnabas.coordinator.runtime.config import RuntimeConfig
from barnabas.coordinator.runtime.internal_topic import InternalTopic
from barnabas.coordinator.runtime.outcome import Outcome, Reply, Timers
from barnabas.coordinator.runtime.runtime import CoordinatorRuntime, RuntimeStatistics
from barnabas.metadata.controller import Controller
from barnabas.metadata.image import MetadataDelta
from barnabas.metadata.topic_changes import TopicCreation
from barnabas.replica.manager import ReplicaManager
from barnabas.timing.timer_wheel import TimerWheel

_log = Logger(__name__)

Response = TypeVar("Response")


class GroupCoordinator:
    """All groups of this broker.

    Args:
        config: of the runtime; `partition_count` gives way to the topic's when it exists.
        topic: how `__consumer_offsets` is made when it is first needed.
        config_of: the configuration of a group as it is now.
    """

    def __init__(
        self,
        *,
        config: RuntimeConfig,
        topic: TopicCreation,
        config_of: Callable[[str], GroupConfig],
        controller: Controller,
        replicas: ReplicaManager,
        clock: Clock,
        entropy: Entropy,
        wheel: TimerWheel,
        call_soon: Callable[[Callable[[], None]], None],
        cold_reads: ColdReads | None = None,
    ) -> None:
        self._topic = InternalTopic(topic, controller)
        self._config_of = config_of
        self._controller = controller
        self._clock = clock
        self._entropy = entropy
        self._runtime = CoordinatorRuntime(
            config=config,
            codec=GroupRecordCodec(),
            replicas=replicas,
            clock=clock,
            wheel=wheel,
            call_soon=call_soon,
            make_shard=self._make_shard,
            cold_reads=cold_reads,
        )
        self._follow_topic()

    def _make_shard(self, partition: int, timers: Timers) -> GroupShard:
        context = GroupContext(
            image=self._controller.image,
            config_of=self._config_of,
            clock=self._clock,
            entropy=self._entropy,
            timers=timers,
            metadata_offset=lambda: self._controller.metadata_offset,
        )
        return GroupShard(context, partition)

    # Where groups are

    def ensure_topic(self) -> None:
        """Make `__consumer_offsets` when it does not exist (`InternalTopic.ensure`)."""
        self._topic.ensure()

    def partition_of(self, group_id: str) -> int:
        """Return the partition of `__consumer_offsets` that a group belongs to."""
        return self._runtime.partition_of(group_id)

    def leader_of(self, group_id: str) -> int:
        """Return the broker that coordinates a group.

        Raises:
            ApiError: COORDINATOR_NOT_AVAILABLE: its partition has no leader.
        """
        return self._topic.leader_of(self.partition_of(group_id))

    # Requests

    def write(
        self,
        group_id: str,
        operation: Callable[[GroupShard, int], Outcome[Response]],
        reply: Reply[Response],
        failed: Callable[[ApiError], None],
    ) -> None:
        """Run `operation(shard, now_ms)` on a group's shard and answer when its records are committed.

        See `CoordinatorRuntime.write`. An empty group id belongs to a partition like any other; operations
        that do not take one refuse it themselves.
        """
        self._runtime.write(group_id, operation, reply, failed)

    def read(
        self,
        group_id: str,
        operation: Callable[[GroupShard, int], Response],
        reply: Reply[Response],
        failed: Callable[[ApiError], None],
    ) -> None:
        """Run an operation that changes nothing and answer with what it returns."""
        self._runtime.read(group_id, operation, reply, failed)

    def end_transaction(
        self, partition: int, end: TransactionEnd, ended: Callable[[ApiError | None], None]
    ) -> None:
        """Append a transaction's marker to a partition: its offsets count, or are dropped (KIP-98).

        Args:
            ended: told when the marker is committed, or why it could not be appended.
        """
        self._runtime.end_transaction(partition, end, ended)

    def active_shards(self) -> Iterator[GroupShard]:
        """Yield the shards that are loaded, for lists and metrics."""
        return self._runtime.active_shards()

    @property
    def is_loading(self) -> bool:
        """Whether some groups are not known yet; a list of groups is not complete then."""
        return self._runtime.is_loading

    # What the broker tells

    def load_all(self) -> None:
        """Begin to load all groups there are, in later turns of the loop."""
        self._runtime.load_all()

    def metadata_changed(self, delta: MetadataDelta) -> None:
        """The image holds a change; partitions are as it says."""
        self._follow_topic()
        self._runtime.partitions_changed()
        now_ms = self._clock.wall_ms()
        for shard in self._runtime.active_shards():
            try:
                shard.metadata_changed(delta, now_ms)
            except Exception:
                # A fault of ours, which must not keep the change from others.
                _log.exception("partition %d could not follow a change of the metadata", shard.partition)

    def partitions_changed(self) -> None:
        """A log directory failed: its groups have no coordinator any more."""
        self._runtime.partitions_changed()

    def stop(self) -> None:
        """Answer all who wait with NOT_COORDINATOR and take no more."""
        self._runtime.stop()

    def statistics(self) -> RuntimeStatistics:
        """Return gauges and counts of the runtime."""
        return self._runtime.statistics()

    def _follow_topic(self) -> None:
        topic = self._topic.image
        if topic is not None:
            self._runtime.topic_is(topic.topic_id, len(topic.partitions))
