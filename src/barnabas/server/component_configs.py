"""From the one table of settings to the configuration object of each component."""

from __future__ import annotations

from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.handlers.services import HandlerSettings
from barnabas.metadata.broker_config_checks import connections_per_ip
from barnabas.metadata.image import Endpoint
from barnabas.metadata.metadata_log import MetadataLogConfig
from barnabas.net.creation_rate import UNLIMITED
from barnabas.net.listener_config import ConnectionLimits, FetchMode, ListenerConfig
from barnabas.server.listeners import ListenerAddress
from barnabas.server.settings import Settings
from barnabas.server.tls_settings import listener_tls, own_or_shared
from barnabas.storage.log_manager_config import LogManagerConfig

if TYPE_CHECKING:
    from barnabas.replica.fetch_verifier import FetchVerifier

_CONTROLLER_PORT: Final = 9093


def listener_config(settings: Settings, address: ListenerAddress) -> ListenerConfig:
    """Return what a listener of clients is made with.

    Raises:
        TlsConfigError: its TLS cannot be as it is configured.
    """
    tls_read_bytes = own_or_shared(settings, address.name, "fetch.tls.read.bytes")
    assert isinstance(tls_read_bytes, int)
    return ListenerConfig(
        name=address.name,
        host=address.host,
        port=address.port,
        fetch_mode=_fetch_mode(settings, address.name),
        socket_request_max_bytes=settings.integer("socket.request.max.bytes"),
        socket_send_buffer_bytes=settings.integer("socket.send.buffer.bytes"),
        socket_receive_buffer_bytes=settings.integer("socket.receive.buffer.bytes"),
        socket_listen_backlog_size=settings.integer("socket.listen.backlog.size"),
        max_connections=listener_connections_max(settings, address.name),
        connection_creation_rate=listener_creation_rate(settings, address.name),
        tls=listener_tls(settings, address),
        tls_read_bytes=tls_read_bytes,
    )


def _fetch_mode(settings: Settings, listener: str) -> FetchMode:
    """Return how fetched bytes are sent. What is checked has to be read; the page cache sends unseen."""
    if settings.boolean("fetch.verify.crc"):
        return FetchMode.HEAP
    return FetchMode(own_or_shared(settings, listener, "fetch.mode"))


def listener_connections_max(settings: Settings, listener: str) -> int:
    """Return how many connections a listener may have by itself."""
    own = settings.for_listener(listener, "max.connections")
    return own if isinstance(own, int) else settings.integer("max.connections")


def listener_creation_rate(settings: Settings, listener: str) -> int:
    """Return how many connections a second a listener may take by itself."""
    own = settings.for_listener(listener, "max.connection.creation.rate")
    return own if isinstance(own, int) else UNLIMITED


def connection_limits(settings: Settings) -> ConnectionLimits:
    """Return the limits over all listeners."""
    overrides = connections_per_ip(settings.text("max.connections.per.ip.overrides") or "")
    return ConnectionLimits(
        max_connections=settings.integer("max.connections"),
        max_connections_per_ip=settings.integer("max.connections.per.ip"),
        max_connections_per_ip_overrides=overrides,
        connections_max_idle_ms=settings.integer("connections.max.idle.ms"),
        connection_creation_rate=settings.integer("max.connection.creation.rate"),
        # Kafka's windows less the one that is being filled.
        creation_window_ms=1000
        * max(1, settings.integer("quota.window.num") - 1)
        * settings.integer("quota.window.size.seconds"),
    )


def fetch_verifier(settings: Settings) -> FetchVerifier | None:
    """Return what checks fetches before they are answered; None unless it is switched on."""
    if not settings.boolean("fetch.verify.crc"):
        return None
    from barnabas.replica.fetch_verifier import FetchVerifier  # noqa: PLC0415 - most brokers need none

    return FetchVerifier()


def log_manager_config(settings: Settings) -> LogManagerConfig:
    """Return the intervals of the logs' chores."""
    return LogManagerConfig(
        flush_offset_checkpoint_interval_ms=settings.integer("log.flush.offset.checkpoint.interval.ms"),
        flush_start_offset_checkpoint_interval_ms=settings.integer(
            "log.flush.start.offset.checkpoint.interval.ms"
        ),
        flush_scheduler_interval_ms=settings.integer("log.flush.scheduler.interval.ms"),
        retention_check_interval_ms=settings.integer("log.retention.check.interval.ms"),
        producer_id_expiration_ms=settings.integer("producer.id.expiration.ms"),
        producer_id_expiration_check_interval_ms=settings.integer("producer.id.expiration.check.interval.ms"),
        recovery_threads_per_data_dir=settings.integer("num.recovery.threads.per.data.dir"),
        initial_task_delay_ms=settings.integer("log.initial.task.delay.ms"),
        trusts_future_timestamps=settings.text("log.retention.future.timestamps") == "keep",
    )


def metadata_log_config(settings: Settings) -> MetadataLogConfig:
    """Return the metadata log's sizes and intervals."""
    return MetadataLogConfig(
        segment_bytes=settings.integer("metadata.log.segment.bytes"),
        segment_ms=settings.integer("metadata.log.segment.ms"),
        max_record_bytes_between_snapshots=settings.integer(
            "metadata.log.max.record.bytes.between.snapshots"
        ),
        max_snapshot_interval_ms=settings.integer("metadata.log.max.snapshot.interval.ms"),
        max_retention_bytes=settings.integer("metadata.max.retention.bytes"),
        max_retention_ms=settings.integer("metadata.max.retention.ms"),
    )


def handler_settings(settings: Settings) -> HandlerSettings:
    """Return what the API handlers read."""
    return HandlerSettings(
        fetch_max_bytes=settings.integer("fetch.max.bytes"),
        auto_create_topics_enable=settings.boolean("auto.create.topics.enable"),
        delete_topic_enable=settings.boolean("delete.topic.enable"),
        max_request_partition_size_limit=settings.integer("max.request.partition.size.limit"),
        consumer_groups_enable="consumer" in settings.strings("group.coordinator.rebalance.protocols"),
        transaction_partition_verification_enable=settings.boolean(
            "transaction.partition.verification.enable"
        ),
        transaction_max_timeout_ms=settings.integer("transaction.max.timeout.ms"),
    )


def controller_endpoint(settings: Settings) -> Endpoint:
    """Return the address this node votes under: that of its controller listener, which it never opens."""
    listener = settings.controller_listener
    if listener is None:
        name = settings.strings("controller.listener.names")[0].upper()
        return Endpoint(name=name, host="localhost", port=_CONTROLLER_PORT)
    return Endpoint(name=listener.name, host=listener.host or "localhost", port=listener.port)
