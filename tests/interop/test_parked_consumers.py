"""A consumer with a fetch parked at the broker gets the next record at once and closes at once (F25, F33).

The fetch may wait 20 s, so whatever waits for it is far above the limit here; `benchmarks/close_parked.py`
tells the milliseconds.
"""

import pytest

from tests import toolchain
from tests.broker import BarnabasBroker
from tests.interop import parked
from tests.net.wire import Wire

pytestmark = pytest.mark.interop

MAX_WAIT_MS = 20_000
AT_ONCE_MS = 5_000
"""Far below the wait, and far above what a busy machine needs."""


@pytest.mark.parametrize("client", parked.NAMES)
def test_f25_f33_a_second_topics_record_arrives_and_close_returns_at_once(
    client: str, barnabas: BarnabasBroker
) -> None:
    topics = [f"parked-{client}-1", f"parked-{client}-2"]
    with Wire(barnabas.port) as wire:
        for topic in topics:
            wire.make_topic(topic)
    try:
        with parked.clients() as clients:
            arrived_ms, closed_ms = clients[client](barnabas.bootstrap, topics, MAX_WAIT_MS)
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    assert arrived_ms < AT_ONCE_MS
    assert closed_ms < AT_ONCE_MS
