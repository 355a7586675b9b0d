"""Explanations from the files of a running Apache Kafka are the answers that Apache Kafka gives."""

import random

import pytest

from tests.explained import check, end_of, fetch, from_directory, produce_orders, random_question
from tests.oracle.kafka import KafkaBroker
from tools.fetch_client import FetchClient

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.java]

SITUATIONS = 60


def test_the_files_of_apache_kafka_explain_its_answers(kafka: KafkaBroker) -> None:
    with FetchClient(kafka.bootstrap, "explain") as client:
        topic_id = produce_orders(client, 90)
        end = end_of(client, topic_id)
        rng = random.Random(11)
        for _ in range(SITUATIONS):
            question = random_question(rng, end)
            check(from_directory(kafka.data_dir, question), fetch(client, topic_id, question), question)
