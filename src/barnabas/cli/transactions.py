"""`barnabas transactions`: list, describe, find what hangs, and abort that."""

import time

import click

from barnabas.base.hints import Any
from barnabas.cli.client import transactions
from barnabas.cli.client.errors import BrokerError, error_name
from barnabas.cli.client.transactions import OpenTransaction, TransactionInfo
from barnabas.cli.options import Bootstrap, TopicName, bootstrap_option, connect, filter_option, output_option
from barnabas.cli.output import Column, print_json, print_table
from barnabas.cli.root import CommandFailed

STATES = ("Empty", "Ongoing", "PrepareCommit", "PrepareAbort", "CompleteCommit", "CompleteAbort")

MINUTE_MS = 60_000


@click.group()
def command() -> None:
    """List and describe transactions, find hanging ones and abort them."""


@command.command("list")
@filter_option("--state", "states", STATES, "Only transactional ids in this state")
@bootstrap_option
@output_option
def list_transactions(
    *, states: tuple[str, ...], bootstrap_server: Bootstrap, timeout: float, output: str
) -> None:
    """List all transactional ids.

    \b
    Examples:
      barnabas transactions list
      barnabas transactions list --state ongoing
    """
    with connect(bootstrap_server, timeout) as cluster:
        found = transactions.list_transactions(cluster, states)
    if output == "json":
        print_json(
            [
                {
                    "id": one.transactional_id,
                    "state": one.state,
                    "producer_id": one.producer_id,
                    "coordinator": one.coordinator,
                }
                for one in found
            ]
        )
        return
    columns = (
        Column(heading="Transactional id"),
        Column(heading="State"),
        Column(heading="Producer id", number=True),
        Column(heading="Coordinator", number=True),
    )
    print_table(
        columns, [[one.transactional_id, one.state, one.producer_id, one.coordinator] for one in found]
    )


@command.command()
@click.argument("names", metavar="ID...", nargs=-1, required=True)
@bootstrap_option
@output_option
def describe(names: tuple[str, ...], bootstrap_server: Bootstrap, timeout: float, output: str) -> None:
    """Show what is known of transactional ids: the producer, and the transaction that is open.

    \b
    Examples:
      barnabas transactions describe billing
      barnabas transactions describe billing --output json
    """
    with connect(bootstrap_server, timeout) as cluster:
        found = [_described(transactions.describe_transaction(cluster, name)) for name in names]
    if output == "json":
        print_json(found)
        return
    for number, one in enumerate(found):
        if number:
            click.echo()
        open_ms = one["open_ms"]
        facts = [
            ("State", one["state"]),
            ("Producer id", one["producer_id"]),
            ("Producer epoch", one["producer_epoch"]),
            ("Time-out", f"{one['timeout_ms']} ms"),
            ("Open for", None if open_ms is None else f"{open_ms} ms"),
            ("Coordinator", one["coordinator"]),
            ("Partitions", ", ".join(one["partitions"]) or None),
        ]
        columns = (Column(heading="Transaction"), Column(heading=str(one["id"])))
        print_table(columns, facts)


@command.command("find-hanging")
@click.option("--topic", "topics", multiple=True, type=TopicName(), help="Only partitions of this topic.")
@click.option(
    "--longer-than",
    "minutes",
    metavar="MINUTES",
    type=click.IntRange(min=0),
    default=15,
    show_default=True,
    help="Only transactions whose producer wrote nothing for so long.",
)
@bootstrap_option
@output_option
def find_hanging(
    *,
    topics: tuple[str, ...],
    minutes: int,
    bootstrap_server: Bootstrap,
    timeout: float,
    output: str,
) -> None:
    """Find transactions that are open in a partition and that no coordinator will ever end.

    They hold back consumers of committed records. Those that only take long are not hanging: their
    coordinator aborts them when their time-out is over.

    \b
    Examples:
      barnabas transactions find-hanging
      barnabas transactions find-hanging --topic orders --longer-than 60
    """
    with connect(bootstrap_server, timeout) as cluster:
        partitions = [
            (topic.name, partition.partition)
            for topic in cluster.topics(list(topics) or None)
            for partition in topic.partitions
        ]
        found = transactions.hanging_transactions(cluster, partitions, minutes * MINUTE_MS)
    if output == "json":
        print_json([_open(one) for one in found])
        return
    columns = (
        Column(heading="Topic"),
        Column(heading="Partition", number=True),
        Column(heading="Producer id", number=True),
        Column(heading="Epoch", number=True),
        Column(heading="Start offset", number=True),
        Column(heading="Last batch", number=True),
    )
    now_ms = _now_ms()
    rows: list[list[str | int | None]] = [
        [
            one.topic,
            one.partition,
            one.producer_id,
            one.producer_epoch,
            one.start_offset,
            f"{(now_ms - one.last_ms) // 1000} s ago",
        ]
        for one in found
    ]
    print_table(columns, rows)


@command.command()
@click.argument("topic", type=TopicName())
@click.argument("partition", type=click.IntRange(min=0))
@click.option(
    "--start-offset", required=True, type=click.IntRange(min=0), help="Where the transaction began."
)
@bootstrap_option
def abort(
    *, topic: str, partition: int, start_offset: int, bootstrap_server: Bootstrap, timeout: float
) -> None:
    """Abort a hanging transaction in one partition.

    Take what find-hanging shows. A transaction that is not hanging loses the records of this partition and
    keeps those of the others.

    \b
    Example:
      barnabas transactions abort orders 3 --start-offset 1209
    """
    with connect(bootstrap_server, timeout) as cluster:
        found = transactions.transaction_at(cluster, topic, partition, start_offset)
        try:
            transactions.abort_transaction(cluster, found)
        except BrokerError as error:
            told = f"{topic}-{partition} takes no marker of producer {found.producer_id}"
            raise CommandFailed(f"{told}: {error_name(error.code)}") from error
    click.echo(f"aborted the transaction of producer {found.producer_id} in {topic}-{partition}")


def _described(info: TransactionInfo) -> dict[str, Any]:
    return {
        "id": info.transactional_id,
        "state": info.state,
        "producer_id": info.producer_id,
        "producer_epoch": info.producer_epoch,
        "timeout_ms": info.timeout_ms,
        "open_ms": _now_ms() - info.start_ms if info.state == "Ongoing" else None,
        "coordinator": info.coordinator,
        "partitions": [f"{topic}-{number}" for topic, number in info.partitions],
    }


def _open(one: OpenTransaction) -> dict[str, Any]:
    return {
        "topic": one.topic,
        "partition": one.partition,
        "producer_id": one.producer_id,
        "producer_epoch": one.producer_epoch,
        "coordinator_epoch": one.coordinator_epoch,
        "start_offset": one.start_offset,
        "last_ms": one.last_ms,
    }


def _now_ms() -> int:
    return time.time_ns() // 1_000_000
