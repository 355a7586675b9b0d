"""A broker in this process: start, serve, stop, start again. Real sockets and files, no sleeping."""

import shutil
import socket
import struct
import threading
from pathlib import Path

import pytest

from barnabas.net.local_listener import SOCKET_FILE
from barnabas.protocol import frames, messages
from barnabas.server.broker import Broker, StartError
from barnabas.server.settings import load_settings


class Running:
    """A broker on a thread of its own."""

    def __init__(self, data_dir: Path, *overrides: str) -> None:
        self.broker = Broker(
            load_settings(overrides=[f"log.dirs={data_dir}", "listeners=PLAINTEXT://127.0.0.1:0", *overrides])
        )
        self.broker.start()
        self.port = self.broker.addresses[0].port
        self.clean: bool | None = None
        self._thread = threading.Thread(target=self._run)
        self._thread.start()

    def _run(self) -> None:
        self.clean = self.broker.run()

    def __enter__(self) -> "Running":
        return self

    def __exit__(self, *_: object) -> None:
        self.broker.stop()
        self._thread.join(timeout=10)
        assert not self._thread.is_alive(), "the broker did not stop"

    def ask(self, request: messages.Message, version: int) -> messages.Message:
        """Send one request on a connection of its own and return the answer."""
        name = type(request).__name__.removesuffix("Request")
        spec = next(spec for spec in messages.BY_KEY.values() if spec.name == name)
        frame = frames.encode_request_header(spec.key, version, 1, "test") + request.encode(version)
        with socket.create_connection(("127.0.0.1", self.port), timeout=10) as peer:
            peer.sendall(struct.pack(">i", len(frame)) + frame)
            stream = peer.makefile("rb")
            (length,) = struct.unpack(">i", stream.read(4))
            answer = memoryview(stream.read(length))
        _, offset = frames.decode_response_header(answer, spec.key, version)
        return spec.response.decode(answer, version, offset)

    def create(self, name: str) -> None:
        topic = messages.CreateTopicsRequestCreatableTopic(name=name, num_partitions=2, replication_factor=1)
        response = self.ask(messages.CreateTopicsRequest(topics=[topic]), 7)
        assert [(t.name, t.error_code) for t in response.topics] == [(name, 0)]

    def topic_ids(self) -> dict[str, bytes]:
        response = self.ask(messages.MetadataRequest(topics=None), 12)
        return {topic.name: bytes(topic.topic_id) for topic in response.topics}


def test_a_clean_stop_keeps_everything(tmp_path):
    with Running(tmp_path) as first:
        first.create("kept")
        before = first.topic_ids()
    assert first.clean is True
    assert (tmp_path / ".kafka_cleanshutdown").exists()
    with Running(tmp_path) as second:
        assert not (tmp_path / ".kafka_cleanshutdown").exists()
        assert second.topic_ids() == before


def test_deleted_topics_stay_deleted_and_a_new_one_of_the_name_is_another(tmp_path):
    with Running(tmp_path) as running:
        running.create("again")
        first_id = running.topic_ids()["again"]
        gone = running.ask(messages.DeleteTopicsRequest(topic_names=["again", "never"]), 5)
        assert {r.name: r.error_code for r in gone.responses} == {"again": 0, "never": 3}
        assert running.topic_ids() == {}
        running.create("again")
        second_id = running.topic_ids()["again"]
    assert second_id != first_id
    with Running(tmp_path) as restarted:
        assert restarted.topic_ids() == {"again": second_id}


def test_producer_ids_are_never_given_twice_across_restarts(tmp_path):
    seen = []
    for _ in range(3):
        with Running(tmp_path) as running:
            seen += [
                running.ask(messages.InitProducerIdRequest(transactional_id=None), 4).producer_id
                for _ in range(2)
            ]
    assert len(set(seen)) == len(seen)


def test_brokers_live_side_by_side(tmp_path):
    with Running(tmp_path / "a") as one, Running(tmp_path / "b") as other:
        one.create("only-here")
        assert set(one.topic_ids()) == {"only-here"}
        assert other.topic_ids() == {}


def test_a_directory_in_use_is_one_clear_line(tmp_path):
    with Running(tmp_path), pytest.raises(StartError, match="in use by another process"):
        Running(tmp_path)


def test_a_taken_port_is_one_clear_line_and_leaves_the_directory_free(tmp_path):
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with pytest.raises(StartError, match=str(port)):
            Running(tmp_path, f"listeners=PLAINTEXT://127.0.0.1:{port}")
    with Running(tmp_path):
        pass


def test_a_directory_of_another_node_is_refused_unchanged(tmp_path):
    with Running(tmp_path):
        pass
    before = (tmp_path / "meta.properties").read_bytes()
    with pytest.raises(StartError, match=r"node"):
        Running(tmp_path, "node.id=7")
    assert (tmp_path / "meta.properties").read_bytes() == before
    with Running(tmp_path):
        pass


def test_several_directories_share_the_partitions(tmp_path):
    with Running(tmp_path, f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}") as running:
        running.create("spread")
    homes = {path.parent.name for path in tmp_path.glob("*/spread-*")}
    assert homes == {"a", "b"}


def test_auto_creation_can_be_turned_off(tmp_path):
    asked = messages.MetadataRequest(topics=[messages.MetadataRequestMetadataRequestTopic(name="auto")])
    with Running(tmp_path, "auto.create.topics.enable=false") as running:
        assert running.ask(asked, 9).topics[0].error_code == 3
    with Running(tmp_path, "num.partitions=3") as running:
        answer = running.ask(asked, 9).topics[0]
        assert (answer.error_code, len(answer.partitions)) == (0, 3)


@pytest.mark.parametrize("name", ["", ".", "..", "a" * 250, "white space", "slash/y"])
def test_names_that_are_no_topics(tmp_path, name):
    with Running(tmp_path) as running:
        asked = messages.MetadataRequest(topics=[messages.MetadataRequestMetadataRequestTopic(name=name)])
        assert running.ask(asked, 9).topics[0].error_code == 17


def test_the_metadata_tells_in_which_directory_a_partition_lies(tmp_path):
    with Running(tmp_path, f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}") as running:
        running.create("spread")
        ids = running.broker.directory_ids
    with Running(tmp_path, f"log.dirs={tmp_path / 'a'},{tmp_path / 'b'}") as running:
        topic = running.broker.image.topics["spread"]
        told = {number: partition.directories[0] for number, partition in topic.partitions.items()}
    for number, directory_id in told.items():
        (home,) = tmp_path.glob(f"*/spread-{number}")
        assert directory_id == ids[str(home.parent)]


def test_a_clean_restart_keeps_leader_epochs_and_a_crash_bumps_them(tmp_path):
    def epoch_after(stop: str) -> int:
        with Running(tmp_path) as running:
            epoch = running.broker.image.topics["counted"].partitions[0].leader_epoch
            if stop == "crash":
                # What a crash leaves: the directory as it is now.
                # Sockets cannot be copied; a broker finds none that it needs.
                without = shutil.ignore_patterns(SOCKET_FILE)
                shutil.copytree(tmp_path, tmp_path.with_name("crashed"), ignore=without)
        return epoch

    with Running(tmp_path) as running:
        running.create("counted")
    first = epoch_after("clean")
    assert epoch_after("crash") == first
    tmp_path = tmp_path.with_name("crashed")
    assert epoch_after("clean") == first + 1
