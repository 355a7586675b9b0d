"""Barnabas answers groups as Apache Kafka 4.4 did: 150 situations, most in several versions, no JVM.

What Apache Kafka said is in groups.json.gz, which tools/record_group_answers.py writes;
tests/interop/test_group_oracle.py checks that the record is true.
"""

import pytest

from tests.interop.group_situations.differences import COMPARISON
from tests.interop.group_situations.play import SITUATIONS, play_all, running_barnabas, step_names
from tests.interop.group_situations.recorded import RECORD
from tests.interop.situations.comparing import assert_none
from tests.interop.situations.exchange import Told
from tests.interop.situations.record import load_frames


@pytest.fixture(scope="module")
def recorded() -> dict[str, Told]:
    return load_frames(RECORD)


@pytest.fixture(scope="module")
def ours(
    tmp_path_factory: pytest.TempPathFactory, request: pytest.FixtureRequest
) -> dict[str, Told | Exception]:
    """Barnabas' answers in all situations that are chosen."""
    chosen = {
        item.callspec.params["name"]
        for item in request.session.items
        if item.path == request.path and hasattr(item, "callspec")
    }
    with running_barnabas(tmp_path_factory.mktemp("groups")) as broker:
        return play_all(broker.port, [name for name in SITUATIONS if name in chosen])


@pytest.mark.parametrize("name", SITUATIONS)
def test_barnabas_answers_as_apache_kafka_did(
    name: str, recorded: dict[str, Told], ours: dict[str, Told | Exception]
) -> None:
    wrong = []
    for step_name in step_names([name]):
        played = ours[step_name]
        if isinstance(played, Exception):
            raise AssertionError(f"{step_name} broke off") from played
        wrong += [
            f"{step_name}: {line}" for line in COMPARISON.unexplained(name, recorded[step_name], played)
        ]
    assert_none(wrong)


def test_every_record_is_of_a_situation(recorded: dict[str, Told]) -> None:
    assert list(recorded.keys()) == sorted(step_names())
