"""Broker configs that change while the broker runs, brought to the parts that use them.

Topics take theirs by themselves: replica makes each log's configuration anew, broker defaults included, when
configs change. What is here is the rest: limits of connections, producer expiry, cordoned directories. Each
change applies everything anew, since all of it is cheap and nothing can be forgotten.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.base.dataclass import replace
from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.logger import Logger
from barnabas.metadata.broker_config_checks import ALL_LOG_DIRS
from barnabas.metadata.config_definitions import BrokerConfigs
from barnabas.metadata.controller import Controller
from barnabas.metadata.image import ConfigResourceType, MetadataDelta
from barnabas.net.listener import Listener
from barnabas.net.reactor import Reactor
from barnabas.net.tls_config import TlsConfigError
from barnabas.server import component_configs as configs
from barnabas.server.log_moves import LogMoves
from barnabas.server.settings import Settings
from barnabas.server.tls_settings import listener_tls
from barnabas.storage.log_manager import LogManager

_log = Logger(__name__)


class DynamicConfigs:
    """Keeps a broker's parts in step with its dynamic configs.

    Args:
        settings: as they were read at start.
        directory_ids: path -> id of each log directory.
    """

    __slots__ = ("_controller", "_directory_ids", "_listeners", "_logs", "_moves", "_reactor", "_settings")

    def __init__(
        self,
        settings: Settings,
        *,
        reactor: Reactor,
        listeners: Mapping[str, Listener],
        logs: LogManager,
        moves: LogMoves,
        controller: Controller,
        directory_ids: Mapping[str, bytes],
    ) -> None:
        self._settings = settings
        self._reactor = reactor
        self._listeners = listeners
        self._logs = logs
        self._moves = moves
        self._controller = controller
        self._directory_ids = directory_ids

    def changed(self, delta: MetadataDelta, call_soon: Callable[[Callable[[], None]], None]) -> None:
        """Apply a change that touches broker configs.

        Args:
            call_soon: for what changes metadata itself, while this change is still being told to others.
        """
        if any(kind is ConfigResourceType.BROKER for kind, _ in delta.configs_changed):
            self._apply()
            call_soon(self._register_cordoned)

    def start(self) -> None:
        """Apply what was set before this start, and look at what is to be set from now on."""
        self._controller.check_listeners = self.check_listeners
        self._apply()
        self._register_cordoned()

    def current(self) -> Settings:
        """Return the settings as they are now."""
        now = self._controller.broker_configs()
        return self._settings.with_dynamic(now.cluster, now.broker)

    def _apply(self) -> None:
        now = self.current()
        self._reactor.limit_connections(configs.connection_limits(now))
        for name, listener in self._listeners.items():
            self._reactor.limit_listener(
                listener,
                configs.listener_connections_max(now, name),
                configs.listener_creation_rate(now, name),
            )
        self._renew_tls(now)
        expiration_ms = now.integer("producer.id.expiration.ms")
        if expiration_ms != self._logs.config.producer_id_expiration_ms:
            self._logs.config = replace(self._logs.config, producer_id_expiration_ms=expiration_ms)
            for log in self._logs.logs.values():
                log.producers.expiration_ms = expiration_ms
        self._moves.settings_changed(now)
        cordoned = now.strings("cordoned.log.dirs")
        for directory in self._logs.directories:
            directory.cordoned = cordoned == [ALL_LOG_DIRS] or directory.path in cordoned

    def check_listeners(self, after: BrokerConfigs) -> None:
        """Refuse a change after which a TLS listener had no usable key or certificates.

        Raises:
            ApiError: INVALID_REQUEST.
        """
        then = self._settings.with_dynamic(after.cluster, after.broker)
        for address in self._settings.listeners:
            tls = self._listeners[address.name].traffic.tls
            if tls is not None:
                try:
                    config = listener_tls(then, address)
                    assert config is not None
                    tls.check(config)
                except TlsConfigError as error:
                    raise ApiError(ErrorCode.INVALID_REQUEST, str(error)) from None

    def _renew_tls(self, now: Settings) -> None:
        """Give new connections new certificates, also when only the files behind the names have changed."""
        for address in self._settings.listeners:
            tls = self._listeners[address.name].traffic.tls
            if tls is None:
                continue
            try:
                config = listener_tls(now, address)
                assert config is not None
                if tls.renew(config):
                    _log.info("%s: new connections get the key and certificates read now", address.name)
            except TlsConfigError as error:
                _log.error("%s; the listener goes on with what it has", error)

    def _register_cordoned(self) -> None:
        self._controller.cordon(
            [
                self._directory_ids[one.path]
                for one in self._logs.directories
                if one.cordoned and one.path in self._directory_ids
            ]
        )
