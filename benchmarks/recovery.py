"""What a start after a crash costs per GiB of log to check, here and in Apache Kafka.

A directory with a few partitions is made once for each size of batches; then both check copies of it in
turns, with no recovery point, from the page cache: `python -m benchmarks.recovery --kafka`. Ours is the time
of LogManager.start in a process of its own; Apache Kafka's what it says in "Loaded N logs in M ms",
run with the flags of kafka-server-start.sh. The ratio of each round is what to look at: the machine's speed
is not its own.
"""

import argparse
import json
import re
import shutil
import statistics
import subprocess
import sys
import tempfile
import time
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parents[1]))

from benchmarks import host
from benchmarks.brokers.kafka import HEAP, PERFORMANCE
from benchmarks.log_storage import batch
from tests import toolchain
from tests.broker import BarnabasBroker
from tests.oracle.kafka import SIMPLE_LOGGER, KafkaBroker
from tests.server.asking import Asking

LOADED = re.compile(r"Loaded \d+ logs in (\d+)ms")
KAFKA_DEADLINE_S = 300
MARKER = ".kafka_cleanshutdown"
RECOVERY_POINTS = "recovery-point-offset-checkpoint"

OURS = """
import json, sys, time
from barnabas.base.clock import SystemClock
from barnabas.base.disk import OsDisk
from barnabas.base.entropy import SystemEntropy
from barnabas.storage.log_config import LogConfig
from barnabas.storage.log_manager import LogManager, LogManagerConfig
manager = LogManager(disk=OsDisk(), clock=SystemClock(), entropy=SystemEntropy(), directories=[sys.argv[1]],
                     config_for=lambda _: LogConfig(),
                     config=LogManagerConfig(recovery_threads_per_data_dir=int(sys.argv[2])))
began, cpu = time.perf_counter(), time.process_time()
manager.start()
print(json.dumps([time.perf_counter() - began, time.process_time() - cpu, manager.recovery.bytes_checked]))
manager.release()
"""


def fill(directory: Path, batch_bytes: int, partitions: int, mib: int) -> None:
    """Make a data directory with a topic whose partitions hold `mib` in all, as a killed broker leaves it."""
    broker = BarnabasBroker(directory.parent / "broker", data_dir=directory)
    broker.start()
    asking = Asking(broker.port)
    for number in range(partitions):
        asking.create(f"recovery-{number}")
        asking.produce(f"recovery-{number}", [b"first"])
    asking.close()
    broker.stop()
    (directory / MARKER).unlink()
    made = bytearray(batch(batch_bytes))
    for number in range(partitions):
        path = directory / f"recovery-{number}-0" / f"{0:020d}.log"
        with path.open("ab") as file:
            for offset in range(1, 1 + mib * 2**20 // partitions // len(made)):
                made[:8] = offset.to_bytes(8, "big")
                made[12:16] = bytes(4)  # leader epoch 0
                file.write(made)


def ours(directory: Path, threads: int) -> tuple[float, float, int]:
    """Return seconds, CPU seconds and bytes of one start."""
    (directory / RECOVERY_POINTS).unlink(missing_ok=True)
    line = [sys.executable, "-c", OURS, str(directory), str(threads)]
    seconds, cpu_s, checked = json.loads(subprocess.run(line, capture_output=True, check=True).stdout)
    return seconds, cpu_s, checked


def theirs(directory: Path, scratch: Path) -> float:
    """Return the seconds that Apache Kafka says it took to load the logs."""
    (directory / RECOVERY_POINTS).unlink(missing_ok=True)
    broker = KafkaBroker(scratch, data_dir=directory)
    broker.write_properties()
    line = [
        toolchain.java_command(), *HEAP, *PERFORMANCE, f"{SIMPLE_LOGGER}.defaultLogLevel=warn",
        f"{SIMPLE_LOGGER}.log.org.apache.kafka.storage.internals.log=info",
        "-cp", toolchain.kafka_classpath(), "kafka.Kafka", str(broker.properties_path),
    ]  # fmt: skip
    log = scratch / "recovery.log"
    with log.open("wb") as file:
        process = subprocess.Popen(line, stdin=subprocess.DEVNULL, stdout=file, stderr=file)
    try:
        deadline = time.monotonic() + KAFKA_DEADLINE_S
        while (found := LOADED.search(log.read_text(errors="replace"))) is None:
            assert process.poll() is None, log.read_text()[-3000:]
            assert time.monotonic() < deadline, log.read_text()[-3000:]
            time.sleep(0.1)
        return int(found[1]) / 1000
    finally:
        process.kill()
        process.wait()


def compare(size: int, scratch: Path, arguments: argparse.Namespace) -> None:
    """Check logs of batches of one size in turns, and say what came out."""
    mine, kafkas = scratch / f"ours-{size}", scratch / f"kafka-{size}"
    fill(mine, size, arguments.partitions, arguments.mib)
    if arguments.kafka:
        shutil.copytree(mine, kafkas, ignore=shutil.ignore_patterns("*.sock"))
    one, several, cpu, kafka = [], [], [], []
    for _ in range(arguments.rounds):
        seconds, cpu_s, checked = ours(mine, 1)
        gib = checked / 2**30
        one.append(seconds / gib)
        cpu.append(cpu_s / gib)
        several.append(ours(mine, arguments.threads)[0] / gib)
        if arguments.kafka:
            kafka.append(theirs(kafkas, scratch) / gib)
    texts = [
        f"{name} {min(values):.3f} (median {statistics.median(values):.3f})"
        for name, values in (
            ("1 thread", one), ("its CPU", cpu), (f"{arguments.threads} threads", several), ("Kafka", kafka),
        )
        if values
    ]  # fmt: skip
    if kafka:
        ratios = [mine / his for mine, his in zip(several, kafka, strict=True)]
        texts.append(f"ours/Kafka's {statistics.median(ratios):.2f}")
    print(f"{size:>8} B batches, s/GiB: " + ", ".join(texts), flush=True)
    shutil.rmtree(mine)
    shutil.rmtree(kafkas, ignore_errors=True)


def main() -> None:
    parser = argparse.ArgumentParser(description=__doc__)
    parser.add_argument("--mib", type=int, default=1024, help="of all partitions together")
    parser.add_argument("--partitions", type=int, default=4)
    parser.add_argument(
        "--threads", type=int, default=2, help="num.recovery.threads.per.data.dir; Kafka's is 2"
    )
    parser.add_argument("--rounds", type=int, default=5)
    parser.add_argument("--sizes", type=int, nargs="+", default=[1024, 16 * 1024, 1024 * 1024])
    parser.add_argument("--kafka", action="store_true", help="ask Apache Kafka, too")
    parser.add_argument("--directory", default=None, help="where to write")
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory(dir=arguments.directory) as folder:
        for name, value in host.describe(Path(folder)).items():
            print(f"{name}: {value}")
        for size in arguments.sizes:
            compare(size, Path(folder), arguments)


if __name__ == "__main__":
    main()
