"""Which broker a test of behaviour runs against.

Barnabas, or with BARNABAS_TEST_BROKER=kafka the oracle: that proves the test, and that what it asks
for is what Apache Kafka does.
"""

import os
from collections.abc import Mapping
from pathlib import Path

from tests import toolchain
from tests.broker import BarnabasBroker
from tests.oracle.kafka import KafkaBroker


def chosen() -> str:
    """Return "barnabas" or "kafka"."""
    name = os.environ.get("BARNABAS_TEST_BROKER", "barnabas")
    assert name in ("barnabas", "kafka"), f"BARNABAS_TEST_BROKER={name}"
    return name


def make_broker(directory: Path, overrides: Mapping[str, str] | None = None) -> BarnabasBroker | KafkaBroker:
    """Return a broker of the chosen kind that a test may stop, kill and start; not yet started."""
    if chosen() == "barnabas":
        return BarnabasBroker(directory, overrides=overrides)
    try:
        toolchain.kafka_classpath()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    return KafkaBroker(directory, overrides=overrides)
