"""The same requests to Barnabas and to Apache Kafka: four thousand situations, answers equal field by field.

What may differ is listed with its reason in first_slice/differences.py. Apache Kafka's answers are kept in
tests/golden/first_slice.json.gz (written afresh with BARNABAS_RECORD=1), so that tests/golden compares
without a JVM too; that the record is still what Apache Kafka says is checked here.
"""

import json
import os
from collections.abc import Iterator

import pytest

from tests.broker import BarnabasBroker
from tests.interop.first_slice.asker import Plain
from tests.interop.first_slice.differences import ALLOWED, unexplained
from tests.interop.first_slice.play import RECORD, SITUATIONS, play
from tests.interop.situations.record import load_plain, save_plain
from tests.oracle.kafka import KafkaBroker, running

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(900)]

SITUATIONS_MIN = 3500


@pytest.fixture(scope="module")
def fresh_kafka(tmp_path_factory: pytest.TempPathFactory) -> Iterator[KafkaBroker]:
    """An Apache Kafka without any topic."""
    with running(tmp_path_factory.mktemp("first-slice-kafka")) as broker:
        yield broker


@pytest.fixture(scope="module")
def answers(
    fresh_kafka: KafkaBroker, tmp_path_factory: pytest.TempPathFactory
) -> dict[str, tuple[dict[str, Plain], dict[str, Plain]]]:
    """By group of situations: Apache Kafka's answers and ours."""
    with BarnabasBroker(
        tmp_path_factory.mktemp("first-slice"), overrides={"node.id": str(fresh_kafka.node_id)}
    ) as ours:
        both = {name: (play(fresh_kafka.port, name), play(ours.port, name)) for name in SITUATIONS}
        assert "fault while" not in ours.log_path.read_text()
    if os.environ.get("BARNABAS_RECORD"):
        save_plain(RECORD, {name: pair[0] for name, pair in both.items()})
    return both


@pytest.mark.parametrize("name", SITUATIONS)
def test_barnabas_answers_as_apache_kafka_does(
    name: str, answers: dict[str, tuple[dict[str, Plain], dict[str, Plain]]]
) -> None:
    theirs, ours = answers[name]
    assert theirs.keys() == ours.keys()
    wrong = [line for what in theirs for line in unexplained(what, theirs[what], ours[what])]
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:40])


@pytest.mark.parametrize("name", SITUATIONS)
def test_the_record_is_what_apache_kafka_says(
    name: str, answers: dict[str, tuple[dict[str, Plain], dict[str, Plain]]]
) -> None:
    recorded = load_plain(RECORD)[name]
    theirs = json.loads(json.dumps(answers[name][0]))
    changed = [what for what in recorded.keys() | theirs.keys() if recorded.get(what) != theirs.get(what)]
    assert not changed, f"Apache Kafka answers differently now: {sorted(changed)[:20]}"


def test_there_are_situations_enough(
    answers: dict[str, tuple[dict[str, Plain], dict[str, Plain]]],
) -> None:
    assert sum(len(theirs) for theirs, _ in answers.values()) >= SITUATIONS_MIN


def test_no_allowed_difference_is_left_over(
    answers: dict[str, tuple[dict[str, Plain], dict[str, Plain]]], monkeypatch: pytest.MonkeyPatch
) -> None:
    from tests.interop.first_slice import differences

    unused = []
    for rule in ALLOWED:
        others = tuple(other for other in ALLOWED if other is not rule)
        monkeypatch.setattr(differences, "ALLOWED", others)
        if not any(
            unexplained(what, theirs[what], ours[what])
            for theirs, ours in answers.values()
            for what in theirs
        ):
            unused.append(rule.reason)
    assert not unused
