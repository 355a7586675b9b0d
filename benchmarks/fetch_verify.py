"""What fetch.verify.crc costs: processor time of the broker per GB read, beside sendfile and heap.

One consumer reads a topic from the page cache again and again, 1 MiB a fetch; each way in turns, with batches
of 16 KiB and of 200 bytes: `python -m benchmarks.fetch_verify`. The time is the process's own (user and
system), so that a busy machine changes it little; the check itself is one struct and one checksum a batch.
"""

import argparse
import json
import os
import statistics
import sys
import tempfile
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from barnabas.protocol.record_batch import iter_batches
from barnabas.protocol.record_batch_builder import BatchBuilder
from benchmarks import host
from tests.broker import BarnabasBroker
from tests.net.wire import Wire

TOPIC = "verified"


def cpu_s(pid: int) -> float:
    """Return a process's user and system time."""
    fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")


def fill(port: int, batch_bytes: int, mib: int) -> int:
    """Fill the topic; return its size."""
    builder = BatchBuilder()
    builder.append(timestamp=1, key=None, value=os.urandom(batch_bytes - 80))
    one = bytes(builder.build())
    with Wire(port) as wire:
        wire.make_topic(TOPIC)
        for _ in range(max(1, (mib << 20) // len(one))):
            wire.produce(TOPIC, one)
    return len(one)


def read(wire: Wire, times: int) -> int:
    """Read the topic several times; return the bytes of whole batches."""
    total = 0
    for _ in range(times):
        end, offset = wire.end_offset(TOPIC), 0
        while offset < end:
            records = memoryview(wire.fetch(TOPIC, offset).records)
            for _, header in iter_batches(records, allow_partial_tail=True):
                offset = header.next_offset
                total += header.size_bytes
    return total


def measure(directory: Path, batch_bytes: int, mib: int, rounds: int) -> dict[str, list[float]]:
    """Return CPU seconds per GB of each way."""
    ways = {
        "sendfile": {"fetch.mode": "zero_copy"},
        "heap": {"fetch.mode": "heap"},
        "verified": {"fetch.verify.crc": "true"},
    }
    found: dict[str, list[float]] = {}
    for name, overrides in ways.items():
        with BarnabasBroker(directory / name, overrides=overrides) as broker:
            fill(broker.port, batch_bytes, mib)
            with Wire(broker.port) as wire:
                read(wire, 1)
                for _ in range(rounds):
                    began = cpu_s(broker.pid)
                    got = read(wire, 3)
                    found.setdefault(name, []).append((cpu_s(broker.pid) - began) / got * 1e9)
    return found


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=128)
    parser.add_argument("--rounds", type=int, default=3)
    given = parser.parse_args()
    for batch_bytes in (16_384, 200):
        mib = given.mib if batch_bytes > 1000 else max(1, given.mib // 16)
        with tempfile.TemporaryDirectory() as directory:
            found = measure(Path(directory), batch_bytes, mib, given.rounds)
            about = host.describe(Path(directory))
        told = {name: round(statistics.median(values), 3) for name, values in found.items()}
        print(json.dumps({"batch_bytes": batch_bytes, "cpu_s_per_gb": told, "host": about}))


if __name__ == "__main__":
    main()
