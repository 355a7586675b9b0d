"""Barnabas answers transactional producers as Apache Kafka 4.4 did: errors, offsets, batches, bounds; no JVM.

What Apache Kafka said is in transactions.json.gz, which tools/record_transaction_answers.py writes;
tests/interop/test_transaction_oracle.py checks that the record is true.
"""

import pytest

from tests.interop.situations.comparing import assert_none
from tests.interop.situations.record import load_plain
from tests.interop.transaction_situations.play import (
    RECORD,
    SITUATIONS,
    Told,
    names,
    play_all,
    running_barnabas,
    unequal,
)

SITUATIONS_MIN = 60


@pytest.fixture(scope="module")
def recorded() -> dict[str, Told]:
    recorded: dict[str, Told] = load_plain(RECORD)
    return recorded


@pytest.fixture(scope="module")
def ours(tmp_path_factory: pytest.TempPathFactory) -> dict[str, Told | Exception]:
    with running_barnabas(tmp_path_factory.mktemp("transactions")) as broker:
        return play_all(broker.port)


@pytest.mark.parametrize("name", SITUATIONS)
def test_barnabas_answers_as_apache_kafka_did(
    name: str, recorded: dict[str, Told], ours: dict[str, Told | Exception]
) -> None:
    wrong = []
    for one in names():
        if one.startswith(f"{name} in age "):
            told = ours[one]
            if isinstance(told, Exception):
                raise AssertionError(f"{one} broke off") from told
            wrong += [f"{one}: {line}" for line in unequal(recorded[one], told)]
    assert_none(wrong)


def test_every_record_is_of_a_situation(recorded: dict[str, Told]) -> None:
    assert sorted(recorded) == sorted(names())
    assert len(recorded) >= SITUATIONS_MIN
