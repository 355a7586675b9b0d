"""Barnabas answers groups as Apache Kafka 4.4 did: 150 situations, most in several versions, no JVM.

What Apache Kafka said is in groups.json.gz, which tools/record_group_answers.py writes;
tests/interop/test_group_oracle.py checks that the record is true.
"""

import pytest

from tests.interop.group_situations.differences import unexplained
from tests.interop.group_situations.play import SITUATIONS, play_all, running_barnabas, step_names
from tests.interop.group_situations.recorded import Told, load

SHOWN_MAX = 20


@pytest.fixture(scope="module")
def recorded() -> dict[str, Told]:
    return load()


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
        wrong += [f"{step_name}: {line}" for line in unexplained(name, recorded[step_name], played)]
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:SHOWN_MAX])


def test_every_record_is_of_a_situation(recorded: dict[str, Told]) -> None:
    assert list(recorded.keys()) == sorted(step_names())
