"""`barnabas groups`: list, describe with lag, delete; what changes offsets is in `group_offsets.py`."""

from collections.abc import Iterable

import click

from barnabas.base.hints import Any
from barnabas.cli import group_offsets
from barnabas.cli.client import admin, groups
from barnabas.cli.client.cluster import Cluster
from barnabas.cli.client.errors import BrokerError, error_name
from barnabas.cli.client.groups import GroupMember, TopicPartition
from barnabas.cli.options import Bootstrap, GroupName, bootstrap_option, connect, filter_option, output_option
from barnabas.cli.output import Column, counted, print_json, print_table
from barnabas.cli.root import CommandFailed

STATES = (
    "Empty",
    "PreparingRebalance",
    "CompletingRebalance",
    "Assigning",
    "Reconciling",
    "Stable",
    "NotReady",
    "Dead",
)
"""Of groups of any type; NotReady are those of Kafka Streams whose topics are not there."""

TYPES = ("classic", "consumer", "share", "streams")


@click.group()
def command() -> None:
    """List, describe, reset and delete groups."""


command.add_command(group_offsets.reset_offsets)
command.add_command(group_offsets.delete_offsets)


@command.command("list")
@filter_option("--state", "states", STATES, "Only groups in this state")
@filter_option("--type", "kinds", TYPES, "Only groups of this type")
@bootstrap_option
@output_option
def list_groups(
    *,
    states: tuple[str, ...],
    kinds: tuple[str, ...],
    bootstrap_server: Bootstrap,
    timeout: float,
    output: str,
) -> None:
    """List all groups.

    \b
    Examples:
      barnabas groups list
      barnabas groups list --state empty --type consumer
    """
    with connect(bootstrap_server, timeout) as cluster:
        found = groups.list_groups(cluster, states, kinds)
    if output == "json":
        print_json(
            [
                {
                    "name": group.group_id,
                    "type": group.kind,
                    "protocol_type": group.protocol_type,
                    "state": group.state,
                    "coordinator": group.coordinator,
                }
                for group in found
            ]
        )
        return
    columns = tuple(Column(heading=name) for name in ("Group", "Type", "Protocol", "State"))
    print_table(
        columns,
        [[group.group_id, group.kind, group.protocol_type or None, group.state] for group in found],
    )


@command.command()
@click.argument("names", metavar="[GROUP...]", nargs=-1, type=GroupName())
@click.option("--members", "show_members", is_flag=True, help="Show members instead of partitions.")
@bootstrap_option
@output_option
def describe(
    *,
    names: tuple[str, ...],
    show_members: bool,
    bootstrap_server: Bootstrap,
    timeout: float,
    output: str,
) -> None:
    """Show offsets and lag of each partition of groups, or their members; of all when none is named.

    Lag is how far the end of a partition, as consumers see it, is ahead of what the group committed.

    \b
    Examples:
      barnabas groups describe billing
      barnabas groups describe billing --members
      barnabas groups describe --output json
    """
    with connect(bootstrap_server, timeout) as cluster:
        wanted = names or [group.group_id for group in groups.list_groups(cluster)]
        described = [_describe(cluster, name) for name in wanted]
    if output == "json":
        print_json(described)
        return
    for number, group in enumerate(described):
        if number:
            click.echo()
        _print_members(group) if show_members else _print_partitions(group)


@command.command()
@click.argument("names", metavar="GROUP...", nargs=-1, required=True, type=GroupName())
@bootstrap_option
@output_option
def delete(names: tuple[str, ...], bootstrap_server: Bootstrap, timeout: float, output: str) -> None:
    """Delete groups without members, and everything they committed.

    One that cannot be deleted does not keep the others from it; the command fails for it in the end.
    """
    errors: dict[str, BrokerError | None] = {}
    with connect(bootstrap_server, timeout) as cluster:
        for name in dict.fromkeys(names):
            try:
                groups.delete_group(cluster, name)
            except BrokerError as error:
                errors[name] = error
                continue
            errors[name] = None
            if output == "plain":
                click.echo(f"deleted {name}")
    if output == "json":
        print_json(
            [
                {
                    "name": name,
                    "deleted": error is None,
                    "error": None if error is None else error_name(error.code),
                }
                for name, error in errors.items()
            ]
        )
    failed = [str(error) for error in errors.values() if error is not None]
    if failed:
        raise CommandFailed("; ".join(failed))


# Describing --------------------------------------------------------------------------------------------


def _describe(cluster: Cluster, name: str) -> dict[str, Any]:
    info = groups.describe_group(cluster, name)
    committed = groups.committed_offsets(cluster, name)
    owners = {partition: member for member in info.members for partition in member.partitions or ()}
    ends = _end_offsets(cluster, {*committed, *owners})
    return {
        "name": name,
        "type": info.kind,
        "state": info.state,
        "protocol_type": info.protocol_type,
        "assignor": info.assignor,
        "epoch": info.epoch,
        "coordinator": info.coordinator,
        "partitions": [
            _partition(partition, committed.get(partition), ends.get(partition), owners.get(partition))
            for partition in sorted({*committed, *owners})
        ],
        "members": [_member(member) for member in info.members],
    }


def _end_offsets(cluster: Cluster, partitions: Iterable[TopicPartition]) -> dict[TopicPartition, int]:
    """Return where each partition ends; those of topics that are gone are left out."""
    known = {topic.name: len(topic.partitions) for topic in cluster.topics()}
    wanted: dict[str, list[int]] = {}
    for name, number in partitions:
        if number < known.get(name, 0):
            wanted.setdefault(name, []).append(number)
    return {
        (name, number): offset
        for name, numbers in wanted.items()
        for number, offset in admin.list_offsets(cluster, name, numbers, admin.LATEST).items()
    }


def _partition(
    partition: TopicPartition, committed: int | None, end: int | None, owner: GroupMember | None
) -> dict[str, Any]:
    return {
        "topic": partition[0],
        "partition": partition[1],
        "committed_offset": committed,
        "end_offset": end,
        "lag": None if committed is None or end is None else max(0, end - committed),
        "member_id": None if owner is None else owner.member_id,
        "host": None if owner is None else owner.host,
        "client_id": None if owner is None else owner.client_id,
    }


def _member(member: GroupMember) -> dict[str, Any]:
    return {
        "member_id": member.member_id,
        "instance_id": member.instance_id,
        "client_id": member.client_id,
        "host": member.host,
        "epoch": member.epoch,
        "partitions": _texts(member.partitions),
        "target_partitions": _texts(member.target),
    }


def _texts(partitions: tuple[TopicPartition, ...] | None) -> list[str] | None:
    return None if partitions is None else [f"{name}-{number}" for name, number in partitions]


def _title(group: dict[str, Any]) -> str:
    epoch = "" if group["epoch"] is None else f"  epoch {group['epoch']}"
    assignor = f"  {group['assignor']}" if group["assignor"] else ""
    members = counted(len(group["members"]), "member")
    return f"{group['name']}  {group['state']}  {group['type']}{assignor}{epoch}  {members}"


_PARTITION_COLUMNS = (
    Column(heading="Topic"),
    Column(heading="Partition", number=True),
    Column(heading="Committed", number=True),
    Column(heading="End", number=True),
    Column(heading="Lag", number=True),
    Column(heading="Client"),
    Column(heading="Host"),
    Column(heading="Member"),
)

_MEMBER_COLUMNS = (
    Column(heading="Member"),
    Column(heading="Instance"),
    Column(heading="Client"),
    Column(heading="Host"),
    Column(heading="Epoch", number=True),
    Column(heading="Partitions"),
)


def _print_partitions(group: dict[str, Any]) -> None:
    rows = [
        [
            one["topic"],
            one["partition"],
            one["committed_offset"],
            one["end_offset"],
            one["lag"],
            one["client_id"],
            one["host"],
            one["member_id"],
        ]
        for one in group["partitions"]
    ]
    print_table(_PARTITION_COLUMNS, rows, title=_title(group))


def _print_members(group: dict[str, Any]) -> None:
    rows = [
        [
            one["member_id"],
            one["instance_id"],
            one["client_id"],
            one["host"],
            one["epoch"],
            "(opaque)" if one["partitions"] is None else " ".join(one["partitions"]) or None,
        ]
        for one in group["members"]
    ]
    print_table(_MEMBER_COLUMNS, rows, title=_title(group))
