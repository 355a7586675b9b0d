"""Wires up the group coordinator, and finds the configuration of each group.

Imported with the first group request, or behind a start that finds `__consumer_offsets`: a broker without
groups starts without it.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.clock import Clock
from barnabas.base.cold_reads import ColdReads
from barnabas.base.dataclass import replace
from barnabas.base.entropy import Entropy
from barnabas.base.hints import Any, Final
from barnabas.coordinator.groups.config import GroupConfig
from barnabas.coordinator.groups.coordinator import GroupCoordinator
from barnabas.coordinator.runtime.config import RuntimeConfig
from barnabas.metadata.config_definitions import GROUP
from barnabas.metadata.controller import Controller
from barnabas.metadata.image import ConfigResourceType, MetadataDelta, MetadataImage
from barnabas.metadata.topic_changes import TopicCreation
from barnabas.protocol.compression import Codec
from barnabas.replica.manager import ReplicaManager
from barnabas.replica.produce import OFFSETS_TOPIC
from barnabas.server.settings import Settings
from barnabas.timing.timer_wheel import TimerWheel

_GROUP_FIELDS: Final = {
    "consumer.session.timeout.ms": "consumer_session_timeout_ms",
    "consumer.heartbeat.interval.ms": "consumer_heartbeat_interval_ms",
    "consumer.assignment.interval.ms": "group_consumer_assignment_interval_ms",
}
"""Configs of a group -> what they stand for in its GroupConfig."""


def make_group_coordinator(
    settings: Settings,
    *,
    current_settings: Callable[[], Settings],
    controller: Controller,
    replicas: ReplicaManager,
    clock: Clock,
    entropy: Entropy,
    wheel: TimerWheel,
    call_soon: Callable[[Callable[[], None]], None],
    cold_reads: ColdReads | None,
) -> GroupCoordinator:
    """Return the coordinator of all groups; it follows the metadata through `metadata_changed`.

    Args:
        settings: as they were read at start.
        current_settings: with what was changed since then.
    """
    configs = GroupConfigs(current_settings, controller.image)
    controller.subscribe(configs.metadata_changed)
    return GroupCoordinator(
        config=RuntimeConfig(
            topic=OFFSETS_TOPIC,
            partition_count=settings.integer("offsets.topic.num.partitions"),
            commit_timeout_ms=settings.integer("offsets.commit.timeout.ms"),
            codec=Codec(settings.integer("offsets.topic.compression.codec")),
        ),
        topic=offsets_topic(settings),
        config_of=configs.of,
        controller=controller,
        replicas=replicas,
        clock=clock,
        entropy=entropy,
        wheel=wheel,
        call_soon=call_soon,
        cold_reads=cold_reads,
    )


def offsets_topic(settings: Settings) -> TopicCreation:
    """Return `__consumer_offsets` as it is made when it is first needed."""
    return TopicCreation(
        name=OFFSETS_TOPIC,
        num_partitions=settings.integer("offsets.topic.num.partitions"),
        replication_factor=settings.integer("offsets.topic.replication.factor"),
        configs={
            "cleanup.policy": "compact",
            "compression.type": "producer",
            "segment.bytes": str(settings.integer("offsets.topic.segment.bytes")),
        },
    )


def group_config(settings: Settings) -> GroupConfig:
    """Return what the broker's settings say for groups that set nothing themselves."""
    return GroupConfig(
        group_initial_rebalance_delay_ms=settings.integer("group.initial.rebalance.delay.ms"),
        group_min_session_timeout_ms=settings.integer("group.min.session.timeout.ms"),
        group_max_session_timeout_ms=settings.integer("group.max.session.timeout.ms"),
        group_max_size=settings.integer("group.max.size"),
        consumer_session_timeout_ms=settings.integer("group.consumer.session.timeout.ms"),
        consumer_heartbeat_interval_ms=settings.integer("group.consumer.heartbeat.interval.ms"),
        group_consumer_max_size=settings.integer("group.consumer.max.size"),
        group_consumer_assignors=tuple(settings.strings("group.consumer.assignors")),
        group_consumer_assignment_interval_ms=settings.integer("group.consumer.assignment.interval.ms"),
        group_consumer_migration_policy=(settings.text("group.consumer.migration.policy") or "").lower(),
        group_consumer_regex_refresh_interval_ms=settings.integer("group.consumer.regex.refresh.interval.ms"),
        offset_metadata_max_bytes=settings.integer("offset.metadata.max.bytes"),
        offsets_retention_minutes=settings.integer("offsets.retention.minutes"),
        offsets_retention_check_interval_ms=settings.integer("offsets.retention.check.interval.ms"),
    )


class GroupConfigs:
    """The configuration of each group; made once for all that set nothing.

    Args:
        settings: reads the broker's settings as they are now.
    """

    __slots__ = ("_broker", "_image", "_of_group", "_settings")

    def __init__(self, settings: Callable[[], Settings], image: MetadataImage) -> None:
        self._settings = settings
        self._image = image
        self._broker = group_config(settings())
        self._of_group: dict[str, GroupConfig] = {}

    def of(self, group_id: str) -> GroupConfig:
        """Return a group's configuration as it is now."""
        overrides = self._image.config(ConfigResourceType.GROUP, group_id)
        if not overrides:
            return self._broker
        known = self._of_group.get(group_id)
        if known is None:
            settings = self._settings()
            changes: dict[str, Any] = {
                _GROUP_FIELDS[name]: _within_limits(name, text, settings)
                for name, text in overrides.items()
                if name in _GROUP_FIELDS
            }
            known = self._of_group[group_id] = replace(self._broker, **changes)
        return known

    def metadata_changed(self, delta: MetadataDelta, _image: MetadataImage) -> None:
        """Forget what was made of configs that may have changed."""
        if delta.configs_changed:
            self._broker = group_config(self._settings())
            self._of_group.clear()


def _within_limits(name: str, text: str, settings: Settings) -> int:
    """Return what a group's config stands for; limits may have become narrower since it was set."""
    kind, _, rest = name.partition(".")
    value = GROUP.parse(name, text)
    assert isinstance(value, int)
    low, high = (settings.integer(f"group.{kind}.{bound}.{rest}") for bound in ("min", "max"))
    return min(max(value, low), high)
