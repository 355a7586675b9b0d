"""One broker: settings in, objects wired, a loop that runs.

Read `start` to see what a broker is made of and in which order; nothing is decided here. Listeners are
bound before the log is read, because their ports are part of what the broker registers; their connections
wait in the backlog until `run` takes them.
"""

from __future__ import annotations

import gc
import os
from collections.abc import Callable

from barnabas.base.clock import Clock, SystemClock
from barnabas.base.cold_reads import ColdReads
from barnabas.base.dataclass import replace
from barnabas.base.disk import Disk, OsDisk
from barnabas.base.entropy import Entropy, SystemEntropy
from barnabas.base.errors import ApiError
from barnabas.base.logger import Logger
from barnabas.coordinator.transactions.producer_ids import ProducerIds
from barnabas.handlers.dispatch import Dispatcher
from barnabas.handlers.fetch_session_cache import FetchSessionCache
from barnabas.handlers.local_commands import LocalCommands, LocalServices
from barnabas.handlers.request_log import RequestLog
from barnabas.handlers.routes import ROUTES
from barnabas.handlers.services import Services
from barnabas.metadata.config_definitions import ConfigError
from barnabas.metadata.controller import Controller, NodeIdentity
from barnabas.metadata.formatting import LogDirs, read_bootstrap_checkpoint
from barnabas.metadata.image import ConfigResourceType, Endpoint, MetadataDelta, MetadataImage
from barnabas.metadata.metadata_log import MetadataLog
from barnabas.metadata.records import MetadataError
from barnabas.metadata.topic_configs import LogConfigs
from barnabas.net.listener import Listener, ListenError
from barnabas.net.local_listener import SOCKET_FILE, LocalListener
from barnabas.net.reactor import Reactor
from barnabas.net.tls_config import TlsConfigError
from barnabas.replica.manager import ReplicaManager
from barnabas.server import component_configs as configs
from barnabas.server.coordinators import Coordinators
from barnabas.server.directory_failures import DirectoryFailures
from barnabas.server.dynamic_configs import DynamicConfigs
from barnabas.server.helper_threads import HelperThreads
from barnabas.server.listeners import ListenerAddress, advertised_address, reach_warning
from barnabas.server.log_cleaning import LogCleaning
from barnabas.server.log_moves import LogMoves
from barnabas.server.settings import Settings
from barnabas.server.slice_errors import SliceErrors
from barnabas.server.start_directories import StartDirectories
from barnabas.storage.loading import directory_check
from barnabas.storage.loading.directory_loading import LogManagerError
from barnabas.storage.loading.scans import RecoveryProgress
from barnabas.storage.loading.segment_check import UnsupportedLogError
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_directory import LogDirectory
from barnabas.storage.log_manager import LogManager
from barnabas.timing.timer_wheel import TimerWheel

_log = Logger(__name__)

STOP_DEADLINE_MS = 5_000
"""How long a stop waits for requests in hand; what is parked is answered at once."""

METADATA_TICK_MS = 5_000


class StartError(Exception):
    """The broker cannot start; the text is one line for the user."""


class Broker:
    """A broker in this process. Several may live side by side; signals are the caller's business."""

    def __init__(
        self,
        settings: Settings,
        *,
        clock: Clock | None = None,
        disk: Disk | None = None,
        entropy: Entropy | None = None,
    ) -> None:
        self._settings = settings
        self._clock = clock or SystemClock()
        self._disk = disk or OsDisk()
        self._entropy = entropy or SystemEntropy()
        self._wheel = TimerWheel(self._clock.monotonic_ms())
        self._reactor = Reactor(
            clock=self._clock,
            timers=self._wheel,
            limits=configs.connection_limits(settings),
            on_slice_error=lambda failed, cause: self._slice_errors.failed(failed, cause),  # noqa: PLW0108
        )
        self._threads = HelperThreads(
            self._reactor.call_soon_threadsafe,
            read_threads=settings.integer("cold.read.threads"),
            flush_threads=settings.integer("log.flush.threads"),
        )
        self._cold_reads = self._make_cold_reads()
        self._reactor.cold_reads = self._cold_reads
        self._slice_errors = SliceErrors(self._threads.run_reads, lambda: self._logs.directories)
        self._request_log = RequestLog(
            self._reactor.call_at_turn_end,
            path=settings.text("request.log.file"),
            max_bytes=settings.integer("request.log.file.max.bytes"),
        )
        self._dispatcher = Dispatcher(
            complete_parked_fetches=settings.text("connections.parked.fetch") == "complete"
        )
        self._bound: list[ListenerAddress] = []
        self._listeners: dict[str, Listener] = {}
        self._directory_ids: dict[str, bytes] = {}
        self._logs: LogManager
        self._dynamic: DynamicConfigs
        self._log_configs: LogConfigs
        self._controller: Controller
        self._replicas: ReplicaManager
        self._is_hosting = False
        self._moves: LogMoves
        self._cleaning: LogCleaning
        self._failures: DirectoryFailures
        self.coordinators: Coordinators | None = None

    def _make_cold_reads(self) -> ColdReads | None:
        threads = self._settings.integer("cold.read.threads")
        if threads == 0:
            return None
        return ColdReads(
            self._threads.run_reads,
            clock=self._clock,
            threads=threads,
            ahead_bytes_max=self._settings.integer("cold.read.ahead.bytes"),
        )

    @property
    def addresses(self) -> list[ListenerAddress]:
        """Where the broker listens, with the ports that were chosen; known after `start`."""
        return list(self._bound)

    @property
    def image(self) -> MetadataImage:
        """The metadata as the broker has it; to be read on its thread, or when it does not run."""
        return self._controller.image

    @property
    def directory_ids(self) -> dict[str, bytes]:
        """Path of each log directory -> its id."""
        return dict(self._directory_ids)

    # Start -------------------------------------------------------------------------------------

    def start(self, progress: Callable[[RecoveryProgress], None] | None = None) -> None:
        """Bind, format or load the directories, recover, register.

        Args:
            progress: called every now and then while logs are checked after a crash.

        Raises:
            StartError: nothing is left open.
        """
        # Ten thousand logs are millions of objects that stay: walking them again and again finds no garbage
        # and takes a third of such a start.
        collecting = gc.isenabled()
        gc.disable()
        try:
            self._bind()
            self._load(progress)
        except (
            ListenError, TlsConfigError, LogManagerError, MetadataError, ConfigError, ApiError,
            UnsupportedLogError, OSError,
        ) as error:  # fmt: skip
            self._reactor.close()
            raise StartError(str(error)) from error
        finally:
            if collecting:
                gc.enable()

    def _bind(self) -> None:
        for address in self._settings.listeners:
            listener = self._reactor.listen(
                configs.listener_config(self._settings, address), self._dispatcher
            )
            self._listeners[address.name] = listener
            self._bound.append(replace(address, port=listener.port))

    def _load(self, progress: Callable[[RecoveryProgress], None] | None) -> None:
        settings = self._settings
        log_dirs = [os.path.abspath(path) for path in settings.log_dirs]
        metadata_dir = os.path.abspath(settings.text("metadata.log.dir") or log_dirs[0])
        self._logs = LogManager(
            disk=self._disk,
            clock=self._clock,
            entropy=self._entropy,
            directories=log_dirs,
            config_for=self._log_config,
            config=configs.log_manager_config(settings),
            on_directory_failure=self._directory_failed,
            run_blocking=self._threads.run,
            run_syncs=self._threads.run_syncs,
            run_housekeeping=self._threads.run_housekeeping,
            call_at_turn_end=self._reactor.call_at_turn_end,
        )
        self._failures = DirectoryFailures(
            metadata_dir=metadata_dir,
            logs=self._logs,
            controller=lambda: self._controller,
            directory_ids=lambda: self._directory_ids,
            call_soon=self._reactor.call_soon,
            stop=lambda: self.stop(now=True),
        )
        self._logs.lock_directories()
        try:
            self._start_parts(metadata_dir, progress)
        except BaseException:
            self._logs.release()
            raise

    def _start_parts(self, metadata_dir: str, progress: Callable[[RecoveryProgress], None] | None) -> None:
        settings = self._settings
        told = self._advertise()
        directories = StartDirectories(
            settings, disk=self._disk, clock=self._clock, entropy=self._entropy, logs=self._logs
        )
        plan = directories.inspect(metadata_dir)
        formatted = plan.log_dirs
        self._directory_ids = formatted.directory_ids
        self._controller = self._make_controller(metadata_dir, formatted, told)
        self._log_configs = LogConfigs(self._controller.broker_configs)
        if not plan.is_new:
            self._controller.load(read_bootstrap_checkpoint(self._disk, metadata_dir))
            directories.check(plan, self._controller.image)
        directories.prepare(plan)
        loaded = self._controller.start()
        directory_check.note_use(self._logs.locks, self._controller.broker_epoch, formatted.cluster_id)
        self._logs.start(progress)
        self._host(formatted, loaded)
        self._serve(formatted, told)

    def _host(self, formatted: LogDirs, loaded: MetadataDelta) -> None:
        """Bring logs and metadata together: moves, partitions, dynamic configs, compaction."""
        settings = self._settings
        self._moves = LogMoves(
            self._logs,
            clock=self._clock,
            entropy=self._entropy,
            reactor=self._reactor,
            controller=self._controller,
            node_id=settings.node_id,
            directory_ids=self._directory_ids,
            config_for=self._log_config,
            current_settings=lambda: self._dynamic.current(),  # noqa: PLW0108 - made below
        )
        self._dynamic = DynamicConfigs(
            settings,
            reactor=self._reactor,
            listeners=self._listeners,
            logs=self._logs,
            moves=self._moves,
            controller=self._controller,
            directory_ids=self._directory_ids,
        )
        self._moves.settle()
        self._replicas = ReplicaManager(
            local_id=settings.node_id,
            clock=self._clock,
            wheel=self._wheel,
            call_soon=self._reactor.call_at_turn_end,
            log_manager=self._logs,
            image=self._controller.image,
            log_config_for=self._log_config,
            cold_reads=self._cold_reads,
            verifier=configs.fetch_verifier(settings),
            held=self._reactor,
        )
        self._replicas.partitions.directory_ids = frozenset(formatted.directory_ids.values())
        self._replicas.partitions.deleted_topic_ids = loaded.topic_ids_deleted
        self._is_hosting = True
        self._replicas.start()
        self._logs.group_commit.on_released = self._replicas.log_released
        self._logs.retention_high_watermark = self._replicas.partitions.high_watermark
        self._replicas.partitions.on_opened = self._moves.tell
        self._dynamic.start()
        self._cleaning = LogCleaning(
            current_settings=self._dynamic.current,
            logs=self._logs,
            controller=self._controller,
            reactor=self._reactor,
            clock=self._clock,
            entropy=self._entropy,
            disk=self._disk,
            run_blocking=self._threads.run,
        )
        self._cleaning.start()
        self._controller.subscribe(self._metadata_changed)
        self._moves.tell_all()

    def _serve(self, formatted: LogDirs, told: dict[str, Endpoint]) -> None:
        """Make what requests are answered with, and what is done between them."""
        settings = self._settings
        coordinators = self.coordinators = Coordinators(
            settings,
            current_settings=self._dynamic.current,
            services=lambda: self._dispatcher.services,
            controller=self._controller,
            replicas=self._replicas,
            reactor=self._reactor,
            clock=self._clock,
            entropy=self._entropy,
            wheel=self._wheel,
            cold_reads=self._cold_reads,
            was_clean=self._logs.was_clean,
            disk=self._disk,
            metadata_dir=formatted.metadata_dir,
        )
        self._dispatcher.services = Services(
            cluster_id=formatted.cluster_id,
            node_id=settings.node_id,
            rack=settings.text("broker.rack"),
            clock=self._clock,
            image=self._controller.image,
            controller=self._controller,
            replicas=self._replicas,
            logs=self._logs,
            producer_ids=ProducerIds(self._controller.allocate_producer_ids),
            fetch_sessions=FetchSessionCache(
                slots=settings.integer("max.incremental.fetch.session.cache.slots"), entropy=self._entropy
            ),
            settings=configs.handler_settings(settings),
            advertised_apis={key: route.advertised for key, route in ROUTES.items()},
            advertised=told,
            request_log=self._request_log,
            make_groups=coordinators.make_groups,
            make_transactions=coordinators.make_transactions,
        )
        writes, commits = self._logs.checkpoints.writes, self._logs.group_commit
        for stop in (coordinators.stop, writes.stop, commits.stop, self._replicas.shutdown):
            self._reactor.add_stopping_hook(stop)
        self._listen_locally()
        self._schedule_chores()
        coordinators.load_soon()

    def _make_controller(
        self, metadata_dir: str, formatted: LogDirs, told: dict[str, Endpoint]
    ) -> Controller:
        settings = self._settings
        return Controller(
            log=MetadataLog(
                directory=self._metadata_directory(metadata_dir),
                node_id=settings.node_id,
                clock=self._clock,
                entropy=self._entropy,
                config=configs.metadata_log_config(settings),
            ),
            node=NodeIdentity(
                node_id=settings.node_id,
                endpoints=tuple(told.values()),
                controller_endpoint=configs.controller_endpoint(settings),
                log_dirs=tuple(formatted.directory_ids.values()),
                rack=settings.text("broker.rack"),
                static_configs=settings.static_values,
            ),
            clock=self._clock,
            entropy=self._entropy,
        )

    def _listen_locally(self) -> None:
        """Let tools on this machine ask; a broker that they cannot ask serves its clients all the same."""
        if not isinstance(self._disk, OsDisk):
            return  # a simulated disk has no place for a socket
        commands = LocalCommands()
        commands.local = LocalServices(
            services=self._dispatcher.services,
            reactor=self._reactor,
            timers=self._wheel,
            dispatcher=self._dispatcher,
            cold_reads=self._cold_reads,
        )
        try:
            self._reactor.add_listener(LocalListener(self.local_socket_path, commands))
        except ListenError as error:
            _log.warning("%s; tools cannot ask this broker about itself", error)

    @property
    def local_socket_path(self) -> str:
        """Where tools on this machine ask the broker about itself."""
        return f"{os.path.abspath(self._settings.log_dirs[0])}/{SOCKET_FILE}"

    def _advertise(self) -> dict[str, Endpoint]:
        told = {}
        for bound in self._bound:
            address = advertised_address(bound, self._settings.advertised_listeners)
            warning = reach_warning(bound, address)
            if warning is not None:
                _log.warning("%s", warning)
            told[bound.name] = Endpoint(
                name=bound.name,
                host=address.host,
                port=address.port,
                security_protocol=int(bound.security_protocol),
            )
        return told

    def _metadata_directory(self, path: str) -> LogDirectory:
        for directory in self._logs.directories:
            if directory.path == path:
                return directory
        return LogDirectory(self._disk, path, self._failures.metadata_directory_failed)

    # What the parts ask of each other -------------------------------------------------------------

    def _log_config(self, topic: str) -> LogConfig:
        return self._log_configs.of(self._controller.image.config(ConfigResourceType.TOPIC, topic))

    def _metadata_changed(self, delta: MetadataDelta, image: MetadataImage) -> None:
        self._replicas.apply_delta(delta, image)
        self._dynamic.changed(delta, self._reactor.call_soon)
        if delta.partitions_changed:
            self._moves.tell(delta.partitions_changed)
        if self.coordinators is not None:
            self.coordinators.metadata_changed(delta)

    def _directory_failed(self, directory: LogDirectory) -> None:
        self._failures.failed(directory)
        if not self._is_hosting:
            return  # a disk may fail while the broker starts
        self._replicas.log_directory_failed(directory)
        if self.coordinators is not None:
            self.coordinators.partitions_changed()
        if self._logs.cleaner is not None:
            self._logs.cleaner.directory_failed(directory)

    # Chores --------------------------------------------------------------------------------------

    def _schedule_chores(self) -> None:
        high_watermark_ms = self._settings.integer("replica.high.watermark.checkpoint.interval.ms")
        self._every(high_watermark_ms, self._replicas.checkpoint_high_watermarks)
        self._every(METADATA_TICK_MS, self._controller.tick)
        self._tend_logs()

    def _every(self, interval_ms: int, chore: Callable[[], None]) -> None:
        def run() -> None:
            self._reactor.call_later(interval_ms, run)
            chore()

        self._reactor.call_later(interval_ms, run)

    def _tend_logs(self) -> None:
        now_ms = self._clock.monotonic_ms()
        self._logs.handle_timer(now_ms)
        self._reactor.call_later(max(1, self._logs.next_deadline_ms() - now_ms), self._tend_logs)

    # Run and stop ----------------------------------------------------------------------------------

    def run(self) -> bool:
        """Serve on this thread until stopped, then shut down; return whether everything was flushed.

        Everything is closed when this returns or raises.
        """
        try:
            self._reactor.run()
        finally:
            clean = self._shut_down()
        return clean

    def call_later(self, delay_ms: int, callback: Callable[[], None]) -> None:
        """Run a call on the broker's thread after a while; from that thread, or before it runs."""
        self._reactor.call_later(delay_ms, callback)

    def stop(self, *, now: bool = False) -> None:
        """Ask `run` to end; from any thread or signal handler.

        Args:
            now: do not wait for requests in hand.
        """
        self._reactor.stop(0 if now else STOP_DEADLINE_MS)

    def _shut_down(self) -> bool:
        self._request_log.close()
        self._moves.close()
        self._threads.close()
        self._cleaning.close()
        if self._cold_reads is not None:
            self._cold_reads.close()
        try:
            # First, since the controller's last word is that this broker went in good order.
            self._logs.flush()
            self._controller.stop()
            if self.coordinators is not None:
                self.coordinators.note_unchecked()
        except (ApiError, OSError) as error:
            _log.error("the metadata log could not be closed: %s", error)
            self._logs.release()
            return False
        return self._logs.shutdown(broker_epoch=self._controller.broker_epoch)
