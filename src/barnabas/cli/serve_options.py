"""The options of `barnabas serve` and the short way of reading them.

One table describes the options; `parse_serve_options` and the click command are both made from it, so
that the two cannot drift apart.
"""

from collections.abc import Sequence

from barnabas.base.dataclass import dataclass, field


@dataclass(frozen=True, slots=True, kw_only=True)
class ServeOptions:
    """What the user asked for, not yet checked against the broker's configuration.

    Args:
        data_dir: log.dirs; None takes a directory under the user's data home.
        listen: HOST:PORT; None leaves `listeners` to the configuration; port 0 picks a free one.
        config: path of a server.properties file.
        overrides: KEY=VALUE, each stronger than the file, the later stronger than the earlier.
        metrics: HOST:PORT; None leaves `metrics.listener` to the configuration.
        ephemeral: keep everything in a temporary directory that is removed at the end.
    """

    data_dir: str | None = None
    listen: str | None = None
    config: str | None = None
    metrics: str | None = None
    overrides: tuple[str, ...] = field(default=())
    ephemeral: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class OptionSpec:
    """One option of `serve`: its flag, the ServeOptions field, and the words of its help."""

    flag: str
    field: str
    metavar: str | None
    help: str
    repeatable: bool = False

    @property
    def is_switch(self) -> bool:
        """Takes no value."""
        return self.metavar is None


SERVE_OPTIONS = (
    OptionSpec(
        flag="--data-dir",
        field="data_dir",
        metavar="DIR",
        help="Where logs and metadata live (log.dirs). Default: barnabas under the user's data home.",
    ),
    OptionSpec(
        flag="--listen",
        field="listen",
        metavar="HOST:PORT",
        help="Address to serve plaintext on; port 0 picks a free one.  [default: localhost:9092]",
    ),
    OptionSpec(
        flag="--config",
        field="config",
        metavar="FILE",
        help="A server.properties file with Kafka's configuration names.",
    ),
    OptionSpec(
        flag="--metrics",
        field="metrics",
        metavar="HOST:PORT",
        help="Address to serve /metrics and /health on, by a process of its own (metrics.listener).",
    ),
    OptionSpec(
        flag="--override",
        field="overrides",
        metavar="KEY=VALUE",
        help="Set one configuration key, stronger than the file. May be repeated.",
        repeatable=True,
    ),
    OptionSpec(
        flag="--ephemeral",
        field="ephemeral",
        metavar=None,
        help="Keep everything in a temporary directory that is removed at the end.",
    ),
)


def parse_serve_options(arguments: Sequence[str]) -> ServeOptions | None:
    """Read a well-formed `serve` line.

    Returns:
        The options; None when click should have the line: help, an unknown or abbreviated option, a
        missing value, a positional argument, or two options that exclude each other.
    """
    by_flag = {spec.flag: spec for spec in SERVE_OPTIONS}
    texts: dict[str, str] = {}
    overrides: list[str] = []
    ephemeral = False
    rest = list(arguments)
    while rest:
        flag, equals, value = rest.pop(0).partition("=")
        spec = by_flag.get(flag)
        if spec is None:
            return None
        if spec.is_switch:
            if equals:
                return None
            ephemeral = True
            continue
        if not equals:
            if not rest or rest[0].startswith("-"):
                return None
            value = rest.pop(0)
        if spec.repeatable:
            overrides.append(value)
        else:
            texts[spec.field] = value
    if ephemeral and "data_dir" in texts:
        return None
    return ServeOptions(
        data_dir=texts.get("data_dir"),
        listen=texts.get("listen"),
        config=texts.get("config"),
        metrics=texts.get("metrics"),
        overrides=tuple(overrides),
        ephemeral=ephemeral,
    )
