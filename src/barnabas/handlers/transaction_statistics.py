"""The figures of transactions in the broker's statistics: ids by state, the oldest open one, the runtime's.

Ids are counted a few at a time with the loop's other work in between: there may be hundreds of thousands.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Iterator

from barnabas.base.hints import TYPE_CHECKING, Final

if TYPE_CHECKING:
    from barnabas.handlers.services import Services

IDS_PER_PIECE: Final = 2_000
"""Ids of one turn of the loop: about half a millisecond."""


def transaction_statistics(services: Services) -> Iterator[bytes]:
    """Yield the figures as JSON; null while nobody has used a transaction."""
    transactions = services.made_transactions
    if transactions is None:
        yield b"null"
        return
    from barnabas.coordinator.transactions.state import TransactionState, state_name  # noqa: PLC0415

    by_state: Counter[TransactionState] = Counter()
    oldest_ms: int | None = None
    for number, one in enumerate(list(transactions.transactions()), 1):
        by_state[one.state] += 1
        if one.state is TransactionState.ONGOING:
            oldest_ms = one.start_ms if oldest_ms is None else min(oldest_ms, one.start_ms)
        if number % IDS_PER_PIECE == 0:
            yield b""
    runtime = transactions.statistics()
    figures = {
        "by_state": {state_name(state): by_state[state] for state in TransactionState},
        "oldest_open_ms": 0 if oldest_ms is None else max(0, services.clock.wall_ms() - oldest_ms),
        "shards": runtime.shards,
        "loads": runtime.loads,
        "load_us": runtime.load_us,
        "appends": runtime.appends,
        "append_failures": runtime.append_failures,
    }
    yield json.dumps(figures, separators=(",", ":")).encode()
