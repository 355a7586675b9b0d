"""What a dynamic broker config must agree with besides its own definition: other configs, and this broker.

Error texts are Apache Kafka's where it has some. Only what a request changes is checked, so that a value an
older release let through does not stand in the way of another change.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from types import MappingProxyType

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Final
from barnabas.metadata.config_definitions import BrokerConfigs

THREAD_COUNTS: Final = frozenset(
    {
        "background.threads",
        "num.io.threads",
        "num.network.threads",
        "num.recovery.threads.per.data.dir",
        "num.replica.fetchers",
        "remote.log.reader.threads",
    }
)
"""Apache Kafka lets them grow to the double at most, and shrink to the half. They mean nothing to one loop,
but who administers both need not know."""

FIXED_HERE: Final = frozenset({"listeners", "listener.security.protocol.map"})
"""Dynamic in Apache Kafka; this broker opens its listeners when it starts."""

CLEANER_BUFFER_BYTES_MIN: Final = 1024 * 1024
ALL_LOG_DIRS: Final = "*"


def check_broker_configs(names: Iterable[str], before: BrokerConfigs, after: BrokerConfigs) -> None:
    """Check changed configs of a broker against everything that will hold then.

    Raises:
        ApiError: INVALID_REQUEST.
    """
    for name in names:
        if name in FIXED_HERE:
            raise _refused(f"{name} cannot change while this broker runs; set it and start the broker anew")
        if name in THREAD_COUNTS:
            _check_thread_count(name, before, after)
        check = _CHECKS.get(name)
        if check is not None:
            check(before, after)


def connections_per_ip(text: str) -> dict[str, int]:
    """Return max.connections.per.ip.overrides as address or name -> connections.

    Raises:
        ValueError: an entry is not HOST:COUNT.
    """
    found = {}
    for entry in text.split(","):
        if entry.strip():
            host, _, count = entry.strip().rpartition(":")
            if not host or not count.strip().isdecimal():
                raise ValueError(f"{entry.strip()!r} is not HOST:COUNT")
            found[host.strip().strip("[]")] = int(count)
    return found


def _refused(why: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_REQUEST, why)


def _invalid(why: str) -> ApiError:
    exception = "org.apache.kafka.common.config.ConfigException"
    return _refused(f"Invalid value {exception}: {why} for configuration Invalid dynamic configuration")


def _integer(configs: BrokerConfigs, name: str) -> int | None:
    value = configs.value(name)[0]
    return value if isinstance(value, int) else None


def _check_thread_count(name: str, before: BrokerConfigs, after: BrokerConfigs) -> None:
    old, new = _integer(before, name), _integer(after, name)
    if old is None or new is None:
        return
    what = f"Dynamic thread count update validation failed for {name}={new}, value should "
    if new < old / 2:
        raise _invalid(f"{what}be at least half the current value {old}")
    if new > old * 2:
        raise _invalid(f"{what}not be greater than double the current value {old}")


def _check_cleaner_threads(before: BrokerConfigs, after: BrokerConfigs) -> None:
    old, new = _integer(before, "log.cleaner.threads"), _integer(after, "log.cleaner.threads")
    if old is None or new is None:
        return
    if new < old / 2:
        raise _invalid(f"Log cleaner threads cannot be reduced to less than half the current value {old}")
    if new > old * 2:
        raise _invalid(f"Log cleaner threads cannot be increased to more than double the current value {old}")
    _check_cleaner_buffer(before, after)


def _check_cleaner_buffer(before: BrokerConfigs, after: BrokerConfigs) -> None:  # noqa: ARG001
    size = _integer(after, "log.cleaner.dedupe.buffer.size")
    threads = _integer(after, "log.cleaner.threads")
    if size is not None and threads and size / threads <= CLEANER_BUFFER_BYTES_MIN:
        raise _refused(
            "requirement failed: log.cleaner.dedupe.buffer.size must be at least 1MB per cleaner thread."
        )


def _check_retention_ms(before: BrokerConfigs, after: BrokerConfigs) -> None:  # noqa: ARG001
    value = _integer(after, "log.retention.ms")
    if value is not None and value != -1 and value < 1:
        raise _refused(
            "requirement failed: log.retention.ms must be unlimited (-1) or, greater than or equal to 1"
        )


def _check_roll_ms(before: BrokerConfigs, after: BrokerConfigs) -> None:  # noqa: ARG001
    value = _integer(after, "log.roll.ms")
    if value is not None and value < 1:
        raise _refused("requirement failed: log.roll.ms must be greater than or equal to 1")


def _check_per_ip(before: BrokerConfigs, after: BrokerConfigs) -> None:  # noqa: ARG001
    name = "max.connections.per.ip.overrides"
    text = after.value(name)[0]
    try:
        connections_per_ip(str(text or ""))
    except ValueError as error:
        raise _refused(f"Error parsing configuration property '{name}': {error}") from None


def _check_cordoned(before: BrokerConfigs, after: BrokerConfigs) -> None:  # noqa: ARG001
    cordoned = after.value("cordoned.log.dirs")[0]
    if not isinstance(cordoned, tuple) or cordoned == (ALL_LOG_DIRS,):
        return
    known = after.value("log.dirs")[0] or after.value("log.dir")[0] or ()
    missing = sorted(set(cordoned) - set(known if isinstance(known, tuple) else str(known).split(",")))
    if missing:
        raise _refused(
            "requirement failed: All entries in cordoned.log.dirs must be present in log.dirs or log.dir. "
            f"Missing entries : {', '.join(missing)}"
        )


_Check = Callable[[BrokerConfigs, BrokerConfigs], None]
_CHECKS: Final[Mapping[str, _Check]] = MappingProxyType(
    {
        "cordoned.log.dirs": _check_cordoned,
        "log.cleaner.dedupe.buffer.size": _check_cleaner_buffer,
        "log.cleaner.threads": _check_cleaner_threads,
        "log.retention.ms": _check_retention_ms,
        "log.roll.ms": _check_roll_ms,
        "max.connections.per.ip.overrides": _check_per_ip,
    }
)
