"""kill -9 during a stream of idempotent produces with acks=-1, again and again."""

import random
import time
from collections.abc import Callable
from pathlib import Path

import pytest
from confluent_kafka.admin import AdminClient, NewTopic

from tests import toolchain, under_test
from tests.broker import BarnabasBroker
from tests.crash.stream import Stream, check, read_partition
from tests.oracle.kafka import KafkaBroker
from tests.oracle.kafka_tools import dump_log

pytestmark = [pytest.mark.interop, pytest.mark.timeout(1800)]

KILLS = 5
KILLS_SLOW = 50
CODECS = ("none", "zstd")
TOPIC = "crash"
SEGMENT_BYTES = 1024 * 1024  # the least Apache Kafka allows; a run rolls several

Broker = BarnabasBroker | KafkaBroker


def test_every_acknowledged_record_survives_kills(tmp_path: Path, slow: bool, rng: random.Random) -> None:
    broker = under_test.make_broker(tmp_path / "broker")
    try:
        broker.start()
        create_topic(broker)
        streams = [
            Stream(broker.bootstrap, TOPIC, partition, codec) for partition, codec in enumerate(CODECS)
        ]
        for _ in range(KILLS_SLOW if slow else KILLS):
            for stream in streams:
                stream.wait_for_acknowledged(1)
            time.sleep(rng.uniform(0, 0.5))
            broker.kill()
            while rng.random() < 0.3:
                kill_while_it_starts(broker, rng)
            broker.start()
        for stream in streams:
            stream.wait_for_acknowledged(1)
            stream.finish()
        check_streams(broker, streams)
        broker.stop()
        check_files(broker)
        # What the last, clean, stop left is found again too.
        broker.start()
        check_streams(broker, streams)
        broker.stop()
    except BaseException as error:
        error.add_note(f"the broker's log ends:\n{broker.log_tail()}")
        raise
    finally:
        broker.kill()


def test_a_clean_restart_under_a_stream_loses_and_repeats_nothing(tmp_path: Path) -> None:
    broker = under_test.make_broker(tmp_path / "broker")
    try:
        broker.start()
        create_topic(broker)
        streams = [
            Stream(broker.bootstrap, TOPIC, partition, codec) for partition, codec in enumerate(CODECS)
        ]
        for _ in range(2):
            for stream in streams:
                stream.wait_for_acknowledged(200)
            broker.stop()
            broker.start()
        for stream in streams:
            stream.wait_for_acknowledged(1)
            stream.finish()
        check_streams(broker, streams)
    finally:
        broker.kill()


def create_topic(broker: Broker) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap, "log_level": 0})
    topic = NewTopic(TOPIC, len(CODECS), 1, config={"segment.bytes": str(SEGMENT_BYTES)})
    admin.create_topics([topic])[TOPIC].result(30)


def kill_while_it_starts(broker: Broker, rng: random.Random) -> None:
    """Die during recovery as well: what a half recovery leaves must be recoverable."""
    start_and_kill: Callable[[float], None] | None = getattr(broker, "start_and_kill", None)
    if start_and_kill is not None:
        start_and_kill(rng.uniform(0, 0.25))


def check_streams(broker: Broker, streams: list[Stream]) -> None:
    for stream in streams:
        check(stream, read_partition(broker.bootstrap, TOPIC, stream.partition))


def check_files(broker: Broker) -> None:
    """Let Apache Kafka's own tool read every segment and index, if there is a JVM."""
    files = [
        path
        for partition in range(len(CODECS))
        for path in sorted((broker.data_dir / f"{TOPIC}-{partition}").iterdir())
        if path.suffix in (".log", ".index", ".timeindex", ".txnindex", ".snapshot")
    ]
    assert sum(path.suffix == ".log" for path in files) > len(CODECS), "the run was too short to roll"
    try:
        toolchain.kafka_classpath()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(f"the records are right, but nobody judged the files: {missing}")
    dump_log(*files)
    dump_log(*(path for path in files if path.suffix in (".index", ".timeindex")), index_sanity=True)
