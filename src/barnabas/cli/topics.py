"""`barnabas topics`: list, create, describe, alter and delete."""

import click

from barnabas.base.errors import ErrorCode
from barnabas.base.hints import Any
from barnabas.base.uuids import uuid_text
from barnabas.cli.client import admin, configs
from barnabas.cli.client.cluster import Cluster, TopicInfo
from barnabas.cli.client.errors import BrokerError
from barnabas.cli.options import Bootstrap, KeyValue, TopicName, bootstrap_option, connect, output_option
from barnabas.cli.output import Column, counted, print_json, print_table
from barnabas.metadata.image_types import ConfigResourceType


@click.group()
def command() -> None:
    """List, create, describe, alter and delete topics."""


@command.command("list")
@click.option("--exclude-internal", is_flag=True, help="Leave out topics such as __consumer_offsets.")
@bootstrap_option
@output_option
def list_topics(exclude_internal: bool, bootstrap_server: Bootstrap, timeout: float, output: str) -> None:
    """List the names of all topics."""
    with connect(bootstrap_server, timeout) as cluster:
        topics = [topic for topic in cluster.topics() if not (exclude_internal and topic.internal)]
    if output == "json":
        print_json([_summary(topic) for topic in topics])
    else:
        for topic in topics:
            click.echo(topic.name)


def _summary(topic: TopicInfo) -> dict[str, Any]:
    return {
        "name": topic.name,
        "topic_id": uuid_text(topic.topic_id),
        "internal": topic.internal,
        "partitions": len(topic.partitions),
    }


@command.command()
@click.argument("topic")
@click.option(
    "--partitions", "-p", type=click.IntRange(1), metavar="N", help="Default: the broker's num.partitions."
)
@click.option(
    "--replication-factor",
    type=click.IntRange(1, 32767),
    metavar="N",
    help="Default: the broker's default.replication.factor.",
)
@click.option("--config", "-c", "given", type=KeyValue(), multiple=True, help="A topic configuration.")
@click.option("--if-not-exists", is_flag=True, help="A topic of that name is fine.")
@click.option("--validate-only", is_flag=True, help="Check, and create nothing.")
@bootstrap_option
@output_option
def create(
    *,
    topic: str,
    partitions: int | None,
    replication_factor: int | None,
    given: tuple[tuple[str, str], ...],
    if_not_exists: bool,
    validate_only: bool,
    bootstrap_server: Bootstrap,
    timeout: float,
    output: str,
) -> None:
    """Create TOPIC.

    \b
    Examples:
      barnabas topics create orders --partitions 6
      barnabas topics create audit -c retention.ms=-1 -c cleanup.policy=compact --if-not-exists
    """
    created = True
    with connect(bootstrap_server, timeout) as cluster:
        try:
            admin.create_topic(
                cluster,
                topic,
                partitions=partitions or -1,
                replication_factor=replication_factor or -1,
                configs=dict(given),
                validate_only=validate_only,
            )
        except BrokerError as error:
            if not (if_not_exists and error.code == ErrorCode.TOPIC_ALREADY_EXISTS):
                raise
            created = False
    if output == "json":
        print_json({"name": topic, "created": created and not validate_only})
    elif validate_only:
        click.echo(f"{topic} could be created")
    else:
        click.echo(f"created {topic}" if created else f"{topic} exists already")


@command.command()
@click.argument("topic", type=TopicName())
@click.option(
    "--partitions",
    "-p",
    type=click.IntRange(1),
    required=True,
    metavar="N",
    help="How many partitions it has afterwards.",
)
@click.option("--validate-only", is_flag=True, help="Check, and change nothing.")
@bootstrap_option
@output_option
def alter(
    *,
    topic: str,
    partitions: int,
    validate_only: bool,
    bootstrap_server: Bootstrap,
    timeout: float,
    output: str,
) -> None:
    """Give TOPIC more partitions; fewer is impossible.

    Keyed records written from then on may go to other partitions than before. The configuration of a
    topic is altered by `barnabas configs alter topics`.

    \b
    Example:
      barnabas topics alter orders --partitions 12
    """
    with connect(bootstrap_server, timeout) as cluster:
        admin.create_partitions(cluster, topic, partitions, validate_only=validate_only)
    if output == "json":
        print_json({"name": topic, "partitions": partitions, "altered": not validate_only})
    elif validate_only:
        click.echo(f"{topic} could be given {counted(partitions, 'partition')}")
    else:
        click.echo(f"{topic} has {counted(partitions, 'partition')}")


@command.command()
@click.argument("topics", metavar="TOPIC...", nargs=-1, required=True, type=TopicName())
@click.option("--if-exists", is_flag=True, help="A topic that is not there is fine.")
@bootstrap_option
@output_option
def delete(
    topics: tuple[str, ...], if_exists: bool, bootstrap_server: Bootstrap, timeout: float, output: str
) -> None:
    """Delete topics and all their records."""
    results = []
    with connect(bootstrap_server, timeout) as cluster:
        for topic in topics:
            try:
                admin.delete_topic(cluster, topic)
            except BrokerError as error:
                if not (if_exists and error.code == ErrorCode.UNKNOWN_TOPIC_OR_PARTITION):
                    raise
                results.append({"name": topic, "deleted": False})
                continue
            results.append({"name": topic, "deleted": True})
            if output == "plain":
                click.echo(f"deleted {topic}")
    if output == "json":
        print_json(results)


@command.command()
@click.argument("topics", metavar="[TOPIC...]", nargs=-1, type=TopicName())
@bootstrap_option
@output_option
def describe(topics: tuple[str, ...], bootstrap_server: Bootstrap, timeout: float, output: str) -> None:
    """Show partitions, leaders, offsets and configuration of topics; of all when none is named.

    \b
    Examples:
      barnabas topics describe orders
      barnabas topics describe --output json
    """
    with connect(bootstrap_server, timeout) as cluster:
        described = [_describe(cluster, topic) for topic in cluster.topics(list(topics) if topics else None)]
    if output == "json":
        print_json(described)
        return
    for topic in described:
        _print_description(topic)


def _describe(cluster: Cluster, topic: TopicInfo) -> dict[str, Any]:
    led = [partition.partition for partition in topic.partitions if partition.leader >= 0]
    starts = admin.list_offsets(cluster, topic.name, led, admin.EARLIEST)
    ends = admin.list_offsets(cluster, topic.name, led, admin.LATEST)
    topic_resource = configs.Resource(kind=ConfigResourceType.TOPIC, name=topic.name)
    found = configs.describe_if_possible(cluster, topic_resource)
    return {
        "name": topic.name,
        "topic_id": uuid_text(topic.topic_id),
        "internal": topic.internal,
        "configs": None
        if found is None
        else {config.name: config.value for config in found if config.is_altered(topic_resource.kind)},
        "partitions": [
            {
                "partition": partition.partition,
                "leader": partition.leader,
                "leader_epoch": partition.leader_epoch,
                "replicas": list(partition.replicas),
                "isr": list(partition.isr),
                "offline": list(partition.offline),
                "start_offset": starts.get(partition.partition),
                "end_offset": ends.get(partition.partition),
            }
            for partition in topic.partitions
        ],
    }


_DESCRIBE_COLUMNS = (
    Column(heading="Partition", number=True),
    Column(heading="Leader", number=True),
    Column(heading="Epoch", number=True),
    Column(heading="Replicas"),
    Column(heading="ISR"),
    Column(heading="Start", number=True),
    Column(heading="End", number=True),
)


def _print_description(topic: dict[str, Any]) -> None:
    altered = topic["configs"] or {}
    shown = " ".join(f"{name}={value}" for name, value in sorted(altered.items()))
    title = f"{topic['name']}  id {topic['topic_id']}" + (f"  {shown}" if shown else "")
    rows = [
        [
            partition["partition"],
            "none" if partition["leader"] < 0 else partition["leader"],
            partition["leader_epoch"],
            ",".join(map(str, partition["replicas"])),
            ",".join(map(str, partition["isr"])),
            partition["start_offset"],
            partition["end_offset"],
        ]
        for partition in topic["partitions"]
    ]
    print_table(_DESCRIBE_COLUMNS, rows, title=title)
