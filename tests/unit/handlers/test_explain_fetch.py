"""The explanation of a whole Fetch request: sessions, versions, limits, sending; over real replicas."""

import json
import random
from types import SimpleNamespace
from typing import Any

import pytest

from barnabas.handlers.explain_fetch import ExplainedBroker, ListenerSending, explain
from barnabas.handlers.fetch_question import FetchQuestion, question_of
from barnabas.handlers.local_explain import explain as explain_locally
from barnabas.handlers.services import HandlerSettings
from barnabas.protocol import messages
from barnabas.storage.log_config import LogConfig
from tests.unit.handlers.conftest import Peer, services_with
from tests.unit.replica.broker_setup import TOPIC, TOPIC_ID, Broker, batch
from tests.unit.replica.test_cold_lookups import ColdBroker

VERSION = 17
PLAINTEXT = ListenerSending(
    name="PLAINTEXT", fetch_mode="auto", zero_copy=True, zero_copy_min_bytes=64 * 1024
)


class Explained:
    """A broker's handlers over a real replica layer, asked and explained."""

    def __init__(self, partitions: int = 1, config: LogConfig | None = None) -> None:
        self.replicas = Broker(partitions, config=config)
        services = services_with(self.replicas.manager)
        services.image = self.replicas.image
        services.clock = self.replicas.clock
        self.services = services
        self.peer = Peer(services)
        self.broker = ExplainedBroker(
            image=services.image,
            settings=services.settings,
            partitions=self.replicas.manager.partitions,
            reader=self.replicas.manager.reader,
            sessions=services.fetch_sessions,
            listeners=[PLAINTEXT],
        )

    def explain(self, offset: int = 0, partition: int = 0, **more: Any) -> dict[str, Any]:
        question = FetchQuestion(
            topic=TOPIC, partition=partition, offset=offset, **{"version": VERSION, **more}
        )
        return explain(self.broker, question)

    def fetch(self, asked: dict[int, int], session: tuple[int, int], **more: Any) -> messages.FetchResponse:
        """Fetch without a wait: partition -> offset."""
        limit = more.get("partition_max_bytes", 1 << 20)
        partitions = [
            messages.FetchRequestFetchPartition(
                partition=number, fetch_offset=offset, partition_max_bytes=limit
            )
            for number, offset in asked.items()
        ]
        request = messages.FetchRequest(
            max_wait_ms=0, min_bytes=1, max_bytes=more.get("max_bytes", 1 << 20),
            session_id=session[0], session_epoch=session[1],
            topics=[messages.FetchRequestFetchTopic(topic_id=TOPIC_ID, partitions=partitions)],
        )  # fmt: skip
        answer: messages.FetchResponse = self.peer.send(request, VERSION)
        return answer


def rules(explained: dict[str, Any]) -> dict[str, str]:
    return {step["step"]: step["rule"] for step in explained["steps"]}


def text(explained: dict[str, Any], step: str) -> str:
    return next(entry["text"] for entry in explained["steps"] if entry["step"] == step)


def test_f35_and_f37_sessions_of_several_partitions_are_explained_as_they_go_on() -> None:
    made = Explained(3)
    rng = random.Random(3)
    offsets = dict.fromkeys(range(3), 0)
    opened = made.fetch(offsets, (0, 0))
    assert opened.session_id
    for epoch in range(1, 120):
        for number in range(3):
            if rng.random() < 0.4:
                made.replicas.append(number, batch(rng.randint(1, 3), 200))
        number = rng.randrange(3)
        end = made.replicas.partition(number).log.log_end_offset
        offset = rng.choice([rng.randint(0, end), end, end + 1])
        limits = {
            "max_bytes": rng.choice([1, 500, 1 << 20]),
            "partition_max_bytes": rng.choice([100, 1 << 20]),
        }
        explained = made.explain(
            offset, number, max_wait_ms=0, session=(opened.session_id, epoch), **limits
        )["answer"]  # fmt: skip
        again = made.explain(offset, number, max_wait_ms=0, session=(opened.session_id, epoch), **limits)
        assert again["answer"] == explained, "a look changes nothing"
        answer = made.fetch({number: offset}, (opened.session_id, epoch), **limits)
        found = {
            partition.partition_index: partition
            for topic in answer.responses
            for partition in topic.partitions
        }
        assert explained["in_response"] is (number in found)
        if number in found:
            assert explained["error_code"] == found[number].error_code
            assert explained["high_watermark"] == found[number].high_watermark
            length = 0 if explained["records"] is None else explained["records"]["length"]
            assert length == len(found[number].records)


def test_f34_a_full_fetch_says_what_becomes_of_sessions() -> None:
    made = Explained()
    assert "opens a session" in text(made.explain(session=(0, 0)), "session")
    assert text(made.explain(session=(77, -1)), "session").startswith("session (77, -1): ends session 77")
    gone = made.explain(session=(77, 1))
    assert gone["answer"]["error"] == "FETCH_SESSION_ID_NOT_FOUND"
    assert list(rules(gone)) == ["request", "session"]
    assert made.services.fetch_sessions.statistics().created == 0


def test_f2b_old_versions_hear_of_zstd() -> None:
    made = Explained(config=LogConfig(compression_type="zstd"))
    made.replicas.append()
    old, new = made.explain(version=9), made.explain(version=10)
    assert rules(old)["zstd"] == "F2b"
    assert (old["answer"]["error_code"], old["answer"]["records"]) == (76, None)
    assert new["answer"]["error_code"] == 0
    assert new["answer"]["records"]["length"] > 0


def test_f4_the_brokers_limit_is_named() -> None:
    made = Explained()
    made.broker = ExplainedBroker(
        **{name: getattr(made.broker, name) for name in ExplainedBroker.__slots__ if name != "settings"},
        settings=HandlerSettings(fetch_max_bytes=1024),
    )
    told = text(made.explain(), "limits")
    assert "max.bytes 1024 (fetch.max.bytes of the broker)" in told


@pytest.mark.parametrize(
    ("fetch_mode", "zero_copy", "zero_copy_min_bytes", "length", "how"),
    [
        ("auto", True, 64 * 1024, 64 * 1024, "sendfile"),
        ("auto", True, 64 * 1024, 64 * 1024 - 1, "copy"),
        ("heap", True, 2**62, 1 << 20, "stage"),
        ("zero_copy", True, 0, 1, "sendfile"),
        ("zero_copy", False, 0, 9, "encrypt"),
    ],
)
def test_f41_how_the_bytes_go_out(
    fetch_mode: str, zero_copy: bool, zero_copy_min_bytes: int, length: int, how: str
) -> None:
    listener = ListenerSending(
        name="L", fetch_mode=fetch_mode, zero_copy=zero_copy, zero_copy_min_bytes=zero_copy_min_bytes
    )
    assert listener.how_sent(length) == how


def test_unknown_topics_and_partitions_are_told_as_the_version_tells_them() -> None:
    made = Explained()
    by_id = explain(made.broker, FetchQuestion(topic="nope", partition=0, offset=0))
    by_name = explain(made.broker, FetchQuestion(topic="nope", partition=0, offset=0, version=12))
    partition = made.explain(partition=9)
    codes = [entry["answer"]["error_code"] for entry in (by_id, by_name, partition)]
    assert codes == [100, 3, 3]


def test_questions_come_as_json() -> None:
    asked = {"topic": "t", "partition": 1, "offset": 5, "session": [7, 2], "read_committed": True}
    question = question_of(asked)
    assert (question.session, question.read_committed, question.version) == ((7, 2), True, 18)
    for wrong, words in (
        ({**asked, "offset": True}, "offset is not of type int"),
        ({**asked, "read_committed": 1}, "read_committed is not of type bool"),
        ({**asked, "session": [1, "2"]}, "id and epoch"),
        ({**asked, "partition": 2**31}, "32 bits"),
        ({"topic": "t"}, "missing"),
    ):
        with pytest.raises(ValueError, match=words):
            question_of(wrong)


def local_services(replicas: Broker, cold_reads: Any) -> Any:
    services = services_with(replicas.manager)
    services.image = replicas.image
    listener = SimpleNamespace(
        config=SimpleNamespace(name="PLAINTEXT", fetch_mode=SimpleNamespace(value="heap")),
        traffic=SimpleNamespace(zero_copy_min_bytes=2**62),
    )
    unknown = SimpleNamespace(config=SimpleNamespace(name="LOCAL"))
    return SimpleNamespace(
        services=services, reactor=SimpleNamespace(listeners=(listener, unknown)), cold_reads=cold_reads
    )


@pytest.mark.parametrize("read_committed", [False, True])
def test_f44_a_look_at_what_is_on_the_disk_holds_up_nobody(read_committed: bool) -> None:
    replicas = ColdBroker()
    asked = {"topic": TOPIC, "partition": 0, "offset": 20, "read_committed": read_committed}
    pieces = explain_locally(local_services(replicas, replicas.reads), {"fetch": asked})
    turns = 0
    while (piece := next(pieces)) == b"":
        turns += 1
        assert replicas.helpers, "it waits for nothing"
        replicas.help_out()
    assert turns, "nothing was cold"
    told = json.loads(piece)
    assert told["answer"]["records"]["position"] > 0
    assert next(pieces, None) is None
    assert replicas.stalls == []
    sending = next(step for step in told["steps"] if step["step"] == "sending")
    assert sending["facts"]["listener"] == "PLAINTEXT"


def test_without_helpers_a_look_waits_itself() -> None:
    replicas = ColdBroker(cold=False)
    asked = {"topic": TOPIC, "partition": 0, "offset": 20}
    (piece,) = explain_locally(local_services(replicas, None), {"fetch": asked})
    assert json.loads(piece)["answer"]["answer"] == "now"
    assert replicas.stalls
