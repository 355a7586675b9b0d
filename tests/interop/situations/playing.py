"""Brokers to play situations against, and what came of it."""

import contextlib
from collections.abc import Callable, Iterable, Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from barnabas.protocol import messages as m
from tests.broker import BarnabasBroker
from tests.interop.first_slice.asker import Asker
from tests.oracle import kafka

Told = TypeVar("Told")


@contextlib.contextmanager
def fresh_kafka(
    directory: Path, overrides: Mapping[str, str], prepare: Callable[[int], None]
) -> Iterator[kafka.KafkaBroker]:
    """An Apache Kafka without anything in it but what `prepare` makes, called with its port."""
    with kafka.running(directory, overrides=overrides) as broker:
        prepare(broker.port)
        yield broker


@contextlib.contextmanager
def fresh_barnabas(
    directory: Path, overrides: Mapping[str, str], prepare: Callable[[int], None]
) -> Iterator[BarnabasBroker]:
    """The same of Barnabas; that nothing went wrong in it is asserted at the end."""
    with BarnabasBroker(directory, overrides=overrides) as broker:
        prepare(broker.port)
        yield broker
        assert "fault while" not in broker.log_path.read_text()


def wait_for_coordinator(asker: Asker, key_type: int) -> None:
    """Have the topic of a coordinator made: 0 of groups, 1 of transactions."""
    asked = m.FindCoordinatorRequest(key_type=key_type, coordinator_keys=["anybody"])

    def is_there() -> bool:
        found = asker.exchange(4, asked)
        assert isinstance(found, m.FindCoordinatorResponse)
        return found.coordinators[0].error_code == 0

    asker.until(is_there)


def play_side_by_side(
    play: Callable[[int, str], Told], port: int, names: Iterable[str], at_once_max: int
) -> dict[str, Told | Exception]:
    """Play situations on threads, since much of them is waiting; the exception of one that broke off."""
    with ThreadPoolExecutor(at_once_max) as threads:
        played = {name: threads.submit(play, port, name) for name in names}
        return {name: _outcome(future.result) for name, future in played.items()}


def _outcome(result: Callable[[], Told]) -> Told | Exception:
    try:
        return result()
    except Exception as error:
        return error


def whole(played: Mapping[str, Told | Exception]) -> dict[str, Told]:
    """Return what was told, when no situation broke off.

    Raises:
        AssertionError: of one that did.
    """
    broken = {name: repr(told) for name, told in played.items() if isinstance(told, Exception)}
    assert not broken, broken
    return {name: told for name, told in played.items() if not isinstance(told, Exception)}
