"""The record that tests/golden/test_admin.py compares with is what Apache Kafka says now.

A fresh broker: the script begins with an empty cluster.
"""

from pathlib import Path

import pytest

from tests.golden import admin_comparison as comparison
from tests.golden.admin_script import play
from tests.golden.exchanges import load
from tests.oracle.kafka import running

pytestmark = [pytest.mark.interop, pytest.mark.slow, pytest.mark.java, pytest.mark.timeout(180)]

SETTLE_S = 0.3


def test_the_record_is_what_apache_kafka_says(tmp_path: Path) -> None:
    with running(tmp_path, overrides=comparison.SHARED_OVERRIDES) as broker:
        now = play(broker.port, settle_s=SETTLE_S)
    recorded = [(exchange, comparison.decoded(exchange)) for exchange in load(comparison.RECORDED)]
    assert comparison.compare(recorded, now) == {}
