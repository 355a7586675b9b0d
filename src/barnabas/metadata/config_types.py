"""How a config value is declared, parsed, validated and printed; Kafka's ConfigDef in small.

Error texts are those a client of Apache Kafka sees, since tools and people match on them. A validator is a
short text in the table (`1..`, `in a,b`, `list of a,b`), so that a table is plain data that costs a start
nothing until a value is checked.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from math import isnan

from barnabas.base.dataclass import dataclass
from barnabas.base.hints import Any, Final

BOOLEAN: Final = "BOOLEAN"
CLASS: Final = "CLASS"
DOUBLE: Final = "DOUBLE"
INT: Final = "INT"
LIST: Final = "LIST"
LONG: Final = "LONG"
PASSWORD: Final = "PASSWORD"
SHORT: Final = "SHORT"
STRING: Final = "STRING"

HIGH: Final = "HIGH"
MEDIUM: Final = "MEDIUM"
LOW: Final = "LOW"

REQUIRED: Final = "\0"
"""Stands in a default's place where there is none: the config must be given."""

DefinitionRow = tuple[str, str, str | None, str, str, str]
"""name, type, default as text or None for null or REQUIRED, importance, validator, flags.

Flags: `broker` or `cluster` when it can change while the broker runs (for one broker, or for one and for
all), `internal` when it is hidden from clients, `own` when it is not one of Apache Kafka's."""

PROTOCOL_TYPE_IDS: Final = {
    BOOLEAN: 1,
    STRING: 2,
    INT: 3,
    SHORT: 4,
    LONG: 5,
    DOUBLE: 6,
    LIST: 7,
    CLASS: 8,
    PASSWORD: 9,
}
"""Type -> its number in a DescribeConfigs response."""

_INTEGER_BITS: Final = {SHORT: 16, INT: 32, LONG: 64}
# Kept as text, which re compiles on first use and remembers: hardly any start needs one, or re itself.
_DOUBLE_TEXT: Final = r"[+-]?(NaN|Infinity|([0-9]+\.?([0-9]*)|\.[0-9]+)([eE][+-]?[0-9]+)?)[fFdD]?\Z"
_THROTTLED: Final = r"[0-9]+:[0-9]+\Z"
_DURATION: Final = r"(?ai)P(?=[0-9T])([0-9]+D)?(T(?=[0-9])([0-9]+H)?([0-9]+M)?([0-9]+([.,][0-9]{0,9})?S)?)?\Z"

ConfigValue = bool | int | float | str | tuple[str, ...] | None
"""A parsed value: lists are tuples, SHORT, INT and LONG are int, passwords and classes are str."""


class ConfigError(Exception):
    """A value that its definition does not allow; the text names config and value as Kafka does."""


class UnknownConfigError(ConfigError):
    """A name that is not defined."""


@dataclass(frozen=True, slots=True)
class ConfigDefinition:
    """One config: what it may be and how it may change."""

    name: str
    type: str
    default_text: str | None
    importance: str
    validator: str
    flags: str

    @property
    def required(self) -> bool:
        """Whether it has no default."""
        return self.default_text == REQUIRED

    @property
    def default(self) -> ConfigValue:
        """The parsed default; None for null and for a required config."""
        if self.default_text is None or self.default_text == REQUIRED:
            return None
        return parse_type(self.name, self.default_text, self.type)

    @property
    def sensitive(self) -> bool:
        """Whether its value is never shown."""
        return self.type == PASSWORD

    @property
    def dynamic(self) -> bool:
        """Whether it can change while the broker runs."""
        return "broker" in self.flags or "cluster" in self.flags

    @property
    def per_broker_only(self) -> bool:
        """Dynamic, but only for one broker, not as a default of all."""
        return "broker" in self.flags

    @property
    def internal(self) -> bool:
        """Hidden from clients."""
        return "internal" in self.flags

    def parse(self, text: str) -> ConfigValue:
        """Return the value of `text`, checked.

        Raises:
            ConfigError: wrong type or outside of what is allowed.
        """
        value = parse_type(self.name, text, self.type)
        if not self.validator:
            return value
        if isinstance(value, tuple) and self.validator.startswith("list"):
            value = tuple(dict.fromkeys(value))  # an element given twice counts once
        validate(self.name, value, self.validator)
        return value


class ConfigTable:
    """The definitions of one kind of resource, by name. Rows turn into objects when asked for."""

    __slots__ = ("_definitions", "_rows")

    def __init__(self, rows: Sequence[DefinitionRow]) -> None:
        self._rows = {row[0]: row for row in rows}
        self._definitions: dict[str, ConfigDefinition] = {}

    def __contains__(self, name: str) -> bool:
        return name in self._rows

    def __len__(self) -> int:
        return len(self._rows)

    def names(self) -> list[str]:
        """Return all names, in the table's order, which is the alphabet's."""
        return list(self._rows)

    def definition(self, name: str) -> ConfigDefinition:
        """Return the definition of a name.

        Raises:
            UnknownConfigError: there is none.
        """
        found = self._definitions.get(name)
        if found is None:
            row = self._rows.get(name)
            if row is None:
                raise UnknownConfigError(f"Unknown configuration {name}")
            found = self._definitions[name] = ConfigDefinition(*row)
        return found

    def parse(self, name: str, text: str) -> ConfigValue:
        """Return the checked value of `text` for a name; raises as those do."""
        return self.definition(name).parse(text)


def parse_type(name: str, text: str, type_name: str) -> ConfigValue:
    """Return `text` as a value of a type, without looking at what is allowed.

    Raises:
        ConfigError: it is no such value.
    """
    trimmed = text.strip()
    if type_name in _INTEGER_BITS:
        bits = _INTEGER_BITS[type_name]
        # The length check keeps a huge text from becoming a huge number.
        digits = trimmed[1:] if trimmed.startswith(("+", "-")) else trimmed
        if len(digits) <= 400 and digits.isascii() and digits.isdecimal():
            number = int(trimmed)
            if -(1 << bits - 1) <= number < 1 << bits - 1:
                return number
        raise _invalid(name, trimmed, f"Not a number of type {type_name}")
    if type_name == BOOLEAN:
        lowered = trimmed.lower()
        if lowered in ("true", "false"):
            return lowered == "true"
        raise _invalid(name, text, "Expected value to be either true or false")
    if type_name == LIST:
        return tuple(part.strip() for part in trimmed.split(",")) if trimmed else ()
    if type_name == DOUBLE:
        if trimmed.isascii() and trimmed.replace(".", "", 1).isdecimal():
            return float(trimmed)
        if _matches(_DOUBLE_TEXT, trimmed):
            return float(trimmed.rstrip("fFdD").replace("Infinity", "inf").replace("NaN", "nan"))
        raise _invalid(name, trimmed, "Not a number of type DOUBLE")
    return trimmed


def value_text(value: ConfigValue, type_name: str) -> str | None:
    """Return a value as Kafka prints it; None for null."""
    if value is None:
        return None
    if type_name == BOOLEAN:
        return "true" if value else "false"
    if isinstance(value, tuple):
        return ",".join(value)
    if isinstance(value, float):
        return java_double_text(value)
    return str(value)


def java_double_text(value: float) -> str:
    """Return a double the way Java prints it: `1.0E-4` where Python says `0.0001`."""
    if isnan(value):
        return "NaN"
    if value in (float("inf"), float("-inf")):
        return "Infinity" if value > 0 else "-Infinity"
    if value == 0 or 1e-3 <= abs(value) < 1e7:
        return repr(value)
    shortest = next(text for digits in range(1, 18) if float(text := f"{value:.{digits}e}") == value)
    mantissa, _, exponent = shortest.partition("e")
    return f"{mantissa}E{int(exponent)}"


def validate(name: str, value: ConfigValue, validator: str) -> None:
    """Check a parsed value against a validator text of a table.

    Raises:
        ConfigError: the value is outside of it.
    """
    kind, _, rest = validator.partition(" ")
    if ".." in kind:
        _validate_range(name, value, kind)
    else:
        _VALIDATORS[kind](name, value, rest)


def _invalid(name: str, value: object, why: str) -> ConfigError:
    return ConfigError(f"Invalid value {value} for configuration {name}: {why}")


def _validate_range(name: str, value: Any, limits: str) -> None:
    low, high = limits.split("..")
    number = type(value)
    shown = java_double_text(value) if isinstance(value, float) else value
    if low and value < number(low):
        raise _invalid(name, shown, f"Value must be at least {low}")
    if high and value > number(high):
        raise _invalid(name, shown, f"Value must be no more than {high}")


def _validate_gzip_level(name: str, value: Any, rest: str) -> None:  # noqa: ARG001
    if value != -1 and not 1 <= value <= 9:
        raise _invalid(name, value, "Value must be between 1 and 9 or equal to -1")


def _validate_in(name: str, value: Any, rest: str) -> None:
    allowed = rest.split(",")
    if value not in allowed:
        raise _invalid(name, value, f"String must be one of: {', '.join(allowed)}")


def _validate_in_any_case(name: str, value: Any, rest: str) -> None:
    allowed = rest.split(",")
    if value.upper() not in allowed:
        raise _invalid(name, value, f"String must be one of (case insensitive): {', '.join(allowed)}")


def _validate_list(name: str, value: Any, rest: str) -> None:
    empty_allowed = rest.startswith("or empty")
    allowed_text = rest.removeprefix("or empty").strip().removeprefix("of ").strip()
    allowed = allowed_text.split(",") if allowed_text else []
    if not value and not empty_allowed:
        words = f"[{', '.join(allowed)}]" if allowed else "any non-empty value"
        raise ConfigError(f"Configuration '{name}' must not be empty. Valid values include: {words}")
    for item in value:
        if not item:
            raise ConfigError(f"Configuration '{name}' values must not be empty.")
        if allowed:
            _validate_in(name, item, allowed_text)


def _validate_non_empty(name: str, value: Any, rest: str) -> None:  # noqa: ARG001
    if not value:
        raise _invalid(name, value, "String must be non-empty")


def _validate_non_null(name: str, value: Any, rest: str) -> None:
    """A text is never null."""


def _validate_throttled(name: str, value: Any, rest: str) -> None:  # noqa: ARG001
    if value and value != ("*",) and not all(_matches(_THROTTLED, item) for item in value):
        raise _invalid(
            name,
            f"[{', '.join(value)}]",
            f"{name} must be the literal '*' or a list of replicas in the following format: "
            "[partitionId]:[brokerId],[partitionId]:[brokerId],...",
        )


def _validate_share_reset(name: str, value: Any, rest: str) -> None:  # noqa: ARG001
    if value in ("earliest", "latest"):
        return
    if value.startswith("by_duration:") and _matches(_DURATION, value.removeprefix("by_duration:")):
        return
    raise _invalid(
        name,
        value,
        f"Invalid value `{value}` for configuration {name}. The value must be either 'earliest', 'latest' "
        "or of the format 'by_duration:<PnDTnHnMn.nS>'.",
    )


def _validate_bootstrap_servers(name: str, value: Any, rest: str) -> None:  # noqa: ARG001
    for item in value:
        host, colon, port = item.rpartition(":")
        if not colon or not host or not port.isdecimal() or not 0 <= int(port) <= 65535:
            raise ConfigError(
                f"Failed to parse host name from {item} for the configuration {name}. "
                'Each entry should be in the form "{host}:{port}"'
            )


def _validate_quorum_voters(name: str, value: Any, rest: str) -> None:  # noqa: ARG001
    for item in value:
        voter, at, address = item.partition("@")
        host, colon, port = address.rpartition(":")
        if not at or not voter.isdecimal() or not colon or not host or not port.isdecimal():
            raise ConfigError(
                f"Invalid configuration value for {name}. "
                "Each entry should be in the form `{id}@{host}:{port}`."
            )


_VALIDATORS: Final[Mapping[str, Callable[[str, Any, str], None]]] = {
    "bootstrap": _validate_bootstrap_servers,
    "gzip": _validate_gzip_level,
    "in": _validate_in,
    "in-any-case": _validate_in_any_case,
    "list": _validate_list,
    "non-empty": _validate_non_empty,
    "non-null": _validate_non_null,
    "quorum": _validate_quorum_voters,
    "share": _validate_share_reset,
    "throttled": _validate_throttled,
}


def _matches(pattern: str, text: str) -> bool:
    import re  # noqa: PLC0415 - see the patterns

    return re.match(pattern, text) is not None
