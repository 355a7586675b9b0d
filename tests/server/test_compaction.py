"""Compaction in a broker's process: while clients produce and read, of coordinators' topics, and ended early.

Segments are a few kilobytes here, so that what takes days takes seconds.
"""

import contextlib
import os
import signal
import time
from collections.abc import Iterator, Mapping
from contextlib import AbstractContextManager
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, KafkaError, Producer, TopicPartition
from confluent_kafka.admin import AdminClient, AlterConfigOpType, ConfigEntry, ConfigResource, NewTopic

from barnabas.net.local_client import ask, socket_path
from barnabas.protocol import messages
from tests.broker import BarnabasBroker
from tests.server import running
from tests.server.asking import Asking
from tests.waiting import wait_until

pytestmark = pytest.mark.xdist_group("compaction")

DEADLINE_S = 60
COMPACTED = {
    "cleanup.policy": "compact",
    "internal.segment.bytes": "20000",
    "index.interval.bytes": "1000",
    "min.cleanable.dirty.ratio": "0.1",
    "file.delete.delay.ms": "500",
}
SLOW_READER = {
    "fetch.message.max.bytes": 8_000,
    "queued.min.messages": 1,
    "fetch.queue.backoff.ms": 2,
    "auto.offset.reset": "earliest",  # retention may overtake it
}
QUICK = {"log.cleaner.backoff.ms": "100", "offsets.topic.num.partitions": "1"}


def quick_broker(directory: Path, **overrides: str) -> AbstractContextManager[BarnabasBroker]:
    named = {name.replace("_", "."): value for name, value in overrides.items()}
    return running.broker_in(directory, {**QUICK, **named})


def create(broker: BarnabasBroker, name: str, config: Mapping[str, str] = COMPACTED) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    admin.create_topics([NewTopic(name, 1, 1, config=dict(config))])[name].result()


def alter(broker: BarnabasBroker, kind: ConfigResource.Type, name: str, **values: str) -> None:
    admin = AdminClient({"bootstrap.servers": broker.bootstrap})
    entries = [
        ConfigEntry(key.replace("_", "."), value, incremental_operation=AlterConfigOpType.SET)
        for key, value in values.items()
    ]
    resource = ConfigResource(kind, name, incremental_configs=entries)
    admin.incremental_alter_configs([resource])[resource].result()


def produce(
    broker: BarnabasBroker, topic: str, values: range, *, keys: int = 100, bytes_each: int = 50
) -> None:
    """Records 'k<n % keys>' -> '<n>...', in order."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "batch.num.messages": 50, "linger.ms": 1})
    for number in values:
        value = b"%d" % number
        producer.produce(topic, key=b"k%d" % (number % keys), value=value.ljust(bytes_each, b"."))
        producer.poll(0)
        if number % 1000 == 0:
            producer.flush()
    assert producer.flush(DEADLINE_S) == 0


class Reader:
    """Reads a partition from its beginning as any consumer does."""

    def __init__(self, broker: BarnabasBroker, topic: str, **config: Any) -> None:
        self._consumer = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "readers",
                "enable.auto.commit": False,
                "enable.partition.eof": True,
                "auto.offset.reset": "error",
                **config,
            }
        )
        self._consumer.assign([TopicPartition(topic, 0, 0)])
        self.offsets: list[int] = []
        self.last: dict[bytes, int] = {}
        self.is_at_end = False

    def read(self) -> bool:
        """Take one message; return whether the end was reached."""
        message = self._consumer.poll(DEADLINE_S)
        assert message is not None, "nothing more came"
        error = message.error()
        self.is_at_end = error is not None and error.code() == KafkaError._PARTITION_EOF
        if not self.is_at_end:
            assert error is None, error
            self.offsets.append(message.offset())
            self.last[message.key()] = int(message.value().rstrip(b"."))
        return self.is_at_end

    def read_to_end(self) -> None:
        while not self.read():
            pass
        self._consumer.close()
        assert self.offsets == sorted(set(self.offsets)), "in order, and none twice"


def read(broker: BarnabasBroker, topic: str) -> Reader:
    reader = Reader(broker, topic)
    reader.read_to_end()
    return reader


def cleaner(broker: BarnabasBroker) -> dict[str, Any]:
    """Return the figures of the cleaner; empty while there is none."""
    told = ask(socket_path(str(broker.data_dir)), "statistics", {"partitions": False})
    return dict(told["log_cleaner"] or {})


def files(broker: BarnabasBroker, partition: str, suffix: str = ".log") -> list[str]:
    return sorted(name for name in os.listdir(broker.data_dir / partition) if name.endswith(suffix))


def log_bytes(broker: BarnabasBroker, partition: str) -> int:
    directory = broker.data_dir / partition
    return sum((directory / name).stat().st_size for name in files(broker, partition))


def cleaned_to(directory: Path, topic: str) -> int:
    """Return the checkpointed offset up to which a topic's partition is clean; 0 without one."""
    path = directory / "cleaner-offset-checkpoint"
    for line in path.read_text().splitlines() if path.exists() else ():
        if line.startswith(f"{topic} 0 "):
            return int(line.split()[2])
    return 0


def children(broker: BarnabasBroker) -> list[int]:
    """Return the processes of cleanings under way."""
    found = []
    for task in Path(f"/proc/{broker.pid}/task").iterdir():
        with contextlib.suppress(OSError):
            found += [int(pid) for pid in (task / "children").read_text().split()]
    return found


def test_a_topic_is_compacted_while_it_is_produced_to_and_read(tmp_path: Path) -> None:
    count, keys = 12_000, 100
    with quick_broker(tmp_path) as broker:
        create(broker, "table")
        for end in range(2_000, count + 1, 2_000):
            produce(broker, "table", range(end - 2_000, end))
            reader = read(broker, "table")
            assert reader.last == {b"k%d" % key: end - keys + key for key in range(keys)}
        wait_until(lambda: cleaned_to(broker.data_dir, "table") > count // 2, "compacted up to near the end")
        wait_until(lambda: not cleaner(broker)["running"], "at rest")
        reader = read(broker, "table")
        expected = {b"k%d" % key: count - keys + key for key in range(keys)}
        assert reader.last == expected
        assert len(reader.offsets) < count / 4
        assert reader.offsets[-1] == count - 1
        figures = cleaner(broker)
        assert figures["cleaned"] >= 1
        assert figures["uncleanable"] == [[str(broker.data_dir), 0, 0]]
        wait_until(lambda: not files(broker, "table-0", ".deleted"), "old files are unlinked")
        broker.stop()
        broker.start()
        again = read(broker, "table")
        assert (again.last, again.offsets) == (reader.last, reader.offsets)
        assert "ERROR" not in broker.log_tail()


def test_a_consumer_far_behind_reads_all_that_is_left_while_retention_and_compaction_run(
    tmp_path: Path,
) -> None:
    """Fifty segments, half of them taken away and the rest compacted under its reading."""
    slow = {"log_retention_check_interval_ms": "200", "log_initial_task_delay_ms": "200"}
    with quick_broker(tmp_path, log_cleaner_backoff_ms="3600000", **slow) as broker:
        policy = {
            **COMPACTED,
            "cleanup.policy": "compact,delete",
            "retention.ms": "-1",
            "internal.segment.bytes": "10000",
        }
        time.sleep(1.2)  # the first look finds nothing, and the next would come in an hour
        create(broker, "history", policy)
        # Each key twice, far apart: compaction leaves the later ones, retention takes from the first half.
        produce(broker, "history", range(8_000), keys=4_000)
        assert len(files(broker, "history-0")) >= 50
        reader = Reader(broker, "history", **SLOW_READER)
        for _ in range(500):
            assert not reader.read()
        kept = log_bytes(broker, "history-0") * 6 // 10
        alter(broker, ConfigResource.Type.TOPIC, "history", retention_bytes=str(kept))
        wait_until(lambda: files(broker, "history-0")[0] > "0" * 20 + ".log", "retention took some")
        alter(broker, ConfigResource.Type.BROKER, "1", log_cleaner_backoff_ms="100")
        while not reader.read():
            if len(reader.offsets) % 200 == 0:
                time.sleep(0.02)
        assert reader.offsets == sorted(set(reader.offsets))
        assert reader.last == {b"k%d" % key: 4_000 + key for key in range(4_000)}
        wait_until(lambda: cleaned_to(broker.data_dir, "history") > 7_000, "compacted, too")


@pytest.mark.parametrize("stop", ["clean", "kill"])
def test_committed_offsets_are_the_same_after_their_topic_was_compacted(tmp_path: Path, stop: str) -> None:
    with quick_broker(tmp_path) as broker:
        create(broker, "read", {})
        asking = Asking(broker.port)
        coordinate(asking)
        alter(
            broker, ConfigResource.Type.TOPIC, "__consumer_offsets",
            internal_segment_bytes="10000", min_cleanable_dirty_ratio="0.1", file_delete_delay_ms="100",
        )  # fmt: skip
        for number in range(1_500):
            assert commit(asking, f"group-{number % 7}", number) == 0
        wait_until(lambda: cleaned_to(broker.data_dir, "__consumer_offsets") > 1_000, "compacted")
        wait_until(lambda: not cleaner(broker)["running"], "at rest")
        before = {group: committed(asking, group) for group in (f"group-{n}" for n in range(8))}
        assert before["group-3"] == max(n for n in range(1_500) if n % 7 == 3)
        assert before["group-7"] == -1
        wait_until(lambda: log_bytes(broker, "__consumer_offsets-0") < 50_000, "smaller")
        asking.close()
        if stop == "clean":
            broker.stop()
        else:
            broker.kill()
        broker.start()
        asking = Asking(broker.port)
        coordinate(asking)
        assert {group: committed(asking, group) for group in before} == before
        assert commit(asking, "group-3", 77_777) == 0
        assert committed(asking, "group-3") == 77_777
        asking.close()


def coordinate(asking: Asking) -> None:
    """Wait until the groups' coordinator is there."""

    def is_there() -> bool:
        answer: Any = asking.ask(messages.FindCoordinatorRequest(coordinator_keys=["group-0"]), 4)
        return bool(answer.coordinators[0].error_code == 0 and committed(asking, "group-0") is not None)

    wait_until(is_there, "a coordinator")


def commit(asking: Asking, group: str, offset: int) -> int:
    partition = messages.OffsetCommitRequestOffsetCommitRequestPartition(
        partition_index=0, committed_offset=offset, committed_metadata=""
    )
    topic = messages.OffsetCommitRequestOffsetCommitRequestTopic(name="read", partitions=[partition])
    answer: Any = asking.ask(messages.OffsetCommitRequest(group_id=group, topics=[topic]), 9)
    return int(answer.topics[0].partitions[0].error_code)


def committed(asking: Asking, group: str) -> int | None:
    """Return what a group committed; None while its coordinator loads."""
    topic = messages.OffsetFetchRequestOffsetFetchRequestTopics(name="read", partition_indexes=[0])
    asked = messages.OffsetFetchRequestOffsetFetchRequestGroup(group_id=group, topics=[topic])
    answer: Any = asking.ask(messages.OffsetFetchRequest(groups=[asked]), 8)
    (told,) = answer.groups
    return None if told.error_code else int(told.topics[0].partitions[0].committed_offset)


def test_transactions_go_on_after_their_topic_was_compacted(tmp_path: Path) -> None:
    topic, rounds, ids = "__transaction_state", 40, 3
    with quick_broker(tmp_path, transaction_state_log_num_partitions="1") as broker:
        create(broker, "money", {})
        transact(broker, "first", [b"0"])
        alter(
            broker, ConfigResource.Type.TOPIC, topic,
            internal_segment_bytes="4000", min_cleanable_dirty_ratio="0.1", file_delete_delay_ms="100",
        )  # fmt: skip
        for number in range(ids):
            transact(broker, f"id-{number}", [b"%d" % turn for turn in range(rounds)])
        wait_until(lambda: cleaned_to(broker.data_dir, topic) > 0, "compacted")
        wait_until(lambda: not cleaner(broker)["running"], "at rest")
        broker.kill()
        broker.start()
        for number in range(ids):
            transact(broker, f"id-{number}", [b"again"])
        reader = Consumer(
            {
                "bootstrap.servers": broker.bootstrap,
                "group.id": "g",
                "isolation.level": "read_committed",
                "enable.partition.eof": True,
            }
        )
        reader.assign([TopicPartition("money", 0, 0)])
        values = []
        while (message := reader.poll(DEADLINE_S)) is not None and message.error() is None:
            values.append(message.value())
        reader.close()
        assert len(values) == 1 + ids * (rounds + 1)
        assert values[-ids:] == [b"again"] * ids


def transact(broker: BarnabasBroker, transactional_id: str, values: list[bytes]) -> None:
    """Write each value within a transaction of its own."""
    producer = Producer({"bootstrap.servers": broker.bootstrap, "transactional.id": transactional_id})
    producer.init_transactions(DEADLINE_S)
    for value in values:
        producer.begin_transaction()
        producer.produce("money", value=value)
        producer.commit_transaction(DEADLINE_S)


# Ended early -----------------------------------------------------------------------------------


@contextlib.contextmanager
def cleaning_slowly(directory: Path, **overrides: str) -> Iterator[BarnabasBroker]:
    """A broker in the middle of a cleaning that would take minutes."""
    with quick_broker(directory, log_cleaner_io_max_bytes_per_second="4000.0", **overrides) as broker:
        create(broker, "slow")
        produce(broker, "slow", range(5_000))
        wait_until(lambda: cleaner(broker).get("running"), "a cleaning")
        wait_until(lambda: children(broker), "its process")
        yield broker


def test_a_topic_is_deleted_in_the_middle_of_its_cleaning(tmp_path: Path) -> None:
    with cleaning_slowly(tmp_path) as broker:
        admin = AdminClient({"bootstrap.servers": broker.bootstrap})
        admin.delete_topics(["slow"])["slow"].result()
        wait_until(lambda: not children(broker), "its process is gone")
        wait_until(lambda: not cleaner(broker)["running"], "nothing is cleaned")
        wait_until(lambda: not list(broker.data_dir.glob("slow-0*")), "its files are gone")
        create(broker, "slow")
        produce(broker, "slow", range(10))
        assert read(broker, "slow").offsets == list(range(10))


def test_a_cleaning_process_that_is_killed_is_followed_by_another_and_told_once(tmp_path: Path) -> None:
    with cleaning_slowly(tmp_path) as broker:
        for _ in range(2):
            (pid,) = children(broker)
            os.kill(pid, signal.SIGKILL)
            wait_until(lambda gone=pid: set(children(broker)) - {gone}, "another process")
        assert broker.log_tail().count("could not be cleaned and is tried again") == 1
        alter(broker, ConfigResource.Type.BROKER, "1", log_cleaner_io_max_bytes_per_second="100000000.0")
        wait_until(lambda: cleaned_to(broker.data_dir, "slow") > 4_000, "cleaned")
        assert read(broker, "slow").last == {b"k%d" % key: 4_900 + key for key in range(100)}


def test_a_stop_does_not_wait_for_a_cleaning(tmp_path: Path) -> None:
    with cleaning_slowly(tmp_path) as broker:
        (pid,) = children(broker)
        broker.stop()
        assert not Path(f"/proc/{pid}").exists()
        assert not files(broker, "slow-0", ".cleaned")
        assert (broker.data_dir / ".kafka_cleanshutdown").exists()
        broker.start()
        assert read(broker, "slow").offsets[-1] == 4_999


def test_a_broker_that_is_killed_takes_its_cleanings_along(tmp_path: Path) -> None:
    with cleaning_slowly(tmp_path) as broker:
        (pid,) = children(broker)
        broker.kill()
        wait_until(lambda: not is_running(pid), "the process ends by itself")
        broker.start()
        assert not files(broker, "slow-0", ".cleaned") or cleaner(broker)
        assert read(broker, "slow").offsets[-1] == 4_999


def is_running(pid: int) -> bool:
    """Whether a process is there, and no zombie whose parent is gone."""
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except OSError:
        return False


def test_a_log_moves_in_the_middle_of_its_cleaning_and_is_cleaned_where_it_goes(tmp_path: Path) -> None:
    homes = [tmp_path / "data", tmp_path / "other"]
    with cleaning_slowly(tmp_path, log_dirs=",".join(map(str, homes))) as broker:
        (home,) = [path for path in homes if (path / "slow-0").exists()]
        (target,) = [path for path in homes if path != home]
        topic = messages.AlterReplicaLogDirsRequestAlterReplicaLogDirTopic(name="slow", partitions=[0])
        wanted = messages.AlterReplicaLogDirsRequestAlterReplicaLogDir(path=str(target), topics=[topic])
        asking = Asking(broker.port)
        answer: Any = asking.ask(messages.AlterReplicaLogDirsRequest(dirs=[wanted]), 2)
        asking.close()
        assert answer.results[0].partitions[0].error_code == 0
        wait_until((target / "slow-0").exists, "moved")
        alter(broker, ConfigResource.Type.BROKER, "1", log_cleaner_io_max_bytes_per_second="100000000.0")
        wait_until(lambda: cleaned_to(target, "slow") > 4_000, "cleaned where it is")
        assert cleaned_to(home, "slow") == 0
        assert not [name for name in os.listdir(target / "slow-0") if name.endswith((".cleaned", ".swap"))]
        reader = read(broker, "slow")
        assert reader.last == {b"k%d" % key: 4_900 + key for key in range(100)}
        assert len(reader.offsets) < 2_000


def test_nothing_is_compacted_where_it_is_switched_off(tmp_path: Path) -> None:
    with quick_broker(tmp_path, log_cleaner_enable="false") as broker:
        create(broker, "table")
        produce(broker, "table", range(5_000))
        time.sleep(1.5)
        assert cleaner(broker) == {}
        assert read(broker, "table").offsets == list(range(5_000))
