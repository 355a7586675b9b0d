"""What tests/golden/test_transactions.py compares with is still what Apache Kafka says of transactions."""

from pathlib import Path

import pytest

from tests.interop.situations.comparing import assert_none
from tests.interop.situations.playing import whole
from tests.interop.situations.record import load_plain
from tests.interop.transaction_situations.play import RECORD, play_all, running_kafka, unequal

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(300)]


def test_the_record_is_what_apache_kafka_says(tmp_path: Path) -> None:
    with running_kafka(tmp_path) as broker:
        told = whole(play_all(broker.port))
    wrong = [
        f"{name}: {line}"
        for name, recorded in load_plain(RECORD).items()
        for line in unequal(recorded, told[name])
    ]
    assert_none(wrong)
