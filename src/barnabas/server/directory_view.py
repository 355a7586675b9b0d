"""A data directory looked at without a broker: one partition of it, opened as a start would open it.

The metadata log, the log manager and the replica layer are the broker's own, over an OverlayDisk: what they
lock, repair, cut off or write stays in memory, so a directory may be looked at after a crash, while a broker
has it open, or where nobody may write. Other partitions are hidden from the log manager, or a look at one of
ten thousand would open them all.

What differs from the broker that may be running on it is told as `notes`: after an unclean stop the next
start raises the leader epoch, and sessions live in a broker's memory only.
"""

from __future__ import annotations

import os
from collections.abc import Callable

from barnabas.base.clock import Clock
from barnabas.base.dataclass import dataclass
from barnabas.base.disk import Disk
from barnabas.base.entropy import Entropy
from barnabas.base.overlay_disk import OverlayDisk
from barnabas.handlers.explain_fetch import ExplainedBroker, ListenerSending
from barnabas.metadata.controller import Controller, NodeIdentity
from barnabas.metadata.formatting import read_meta_properties
from barnabas.metadata.image import ConfigResourceType, MetadataDelta, MetadataImage
from barnabas.metadata.metadata_log import DIRECTORY_NAME, MetadataLog
from barnabas.metadata.node_records import election_records
from barnabas.metadata.topic_configs import LogConfigs
from barnabas.net.listener_traffic import ListenerTraffic
from barnabas.replica.fetch_reader import FetchReader
from barnabas.replica.hosted_partitions import HostedPartitions
from barnabas.server import component_configs as configs
from barnabas.server.listeners import SecurityProtocol
from barnabas.server.settings import Settings
from barnabas.storage.checkpoints.directory_checkpoints import CLEAN_SHUTDOWN_FILE
from barnabas.storage.loading.scans import RecoveryProgress
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_manager import LogManager

ENCRYPTED = (SecurityProtocol.SSL, SecurityProtocol.SASL_SSL)


class DirectoryViewError(Exception):
    """The directory cannot be looked at; the text is one line for the user."""


@dataclass(frozen=True, slots=True, kw_only=True)
class DirectoryView:
    """A directory's partition, as a broker started on it would serve it.

    Attributes:
        notes: in what a running broker may differ.
    """

    broker: ExplainedBroker
    notes: tuple[str, ...]


def view_partition(
    settings: Settings,
    topic: str,
    partition: int,
    *,
    disk: Disk,
    clock: Clock,
    entropy: Entropy,
    progress: Callable[[RecoveryProgress], None] | None = None,
) -> DirectoryView:
    """Open one partition of `log.dirs` for looking; it need not exist.

    Args:
        progress: as at a start after a crash.
    Raises:
        DirectoryViewError: no directory of a broker.
        MetadataError, LogManagerError, ApiError, OSError: as at a start.
    """
    log_dirs = [os.path.abspath(path) for path in settings.log_dirs]
    metadata_dir = os.path.abspath(settings.text("metadata.log.dir") or log_dirs[0])
    for path in {*log_dirs, metadata_dir}:
        if not disk.is_dir(path):
            raise DirectoryViewError(f"{path} is no directory")
    properties = read_meta_properties(disk, metadata_dir)
    if properties is None or not disk.is_dir(f"{metadata_dir}/{DIRECTORY_NAME}"):
        raise DirectoryViewError(f"{metadata_dir} is no data directory: it holds no metadata log")
    wanted = f"{topic}-{partition}"
    roots = frozenset(log_dirs)

    def is_hidden(path: str) -> bool:
        parent, _, name = path.rpartition("/")
        return parent in roots and name != wanted and disk.is_dir(path)

    overlay = OverlayDisk(disk, is_hidden)
    node_id = properties.node_id
    controller = _metadata(settings, metadata_dir, node_id, OverlayDisk(disk), clock, entropy)
    image = controller.image
    log_configs = LogConfigs(controller.broker_configs)

    def log_config(name: str) -> LogConfig:
        return log_configs.of(image.config(ConfigResourceType.TOPIC, name))

    logs = LogManager(
        disk=overlay,
        clock=clock,
        entropy=entropy,
        directories=log_dirs,
        config_for=log_config,
        config=configs.log_manager_config(settings),
    )
    logs.start(progress)
    partitions = HostedPartitions(
        local_id=node_id, image=image, log_manager=logs, log_config_for=log_config, now_ms=clock.monotonic_ms
    )
    known = image.topics.get(topic)
    notes = [state_note(disk, log_dirs)]
    if known is not None and partition in known.partitions:
        notes += elect(image, node_id, known.topic_id, partition)
        delta = MetadataDelta()
        delta.partitions_changed[known.topic_id, partition] = known.partitions[partition]
        partitions.apply_delta(delta)
    reader = FetchReader(
        local_id=node_id,
        partitions=partitions,
        now_ms=clock.monotonic_ms,
        watermark_moved=lambda _: None,
        select_replica=None,
        is_throttled=None,
    )
    broker = ExplainedBroker(
        image=image,
        settings=configs.handler_settings(settings),
        partitions=partitions,
        reader=reader,
        sessions=None,
        listeners=_listeners(settings),
    )
    return DirectoryView(broker=broker, notes=tuple(notes))


def _metadata(  # noqa: PLR0917 - called once
    settings: Settings, metadata_dir: str, node_id: int, disk: Disk, clock: Clock, entropy: Entropy
) -> Controller:
    """Return a controller that has replayed the metadata log and leads nothing."""
    log = MetadataLog(
        directory=LogDirectory(disk, metadata_dir),
        node_id=node_id,
        clock=clock,
        entropy=entropy,
        config=configs.metadata_log_config(settings),
    )
    node = NodeIdentity(
        node_id=node_id,
        endpoints=(),
        controller_endpoint=configs.controller_endpoint(settings),
        log_dirs=(),
        rack=settings.text("broker.rack"),
        static_configs=settings.static_values,
    )
    controller = Controller(log=log, node=node, clock=clock, entropy=entropy)
    controller.load()
    return controller


def _listeners(settings: Settings) -> tuple[ListenerSending, ...]:
    told = []
    for address in settings.listeners:
        config = configs.listener_config(settings, address)
        told.append(
            ListenerSending(
                name=address.name,
                fetch_mode=config.fetch_mode.value,
                zero_copy=address.security_protocol not in ENCRYPTED,
                zero_copy_min_bytes=ListenerTraffic(config).zero_copy_min_bytes,
            )
        )
    return tuple(told)


def elect(image: MetadataImage, node_id: int, topic_id: bytes, partition: int) -> list[str]:
    """Give partitions without a leader the one that a start elects; return what to say of it."""
    before = image.topics_by_id[topic_id].partitions[partition]
    for record in list(election_records(image, node_id, was_clean=True)):
        image.replay(record, MetadataDelta())
    now = image.topics_by_id[topic_id].partitions[partition]
    if (now.leader, now.leader_epoch) == (before.leader, before.leader_epoch):
        return []
    return [f"no leader is elected now; a start elects node {now.leader}, in leader epoch {now.leader_epoch}"]


def state_note(disk: Disk, log_dirs: list[str]) -> str:
    """Return what to say of how the directories were left."""
    if all(disk.exists(f"{path}/{CLEAN_SHUTDOWN_FILE}") for path in log_dirs):
        return "as a broker started on these files would answer"
    return (
        "as a broker started on these files would answer; they are in use or were left by a crash, so its "
        "start would check them first and raise the leader epoch"
    )
