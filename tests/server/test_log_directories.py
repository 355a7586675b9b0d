"""Log directories of a running broker: disks that fill up or vanish, moves under load, starts on the rest.

The disks are real where the machine lets us mount some; else those tests are skipped, with the reason.
"""

import json
import os
import random
import shutil
import subprocess
import threading
import time
from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest
from click.testing import CliRunner

from barnabas.protocol import messages
from barnabas.server.broker import Broker, StartError
from barnabas.server.settings import load_settings
from tests.broker import BarnabasBroker
from tests.server.asking import Asking
from tests.waiting import wait_until

DEADLINE_S = 60
COORDINATOR_NOT_AVAILABLE = 15
NOT_COORDINATOR = 16
UNKNOWN_MEMBER_ID = 25
STORAGE_ERROR = 56
NO_LEADER = -1
TOPIC = "t"
PARTITIONS = 4


class RunningBroker:
    """A broker of this process over the directories `a` and `b` of a folder.

    Attributes:
        clean: whether it stopped cleanly; None while it runs.
    """

    def __init__(self, folder: Path, *overrides: str) -> None:
        dirs = f"log.dirs={folder / 'a'},{folder / 'b'}"
        self.broker = Broker(load_settings(overrides=[dirs, "listeners=PLAINTEXT://127.0.0.1:0", *overrides]))
        self.clean: bool | None = None
        self.broker.start()
        self.port = self.broker.addresses[0].port
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.clean = self.broker.run()

    def stop(self) -> bool | None:
        self.broker.stop()
        return self.wait()

    def wait(self) -> bool | None:
        self._thread.join(DEADLINE_S)
        assert not self._thread.is_alive(), "the broker did not stop"
        return self.clean


@pytest.fixture
def start(tmp_path: Path) -> Iterator[Callable[..., RunningBroker]]:
    running: list[RunningBroker] = []

    def begin(*overrides: str) -> RunningBroker:
        running.append(RunningBroker(tmp_path, *overrides))
        return running[-1]

    yield begin
    for one in running:
        one.stop()


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """`b` as a file system of its own, of 8 MiB."""
    mount = tmp_path / "b"
    mount.mkdir()
    command = ["mount", "-t", "tmpfs", "-o", "size=8m", "barnabas-test", str(mount)]
    tried = subprocess.run(command, capture_output=True, text=True, check=False)
    if tried.returncode:
        pytest.skip(f"no file system can be mounted here: {tried.stderr.strip()}")
    yield mount
    subprocess.run(["umount", "-l", str(mount)], check=False, capture_output=True)


def create(peer: Asking, topic: str = TOPIC, partitions: int = PARTITIONS) -> None:
    wanted = messages.CreateTopicsRequestCreatableTopic(
        name=topic, num_partitions=partitions, replication_factor=1
    )
    assert peer.ask(messages.CreateTopicsRequest(topics=[wanted]), 4).topics[0].error_code == 0


def places(peer: Asking) -> dict[tuple[str, int], str]:
    """In which directory each partition lies; copies are not told."""
    told = peer.ask(messages.DescribeLogDirsRequest(topics=None), 5)
    return {
        (topic.name, one.partition_index): result.log_dir
        for result in told.results
        for topic in result.topics
        for one in topic.partitions
        if not one.is_future_key
    }


def directory_errors(peer: Asking) -> dict[str, int]:
    told = peer.ask(messages.DescribeLogDirsRequest(topics=[]), 5)
    return {Path(result.log_dir).name: result.error_code for result in told.results}


def partitions_in(peer: Asking, name: str) -> list[int]:
    found = places(peer).items()
    return sorted(number for (topic, number), path in found if topic == TOPIC and Path(path).name == name)


def leaders(peer: Asking) -> dict[int, tuple[int, list[int]]]:
    """Leader and offline replicas of each partition."""
    wanted = [messages.MetadataRequestMetadataRequestTopic(name=TOPIC)]
    (topic,) = peer.ask(messages.MetadataRequest(topics=wanted), 9).topics
    return {one.partition_index: (one.leader_id, list(one.offline_replicas)) for one in topic.partitions}


def move(peer: Asking, number: int, path: Path) -> int:
    topic = messages.AlterReplicaLogDirsRequestAlterReplicaLogDirTopic(name=TOPIC, partitions=[number])
    wanted = messages.AlterReplicaLogDirsRequestAlterReplicaLogDir(path=str(path), topics=[topic])
    answer = peer.ask(messages.AlterReplicaLogDirsRequest(dirs=[wanted]), 2)
    return answer.results[0].partitions[0].error_code


def values(peer: Asking, number: int, offset: int = 0) -> list[bytes]:
    """The raw batches of a partition, from the beginning to the end."""
    found: list[bytes] = []
    while True:
        wanted = messages.FetchRequestFetchPartition(
            partition=number, fetch_offset=offset, partition_max_bytes=1 << 20
        )
        topics = [messages.FetchRequestFetchTopic(topic=TOPIC, partitions=[wanted])]
        request = messages.FetchRequest(max_wait_ms=0, min_bytes=0, max_bytes=1 << 20, topics=topics)
        (partition,) = peer.ask(request, 12).responses[0].partitions
        assert partition.error_code == 0
        records = bytes(partition.records or b"")
        position = 0
        while position + 61 <= len(records):
            size = 12 + int.from_bytes(records[position + 8 : position + 12], "big")
            if position + size > len(records):
                break
            base = int.from_bytes(records[position : position + 8], "big")
            assert base == offset, "batches are in order, none is missing and none is there twice"
            offset = base + int.from_bytes(records[position + 23 : position + 27], "big") + 1
            found.append(records[position + 61 : position + size])
            position += size
        if not position:
            return found


def produce_in_the_end(peer: Asking, number: int) -> None:
    """A partition may take a moment after a start."""
    wait_until(lambda: peer.produce(TOPIC, [b"w"], partition=number) == 0, "it is served")


# Disks that fail ---------------------------------------------------------------------------------


def test_f43_a_full_disk_goes_offline_and_is_back_at_work_when_there_is_room(
    start: Callable[..., RunningBroker], small_disk: Path
) -> None:
    running = start()
    peer = Asking(running.port)
    create(peer)
    full, fine = partitions_in(peer, "b"), partitions_in(peer, "a")
    assert len(full) == len(fine) == 2
    acknowledged = dict.fromkeys(range(PARTITIONS), 0)
    while True:
        error = peer.produce(TOPIC, [bytes(200_000)], partition=full[0])
        if error:
            break
        acknowledged[full[0]] += 1
    assert error == STORAGE_ERROR
    assert acknowledged[full[0]] > 10
    assert peer.produce(TOPIC, [b"v"], partition=full[1]) == STORAGE_ERROR
    for number in fine:
        assert peer.produce(TOPIC, [b"v"], partition=number) == 0
        acknowledged[number] += 1
    assert directory_errors(peer) == {"a": 0, "b": STORAGE_ERROR}
    wait_until(lambda: leaders(peer)[full[0]] == (NO_LEADER, [1]), "the metadata hear of it")
    assert leaders(peer)[full[1]] == (NO_LEADER, [1])
    assert leaders(peer)[fine[0]] == (1, [])
    create(peer, "later", 3)
    assert {Path(path).name for (topic, _), path in places(peer).items() if topic == "later"} == {"a"}
    peer.close()
    running.stop()
    assert not (small_disk / ".kafka_cleanshutdown").exists()

    subprocess.run(["mount", "-o", "remount,size=32m", str(small_disk)], check=True)
    peer = Asking(start().port)
    assert directory_errors(peer) == {"a": 0, "b": 0}
    assert leaders(peer) == {number: (1, []) for number in range(PARTITIONS)}
    for number, count in acknowledged.items():
        assert len(values(peer, number)) == count
        assert peer.produce(TOPIC, [b"again"], partition=number) == 0
    peer.close()


def test_f43_a_disk_that_became_read_only_goes_offline(
    start: Callable[..., RunningBroker], tmp_path: Path
) -> None:
    image, mount = tmp_path / "image", tmp_path / "b"
    mount.mkdir()
    image.write_bytes(bytes(16 << 20))
    for command in (["mkfs.ext4", "-q", str(image)], ["mount", "-o", "loop", str(image), str(mount)]):
        if shutil.which(command[0]) is None:
            pytest.skip(f"{command[0]} is missing")
        tried = subprocess.run(command, capture_output=True, text=True, check=False)
        if tried.returncode:
            pytest.skip(f"no image can be mounted here: {tried.stderr.strip()}")
    try:
        running = start()
        peer = Asking(running.port)
        create(peer)
        (number, _), fine = partitions_in(peer, "b"), partitions_in(peer, "a")[0]
        assert peer.produce(TOPIC, [b"kept"], partition=number) == 0
        # What a kernel does of a file system whose disk fails: everything from now on is refused.
        shut = subprocess.run(
            ["mount", "-o", "remount,abort", str(mount)], capture_output=True, text=True, check=False
        )
        if shut.returncode:
            pytest.skip(f"this file system cannot be made read-only while in use: {shut.stderr.strip()}")
        wait_until(
            lambda: peer.produce(TOPIC, [b"lost"], partition=number) == STORAGE_ERROR,
            "it is written to no more",
        )
        assert peer.produce(TOPIC, [b"v"], partition=fine) == 0
        peer.close()
        running.stop()
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=False, capture_output=True)
    subprocess.run(["mount", "-o", "loop", str(image), str(mount)], check=True)
    try:
        running = start()
        peer = Asking(running.port)
        assert len(values(peer, fine)) == 1
        assert leaders(peer)[number] == (1, [])
        assert peer.produce(TOPIC, [b"again"], partition=number) == 0
        peer.close()
        running.stop()
    finally:
        subprocess.run(["umount", "-l", str(mount)], check=False, capture_output=True)


@pytest.mark.parametrize("replaced", [False, True], ids=["gone", "another"])
def test_f43_a_directory_taken_away_goes_offline_and_nothing_is_made_in_its_place(
    start: Callable[..., RunningBroker], tmp_path: Path, replaced: bool
) -> None:
    running = start()
    peer = Asking(running.port)
    create(peer)
    number, fine = partitions_in(peer, "b")[0], partitions_in(peer, "a")[0]
    assert peer.produce(TOPIC, [b"kept"], partition=number) == 0
    (tmp_path / "b").rename(tmp_path / "away")
    if replaced:
        (tmp_path / "b").mkdir()
    wait_until(lambda: directory_errors(peer)["b"] == STORAGE_ERROR, "it is noticed")
    assert peer.produce(TOPIC, [b"lost"], partition=number) == STORAGE_ERROR
    assert peer.produce(TOPIC, [b"v"], partition=fine) == 0
    create(peer, "later", 2)
    peer.close()
    running.stop()
    assert not (tmp_path / "b").exists() or os.listdir(tmp_path / "b") == []
    # The mount point without its disk: what lies there is not given up for lost by accident.
    (tmp_path / "b").mkdir(exist_ok=True)
    with pytest.raises(StartError, match="is its disk mounted"):
        start()
    assert os.listdir(tmp_path / "b") in ([], [".lock"])
    shutil.rmtree(tmp_path / "b")
    (tmp_path / "away").rename(tmp_path / "b")
    peer = Asking(start().port)
    assert len(values(peer, number)) == 1
    assert peer.produce(TOPIC, [b"again"], partition=number) == 0
    peer.close()


def test_f43_groups_whose_partition_is_lost_have_no_coordinator(
    start: Callable[..., RunningBroker], tmp_path: Path
) -> None:
    running = start("offsets.topic.num.partitions=4")
    peer = Asking(running.port)
    groups = [f"group-{number}" for number in range(16)]

    def coordinators() -> dict[str, int]:
        found = peer.ask(messages.FindCoordinatorRequest(coordinator_keys=groups), 4).coordinators
        return {one.key: one.error_code for one in found}

    def heartbeat(group: str) -> int:
        beat = messages.HeartbeatRequest(group_id=group, generation_id=1, member_id="m")
        return peer.ask(beat, 4).error_code

    assert set(coordinators().values()) == {0}
    assert {heartbeat(group) for group in groups} == {UNKNOWN_MEMBER_ID}
    (tmp_path / "b").rename(tmp_path / "away")
    wait_until(lambda: set(coordinators().values()) == {0, COORDINATOR_NOT_AVAILABLE}, "it is noticed")
    for group, error in coordinators().items():
        assert heartbeat(group) == (NOT_COORDINATOR if error else UNKNOWN_MEMBER_ID)
    peer.close()
    running.stop()
    (tmp_path / "away").rename(tmp_path / "b")
    peer = Asking(start("offsets.topic.num.partitions=4").port)
    assert set(coordinators().values()) == {0}
    peer.close()


def test_f43_a_broker_without_its_metadata_log_stops_with_a_word(
    start: Callable[..., RunningBroker], tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    running = start()
    peer = Asking(running.port)
    create(peer)
    (tmp_path / "a").rename(tmp_path / "away")
    assert running.wait() is False
    peer.close()
    assert "the broker stops: the directory of the metadata log" in caplog.text
    assert not (tmp_path / "away" / ".kafka_cleanshutdown").exists()


def test_f43_a_directory_that_does_not_work_at_the_start_hides_only_what_it_holds(
    start: Callable[..., RunningBroker], tmp_path: Path
) -> None:
    running = start()
    peer = Asking(running.port)
    create(peer)
    lost, fine = partitions_in(peer, "b"), partitions_in(peer, "a")
    for number in range(PARTITIONS):
        assert peer.produce(TOPIC, [b"kept"], partition=number) == 0
    peer.close()
    assert running.stop()
    (tmp_path / "b").rename(tmp_path / "away")
    (tmp_path / "b").write_bytes(b"a file is in the way")
    running = start()
    peer = Asking(running.port)
    assert directory_errors(peer) == {"a": 0, "b": STORAGE_ERROR}
    told = leaders(peer)
    assert [told[number] for number in lost] == [(NO_LEADER, [1])] * 2
    assert [told[number] for number in fine] == [(1, [])] * 2
    assert peer.produce(TOPIC, [b"lost"], partition=lost[0]) == STORAGE_ERROR
    assert move(peer, fine[0], tmp_path / "b") == STORAGE_ERROR
    peer.close()
    running.stop()
    (tmp_path / "b").unlink()
    (tmp_path / "away").rename(tmp_path / "b")
    peer = Asking(start().port)
    assert leaders(peer) == {number: (1, []) for number in range(PARTITIONS)}
    assert [len(values(peer, number)) for number in range(PARTITIONS)] == [1] * PARTITIONS
    peer.close()


def test_of_two_directories_of_a_partition_that_counts_which_the_metadata_name(
    start: Callable[..., RunningBroker], tmp_path: Path
) -> None:
    """As a move leaves it whose last step the disk refused, before the power failed."""
    running = start()
    peer = Asking(running.port)
    create(peer)
    number = partitions_in(peer, "a")[0]
    assert peer.produce(TOPIC, [b"kept"], partition=number) == 0
    peer.close()
    assert running.stop()
    shutil.copytree(tmp_path / "a" / f"{TOPIC}-{number}", tmp_path / "b" / f"{TOPIC}-{number}")
    peer = Asking(start().port)
    assert number in partitions_in(peer, "a")
    assert number not in partitions_in(peer, "b")
    assert len(values(peer, number)) == 1
    peer.close()
    (stray,) = (tmp_path / "b").glob(f"{TOPIC}-{number}.*-stray")
    assert list(stray.glob("*.log"))


# Moves -------------------------------------------------------------------------------------------


def test_a_partition_moves_while_it_is_produced_to_and_consumed(
    start: Callable[..., RunningBroker], tmp_path: Path
) -> None:
    running = start("log.segment.bytes=1048576")
    peer = Asking(running.port)
    create(peer, partitions=1)
    origin = Path(places(peer)[TOPIC, 0])
    target = tmp_path / ("b" if origin.name == "a" else "a")
    produced = 0
    is_over = threading.Event()

    def produce() -> None:
        nonlocal produced
        mine = Asking(running.port)
        while not is_over.is_set():
            assert mine.produce(TOPIC, [b"%010d" % produced + bytes(20_000)]) == 0
            produced += 1
        mine.close()

    thread = threading.Thread(target=produce)
    thread.start()
    try:
        wait_until(lambda: produced > 200, "something is produced")
        for wanted in (target, origin, target):
            assert move(peer, 0, wanted) == 0
            wait_until(lambda wanted=wanted: places(peer)[TOPIC, 0] == str(wanted), "it goes over")  # type: ignore[misc]
    finally:
        is_over.set()
        thread.join()
    found = values(peer, 0)
    assert len(found) == produced
    assert all(b"%010d" % number in value for number, value in enumerate(found))
    assert sorted(name for name in os.listdir(target) if name.startswith(TOPIC))[0] == "t-0"
    peer.close()
    assert running.stop()
    peer = Asking(start().port)
    assert len(values(peer, 0)) == produced
    peer.close()


def test_log_dirs_of_the_command_line(start: Callable[..., RunningBroker], tmp_path: Path) -> None:
    from barnabas.cli.root import root

    running = start()
    peer = Asking(running.port)
    create(peer)
    at = ["--bootstrap-server", f"127.0.0.1:{running.port}"]
    number = partitions_in(peer, "a")[0]

    def run(*arguments: str) -> Any:
        return CliRunner().invoke(root, ["log-dirs", *arguments, *at])

    moved = run("move", f"{TOPIC}-{number}", "--to", str(tmp_path / "b"))
    assert moved.exit_code == 0, moved.output
    assert moved.output == f"{TOPIC}-{number} lies in {tmp_path / 'b'}\n"
    assert partitions_in(peer, "b") == sorted({number, *partitions_in(peer, "b")})
    found = json.loads(run("describe", "--output", "json").output)
    assert {Path(one["path"]).name: (one["error"], len(one["partitions"])) for one in found} == {
        "a": (None, 1),
        "b": (None, 3),
    }
    assert "cordoned" not in run("describe").output
    assert f"{TOPIC}-{number}" in run("describe", "--partitions").output
    refused = run("move", f"{TOPIC}-{number}", "--to", "/elsewhere")
    assert refused.exit_code == 1
    assert "LOG_DIR_NOT_FOUND" in refused.output
    assert run("move", "t", "--to", "/elsewhere").exit_code == 2
    (tmp_path / "b").rename(tmp_path / "away")
    wait_until(lambda: "offline" in run("describe").output, "it is noticed")
    peer.close()


@pytest.mark.timeout(900)
def test_a_broker_killed_while_partitions_move_loses_nothing(tmp_path: Path, slow: bool) -> None:
    seed = int.from_bytes(os.urandom(4), "big")
    print(f"seed {seed}")
    dice = random.Random(seed)
    dirs = {"log.dirs": f"{tmp_path / 'a'},{tmp_path / 'b'}", "log.segment.bytes": "1048576"}
    with BarnabasBroker(tmp_path, overrides=dirs) as broker:
        peer = Asking(broker.port)
        create(peer)
        acknowledged = [0] * PARTITIONS
        for turn in range(40 if slow else 3):
            for number in range(PARTITIONS):
                path = tmp_path / dice.choice("ab")
                assert move(peer, number, path) == 0
            until = time.monotonic() + dice.random() / 4
            while time.monotonic() < until or not turn:
                number = dice.randrange(PARTITIONS)
                assert peer.produce(TOPIC, [b"v" * dice.randrange(100_000)], partition=number) == 0
                acknowledged[number] += 1
                if sum(acknowledged) > 100 and not turn:
                    break
            peer.close()
            broker.kill()
            broker.start()
            peer = Asking(broker.port)
            for number in range(PARTITIONS):
                produce_in_the_end(peer, number)
                acknowledged[number] += 1
                assert len(values(peer, number)) == acknowledged[number], (seed, turn, number)
        peer.close()
