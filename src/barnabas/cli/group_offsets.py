"""`barnabas groups reset-offsets` and `delete-offsets`.

Resetting shows what it would do and does nothing until it is told to (--execute). A new offset always lies
within what the partition holds, as with Kafka's own tool: one before the start becomes the start, one behind
the end the end.
"""

import re
import time
from collections.abc import Mapping

import click

from barnabas.base.dataclass import dataclass
from barnabas.base.errors import ErrorCode
from barnabas.base.hints import Any
from barnabas.cli.client import admin, groups
from barnabas.cli.client.cluster import Cluster
from barnabas.cli.client.errors import BrokerError, error_name
from barnabas.cli.client.groups import TopicPartition
from barnabas.cli.options import (
    Bootstrap,
    GroupName,
    Moment,
    ParamType,
    bootstrap_option,
    connect,
    output_option,
)
from barnabas.cli.output import Column, print_json, print_table
from barnabas.cli.root import CommandFailed

_DURATION = re.compile(
    r"P(?:(?P<days>\d+)D)?(?:T(?:(?P<hours>\d+)H)?(?:(?P<minutes>\d+)M)?(?:(?P<seconds>\d+(?:\.\d+)?)S)?)?"
)
_UNIT_MS = {"days": 86_400_000, "hours": 3_600_000, "minutes": 60_000, "seconds": 1000}


class Duration(ParamType):
    """An ISO 8601 duration of days, hours, minutes and seconds."""

    name = "duration"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> int:
        if isinstance(value, int):
            return value
        found = _DURATION.fullmatch(value.upper())
        parts = {} if found is None else {unit: text for unit, text in found.groupdict().items() if text}
        if not parts:
            self.fail(f"{value!r} is no ISO 8601 duration such as PT90M or P1DT2H", param, ctx)
        return round(sum(float(text) * _UNIT_MS[unit] for unit, text in parts.items()))


class TopicPartitions(ParamType):
    """TOPIC, or TOPIC:0,1 for some of its partitions."""

    name = "TOPIC[:N,...]"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[str, tuple[int, ...] | None]:
        if isinstance(value, tuple):
            return value
        name, colon, numbers = value.partition(":")
        if not colon:
            return name, None
        if not name or not re.fullmatch(r"\d+(,\d+)*", numbers):
            self.fail(f"{value!r} is not TOPIC or TOPIC:0,1", param, ctx)
        return name, tuple(int(number) for number in numbers.split(","))


@dataclass(frozen=True, slots=True, kw_only=True)
class Held:
    """What a partition holds, and what the group committed of it."""

    start: int
    end: int
    committed: int | None


_topic_option = click.option(
    "--topic", "topics", type=TopicPartitions(), multiple=True, help="A topic, or some partitions of it."
)


@click.command("reset-offsets")
@click.argument("group", type=GroupName())
@_topic_option
@click.option("--all-topics", is_flag=True, help="Everything the group has committed.")
@click.option("--to-earliest", is_flag=True, help="To the first record that is there.")
@click.option("--to-latest", is_flag=True, help="Behind the last record.")
@click.option("--to-current", is_flag=True, help="To what is committed; behind the last record else.")
@click.option("--to-offset", type=click.IntRange(0), metavar="N", help="To this offset.")
@click.option("--shift-by", type=int, metavar="N", help="N records on from what is committed; -N back.")
@click.option("--to-datetime", type=Moment(), metavar="TIME", help="To the first record at or after TIME.")
@click.option(
    "--by-duration", type=Duration(), metavar="DURATION", help="To the first record at most so old: PT1H."
)
@click.option("--execute", is_flag=True, help="Do it; without this it is only shown.")
@bootstrap_option
@output_option
def reset_offsets(
    *,
    group: str,
    topics: tuple[tuple[str, tuple[int, ...] | None], ...],
    all_topics: bool,
    execute: bool,
    bootstrap_server: Bootstrap,
    timeout: float,
    output: str,
    **how: Any,
) -> None:
    """Set where GROUP goes on reading; shown only, unless --execute is given.

    The group must have no members: they would go on from where they are, and commit that.

    \b
    Examples:
      barnabas groups reset-offsets billing --topic orders --to-earliest
      barnabas groups reset-offsets billing --topic orders:0,3 --shift-by -100 --execute
      barnabas groups reset-offsets billing --all-topics --to-datetime 2026-11-30T08:00 --execute
      barnabas groups reset-offsets billing --all-topics --by-duration PT1H --execute
    """
    given = {name: value for name, value in how.items() if value is not None and value is not False}
    if len(given) != 1:
        names = ", ".join("--" + name.replace("_", "-") for name in how)
        raise click.UsageError(f"exactly one of {names} is needed")
    if bool(topics) == all_topics:
        raise click.UsageError("either --topic or --all-topics is needed")
    ((strategy, value),) = given.items()
    with connect(bootstrap_server, timeout) as cluster:
        committed = groups.committed_offsets(cluster, group)
        wanted = list(committed) if all_topics else _partitions_of(cluster, topics)
        changes = _changes(cluster, wanted, committed, strategy, value)
        if execute:
            _refuse_active(cluster, group)
            groups.commit_offsets(cluster, group, {place: new for place, (_, new) in changes.items()})
    _tell_changes(group, changes, is_done=execute, output=output)


def _refuse_active(cluster: Cluster, group: str) -> None:
    """Stop when a group has members; one that is not there yet is made by its first commit."""
    try:
        info = groups.describe_group(cluster, group)
    except BrokerError as error:
        if error.code != ErrorCode.GROUP_ID_NOT_FOUND:
            raise
        return
    if info.is_active:
        raise CommandFailed(f"group {group} is {info.state}: it has members, stop them first")


def _partitions_of(
    cluster: Cluster, topics: tuple[tuple[str, tuple[int, ...] | None], ...]
) -> list[TopicPartition]:
    found: list[TopicPartition] = []
    for name, numbers in topics:
        (topic,) = cluster.topics([name])
        there = [partition.partition for partition in topic.partitions]
        missing = sorted(set(numbers or ()) - set(there))
        if missing:
            raise CommandFailed(f"topic {name} has {len(there)} partition(s), there is no {missing[0]}")
        found += [(name, number) for number in (there if numbers is None else numbers)]
    return sorted(set(found))


def _changes(
    cluster: Cluster,
    wanted: list[TopicPartition],
    committed: Mapping[TopicPartition, int],
    strategy: str,
    value: Any,
) -> dict[TopicPartition, tuple[int | None, int]]:
    """Return what is committed and what shall be, by partition."""
    by_topic: dict[str, list[int]] = {}
    for name, number in wanted:
        by_topic.setdefault(name, []).append(number)
    changes: dict[TopicPartition, tuple[int | None, int]] = {}
    for name, numbers in by_topic.items():
        starts = admin.list_offsets(cluster, name, numbers, admin.EARLIEST)
        ends = admin.list_offsets(cluster, name, numbers, admin.LATEST)
        since: dict[int, int] = {}
        if strategy in ("to_datetime", "by_duration"):
            moment = value if strategy == "to_datetime" else int(time.time() * 1000) - value
            since = admin.list_offsets(cluster, name, numbers, moment)
        for number in numbers:
            held = Held(start=starts[number], end=ends[number], committed=committed.get((name, number)))
            new = new_offset(strategy, value, held, since.get(number, -1))
            changes[name, number] = held.committed, new
    return changes


def new_offset(strategy: str, value: Any, held: Held, since: int) -> int:
    """Return the offset to go on from, within what the partition holds.

    Args:
        strategy: an option's name.
        value: what was given with it.
        since: the first offset at or after the moment that is meant; -1 where there is none.
    Raises:
        CommandFailed: a shift of what was never committed.
    """
    match strategy:
        case "to_earliest":
            wanted = held.start
        case "to_latest":
            wanted = held.end
        case "to_current":
            wanted = held.end if held.committed is None else held.committed
        case "to_offset":
            wanted = value
        case "shift_by":
            if held.committed is None:
                raise CommandFailed("a partition without a committed offset cannot be shifted")
            wanted = held.committed + value
        case _:
            wanted = held.end if since < 0 else since
    return int(min(max(wanted, held.start), held.end))


_COLUMNS = (
    Column(heading="Topic"),
    Column(heading="Partition", number=True),
    Column(heading="Committed", number=True),
    Column(heading="New", number=True),
)


def _tell_changes(
    group: str, changes: Mapping[TopicPartition, tuple[int | None, int]], *, is_done: bool, output: str
) -> None:
    if output == "json":
        print_json(
            {
                "name": group,
                "executed": is_done,
                "partitions": [
                    {"topic": name, "partition": number, "committed_offset": before, "new_offset": new}
                    for (name, number), (before, new) in changes.items()
                ],
            }
        )
        return
    title = f"{group}: offsets were set" if is_done else f"{group}: nothing is changed without --execute"
    rows = [[name, number, before, new] for (name, number), (before, new) in changes.items()]
    print_table(_COLUMNS, rows, title=title)


@click.command("delete-offsets")
@click.argument("group", type=GroupName())
@_topic_option
@bootstrap_option
@output_option
def delete_offsets(
    *,
    group: str,
    topics: tuple[tuple[str, tuple[int, ...] | None], ...],
    bootstrap_server: Bootstrap,
    timeout: float,
    output: str,
) -> None:
    """Delete what GROUP has committed of topics that none of its members reads.

    \b
    Example:
      barnabas groups delete-offsets billing --topic orders
    """
    if not topics:
        raise click.UsageError("--topic is needed")
    with connect(bootstrap_server, timeout) as cluster:
        committed = groups.committed_offsets(cluster, group)
        wanted = [
            (name, number)
            for name, numbers in topics
            for number in ([n for t, n in committed if t == name] if numbers is None else numbers)
        ]
        results = groups.delete_offsets(cluster, group, wanted)
    if not wanted:
        raise CommandFailed(f"group {group} has committed nothing of {', '.join(name for name, _ in topics)}")
    failed = {place: code for place, code in results.items() if code}
    if output == "json":
        print_json(
            [
                {"topic": name, "partition": number, "error": error_name(code) if code else None}
                for (name, number), code in sorted(results.items())
            ]
        )
    else:
        for name, number in sorted(set(results) - set(failed)):
            click.echo(f"deleted the offset of {name}-{number}")
    if failed:
        (name, number), code = min(failed.items())
        raise CommandFailed(f"{name}-{number}: {error_name(code)}")
