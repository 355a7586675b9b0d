"""`barnabas consume`: records of a topic to standard output."""

import sys
import time
from collections.abc import Callable

import click

from barnabas.base.dataclass import dataclass
from barnabas.base.hints import IO, Any
from barnabas.cli.client import admin
from barnabas.cli.client.cluster import Cluster
from barnabas.cli.client.consumer import DEFAULT_FETCH_BYTES, ConsumedRecord, Consumer
from barnabas.cli.options import (
    Bootstrap,
    Moment,
    ParamType,
    TopicName,
    bootstrap_option,
    connect,
    output_option,
)
from barnabas.cli.produce import Escaped
from barnabas.cli.progress import Progress
from barnabas.cli.record_text import TEMPLATE_FIELDS, compile_template, record_to_json
from barnabas.cli.root import CommandFailed

_PLAIN_TEMPLATE = "{value}\\n"
_FOLLOW_WAIT_MS = 500
_WRITE_BYTES = 64 * 1024


class StartOffset(ParamType):
    """earliest, latest, a number, or a negative number counted from the end."""

    name = "offset"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> str | int:
        if isinstance(value, int):
            return value
        if value in ("earliest", "latest"):
            return str(value)
        try:
            return int(value)
        except ValueError:
            self.fail(f"{value!r} is neither earliest, latest nor a number", param, ctx)


@dataclass(frozen=True, slots=True, kw_only=True)
class Start:
    """Where to start: an offset as StartOffset takes it, or a time; exactly one is given."""

    offset: str | int | None
    time_ms: int | None

    def positions(
        self, cluster: Cluster, topic: str, partitions: list[int], *, read_committed: bool
    ) -> dict[int, int]:
        """Return the first offset to read of each partition."""
        latest = admin.list_offsets(cluster, topic, partitions, admin.LATEST, read_committed=read_committed)
        if self.time_ms is not None:
            found = admin.list_offsets(cluster, topic, partitions, self.time_ms)
            return {number: latest[number] if offset < 0 else offset for number, offset in found.items()}
        if self.offset == "latest":
            return latest
        earliest = admin.list_offsets(cluster, topic, partitions, admin.EARLIEST)
        if self.offset == "earliest":
            return earliest
        assert isinstance(self.offset, int)
        if self.offset < 0:
            return {number: max(earliest[number], latest[number] + self.offset) for number in partitions}
        for number in partitions:
            if not earliest[number] <= self.offset <= latest[number]:
                held = f"{earliest[number]} to {latest[number]}"
                raise CommandFailed(f"{topic}-{number} holds offsets {held}, not {self.offset}")
        return dict.fromkeys(partitions, self.offset)


@click.command()
@click.argument("topic", type=TopicName())
@click.option(
    "--partition",
    "-p",
    "partitions",
    type=click.IntRange(0),
    multiple=True,
    metavar="N",
    help="Default: all.",
)
@click.option("--from-beginning", is_flag=True, help="Start at the earliest record (--offset earliest).")
@click.option(
    "--offset",
    type=StartOffset(),
    metavar="N|earliest|latest|-N",
    help="Where to start; -N is N records before the end.  [default: latest]",
)
@click.option(
    "--from-time", type=Moment(), metavar="TIME", help="Start at the first record at or after TIME."
)
@click.option("--max-messages", "-n", type=click.IntRange(1), metavar="N", help="Stop after N records.")
@click.option(
    "--follow/--exit-at-end",
    default=None,
    help="Wait for new records, or stop at what is the end now.  [default: --follow]",
)
@click.option(
    "--idle-exit", type=click.FloatRange(0), metavar="SECONDS", help="Stop when no record came for so long."
)
@click.option(
    "--template",
    "-f",
    metavar="TEXT",
    help="How to write a record: {" + "} {".join(TEMPLATE_FIELDS) + "} and escapes.  [default: {value}\\n]",
)
@click.option(
    "--null", type=Escaped(), default="", metavar="TEXT", help="What null looks like in a template."
)
@click.option(
    "--isolation",
    type=click.Choice(["read_uncommitted", "read_committed"]),
    default="read_uncommitted",
    show_default=True,
    help="Whether to show records of open and aborted transactions.",
)
@click.option("--check-crc/--no-check-crc", default=True, show_default=True, help="Verify every batch.")
@click.option(
    "--fetch-bytes",
    type=click.IntRange(1, 256 * 1024 * 1024),
    default=DEFAULT_FETCH_BYTES,
    show_default=True,
    metavar="N",
    help="How much to ask a broker for at once.",
)
@click.option("--quiet", "-q", is_flag=True, help="No summary on standard error.")
@bootstrap_option
@output_option
def command(
    *,
    topic: str,
    partitions: tuple[int, ...],
    from_beginning: bool,
    offset: str | int | None,
    from_time: int | None,
    max_messages: int | None,
    follow: bool | None,
    idle_exit: float | None,
    template: str | None,
    null: bytes,
    isolation: str,
    check_crc: bool,
    fetch_bytes: int,
    quiet: bool,
    bootstrap_server: Bootstrap,
    timeout: float,
    output: str,
) -> None:
    """Read records of TOPIC and write them to standard output.

    \b
    Examples:
      barnabas consume orders
      barnabas consume orders --from-beginning --exit-at-end > orders.txt
      barnabas consume orders -p 0 --offset -10 -f '{offset} {key} {value}\\n'
      barnabas consume orders --from-time 2026-01-01T00:00 -n 5 --output json
    """
    if sum((from_beginning, offset is not None, from_time is not None)) > 1:
        raise click.UsageError("give only one of --from-beginning, --offset and --from-time")
    if template is not None and output == "json":
        raise click.UsageError("--template and --output json exclude each other")
    render = _renderer(output, template, null)
    if offset is None and from_time is None:
        offset = "earliest" if from_beginning else "latest"
    read_committed = isolation == "read_committed"
    progress = Progress("consumed", quiet=quiet)
    with connect(bootstrap_server, timeout) as cluster:
        wanted = _wanted_partitions(topic, partitions, len(cluster.topic(topic).partitions))
        positions = Start(offset=offset, time_ms=from_time).positions(
            cluster, topic, wanted, read_committed=read_committed
        )
        ends = None
        if follow is False:
            ends = admin.list_offsets(cluster, topic, wanted, admin.LATEST, read_committed=read_committed)
        consumer = Consumer(
            cluster,
            topic,
            positions,
            read_committed=read_committed,
            check_crc=check_crc,
            max_wait_ms=_FOLLOW_WAIT_MS,
            fetch_bytes=fetch_bytes,
        )
        try:
            _consume(
                consumer,
                render,
                sys.stdout.buffer,
                ends=ends,
                records_max=max_messages,
                idle_s=idle_exit,
                progress=progress,
            )
        finally:
            progress.finish()


def _renderer(output: str, template: str | None, null: bytes) -> Callable[[ConsumedRecord], bytes]:
    if output == "json":
        return record_to_json
    try:
        return compile_template(_PLAIN_TEMPLATE if template is None else template, null)
    except ValueError as error:
        raise click.BadParameter(str(error), param_hint="--template") from error


def _wanted_partitions(topic: str, partitions: tuple[int, ...], count: int) -> list[int]:
    for partition in partitions:
        if partition >= count:
            raise CommandFailed(f"there is no partition {partition}; {topic} has {count}")
    return sorted(set(partitions)) or list(range(count))


def _consume(
    consumer: Consumer,
    render: Callable[[ConsumedRecord], bytes],
    out: IO[bytes],
    *,
    ends: dict[int, int] | None,
    records_max: int | None,
    idle_s: float | None,
    progress: Progress,
) -> None:
    """Write records until the ends, the count or the idle time is reached."""
    last_record_s = time.monotonic()
    # Standard output may be unbuffered (PYTHONUNBUFFERED), and a write per record would cost most.
    pending = bytearray()
    _drop_finished(consumer, ends)
    while consumer.positions:
        before = progress.records
        for record in consumer.poll():
            if ends is not None and record.offset >= ends[record.partition]:
                consumer.unassign(record.partition)
                continue
            pending += render(record)
            progress.add(len(record.key or b"") + len(record.value or b""))
            if len(pending) >= _WRITE_BYTES or progress.records == records_max:
                _write(out, pending)
            if progress.records == records_max:
                return
        _write(out, pending)
        _drop_finished(consumer, ends)
        now = time.monotonic()
        if progress.records > before:
            last_record_s = now
        elif idle_s is not None and now - last_record_s >= idle_s:
            return


def _write(out: IO[bytes], pending: bytearray) -> None:
    out.write(pending)
    out.flush()
    pending.clear()


def _drop_finished(consumer: Consumer, ends: dict[int, int] | None) -> None:
    if ends is not None:
        for partition, position in list(consumer.positions.items()):
            if position >= ends[partition]:
                consumer.unassign(partition)
