"""What Apache Kafka's assignors and hash are recorded to answer is what they answer."""

import gzip

import pytest

from tests.interop.assignor_oracle.ask import ask
from tests.interop.assignor_oracle.cases import RECORD, cases

pytestmark = [pytest.mark.interop, pytest.mark.java]


def test_the_record_is_what_apache_kafka_answers() -> None:
    recorded = gzip.decompress(RECORD.read_bytes()).decode().splitlines()
    assert ask([line for line, _ in cases()]) == recorded
