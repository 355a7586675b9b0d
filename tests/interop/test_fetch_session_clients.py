"""Which real clients use fetch sessions (KIP-227), and that all they read arrives through them."""

from collections.abc import Callable

import pytest

from barnabas.net.local_client import ask, socket_path
from tests.broker import BarnabasBroker
from tests.interop.client import Client, ProduceSettings
from tests.interop.records import PARTITIONS, compare, make_records

pytestmark = [pytest.mark.interop, pytest.mark.timeout(600)]

RECORDS = 20_000
"""Enough for many fetches, each of which continues the session of the one before."""

USES_SESSIONS = {
    "java": True,
    "kafka-python": True,
    "franz-go": True,
    "sarama": False,
    "aiokafka": False,
    "librdkafka": False,
}


def sessions(broker: BarnabasBroker) -> dict[str, int]:
    found: dict[str, int] = ask(socket_path(str(broker.data_dir)), "statistics")["fetch_sessions"]
    return found


@pytest.mark.parametrize("name", USES_SESSIONS)
def test_f34_f37_all_records_arrive_with_sessions_where_the_client_has_them(
    name: str,
    barnabas: BarnabasBroker,
    client_named: Callable[[str], Client],
    make_topic: Callable[..., str],
) -> None:
    client = client_named(name)
    records = [client.sendable(record) for record in make_records(RECORDS, seed=227)]
    topic = make_topic(f"sessions-{name}")
    client.produce(barnabas.bootstrap, topic, records, ProduceSettings())
    before = sessions(barnabas)
    consumed = client.consume(barnabas.bootstrap, topic, RECORDS, dict.fromkeys(range(PARTITIONS), 0))
    compare([client.seen(record) for record in records], consumed)
    after = sessions(barnabas)
    assert (after["created"] > before["created"]) is USES_SESSIONS[name]
    # A session per consumer, or few when it reads anew after an error; not one per fetch.
    assert after["created"] - before["created"] < 5
    assert after["evictions"] == before["evictions"]
