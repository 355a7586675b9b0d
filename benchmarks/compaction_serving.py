"""What clients notice of a compaction: latencies while a large log is compacted, and while that is held.

    python benchmarks/compaction_serving.py [--gigabytes 10] [--connections 1,16] [--seconds 2]

A topic is filled over the wire and made a compacted one; the broker's own cleaner takes it up. Meanwhile
load.c asks another topic in a closed loop, a few seconds at a time: small produces (1 KiB, acks=1), small
fetches. In every other stretch the cleaning process is stopped by a signal, so that each stretch with
compaction has one without beside it, of the same minute and with the same neighbours; told are medians over
the stretches, and of the ratios of neighbours. On a machine of two cores the load takes one, and broker and
cleaning share the other: what is measured is whether the broker goes first.
"""

import argparse
import os
import signal
import statistics
import sys
import tempfile
import time
from dataclasses import dataclass, field
from pathlib import Path
from random import Random

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from barnabas.protocol import messages as m
from barnabas.protocol.record_batch_builder import BatchBuilder
from benchmarks.asking import Asker, Topic, batch
from benchmarks.brokers.barnabas import BarnabasServer
from benchmarks.brokers.server import running
from benchmarks.generators import load
from benchmarks.host import describe
from benchmarks.processes import tree

BIG = "compacted"
SETTINGS = {
    "log.cleaner.backoff.ms": "1000",
    "log.segment.bytes": str(256 << 20),
    "log.cleaner.min.cleanable.ratio": "0.01",
}
BATCH_BYTES = 900_000
VALUE_BYTES = 1024
KEYS = 2_000_000
TOPIC_CONFIG, SET = 2, 0
STARTS_WITHIN_S = 120


@dataclass
class Found:
    """Figures of one kind of request: p50 and p99 in milliseconds, by whether the cleaning ran."""

    with_cleaning: list[tuple[float, float]] = field(default_factory=list)
    without: list[tuple[float, float]] = field(default_factory=list)

    def told(self) -> str:
        texts = []
        for number, name in enumerate(("p50", "p99")):
            without = statistics.median(one[number] for one in self.without)
            with_cleaning = statistics.median(one[number] for one in self.with_cleaning)
            ratios = sorted(
                a[number] / b[number] for a, b in zip(self.with_cleaning, self.without, strict=True)
            )
            texts.append(
                f"{name} {without:.3f} ms, {with_cleaning:.3f} ms while compacting: "
                f"{statistics.median(ratios):.2f} times ({ratios[0]:.2f}-{ratios[-1]:.2f})"
            )
        return "; ".join(texts)


def fill(asker: Asker, topic: Topic, size: int) -> None:
    """Append keyed records of 1 KiB."""
    random = Random(1)
    value = random.randbytes(VALUE_BYTES)
    done = 0
    while done < size:
        builder = BatchBuilder()
        now_ms = time.time_ns() // 1_000_000
        while builder.size_bytes < BATCH_BYTES:
            builder.append(timestamp=now_ms, key=b"%016d" % random.randrange(KEYS), value=value)
        records = builder.build()
        asker.produce(topic, records, acks=1)
        done += len(records)


def set_policy(asker: Asker, policy: str) -> None:
    config = m.IncrementalAlterConfigsRequestAlterableConfig(
        name="cleanup.policy", config_operation=SET, value=policy
    )
    resource = m.IncrementalAlterConfigsRequestAlterConfigsResource(
        resource_type=TOPIC_CONFIG, resource_name=BIG, configs=[config]
    )
    answer = asker.ask(m.IncrementalAlterConfigsRequest(resources=[resource]), 1)
    assert answer.responses[0].error_code == 0, answer


def cleaning_pid(broker_pid: int) -> int:
    """Return the cleaning process, 0 when there is none."""
    for pid in tree(broker_pid):
        try:
            if b"barnabas.storage.compaction" in Path(f"/proc/{pid}/cmdline").read_bytes():
                return pid
        except (FileNotFoundError, ProcessLookupError):
            continue
    return 0


def main() -> None:
    parser = argparse.ArgumentParser(description="Latencies while a large log is compacted.")
    parser.add_argument("--gigabytes", type=float, default=10)
    parser.add_argument("--connections", default="1,16")
    parser.add_argument("--seconds", type=float, default=2)
    parser.add_argument("--folder", default=None)
    options = parser.parse_args()
    counts = [int(text) for text in options.connections.split(",")]
    with tempfile.TemporaryDirectory(prefix="barnabas-bench-", dir=options.folder) as made:
        folder = Path(made)
        for what, told in describe(folder).items():
            print(f"{what}: {told}", flush=True)
        server = BarnabasServer(folder / "barnabas", SETTINGS)
        with running(server), Asker(server.port) as asker:
            measure(server, asker, folder, counts, options)


def measure(
    server: BarnabasServer, asker: Asker, folder: Path, counts: list[int], options: argparse.Namespace
) -> None:
    """Fill, compact, and ask meanwhile."""
    big = asker.make_topic(BIG)
    fill(asker, big, int(options.gigabytes * 1e9))
    small = asker.make_topic("small")
    asker.produce(small, batch(1024))
    frames = {
        "produce": asker.produce_frame(small, batch(1024), acks=1)[0],
        "fetch": asker.fetch_frame(small, offset=0, partition_max_bytes=1024)[0],
    }
    set_policy(asker, "compact")
    deadline = time.monotonic() + STARTS_WITHIN_S
    while not (pid := cleaning_pid(server.pid)):
        assert time.monotonic() < deadline, "nothing is compacted"
        time.sleep(0.05)
    began = time.monotonic()
    found = {(what, count): Found() for what in frames for count in counts}
    stopped_s = 0.0
    while True:
        for (what, count), figures in found.items():
            pair = []
            for is_stopped in (True, False):
                pid = cleaning_pid(server.pid)
                if not pid:
                    break
                os.kill(pid, signal.SIGSTOP if is_stopped else signal.SIGCONT)
                one = load(
                    port=server.port, frame=frames[what], folder=folder, connections=count,
                    seconds=options.seconds,
                )  # fmt: skip
                pair.append((one["p50_us"] / 1000, one["p99_us"] / 1000))
                stopped_s += options.seconds * is_stopped
            if len(pair) < 2 or cleaning_pid(server.pid) != pid:
                break  # it was done within the stretch
            figures.without.append(pair[0])
            figures.with_cleaning.append(pair[1])
        else:
            continue
        break
    size = options.gigabytes
    took_s = time.monotonic() - began - stopped_s
    print(f"compacted {size:g} GB beside the load in {took_s:.0f} s, {size / took_s * 1000:.0f} MB/s")
    for (what, count), figures in found.items():
        if figures.without:
            print(f"{what}, {count} connections, {len(figures.without)} pairs: {figures.told()}")


if __name__ == "__main__":
    main()
