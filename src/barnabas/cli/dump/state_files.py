"""The small files of a log directory: producer snapshots, checkpoints, properties, quorum state."""

import json
from struct import Struct

from barnabas.cli.dump.findings import Findings, Problem, Row
from barnabas.protocol.checksum import crc32c

_SNAPSHOT_HEAD = Struct(">hIi")
_SNAPSHOT_ENTRY = Struct(">qhiqiqiq")
_SNAPSHOT_VERSION = 1
_CRC_END = 6
_NO_TRANSACTION = -1


def dump_producer_snapshot(data: bytes) -> Findings:
    """Yield the producers of a .snapshot."""
    if len(data) < _SNAPSHOT_HEAD.size:
        yield Problem(text=f"{len(data)} bytes are no producer snapshot")
        return
    version, crc, count = _SNAPSHOT_HEAD.unpack_from(data)
    if version != _SNAPSHOT_VERSION:
        yield Problem(text=f"snapshot of version {version}")
        return
    if crc32c(data[_CRC_END:], 0) != crc:
        yield Problem(text="CRC of the snapshot is wrong")
    if len(data) != _SNAPSHOT_HEAD.size + count * _SNAPSHOT_ENTRY.size:
        yield Problem(text=f"{len(data)} bytes do not hold exactly {count} producers")
        return
    for position in range(_SNAPSHOT_HEAD.size, len(data), _SNAPSHOT_ENTRY.size):
        producer_id, epoch, last_sequence, last_offset, delta, timestamp, coordinator_epoch, first = (
            _SNAPSHOT_ENTRY.unpack_from(data, position)
        )
        yield Row(
            kind="producer",
            values={
                "producer_id": producer_id,
                "producer_epoch": epoch,
                "last_sequence": last_sequence,
                "last_offset": last_offset,
                "offset_delta": delta,
                "last_timestamp": timestamp,
                "coordinator_epoch": coordinator_epoch,
                "transaction_first_offset": None if first == _NO_TRANSACTION else first,
            },
        )


def dump_checkpoint(data: bytes, fields: tuple[str, ...]) -> Findings:
    """Yield the lines of a text checkpoint: version 0, count, then `fields` separated by blanks."""
    if not data:
        # Kafka makes some checkpoints empty and fills them when there is something to say.
        yield Problem(text="nothing written yet", damage=False)
        return
    try:
        lines = data.decode().splitlines()
        version, count = int(lines[0]), int(lines[1])
    except (ValueError, IndexError):
        yield Problem(text="no checkpoint: it must begin with a version and a count")
        return
    if version != 0:
        yield Problem(text=f"checkpoint of version {version}")
        return
    rows = [line for line in lines[2:] if line]
    if len(rows) != count:
        yield Problem(text=f"{len(rows)} lines where {count} are announced")
    for line in rows:
        parts = line.split()
        if len(parts) != len(fields):
            yield Problem(text=f"line {line!r} has not the fields {' '.join(fields)}")
            continue
        yield Row(kind="entry", values=dict(zip(fields, parts, strict=True)))


def dump_properties(data: bytes) -> Findings:
    """Yield the lines of meta.properties or partition.metadata as one row."""
    values = {}
    for line in data.decode(errors="replace").splitlines():
        if line.strip() and not line.startswith("#"):
            separator = "=" if "=" in line else ":"
            name, found, value = line.partition(separator)
            if not found:
                yield Problem(text=f"line {line!r} has no value")
                continue
            values[name.strip()] = value.strip()
    yield Row(kind="properties", values=values)


def dump_json(data: bytes) -> Findings:
    """Yield a JSON object (quorum-state, .kafka_cleanshutdown) as one row."""
    try:
        document = json.loads(data)
    except ValueError as error:
        yield Problem(text=f"no JSON: {error}")
        return
    yield Row(kind="state", values=document if isinstance(document, dict) else {"value": document})
