"""kill -9 and SIGTERM at bad moments: topics come and go, the first start, the stop, rolls, recovery.

What a broker acknowledged must be there afterwards; what it did not may be there or not, but whole.
"""

import json
import os
import random
import subprocess
import threading
import time
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from barnabas.protocol import messages as m
from barnabas.protocol.record_batch_builder import BatchBuilder
from tests.broker import BarnabasBroker
from tests.net.calm_client import read_numbers
from tests.net.wire import Wire, frame_of

pytestmark = pytest.mark.timeout(600)

STOP_MAX_S = 1.0
CLEAN_MARKER = ".kafka_cleanshutdown"
ROUNDS, ROUNDS_SLOW = 3, 40


@pytest.fixture
def broker(tmp_path: Path) -> Iterator[BarnabasBroker]:
    """Not yet started; killed in the end, and its log must know of no fault."""
    made = BarnabasBroker(tmp_path / "broker")
    yield made
    made.kill()
    log = made.log_path.read_text(errors="replace") if made.log_path.exists() else ""
    assert "Traceback" not in log, log[-3000:]


def batch_of(number: int, *, bytes_of_value: int = 8, **fields: int) -> bytes:
    builder = BatchBuilder(**fields)  # type: ignore[arg-type]
    # Producers are forgotten a day after their last record, by its timestamp, when a log is loaded.
    builder.append(
        timestamp=int(time.time() * 1000),
        key=None,
        value=number.to_bytes(8, "big") + bytes(bytes_of_value - 8),
    )
    return builder.build()


def new_producer_id(wire: Wire) -> int:
    answer = wire.ask(m.InitProducerIdRequest(transactional_id=None, transaction_timeout_ms=1000), 4)
    assert answer.error_code == 0, answer
    return int(answer.producer_id)


def topic_ids(wire: Wire) -> dict[str, bytes]:
    """All topics and their ids, every partition of them led."""
    answer = wire.ask(m.MetadataRequest(topics=None), 12)
    for topic in answer.topics:
        assert topic.error_code == 0, topic
        assert all(partition.error_code == 0 for partition in topic.partitions), topic
    return {topic.name: bytes(topic.topic_id) for topic in answer.topics}


def create(wire: Wire, name: str, partitions: int = 2) -> bytes:
    topic = m.CreateTopicsRequestCreatableTopic(name=name, num_partitions=partitions, replication_factor=1)
    made = wire.ask(m.CreateTopicsRequest(topics=[topic], timeout_ms=10_000), 7).topics[0]
    assert made.error_code == 0, made
    return bytes(made.topic_id)


def delete(wire: Wire, name: str) -> None:
    done = wire.ask(m.DeleteTopicsRequest(topic_names=[name], timeout_ms=10_000), 5).responses[0]
    assert done.error_code == 0, done


def while_it_lives(work: Any) -> threading.Thread:
    """Run `work(wire)` steps in a thread until the broker is gone."""

    def run() -> None:
        try:
            work()
        except (AssertionError, OSError):
            return

    thread = threading.Thread(target=run, daemon=True)
    thread.start()
    return thread


def test_topics_come_and_go_while_the_broker_dies(
    broker: BarnabasBroker, rng: random.Random, slow: bool
) -> None:
    known: dict[str, bytes] = {}
    """Acknowledged as made and not yet asked to go."""
    gone: set[str] = set()
    unsure: set[str] = set()
    numbers = iter(range(10**6))

    def storm() -> None:
        with Wire(broker.port) as wire:
            while True:
                name = f"storm-{next(numbers)}"
                unsure.add(name)
                known[name] = create(wire, name)
                unsure.discard(name)
                wire.produce(name, batch_of(0))
                if len(known) > 5:
                    victim = rng.choice(sorted(known))
                    unsure.add(victim)
                    del known[victim]
                    delete(wire, victim)
                    unsure.discard(victim)
                    gone.add(victim)

    broker.start()
    for _ in range(ROUNDS_SLOW if slow else ROUNDS):
        storming = while_it_lives(storm)
        time.sleep(rng.uniform(0.05, 0.4))
        broker.kill()
        storming.join(30)
        broker.start()
        with Wire(broker.port) as wire:
            there = topic_ids(wire)
            assert {name: there.get(name) for name in known} == known
            assert not gone & there.keys(), "deleted topics are back"
            assert there.keys() <= known.keys() | unsure
            for name in there:
                end = wire.end_offset(name)
                assert end <= 1
                assert len(read_numbers(wire, name, end)) == end
        known.update({name: topic_id for name, topic_id in there.items() if name in unsure})
        gone |= unsure - there.keys()
        unsure.clear()
    directories = {path.name.rpartition("-")[0] for path in broker.data_dir.iterdir() if path.is_dir()}
    broker.stop()
    assert known.keys() <= directories


def test_killed_during_its_first_start(tmp_path: Path, rng: random.Random, slow: bool) -> None:
    for number in range(60 if slow else 3):
        broker = BarnabasBroker(tmp_path / str(number))
        for _ in range(rng.choice((1, 2))):
            broker.start_and_kill(rng.uniform(0.02, 0.45))
        broker.start()
        with Wire(broker.port) as wire:
            create(wire, "first")
            assert wire.produce("first", batch_of(0)).error_code == 0
        broker.restart()
        with Wire(broker.port) as wire:
            assert read_numbers(wire, "first", 1) == [0]
        broker.kill()


def test_killed_while_it_stops(broker: BarnabasBroker, rng: random.Random, slow: bool) -> None:
    broker.start()
    sent = 0
    with Wire(broker.port) as wire:
        for number in range(20):
            create(wire, f"topic-{number}", 5)
    for _ in range(ROUNDS_SLOW if slow else ROUNDS):
        with Wire(broker.port) as wire:
            for _ in range(50):
                assert wire.produce("topic-0", batch_of(sent)).base_offset == sent
                sent += 1
        os.kill(broker.pid, 15)
        time.sleep(rng.uniform(0, 0.15))
        broker.kill()
        broker.start()
        with Wire(broker.port) as wire:
            assert read_numbers(wire, "topic-0", sent) == list(range(sent))
            assert wire.end_offset("topic-0") == sent


def test_killed_during_rolls_and_twice_during_recovery(
    broker: BarnabasBroker, rng: random.Random, slow: bool
) -> None:
    """Segments of 1 MiB, one roll every four batches, an idempotent producer over all crashes."""
    broker.start()
    with Wire(broker.port) as wire:
        wire.make_topic("rolls", segment_bytes="1048576")
        producer_id = new_producer_id(wire)
    state = {"sent": 0, "acknowledged": 0}

    def produce() -> None:
        with Wire(broker.port) as wire:
            while True:
                number = state["acknowledged"]
                data = batch_of(
                    number,
                    bytes_of_value=300_000,
                    producer_id=producer_id,
                    producer_epoch=0,
                    base_sequence=number,
                )
                answer = wire.produce("rolls", data)
                assert (answer.error_code, answer.base_offset) == (0, number), answer
                state["acknowledged"] += 1

    for _ in range(ROUNDS_SLOW if slow else ROUNDS):
        before = state["acknowledged"]
        producing = while_it_lives(produce)
        time.sleep(rng.uniform(0.1, 0.5))
        broker.kill()
        producing.join(30)
        assert state["acknowledged"] > before, "nothing went through"
        for _ in range(2):
            broker.start_and_kill(rng.uniform(0.05, 0.4))
        broker.start()
        with Wire(broker.port) as wire:
            end = wire.end_offset("rolls")
            assert end - state["acknowledged"] in (0, 1), (end, state)
            assert read_numbers(wire, "rolls", end) == list(range(end))
    assert len(list((broker.data_dir / "rolls-0").glob("*.log"))) > 1


def test_sigterm_under_load_is_quick_and_clean(broker: BarnabasBroker, slow: bool) -> None:
    broker.start()
    acknowledged = [0, 0, 0]
    with Wire(broker.port) as wire:
        wire.make_topic("load", 3)

    def load(partition: int) -> None:
        with Wire(broker.port) as wire:
            while True:
                answer = wire.produce("load", batch_of(acknowledged[partition]), partition)
                assert answer.error_code == 0, answer
                acknowledged[partition] = answer.base_offset + 1

    for _ in range(10 if slow else 3):
        loads = [while_it_lives(lambda partition=p: load(partition)) for p in range(3)]
        time.sleep(0.2)
        took_s = broker.stop()
        for thread in loads:
            thread.join(30)
        assert took_s < STOP_MAX_S, f"stopping took {took_s:.2f} s"
        marker = json.loads((broker.data_dir / CLEAN_MARKER).read_text())
        assert marker["version"] == 0
        assert marker["brokerEpoch"] >= 0
        broker.start()
        assert not (broker.data_dir / CLEAN_MARKER).exists(), "a running broker is not cleanly stopped"
        with Wire(broker.port) as wire:
            for partition in range(3):
                # One more may have been appended whose answer the stop cut off.
                assert wire.end_offset("load", partition) - acknowledged[partition] in (0, 1)
                acknowledged[partition] = wire.end_offset("load", partition)


def test_a_parked_fetch_does_not_hold_up_the_stop(broker: BarnabasBroker) -> None:
    broker.start()
    with Wire(broker.port) as wire:
        wire.make_topic("empty")
        part = m.FetchRequestFetchPartition(partition=0, fetch_offset=0, partition_max_bytes=100)
        asked = m.FetchRequestFetchTopic(topic="empty", partitions=[part])
        request = m.FetchRequest(max_wait_ms=60_000, min_bytes=1, topics=[asked])
        wire.sock.sendall(frame_of(request, 12))
        time.sleep(0.1)
        assert broker.stop() < STOP_MAX_S


@pytest.mark.parametrize("clean", [True, False], ids=["stopped", "killed"])
def test_ids_high_watermarks_and_producers_outlive_a_restart(broker: BarnabasBroker, clean: bool) -> None:
    broker.start()
    seen: set[int] = set()
    with Wire(broker.port) as wire:
        ids = {name: create(wire, name) for name in ("a", "b", "c")}
        producer_id = new_producer_id(wire)
        seen.add(producer_id)
    for number in range(4):
        with Wire(broker.port) as wire:
            fields = {"producer_id": producer_id, "producer_epoch": 0, "base_sequence": number}
            answer = wire.produce("a", batch_of(number, **fields))
            assert (answer.error_code, answer.base_offset) == (0, number)
        if clean:
            broker.restart()
        else:
            broker.kill()
            broker.start()
        with Wire(broker.port) as wire:
            assert topic_ids(wire) == ids
            assert wire.end_offset("a") == number + 1
            again = wire.produce("a", batch_of(number, **fields))
            assert (again.error_code, again.base_offset) == (0, number), "a repeated batch is known"
            for _ in range(3):
                fresh = new_producer_id(wire)
                assert fresh not in seen
                seen.add(fresh)
            assert wire.fetch("a", number).high_watermark == number + 1


def start_and_fail(broker: BarnabasBroker) -> str:
    """Start, expect it to end by itself with 1; return what it said to standard error."""
    done = subprocess.run(broker.command(), capture_output=True, text=True, timeout=30, check=False)
    assert done.returncode == 1, done
    return done.stderr


@pytest.mark.parametrize("trouble", ["a file", "below a file", "another's lock", "garbage", "read-only"])
def test_a_start_that_cannot_be_says_so_in_one_line(
    broker: BarnabasBroker, tmp_path: Path, trouble: str
) -> None:
    other: BarnabasBroker | None = None
    if trouble == "a file":
        broker.data_dir.write_text("in the way")
    elif trouble == "below a file":
        (tmp_path / "file").write_text("in the way")
        broker.data_dir = tmp_path / "file" / "data"
    elif trouble == "another's lock":
        other = BarnabasBroker(tmp_path / "other", data_dir=broker.data_dir)
        other.start()
    elif trouble == "garbage":
        broker.data_dir.mkdir()
        (broker.data_dir / "meta.properties").write_text("nonsense")
    else:
        # Also root cannot write here.
        broker.data_dir = Path("/proc/barnabas")
    try:
        said = start_and_fail(broker)
    finally:
        if other is not None:
            other.kill()
    lines = [line for line in said.splitlines() if line.startswith("barnabas: ")]
    assert len(lines) == 1, said
    assert "Traceback" not in said
    assert str(broker.data_dir) in lines[0], lines[0]


def test_a_full_disk_says_so_in_one_line(tmp_path: Path) -> None:
    """A file system of 64 KiB, where we may mount one."""
    small = tmp_path / "small"
    small.mkdir()
    mounted = subprocess.run(
        ["mount", "-t", "tmpfs", "-o", "size=64k", "tmpfs", str(small)], capture_output=True, check=False
    )
    if mounted.returncode != 0:
        pytest.skip("no file system may be mounted here")
    try:
        (small / "filler").write_bytes(bytes(60 << 10))
        broker = BarnabasBroker(tmp_path / "broker", data_dir=small / "data")
        said = start_and_fail(broker)
        lines = [line for line in said.splitlines() if line.startswith("barnabas: ")]
        assert len(lines) == 1, said
        assert "Traceback" not in said
        assert "No space left" in lines[0]
    finally:
        subprocess.run(["umount", str(small)], check=False)
