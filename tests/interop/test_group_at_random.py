"""Conversations with groups that nobody thought of, with both brokers at once."""

from pathlib import Path

import pytest

from barnabas.protocol import messages as m
from tests.interop.first_slice.asker import Asker
from tests.interop.group_situations.at_random import Conversation
from tests.interop.group_situations.play import TOPICS, running_barnabas, running_kafka

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.java, pytest.mark.timeout(400)]

SEEDS = range(100)
TURNS = 40


def learn_topics(asker: Asker) -> None:
    """Have the ids of topics that are there."""
    wanted = [m.MetadataRequestMetadataRequestTopic(name=name) for name in TOPICS]
    answer = asker.exchange(12, m.MetadataRequest(topics=wanted))
    assert isinstance(answer, m.MetadataResponse)
    for topic in answer.topics:
        asker.learn_topic(topic.name or "", bytes(topic.topic_id))


def test_consumer_groups_are_answered_alike_whatever_is_asked(tmp_path: Path) -> None:
    with running_kafka(tmp_path / "kafka") as theirs, running_barnabas(tmp_path / "barnabas") as ours:
        askers = [Asker(theirs.port), Asker(ours.port)]
        for asker in askers:
            learn_topics(asker)
        for seed in SEEDS:
            difference = Conversation(askers, seed).run(TURNS)
            assert difference is None, (
                f"seed {seed}: asked {difference.asked}\n"
                f"Apache Kafka: {difference.theirs}\nBarnabas: {difference.ours}"
            )
