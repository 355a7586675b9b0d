"""Explanations beside the answers that the same Fetch gets over the wire: questions, asking, comparing."""

import random
from pathlib import Path
from typing import Any

from barnabas.base.clock import SystemClock
from barnabas.base.disk import OsDisk
from barnabas.base.entropy import SystemEntropy
from barnabas.handlers.explain_fetch import explain
from barnabas.handlers.fetch_question import FetchQuestion
from barnabas.protocol import messages
from barnabas.server.directory_view import view_partition
from barnabas.server.settings import load_settings
from tools.fetch_client import FETCH_VERSION, FetchClient, batch_of

TOPIC = "orders"
SMALL = {"internal.segment.bytes": "6000", "index.interval.bytes": "400"}


def produce_orders(client: FetchClient, batches: int, seed: int = 1) -> bytes:
    rng = random.Random(seed)
    topic_id = client.create_topic(TOPIC, SMALL)
    for _ in range(batches):
        client.produce(TOPIC, batch_of(rng.randint(1, 8), rng.choice([5, 60, 200])))
    return topic_id


def topic_id_of(client: FetchClient) -> bytes:
    asked = messages.MetadataRequest(topics=[messages.MetadataRequestMetadataRequestTopic(name=TOPIC)])
    return bytes(client.ask(asked, 12).topics[0].topic_id)


def end_of(client: FetchClient, topic_id: bytes) -> int:
    answer = fetch(client, topic_id, FetchQuestion(topic=TOPIC, partition=0, offset=0, max_wait_ms=0))
    return int(answer.responses[0].partitions[0].high_watermark)


def fetch(client: FetchClient, topic_id: bytes, question: FetchQuestion) -> messages.FetchResponse:
    """Ask over the wire what the question describes."""
    version = question.version
    partition = messages.FetchRequestFetchPartition(
        partition=question.partition,
        fetch_offset=question.offset,
        partition_max_bytes=question.partition_max_bytes,
        current_leader_epoch=question.leader_epoch,
        last_fetched_epoch=question.last_fetched_epoch,
    )
    topic = messages.FetchRequestFetchTopic(partitions=[partition])
    if version >= 13:
        topic.topic_id = topic_id
    else:
        topic.topic = question.topic
    request = messages.FetchRequest(
        max_wait_ms=question.max_wait_ms,
        min_bytes=question.min_bytes,
        max_bytes=question.max_bytes,
        isolation_level=int(question.read_committed),
        session_id=question.session[0],
        session_epoch=question.session[1],
        topics=[topic],
    )
    answer: messages.FetchResponse = client.ask(request, version)
    return answer


def random_question(rng: random.Random, end: int) -> FetchQuestion:
    version = rng.randint(4, FETCH_VERSION)
    options: dict[str, Any] = {
        "version": version,
        "offset": rng.choice([rng.randint(-1, end + 1), rng.randint(0, end)]),
        "max_bytes": rng.choice([1, 700, 1 << 20]),
        "partition_max_bytes": rng.choice([1, 90, 900, 1 << 20]),
        "min_bytes": rng.choice([0, 1, 1, 4000]),
        "max_wait_ms": rng.choice([0, 5]),
        "read_committed": rng.random() < 0.3,
    }
    if version >= 9 and rng.random() < 0.2:
        options["leader_epoch"] = rng.choice([0, 0, 1])
    if version >= 12 and rng.random() < 0.2:
        options["last_fetched_epoch"] = rng.choice([0, 3])
    if rng.random() < 0.05:
        options["partition"] = 4
    return FetchQuestion(**{"topic": TOPIC, "partition": 0, **options})


def arguments(question: FetchQuestion) -> dict[str, Any]:
    fields = {name: getattr(question, name) for name in FetchQuestion.__slots__}
    fields["session"] = list(question.session)
    return fields


def check(explained: dict[str, Any], answer: messages.FetchResponse, question: FetchQuestion) -> None:
    """Compare an explanation with what came over the wire, record bytes and all."""
    (partition,) = answer.responses[0].partitions
    told = explained["answer"]
    assert told["error_code"] == partition.error_code
    if "high_watermark" in told:
        assert told["high_watermark"] == partition.high_watermark
        assert told["last_stable_offset"] == partition.last_stable_offset
        if question.version >= 5:
            assert told["log_start_offset"] == partition.log_start_offset
        diverging = partition.diverging_epoch
        assert told["diverging_epoch"] == (
            None if diverging.epoch < 0 else [diverging.epoch, diverging.end_offset]
        )
    records = told["records"]
    expected = b""
    if records is not None:
        with open(records["file"], "rb") as file:
            file.seek(records["position"])
            expected = file.read(records["length"])
        assert len(expected) == records["length"]
    assert bytes(partition.records) == expected


def from_directory(directory: Path, question: FetchQuestion) -> dict[str, Any]:
    settings = load_settings(overrides=[f"log.dirs={directory}"])
    view = view_partition(
        settings, question.topic, question.partition,
        disk=OsDisk(), clock=SystemClock(), entropy=SystemEntropy(),
    )  # fmt: skip
    return explain(view.broker, question)
