"""What the configs of a group (resource type GROUP) must agree with: their types, and the broker's limits.

The limits are broker configs named after the group's: `consumer.session.timeout.ms` lies between
`group.consumer.min.session.timeout.ms` and `group.consumer.max.session.timeout.ms`. Whoever narrows them
later does not invalidate what groups have: values are then taken as the nearest limit (`GroupConfigs` of the
server). Error texts are Apache Kafka's.
"""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import Any, Final
from barnabas.metadata.config_definitions import BROKER, GROUP, BrokerConfigs, ConfigError

_KINDS: Final = ("consumer", "share", "streams")
_DEAD_LETTER_TOPIC: Final = "errors.deadletterqueue.topic.name"


def validate_group_configs(values: Mapping[str, str], brokers: BrokerConfigs) -> None:
    """Check all configs of a group against their types and the broker's limits for groups.

    Raises:
        ApiError: INVALID_CONFIG.
    """
    for name in values:
        if name not in GROUP:
            raise _invalid(f"Unknown group config name: {name}")
    try:
        parsed = {name: GROUP.parse(name, text) for name, text in values.items()}
    except ConfigError as error:
        raise _invalid(str(error)) from error
    for name, value in parsed.items():
        if isinstance(value, int) and not isinstance(value, bool):
            _check_limits(name, value, brokers)
    for kind in _KINDS:
        _check_session(kind, parsed, brokers)
    if str(parsed.get(_DEAD_LETTER_TOPIC) or "").startswith("__"):
        raise _invalid(f"{_DEAD_LETTER_TOPIC}: DLQ topic name must not start with '__'")


def _invalid(message: str) -> ApiError:
    return ApiError(ErrorCode.INVALID_CONFIG, message)


def _check_limits(name: str, value: int, brokers: BrokerConfigs) -> None:
    low, high = group_limits(name, brokers)
    if low is not None and high is not None:
        if not low <= value <= high:
            raise _invalid(f"{name} must be in the range {low} to {high} inclusive.")
    elif high is not None and value > high:
        raise _invalid(f"{name} must be less than or equal to {high}")
    elif low is not None and value < low:
        raise _invalid(f"{name} must be greater than or equal to {low}")


def _check_session(kind: str, parsed: Mapping[str, Any], brokers: BrokerConfigs) -> None:
    """A session must outlast the interval of heartbeats, whichever of both a group sets itself."""
    session, heartbeat = f"{kind}.session.timeout.ms", f"{kind}.heartbeat.interval.ms"
    if session not in parsed and heartbeat not in parsed:
        return
    values: list[Any] = [
        parsed[name] if name in parsed else brokers.value(f"group.{name}")[0] for name in (session, heartbeat)
    ]
    if values[0] <= values[1]:
        raise _invalid(f"{session} must be greater than {heartbeat}")


def group_limits(name: str, brokers: BrokerConfigs) -> tuple[int | None, int | None]:
    """Return the broker's lowest and highest value for a group config; None where there is no limit."""
    kind, _, rest = name.partition(".")
    rest = rest.removeprefix("num.") if kind == "streams" else rest
    limits: list[int | None] = []
    for bound in ("min", "max"):
        broker_name = f"group.{kind}.{bound}.{rest}"
        value = brokers.value(broker_name)[0] if broker_name in BROKER else None
        limits.append(value if isinstance(value, int) else None)
    return limits[0], limits[1]
