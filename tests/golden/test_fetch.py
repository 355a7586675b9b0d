"""Barnabas fetches as Apache Kafka 4.4 did: three hundred situations over the same logs, without a JVM.

What Apache Kafka said is in fetch.json.gz, the logs it said it of are in fetch_logs.tar.gz;
tools/record_fetch_answers.py writes both, and tests/interop/test_fetch_oracle.py checks that the record is
true.
"""

import pytest

from tests.interop.fetch_situations.differences import COMPARISON
from tests.interop.fetch_situations.play import SITUATIONS, play_all, running_barnabas
from tests.interop.fetch_situations.recorded import RECORD
from tests.interop.situations.comparing import assert_none
from tests.interop.situations.exchange import Told
from tests.interop.situations.record import load_frames


@pytest.fixture(scope="module")
def recorded() -> dict[str, Told]:
    return load_frames(RECORD)


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest) -> dict[str, Told]:
    """Barnabas' answers in all situations that are chosen."""
    chosen = {
        item.callspec.params["name"]
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    }
    with running_barnabas(tmp_path_factory.mktemp("fetch")) as broker:
        return play_all(broker.port, [name for name in SITUATIONS if name in chosen])


@pytest.mark.parametrize("name", SITUATIONS)
def test_barnabas_answers_as_apache_kafka_did(
    name: str, recorded: dict[str, Told], ours: dict[str, Told]
) -> None:
    wrong = COMPARISON.unexplained(name, recorded[name], ours[name])
    assert_none(wrong)


def test_every_record_is_of_a_situation(recorded: dict[str, Told]) -> None:
    assert recorded.keys() == SITUATIONS.keys()
