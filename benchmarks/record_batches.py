"""What record batches cost: `python benchmarks/record_batches.py`.

CPU time of this process (others may share the machine), best of several rounds, batches of about 1 MB.
"""

import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

from barnabas.protocol.checksum import crc32c
from barnabas.protocol.compression import Codec, compress, decompress
from barnabas.protocol.record_batch import parse_header, parse_records
from barnabas.protocol.record_walk import summarize_records
from barnabas.storage.batch_validation import ValidationRules, validate_produced_records
from tests.batch_records import BASE_TIMESTAMP, build, random_records

ROUNDS = 9
RULES = ValidationRules()


def seconds(call: Callable[[], object], repeat: int = 1) -> float:
    """Return the CPU seconds of one call, best of ROUNDS."""
    best = float("inf")
    for _ in range(ROUNDS):
        start = time.process_time_ns()
        for _ in range(repeat):
            call()
        best = min(best, time.process_time_ns() - start)
    return best / repeat / 1e9


def json_lines() -> bytes:
    return b"".join(
        b'{"user":%d,"event":"click","ts":%d,"path":"/a/b/%d"}'
        % (i * 7919 % 1000, BASE_TIMESTAMP + i * 37, i % 100)
        for i in range(20000)
    )


def validate(batch: memoryview) -> object:
    return validate_produced_records(batch, RULES, api_version=12, now_ms=BASE_TIMESTAMP + 60_000)


def main() -> None:
    shapes = {
        "100 B, one shape": random_records(1, 9000, value_bytes=(90, 90)),
        "100 B, one shape, a header": random_records(1, 8000, value_bytes=(90, 90), header_count=1),
        "50-150 B": random_records(1, 9000, value_bytes=(40, 140)),
        "50-150 B, a header": random_records(1, 8000, value_bytes=(40, 140), header_count=1),
        "1 KiB": random_records(1, 1000, value_bytes=(900, 1100)),
        "one of 1 KiB": random_records(1, 1, value_bytes=(1000, 1000)),
    }
    for name, records in shapes.items():
        batch = memoryview(build(records))
        header = parse_header(batch)
        count = header.records_count
        repeat = 1 if count > 1 else 1000
        checked = seconds(lambda batch=batch: validate(batch), repeat)
        walked = seconds(lambda batch=batch, count=count: summarize_records(batch[61:], count), repeat)
        parsed = seconds(lambda batch=batch, header=header: parse_records(batch, 0, header), repeat)
        print(
            f"{name:28} check {checked / count * 1e9:6.0f} ns/record {len(batch) / checked / 1e6:5.0f} MB/s"
            f"   walk {walked / count * 1e9:6.0f}   full parse {parsed / count * 1e9:6.0f} ns/record"
        )
    batch = memoryview(build(shapes["1 KiB"]))
    print(f"header parse {seconds(lambda: parse_header(batch), 20000) * 1e6:.2f} us")
    print(f"CRC-32C {len(batch) / seconds(lambda: crc32c(batch, 0), 100) / 1e9:.1f} GB/s")
    data = json_lines()
    for codec in Codec:
        if codec is Codec.NONE:
            continue
        packed = compress(codec, data)
        pack = len(data) / seconds(lambda codec=codec: compress(codec, data)) / 1e6
        unpack = len(data) / seconds(lambda codec=codec, packed=packed: decompress(codec, packed)) / 1e6
        ratio = len(packed) / len(data)
        print(f"{codec.name:7} compress {pack:5.0f} MB/s  decompress {unpack:5.0f} MB/s  to {ratio:.0%}")
    for module in ("barnabas.protocol.checksum", "crc32c", "barnabas.protocol.record_batch", "cramjam"):
        code = (
            f"import time; t = time.perf_counter(); import {module}; print((time.perf_counter() - t) * 1e3)"
        )
        took = min(
            float(subprocess.run([sys.executable, "-c", code], capture_output=True, check=True).stdout)
            for _ in range(5)
        )
        print(f"import {module:32} {took:5.1f} ms")


if __name__ == "__main__":
    main()
