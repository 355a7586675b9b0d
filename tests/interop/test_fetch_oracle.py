"""The same fetches to Barnabas and to Apache Kafka, each on a copy of the same logs: equal field by field.

What may differ is listed with its reason in fetch_situations/differences.py. Both brokers are asked at the
same time, on a thread each, since much of it is waiting. That the record which tests/golden compares with is
still what Apache Kafka says is checked here, too; tools/record_fetch_answers.py makes it anew.
"""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor

import pytest

from tests.interop.fetch_situations.differences import COMPARISON
from tests.interop.fetch_situations.play import SITUATIONS, play_all, running_barnabas, running_kafka
from tests.interop.fetch_situations.recorded import RECORD
from tests.interop.situations.comparing import assert_none
from tests.interop.situations.exchange import Told
from tests.interop.situations.record import load_frames

pytestmark = [pytest.mark.interop, pytest.mark.java, pytest.mark.slow, pytest.mark.timeout(300)]

SITUATIONS_MIN = 290
REQUESTS_MIN = 3000

Both = tuple[dict[str, Told], dict[str, Told]]


@pytest.fixture(scope="module")
def both(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Both]:
    """Apache Kafka's answers and ours by situation."""
    directory = tmp_path_factory.mktemp("fetch-oracle")
    with (
        running_kafka(directory / "kafka") as theirs,
        running_barnabas(directory / "barnabas") as ours,
        ThreadPoolExecutor(2) as threads,
    ):
        left, right = threads.map(play_all, (theirs.port, ours.port))
        yield left, right


@pytest.mark.parametrize("name", SITUATIONS)
def test_barnabas_answers_as_apache_kafka_does(name: str, both: Both) -> None:
    theirs, ours = both
    wrong = COMPARISON.unexplained(name, theirs[name], ours[name])
    assert_none(wrong)


def test_the_record_is_what_apache_kafka_says(both: Both) -> None:
    recorded = load_frames(RECORD)
    changed = {
        name: COMPARISON.unexplained(name, recorded[name], told, allowed=()) for name, told in both[0].items()
    }
    assert not {name: lines for name, lines in changed.items() if lines}


def test_there_are_situations_enough(both: Both) -> None:
    assert len(SITUATIONS) >= SITUATIONS_MIN
    assert sum(map(len, both[0].values())) >= REQUESTS_MIN


def test_no_allowed_difference_is_left_over(both: Both) -> None:
    assert not COMPARISON.left_over(lambda name: name, *both)
