"""`barnabas log-dirs`: what lies in the log directories, and moving partitions between them."""

import time

import click

from barnabas.base.errors import ErrorCode
from barnabas.base.hints import Any
from barnabas.cli.client import log_dirs
from barnabas.cli.client.log_dirs import LogDirInfo
from barnabas.cli.options import Bootstrap, bootstrap_option, connect, output_option
from barnabas.cli.output import Cell, Column, print_json, print_table
from barnabas.cli.root import CommandFailed

POLL_S = 0.5


@click.group()
def command() -> None:
    """Show log directories and move partitions between them."""


@command.command()
@click.option("--broker", "brokers", multiple=True, type=int, metavar="ID", help="Only this broker's.")
@click.option("--partitions", is_flag=True, help="Show every partition, not only how many there are.")
@bootstrap_option
@output_option
def describe(
    *, brokers: tuple[int, ...], partitions: bool, bootstrap_server: Bootstrap, timeout: float, output: str
) -> None:
    """Show log directories: whether they work, their room, and what lies in them.

    \b
    Examples:
      barnabas log-dirs describe
      barnabas log-dirs describe --partitions
      barnabas log-dirs describe --output json
    """
    with connect(bootstrap_server, timeout) as cluster:
        found = log_dirs.describe_log_dirs(cluster, brokers)
    if output == "json":
        print_json([_document(one) for one in found])
    elif partitions:
        _print_partitions(found)
    else:
        _print_directories(found)


def _print_directories(found: list[LogDirInfo]) -> None:
    columns = (
        Column(heading="Broker", number=True),
        Column(heading="Directory"),
        Column(heading="State"),
        Column(heading="Partitions", number=True),
        Column(heading="Bytes", number=True),
        Column(heading="Usable bytes", number=True),
        Column(heading="Of", number=True),
        Column(heading="Moving in", number=True),
    )
    rows: list[list[Cell]] = []
    for one in found:
        here = [replica for replica in one.replicas if not replica.is_future]
        rows.append(
            [
                one.broker,
                one.path,
                _state(one),
                len(here),
                sum(replica.size_bytes for replica in here),
                None if one.usable_bytes < 0 else one.usable_bytes,
                None if one.total_bytes < 0 else one.total_bytes,
                len(one.replicas) - len(here),
            ]
        )
    print_table(columns, rows)


def _print_partitions(found: list[LogDirInfo]) -> None:
    columns = (
        Column(heading="Broker", number=True),
        Column(heading="Directory"),
        Column(heading="Partition"),
        Column(heading="Bytes", number=True),
        Column(heading="Lag", number=True),
        Column(heading="State"),
    )
    rows: list[list[Cell]] = []
    for one in found:
        rows += [
            [
                one.broker,
                one.path,
                f"{replica.topic}-{replica.partition}",
                replica.size_bytes,
                replica.offset_lag,
                "moving in" if replica.is_future else "here",
            ]
            for replica in one.replicas
        ]
        if one.error is not ErrorCode.NONE:
            rows.append([one.broker, one.path, None, None, None, _state(one)])
    print_table(columns, rows)


def _state(one: LogDirInfo) -> str:
    if one.error is ErrorCode.KAFKA_STORAGE_ERROR:
        return "offline"
    if one.error is not ErrorCode.NONE:
        return one.error.name
    return "cordoned" if one.is_cordoned else "online"


def _document(one: LogDirInfo) -> dict[str, Any]:
    return {
        "broker": one.broker,
        "path": one.path,
        "error": None if one.error is ErrorCode.NONE else one.error.name,
        "cordoned": one.is_cordoned,
        "total_bytes": one.total_bytes,
        "usable_bytes": one.usable_bytes,
        "partitions": [
            {
                "topic": replica.topic,
                "partition": replica.partition,
                "size_bytes": replica.size_bytes,
                "offset_lag": replica.offset_lag,
                "moving_in": replica.is_future,
            }
            for replica in one.replicas
        ],
    }


def _partition(text: str) -> tuple[str, int]:
    topic, dash, number = text.rpartition("-")
    if not dash or not topic or not number.isascii() or not number.isdigit():
        raise click.BadParameter(f"{text!r} is not TOPIC-PARTITION")
    return topic, int(number)


@command.command()
@click.argument("names", metavar="TOPIC-PARTITION...", nargs=-1, required=True)
@click.option("--to", "path", required=True, metavar="DIR", help="The log directory, as log.dirs names it.")
@click.option("--broker", type=int, metavar="ID", help="Whose replica moves; needed when there are several.")
@click.option("--wait/--no-wait", default=True, help="Return when all of them lie there, or at once.")
@bootstrap_option
def move(
    *,
    names: tuple[str, ...],
    path: str,
    broker: int | None,
    wait: bool,
    bootstrap_server: Bootstrap,
    timeout: float,
) -> None:
    """Move partitions to another log directory of their broker while they are served.

    Asking for the directory they lie in calls a move off.

    \b
    Examples:
      barnabas log-dirs move orders-0 orders-1 --to /disk2/data
      barnabas log-dirs move orders-0 --to /disk2/data --no-wait
    """
    partitions = [_partition(name) for name in names]
    with connect(bootstrap_server, timeout) as cluster:
        if broker is None:
            known = cluster.broker_ids()
            if len(known) != 1:
                raise click.UsageError("there are several brokers: name one by --broker")
            broker = known[0]
        log_dirs.move_replicas(cluster, broker, path, partitions)
        while wait:
            left = _not_yet_there(log_dirs.describe_log_dirs(cluster, [broker]), path, set(partitions))
            if not left:
                break
            time.sleep(POLL_S)
    for name in names:
        click.echo(f"{name} lies in {path}" if wait else f"{name} is asked to move to {path}")


def _not_yet_there(found: list[LogDirInfo], path: str, wanted: set[tuple[str, int]]) -> set[tuple[str, int]]:
    moving = set()
    for one in found:
        for replica in one.replicas:
            key = (replica.topic, replica.partition)
            if one.path == path.rstrip("/") and not replica.is_future:
                wanted = wanted - {key}
            elif one.path == path.rstrip("/"):
                moving.add(key)
    given_up = wanted - moving
    if given_up:
        text = ", ".join(f"{topic}-{number}" for topic, number in sorted(given_up))
        raise CommandFailed(f"no longer on its way to {path}: {text}; the broker's log tells why")
    return wanted
