"""An idle consumer asks about once per fetch.max.wait and no more: waiting is not answered early (F30).

The broker says how many fetches it has answered. Other brokers have answered an idle fetch at once and so
been asked thousands of times a second.
"""

import time

import pytest

from barnabas.net.local_client import ask, socket_path
from tests import toolchain
from tests.broker import BarnabasBroker
from tests.interop import parked
from tests.net.wire import Wire

pytestmark = pytest.mark.interop

MAX_WAIT_MS = 500
OTHER_FETCHES = 12
"""The record of the second topic, what is asked for before a client waits, and its close."""


def fetches_answered(broker: BarnabasBroker) -> int:
    figures = ask(socket_path(str(broker.data_dir)), "statistics", {"partitions": False})
    return sum(figures["waiting"]["fetches_by_reason"].values())


@pytest.mark.parametrize("client", parked.NAMES)
def test_f30_an_idle_consumer_asks_once_per_max_wait(client: str, barnabas: BarnabasBroker) -> None:
    topics = [f"idle-{client}-1", f"idle-{client}-2"]
    with Wire(barnabas.port) as wire:
        for topic in topics:
            wire.make_topic(topic)
    before = fetches_answered(barnabas)
    started = time.monotonic()
    try:
        with parked.clients() as clients:
            clients[client](barnabas.bootstrap, topics, MAX_WAIT_MS)
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))
    waits = (time.monotonic() - started) * 1000 / MAX_WAIT_MS
    assert 1 <= fetches_answered(barnabas) - before <= waits + OTHER_FETCHES
