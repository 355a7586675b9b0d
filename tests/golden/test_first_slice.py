"""Barnabas' answers to four thousand requests against Apache Kafka's recorded ones, without a JVM.

tests/interop/test_first_slice_oracle.py asks both and keeps the record true.
"""

import json
from collections.abc import Iterator
from typing import Any

import pytest

from tests.broker import BarnabasBroker
from tests.interop.first_slice.differences import unexplained
from tests.interop.first_slice.play import RECORD, SITUATIONS, play
from tests.interop.situations.record import load_plain


@pytest.fixture(scope="module")
def broker(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BarnabasBroker]:
    """A Barnabas of its own, with the node id of the recorded Apache Kafka and no topics."""
    with BarnabasBroker(tmp_path_factory.mktemp("first-slice"), overrides={"node.id": "1"}) as running:
        yield running
        assert "fault while" not in running.log_path.read_text()


@pytest.fixture(scope="module")
def recorded() -> dict[str, dict[str, Any]]:
    answers: dict[str, dict[str, Any]] = load_plain(RECORD)
    return answers


@pytest.mark.parametrize("name", SITUATIONS)
def test_barnabas_answers_as_apache_kafka_did(
    broker: BarnabasBroker, recorded: dict[str, dict[str, Any]], name: str
) -> None:
    theirs = recorded[name]
    ours = json.loads(json.dumps(play(broker.port, name)))
    assert theirs.keys() == ours.keys()
    wrong = [line for what in theirs for line in unexplained(what, theirs[what], ours[what])]
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:40])
