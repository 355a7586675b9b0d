"""F44 in ListOffsets: no search by time waits for the disk on the loop, wherever in the log it leads."""

import pytest

from barnabas.base.errors import ErrorCode
from barnabas.replica.offset_requests import ListOffsetsParams, ListOffsetsPartition, ListOffsetsResult
from tests.unit.replica.broker_setup import TOPIC

from .test_cold_lookups import BATCHES, ColdBroker

LARGEST_TIMESTAMP = -3

Answers = list[list[ListOffsetsResult]]


def search(broker: ColdBroker, *timestamps: int, owner: object = None) -> Answers:
    """Search partition 0, 1, ... for one time each."""
    answers: Answers = []
    asked = [
        ListOffsetsPartition(topic=TOPIC, partition=number, timestamp=timestamp)
        for number, timestamp in enumerate(timestamps)
    ]
    broker.manager.list_offsets(ListOffsetsParams(version=10), asked, answers.append, owner)
    return answers


def forget_times(broker: ColdBroker) -> None:
    """As after a start: what the segments' largest timestamps are is on the disk only."""
    for log in broker.logs.logs.values():
        for segment in log.segments:
            if segment.sealed:
                segment._max_timestamp = None


def timestamp_of(offset: int, *, warm: ColdBroker) -> int:
    log = warm.partition(0).log
    segment, position, size = log._find(offset)
    return int.from_bytes(segment.leased.file.read_at(position, size)[27:35], "big")


@pytest.fixture(scope="module")
def times() -> list[int]:
    warm = ColdBroker(cold=False)
    return [timestamp_of(offset, warm=warm) for offset in range(BATCHES)]


@pytest.mark.parametrize("offset", [0, 17, 49, 50, 120])
def test_f44_a_search_by_time_is_set_aside_and_then_answered(offset: int, times: list[int]) -> None:
    broker = ColdBroker()
    forget_times(broker)
    answers = search(broker, times[offset])
    assert answers == []
    assert broker.help_out() > 0
    assert broker.stalls == []
    ((result,),) = answers
    assert result.error_code is ErrorCode.NONE
    assert (result.timestamp, result.offset) == (times[offset], times.index(times[offset]))


def test_f44_the_largest_time_is_found_without_waiting(times: list[int]) -> None:
    broker = ColdBroker()
    forget_times(broker)
    answers = search(broker, LARGEST_TIMESTAMP)
    broker.help_out()
    assert broker.stalls == []
    assert [result.offset for result in answers[0]] == [times.index(max(times))]


def test_f44_the_ends_of_a_log_are_told_at_once() -> None:
    broker = ColdBroker()
    forget_times(broker)
    ((latest,),) = search(broker, -1)
    ((earliest,),) = search(broker, -2)
    assert (latest.offset, earliest.offset) == (BATCHES, 0)
    assert broker.helpers == []


def test_f44_partitions_of_one_search_are_brought_in_together(times: list[int]) -> None:
    broker = ColdBroker(partitions=3)
    forget_times(broker)
    answers = search(broker, times[0], times[0], times[0])
    assert len(broker.helpers) == 3 * 3 * 2, "two index files of each sealed segment"
    broker.help_out()
    assert [result.offset for result in answers[0]] == [0, 0, 0]


def test_f44_a_search_of_a_connection_that_left_is_not_answered(times: list[int]) -> None:
    broker = ColdBroker()
    forget_times(broker)
    answers = search(broker, times[0], owner="connection")
    assert broker.manager.connection_gone("connection") == 1
    broker.help_out()
    assert answers == []


def test_f44_pages_that_never_stay_end_a_search_by_waiting(times: list[int]) -> None:
    broker = ColdBroker()
    forget_times(broker)
    answers = search(broker, times[17])
    while broker.helpers:
        work, done = broker.helpers.pop(0)
        work()
        broker.evict()
        done(None)
    assert [result.offset for result in answers[0]] == [times.index(times[17])]


def test_f44_without_helpers_a_search_waits(times: list[int]) -> None:
    broker = ColdBroker(cold=False)
    forget_times(broker)
    ((result,),) = search(broker, times[17])
    assert result.offset == times.index(times[17])
    assert broker.stalls
