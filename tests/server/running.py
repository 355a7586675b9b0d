"""A broker's process that is killed when the test is through: what a stop does is tested elsewhere."""

import contextlib
from collections.abc import Iterator, Mapping
from pathlib import Path

from tests.broker import BarnabasBroker


@contextlib.contextmanager
def broker_in(directory: Path, overrides: Mapping[str, str]) -> Iterator[BarnabasBroker]:
    broker = BarnabasBroker(directory, overrides=overrides)
    broker.start()
    try:
        yield broker
    finally:
        broker.kill()
