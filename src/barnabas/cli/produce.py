"""`barnabas produce`: records from standard input or a file into a topic.

Input is read as it comes: when the source pauses, what has been read is sent and awaited, so that a
person typing or a slow pipe sees each record arrive; while the source is fast, batches fill.
"""

import os
import select
import time
from collections.abc import Iterator

import click

from barnabas.base.dataclass import dataclass, field
from barnabas.base.hints import IO, Any
from barnabas.cli.client.cluster import Cluster
from barnabas.cli.client.producer import DEFAULT_BATCH_BYTES, Producer
from barnabas.cli.options import (
    Bootstrap,
    KeyValue,
    ParamType,
    TopicName,
    bootstrap_option,
    connect,
    output_option,
)
from barnabas.cli.output import print_json
from barnabas.cli.progress import Progress
from barnabas.cli.record_text import (
    DelimitedReader,
    InputError,
    InputRecord,
    LineFormat,
    record_from_json,
    unescape_bytes,
)
from barnabas.cli.root import CommandFailed
from barnabas.protocol.compression import Codec

_CHUNK_BYTES = 256 * 1024
_ACKS = {"0": 0, "1": 1, "all": -1, "-1": -1}
_PAUSE = None
"""Stands for a moment without input in the stream of records."""


class Escaped(ParamType):
    """Text with escapes, as bytes."""

    name = "text"

    def convert(self, value: Any, param: click.Parameter | None, ctx: click.Context | None) -> bytes:
        if isinstance(value, bytes):
            return value
        try:
            return unescape_bytes(value)
        except ValueError as error:
            self.fail(str(error), param, ctx)


@dataclass(slots=True, kw_only=True)
class Delivered:
    """Acknowledged offsets by partition, for the summary."""

    partitions: dict[int, dict[str, int]] = field(default_factory=dict)

    def add(self, partition: int, base_offset: int, count: int) -> None:
        found = self.partitions.setdefault(
            partition, {"records": 0, "first_offset": base_offset, "last_offset": -1}
        )
        found["records"] += count
        if base_offset >= 0:
            found["first_offset"] = min(found["first_offset"], base_offset)
            found["last_offset"] = max(found["last_offset"], base_offset + count - 1)


@click.command()
@click.argument("topic", type=TopicName())
@click.argument("file", type=click.File("rb"), default="-")
@click.option(
    "--input",
    "input_format",
    type=click.Choice(["lines", "json", "whole"]),
    default="lines",
    show_default=True,
    help="One record a line; JSON lines as `consume --output json` writes them; or all input as one record.",
)
@click.option("--delimiter", type=Escaped(), default="\\n", show_default=True, help="What ends a record.")
@click.option("--key-separator", "-k", type=Escaped(), help="Lines are KEY SEPARATOR VALUE.")
@click.option(
    "--headers-separator", type=Escaped(), help="Lines start with NAME:VALUE,NAME:VALUE and this separator."
)
@click.option("--header", "-H", "headers", type=KeyValue(), multiple=True, help="A header for every record.")
@click.option("--null", type=Escaped(), metavar="TEXT", help="A key or value that stands for null.")
@click.option("--partition", "-p", type=click.IntRange(0), metavar="N", help="Default: by key, as Java does.")
@click.option(
    "--acks", type=click.Choice(list(_ACKS)), default="all", show_default=True, help="What to wait for."
)
@click.option(
    "--codec",
    "-z",
    type=click.Choice([codec.name.lower() for codec in Codec]),
    default="none",
    show_default=True,
    help="Compression.",
)
@click.option(
    "--idempotent/--no-idempotent",
    default=None,
    help="No duplicates when requests are sent again.  [default: with --acks all]",
)
@click.option(
    "--batch-bytes",
    type=click.IntRange(1, 512 * 1024 * 1024),
    default=DEFAULT_BATCH_BYTES,
    show_default=True,
    metavar="N",
    help="Uncompressed size at which a batch is sent.",
)
@click.option(
    "--linger",
    type=click.FloatRange(0),
    default=5.0,
    show_default=True,
    metavar="MS",
    help="How long the input must pause before a batch that is not full is sent.",
)
@click.option("--create/--no-create", default=True, help="Let the broker create a missing topic, if it does.")
@click.option("--quiet", "-q", is_flag=True, help="No progress and no summary on standard error.")
@bootstrap_option
@output_option
def command(
    *,
    topic: str,
    file: IO[bytes],
    input_format: str,
    delimiter: bytes,
    key_separator: bytes | None,
    headers_separator: bytes | None,
    headers: tuple[tuple[str, str], ...],
    null: bytes | None,
    partition: int | None,
    acks: str,
    codec: str,
    idempotent: bool | None,
    batch_bytes: int,
    linger: float,
    create: bool,
    quiet: bool,
    bootstrap_server: Bootstrap,
    timeout: float,
    output: str,
) -> None:
    """Write records to TOPIC, from FILE or standard input.

    \b
    Examples:
      echo hello | barnabas produce greetings
      barnabas produce orders orders.csv --key-separator , --codec zstd
      barnabas produce images photo.jpg --input whole -H content-type=image/jpeg
      barnabas consume a --from-beginning --exit-at-end -o json | barnabas produce b --input json
    """
    if idempotent and _ACKS[acks] != -1:
        raise click.UsageError("--idempotent needs --acks all")
    if not delimiter:
        raise click.UsageError("--delimiter must not be empty")
    line_format = LineFormat(key_separator=key_separator, headers_separator=headers_separator, null=null)
    fixed_headers = tuple((name, content.encode("utf-8", "surrogateescape")) for name, content in headers)
    progress = Progress("produced", quiet=quiet or output == "json")
    delivered = Delivered()
    records = _records(file, input_format, delimiter, line_format, linger)
    with connect(bootstrap_server, timeout) as cluster:
        producer = _producer(
            cluster,
            topic,
            create=create,
            acks=_ACKS[acks],
            codec=Codec[codec.upper()],
            idempotent=idempotent,
            batch_bytes=batch_bytes,
            delivered=delivered,
        )
        _check_partition(partition, len(cluster.topic(topic).partitions))
        try:
            _produce(producer, records, partition, fixed_headers, progress)
        finally:
            # Also when the input turned out bad or the user interrupted: what was read before counts.
            producer.flush()
            progress.finish()
    if output == "json":
        print_json(
            {
                "topic": topic,
                "records": progress.records,
                "bytes": progress.bytes,
                "seconds": round(progress.seconds, 3),
                "partitions": {str(number): found for number, found in sorted(delivered.partitions.items())},
            }
        )


def _producer(
    cluster: Cluster,
    topic: str,
    *,
    create: bool,
    acks: int,
    codec: Codec,
    idempotent: bool | None,
    batch_bytes: int,
    delivered: Delivered,
) -> Producer:
    return Producer(
        cluster,
        cluster.topic(topic, create=create),
        acks=acks,
        codec=codec,
        idempotent=idempotent,
        batch_bytes=batch_bytes,
        on_delivered=delivered.add,
    )


def _produce(
    producer: Producer,
    records: Iterator[InputRecord | None],
    partition: int | None,
    fixed_headers: tuple[tuple[str, bytes | None], ...],
    progress: Progress,
) -> None:
    partitions = producer.partitions
    number = 0
    while True:
        number += 1
        try:
            record = next(records, _END)
        except InputError as error:
            raise CommandFailed(f"record {number}: {error}") from error
        if record is _END:
            return
        if record is _PAUSE:
            number -= 1
            producer.flush()
            continue
        assert isinstance(record, InputRecord)
        target = record.partition if partition is None else partition
        if target is not None and not 0 <= target < partitions:
            raise CommandFailed(f"record {number}: there is no partition {target} among {partitions}")
        producer.send(
            record.key,
            record.value,
            timestamp_ms=time.time_ns() // 1_000_000 if record.timestamp_ms is None else record.timestamp_ms,
            headers=record.headers + fixed_headers,
            partition=target,
        )
        progress.add(len(record.key or b"") + len(record.value or b""))


_END = object()


def _check_partition(partition: int | None, partitions: int) -> None:
    if partition is not None and partition >= partitions:
        raise CommandFailed(f"there is no partition {partition}; the topic has {partitions}")


def _records(
    file: IO[bytes], input_format: str, delimiter: bytes, line_format: LineFormat, linger_ms: float
) -> Iterator[InputRecord | None]:
    """Yield records, and _PAUSE whenever the input makes one."""
    if input_format == "whole":
        yield InputRecord(key=None, value=file.read())
        return
    parse = record_from_json if input_format == "json" else line_format.parse
    reader = DelimitedReader(b"\n" if input_format == "json" else delimiter)
    for chunk in _chunks(file, linger_ms / 1000):
        if chunk is _PAUSE:
            yield _PAUSE
            continue
        for piece in reader.feed(chunk):
            if piece or input_format == "lines":
                yield parse(piece)
    rest = reader.finish()
    if rest is not None:
        yield parse(rest)


def _chunks(file: IO[bytes], linger_s: float) -> Iterator[bytes | None]:
    """Yield what is there, at once, and _PAUSE before waiting for more."""
    try:
        descriptor = file.fileno()
    except OSError:
        while chunk := file.read(_CHUNK_BYTES):
            yield chunk
        return
    while True:
        if not select.select([descriptor], [], [], linger_s)[0]:
            yield _PAUSE
        chunk = os.read(descriptor, _CHUNK_BYTES)
        if not chunk:
            return
        yield chunk
