"""What tests/golden/test_transactions.py compares with is still what Apache Kafka says of transactions."""

from pathlib import Path

import pytest

from tests.interop.transaction_situations.play import load, play_all, running_kafka, unequal

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_record_is_what_apache_kafka_says(tmp_path: Path) -> None:
    with running_kafka(tmp_path) as broker:
        played = play_all(broker.port)
    wrong = []
    for name, recorded in load().items():
        told = played[name]
        if isinstance(told, Exception):
            raise AssertionError(f"{name} broke off") from told
        wrong += [f"{name}: {line}" for line in unequal(recorded, told)]
    assert not wrong, "\n".join(wrong)
