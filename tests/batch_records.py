"""The records of the golden batches, which interop/batch_oracle/BatchOracle.java writes, in Python."""

import random
from pathlib import Path

from barnabas.protocol.compression import Codec
from barnabas.protocol.record_batch_builder import BatchBuilder
from barnabas.protocol.records import Record, RecordHeader

GOLDEN = Path(__file__).parent / "golden" / "batches"
BASE_TIMESTAMP = 1_700_000_000_000


def golden_records() -> list[Record]:
    """100 records of mixed sizes, null keys and values, headers, timestamps out of order."""
    records = []
    for i in range(100):
        headers: list[RecordHeader] = [(f"h{h}", f"x{i}".encode() if h == 0 else None) for h in range(i % 3)]
        key = None if i % 7 == 0 else f"key-{i}".encode()
        value = None if i % 11 == 0 else b"v" * (i * i % 150)
        records.append(Record(i, BASE_TIMESTAMP + (i * 37 % 100) * i, key, value, headers or ()))
    return records


def build(records: list[Record], codec: Codec = Codec.NONE, **fields: object) -> bytes:
    """Return a batch of these records; `fields` go to the builder."""
    builder = BatchBuilder(codec=codec, **fields)  # type: ignore[arg-type]
    for record in records:
        builder.append(timestamp=record.timestamp, key=record.key, value=record.value, headers=record.headers)
    return builder.build()


def random_records(
    seed: int,
    count: int,
    *,
    value_bytes: tuple[int, int] = (0, 120),
    keys: bool = True,
    header_count: int = 0,
) -> list[Record]:
    """Records of one shape when the value size range has one element, of random sizes otherwise."""
    draw = random.Random(seed)
    low, high = value_bytes
    headers = [(f"header{h}", draw.randbytes(6)) for h in range(header_count)] or ()
    return [
        Record(
            i,
            BASE_TIMESTAMP + i // 5,
            b"%08d" % i if keys else None,
            draw.randbytes(draw.randint(low, high)),
            headers,
        )
        for i in range(count)
    ]
