"""Cleaned logs, byte for byte as Apache Kafka 4.4's log cleaner left them."""

import pytest

from barnabas.storage.compaction import offset_map, verdicts
from tests.golden.compaction_comparison import GOLDEN_SEEDS, Case, assert_same, clean_here, load


@pytest.fixture(scope="module")
def cases() -> dict[int, Case]:
    return {case.seed: case for case in load()}


@pytest.mark.parametrize("seed", GOLDEN_SEEDS)
def test_a_log_is_cleaned_as_apache_kafka_did(cases: dict[int, Case], seed: int) -> None:
    assert_same(clean_here(cases[seed]), cases[seed])


@pytest.mark.parametrize(("verdicts_max", "waiting_max"), [(0, 1), (40, 20), (1 << 20, 1), (1 << 20, 20)])
@pytest.mark.parametrize("seed", GOLDEN_SEEDS[:8])
def test_it_is_the_same_however_much_is_remembered(
    cases: dict[int, Case],
    seed: int,
    verdicts_max: int,
    waiting_max: int,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """Small logs would else never come to the bounds of what waits for the map and of verdicts."""
    monkeypatch.setattr(verdicts, "VERDICTS_BYTES_MAX", verdicts_max)
    monkeypatch.setattr(offset_map, "WAITING_KEYS_MAX", waiting_max)
    assert_same(clean_here(cases[seed]), cases[seed])


def test_the_cases_show_every_rule(cases: dict[int, Case]) -> None:
    """What the seeds happen to hold: a case that is never met proves nothing."""
    assert any(case.is_compressed for case in cases.values())
    assert any(len(cleaning.files or ()) > 4 for case in cases.values() for cleaning in case.cleanings)
    assert any(case.cleanings[0].cleaned_to < case.first_uncleanable_offset for case in cases.values())
    assert any(case.high_watermark == case.first_uncleanable_offset for case in cases.values())
    assert any(
        name.endswith(".txnindex") for case in cases.values() for name in case.cleanings[0].files or ()
    )
    assert any(case.cleanings[0].counts[4] for case in cases.values())
