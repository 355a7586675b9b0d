"""The broker's configuration: server.properties files, KAFKA_* variables and overrides in one table.

Every key is one of Apache Kafka's (or one of ours, see metadata/config_definitions.py). Later sources win:
defaults, files in order, environment, overrides. Each value remembers its source, so that the effective
configuration can be printed. A key that does not exist stops the start with the nearest one that does: a
broker that runs with half of its settings ignored is worse than one that does not run.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence

from barnabas.base.hints import Final
from barnabas.base.logger import Logger
from barnabas.base.named_tuple import NamedTuple
from barnabas.metadata.config_definitions import BROKER, ConfigError, broker_definition
from barnabas.metadata.config_types import ConfigValue, value_text
from barnabas.metadata.java_properties import parse_properties
from barnabas.server.listeners import (
    ListenerAddress,
    ListenersError,
    SecurityProtocol,
    check_advertised,
    parse_listeners,
    parse_protocol_map,
)

_log = Logger(__name__)

SHIPPED: Final[Mapping[str, str]] = {
    "process.roles": "broker,controller",
    "node.id": "1",
    "controller.listener.names": "CONTROLLER",
    "listeners": "PLAINTEXT://localhost:9092",
    "group.initial.rebalance.delay.ms": "0",
    "offsets.topic.replication.factor": "1",
    "transaction.state.log.replication.factor": "1",
    "transaction.state.log.min.isr": "1",
    "share.coordinator.state.topic.replication.factor": "1",
    "share.coordinator.state.topic.min.isr": "1",
}
"""What holds before any file is read: one node that does all, as Kafka's own config/server.properties."""

_ASSIGNORS: Final = ("uniform", "range")
"""Those of consumer groups, by the names they have in coordinator/assignors/assignor.py."""

_ENVIRONMENT_PREFIX: Final = "KAFKA_"
_LISTENER_PREFIX: Final = "listener.name."

_LAUNCHER_VARIABLES: Final = frozenset(
    (
        "KAFKA_BASE_LOG_DIR",
        "KAFKA_BOOTSTRAP_SERVERS",
        "KAFKA_CFG",
        "KAFKA_DEBUG",
        "KAFKA_GC_LOG_OPTS",
        "KAFKA_HEAP_OPTS",
        "KAFKA_HOME",
        "KAFKA_JMX_OPTS",
        "KAFKA_JMX_PORT",
        "KAFKA_JVM_PERFORMANCE_OPTS",
        "KAFKA_LOG4J_LOGGERS",
        "KAFKA_LOG4J_OPTS",
        "KAFKA_LOG4J_ROOT_LOGLEVEL",
        "KAFKA_MODE",
        "KAFKA_OPTS",
        "KAFKA_TOOLS_LOG4J_LOGLEVEL",
        "KAFKA_VERSION",
    )
)
"""Variables of Kafka's start scripts and images that are no configuration keys."""


_NO_LOCAL_RETENTION: Final = -2

_CODEC_MAX: Final = 4
"""none, gzip, snappy, lz4, zstd; by number in one config, without importing them."""


class SettingsError(Exception):
    """The configuration cannot be used; the text is one line for the user."""


class SettingSource(NamedTuple):
    """Where a value comes from, for people: `default`, a file's path, `KAFKA_LOG_DIRS`, `--override`."""

    text: str


DEFAULT: Final = SettingSource("default")
_DYNAMIC_DEFAULT: Final = SettingSource("dynamic, for all brokers")
_DYNAMIC: Final = SettingSource("dynamic, for this broker")


class SettingEntry(NamedTuple):
    """One effective setting, for printing; the value of a secret is None."""

    name: str
    value: str | None
    source: str


class Settings:
    """What is set, with the defaults behind it. Getters take Kafka's key."""

    __slots__ = ("_parsed", "_set")

    def __init__(self, values: Mapping[str, tuple[str, SettingSource]]) -> None:
        """
        Args:
            values: key -> text and source; keys are known and texts well-formed (see `load_settings`).
        """
        self._set = dict(values)
        self._parsed: dict[str, ConfigValue] = {}

    def value(self, name: str) -> ConfigValue:
        """Return the value of a key, parsed; its default when it is not set."""
        if name in self._parsed:
            return self._parsed[name]
        definition = BROKER.definition(name)
        given = self._set.get(name)
        parsed = self._parsed[name] = definition.default if given is None else definition.parse(given[0])
        return parsed

    def integer(self, name: str) -> int:
        """Return an INT, LONG or SHORT."""
        value = self.value(name)
        assert isinstance(value, int), f"{name} is no integer"
        return value

    def optional_integer(self, name: str) -> int | None:
        """Return an integer that may be unset."""
        return None if self.value(name) is None else self.integer(name)

    def number(self, name: str) -> float:
        """Return a DOUBLE."""
        value = self.value(name)
        assert isinstance(value, float), f"{name} is no number"
        return value

    def boolean(self, name: str) -> bool:
        """Return a BOOLEAN."""
        value = self.value(name)
        assert isinstance(value, bool), f"{name} is no boolean"
        return value

    def text(self, name: str) -> str | None:
        """Return a STRING; None when it is unset and has no default."""
        value = self.value(name)
        assert value is None or isinstance(value, str), f"{name} is no string"
        return value

    def strings(self, name: str) -> list[str]:
        """Return a LIST; empty when unset."""
        value = self.value(name)
        assert value is None or isinstance(value, (list, tuple)), f"{name} is no list"
        return [str(item) for item in value or ()]

    def is_set(self, name: str) -> bool:
        """Whether a key was given by a file, the environment, an override or the shipped values."""
        return name in self._set

    @property
    def static_values(self) -> dict[str, str]:
        """What a user gave, as texts: what DescribeConfigs calls STATIC_BROKER_CONFIG."""
        values = {name: text for name, (text, _) in self._set.items()}
        # The old name of node.id, which tools still look for; Apache Kafka keeps the two equal, too.
        values.setdefault("broker.id", values["node.id"])
        return values

    def with_dynamic(self, cluster: Mapping[str, str], broker: Mapping[str, str]) -> Settings:
        """Return the settings as dynamic configs change them: those for all brokers, then those for this one.

        What is malformed, as a log of another broker may hold it, is left as it was.
        """
        values = dict(self._set)
        for given, source in ((cluster, _DYNAMIC_DEFAULT), (broker, _DYNAMIC)):
            for name, text in given.items():
                definition = broker_definition(name)
                if definition is None or not definition.dynamic:
                    continue
                try:
                    definition.parse(text)
                except ConfigError as error:
                    _log.warning("a dynamic config is passed over: %s", error)
                    continue
                values[name] = (text, source)
        return Settings(values)

    def for_listener(self, listener: str, name: str) -> ConfigValue:
        """Return what `listener.name.<listener>.<name>` sets; None when it sets nothing."""
        given = self._set.get(f"{_LISTENER_PREFIX}{listener.lower()}.{name}")
        return None if given is None else BROKER.parse(name, given[0])

    @property
    def node_id(self) -> int:
        """`node.id`."""
        return self.integer("node.id")

    @property
    def log_dirs(self) -> list[str]:
        """`log.dirs`, else `log.dir`, each once."""
        return list(dict.fromkeys(self.strings("log.dirs") or self.strings("log.dir")))

    @property
    def listeners(self) -> tuple[ListenerAddress, ...]:
        """The listeners for clients; those of the controller are not opened, since it is in this process."""
        controllers = {name.upper() for name in self.strings("controller.listener.names")}
        return tuple(listener for listener in self._all_listeners() if listener.name not in controllers)

    @property
    def controller_listener(self) -> ListenerAddress | None:
        """The controller's listener when `listeners` names one."""
        controllers = {name.upper() for name in self.strings("controller.listener.names")}
        return next((found for found in self._all_listeners() if found.name in controllers), None)

    @property
    def advertised_listeners(self) -> tuple[ListenerAddress, ...]:
        """What `advertised.listeners` says; empty when it says nothing."""
        controllers = {name.upper() for name in self.strings("controller.listener.names")}
        advertised = parse_listeners(self.strings("advertised.listeners"), self._protocols())
        return tuple(address for address in advertised if address.name not in controllers)

    def _all_listeners(self) -> tuple[ListenerAddress, ...]:
        return parse_listeners(self.strings("listeners"), self._protocols())

    def _protocols(self) -> dict[str, SecurityProtocol]:
        # A controller listener without an entry is plaintext, as Kafka's default map has it.
        named = dict.fromkeys(
            (name.upper() for name in self.strings("controller.listener.names")), SecurityProtocol.PLAINTEXT
        )
        entries = (self.text("listener.security.protocol.map") or "").split(",")
        return named | parse_protocol_map([entry for entry in entries if entry.strip()])

    def entries(self) -> Iterator[SettingEntry]:
        """Yield every key with its effective value and where it comes from, by name."""
        for name in sorted({*BROKER.names(), *self._set}):
            text, source = self._set.get(name, (None, DEFAULT))
            if name not in BROKER:
                yield SettingEntry(name=name, value=text, source=source.text)
                continue
            definition = BROKER.definition(name)
            if definition.internal and text is None:
                continue
            if text is None:
                text = value_text(definition.default, definition.type)
            yield SettingEntry(name=name, value=None if definition.sensitive else text, source=source.text)


def load_settings(
    *,
    files: Sequence[str] = (),
    environ: Mapping[str, str] | None = None,
    overrides: Iterable[str] = (),
    read_text: Callable[[str], str] | None = None,
) -> Settings:
    """Read all sources and check every key and value.

    Args:
        files: server.properties files; later ones win.
        environ: KAFKA_LOG_DIRS sets log.dirs, `__` stands for `_` and `___` for `-`, as in Kafka's image.
        overrides: "key=value" texts; the strongest.
        read_text: returns a file's text; None reads UTF-8 from the file system.

    Raises:
        SettingsError: a file cannot be read, a key does not exist, or a value does not fit its key.
    """
    values: dict[str, tuple[str, SettingSource]] = {
        name: (text, SettingSource("default of this broker")) for name, text in SHIPPED.items()
    }
    for path in files:
        _add_file(values, path, read_text or _read_text)
    for name, (text, source) in _from_environment(environ or {}).items():
        values[name] = (text, source)
    for override in overrides:
        name, equals, text = override.partition("=")
        if not equals:
            raise SettingsError(f"--override {override!r} is not KEY=VALUE")
        _require_known([name.strip()], "--override")
        values[name.strip()] = (text.strip(), SettingSource("--override"))
    settings = Settings(values)
    _check_values(settings, values)
    _check_listeners(settings)
    _check_supported(settings)
    if any(name.startswith("group.consumer.") for name in values):
        _check_groups(settings)
    return settings


def _read_text(path: str) -> str:
    with open(path, encoding="utf-8") as file:
        return file.read()


def _add_file(
    values: dict[str, tuple[str, SettingSource]], path: str, read_text: Callable[[str], str]
) -> None:
    try:
        found = parse_properties(read_text(path))
    except OSError as error:
        raise SettingsError(f"cannot read {path}: {error.strerror or error}") from None
    except ValueError as error:
        raise SettingsError(f"{path}: {error}") from None
    _require_known(found, path)
    for name, text in found.items():
        values[name] = (text, SettingSource(path))


def _from_environment(environ: Mapping[str, str]) -> dict[str, tuple[str, SettingSource]]:
    found = {}
    for variable, text in sorted(environ.items()):
        if not variable.startswith(_ENVIRONMENT_PREFIX) or variable in _LAUNCHER_VARIABLES:
            continue
        name = variable_to_key(variable)
        if not _is_known(name):
            nearest = _nearest(name)
            if nearest is not None:
                raise SettingsError(
                    f"{variable} sets {name}, which is no configuration key; is it {nearest}?"
                )
            # A shared prefix is no proof that a variable was meant for us: applications use it too.
            _log.warning("%s is ignored: %s is no configuration key", variable, name)
            continue
        found[name] = (text, SettingSource(variable))
    return found


def variable_to_key(variable: str) -> str:
    """Return the key a KAFKA_* variable sets: `___` is a dash, `__` an underscore, `_` a dot."""
    rest = variable.removeprefix(_ENVIRONMENT_PREFIX).lower()
    return rest.replace("___", "-").replace("__", "\0").replace("_", ".").replace("\0", "_")


def _is_known(name: str) -> bool:
    return name in BROKER or name.startswith(_LISTENER_PREFIX)


def _require_known(names: Iterable[str], where: str) -> None:
    """Tell of all that are not known at once: a file for an older Kafka may have a dozen."""
    unknown = [name for name in names if not _is_known(name)]
    if not unknown:
        return
    alone = len(unknown) == 1
    nearest = {name: _nearest(name) for name in unknown}
    hints = "".join(f"; is {'it' if alone else name} {near}?" for name, near in nearest.items() if near)
    are = "is no configuration key" if alone else "are no configuration keys"
    raise SettingsError(f"{where}: {', '.join(map(repr, unknown))} {are}{hints}")


def _nearest(name: str) -> str | None:
    import difflib  # noqa: PLC0415 - only a failing start needs it

    close = difflib.get_close_matches(name, BROKER.names(), n=1, cutoff=0.75)
    return close[0] if close else None


def _check_values(settings: Settings, values: Mapping[str, tuple[str, SettingSource]]) -> None:
    for name, (_, source) in values.items():
        if name not in BROKER:
            continue
        try:
            settings.value(name)
        except ConfigError as error:
            raise SettingsError(f"{source.text}: {error}") from None


def _check_listeners(settings: Settings) -> None:
    try:
        listeners = settings.listeners
        check_advertised(settings.advertised_listeners, listeners)
    except ListenersError as error:
        raise SettingsError(str(error)) from None
    if not listeners:
        raise SettingsError("listeners names no listener for clients")
    for listener in listeners:
        if listener.security_protocol not in (SecurityProtocol.PLAINTEXT, SecurityProtocol.SSL):
            raise SettingsError(
                f"{listener}: {listener.security_protocol.name} is not supported yet, only PLAINTEXT and SSL"
            )


def _check_supported(settings: Settings) -> None:
    """Refuse what this broker would silently not do."""
    if set(settings.strings("process.roles")) != {"broker", "controller"}:
        raise SettingsError("process.roles must be broker,controller: this broker is its own controller")
    if settings.node_id < 0:
        raise SettingsError(f"node.id must be at least 0, it is {settings.node_id}")
    voters = settings.strings("controller.quorum.voters")
    others = [voter for voter in voters if not voter.startswith(f"{settings.node_id}@")]
    if others:
        raise SettingsError(
            f"controller.quorum.voters names other nodes ({', '.join(others)}); this broker is alone"
        )
    if settings.text("ssl.engine.factory.class"):
        raise SettingsError("ssl.engine.factory.class: TLS is done by OpenSSL, no engine can be plugged in")
    if settings.text("authorizer.class.name"):
        raise SettingsError("authorizer.class.name is not supported yet")
    if settings.boolean("remote.log.storage.system.enable"):
        raise SettingsError("remote.log.storage.system.enable: tiered storage is not supported yet")
    for name in ("log.local.retention.ms", "log.local.retention.bytes"):
        if settings.integer(name) != _NO_LOCAL_RETENTION:
            raise SettingsError(f"{name} is for tiered storage, which is not supported yet")
    codec = settings.integer("offsets.topic.compression.codec")
    if not 0 <= codec <= _CODEC_MAX:
        raise SettingsError(f"offsets.topic.compression.codec is {codec}, codecs are 0 to {_CODEC_MAX}")


def _check_groups(settings: Settings) -> None:
    """Refuse settings of consumer groups that contradict each other, and assignors that are not there."""
    unknown = [name for name in settings.strings("group.consumer.assignors") if name not in _ASSIGNORS]
    if unknown:
        raise SettingsError(
            f"group.consumer.assignors: {unknown[0]} is neither {' nor '.join(_ASSIGNORS)}; "
            "assignors that are Java classes cannot be loaded"
        )
    for name in ("session.timeout.ms", "heartbeat.interval.ms", "assignment.interval.ms"):
        key, low, high = (f"group.consumer.{part}{name}" for part in ("", "min.", "max."))
        for less, more in ((low, high), (low, key), (key, high)):
            if settings.integer(less) > settings.integer(more):
                raise SettingsError(f"{more} must be greater than or equal to {less}")
    session, heartbeat = "group.consumer.session.timeout.ms", "group.consumer.heartbeat.interval.ms"
    if settings.integer(heartbeat) >= settings.integer(session):
        raise SettingsError(f"{heartbeat} must be less than {session}")
