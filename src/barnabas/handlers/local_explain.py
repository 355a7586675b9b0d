"""The command `explain` of the local socket: how a Fetch would be answered now.

Arguments: {"fetch": {...}}, with the names of `FetchQuestion`. The result is `explain_fetch.explain`'s. What
the look would wait for on the disk is brought in by helper threads first: nobody else waits for a look.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping

from barnabas.base.hints import TYPE_CHECKING, Any
from barnabas.base.limits import COLD_READ_TRIES_MAX
from barnabas.handlers import explain_fetch
from barnabas.handlers.explain_fetch import ExplainedBroker, ListenerSending
from barnabas.handlers.explain_transactions import holder_among
from barnabas.handlers.fetch_question import FetchQuestion, question_of

if TYPE_CHECKING:
    from barnabas.handlers.local_commands import LocalServices

_ENCRYPTED = (1, 3)
"""SSL and SASL_SSL, as the metadata number security protocols."""


def explain(local: LocalServices, arguments: Mapping[str, Any]) -> Iterator[bytes]:
    """Explain one Fetch; yields nothing but the turn while pages are brought in.

    Raises:
        ValueError: the arguments ask for something else, or no Fetch could ask it.
    """
    import json  # noqa: PLC0415 - no start needs it

    asked = arguments.get("fetch")
    if not isinstance(asked, dict) or len(arguments) != 1:
        raise ValueError("explain wants what is asked of it under `fetch`")
    question = question_of(asked)
    broker = _broker(local)
    yield from _warm_up(local, broker, question)
    yield json.dumps(explain_fetch.explain(broker, question), separators=(",", ":")).encode()


def _warm_up(local: LocalServices, broker: ExplainedBroker, question: FetchQuestion) -> Iterator[bytes]:
    """Have helpers bring in what the look would wait for."""
    if local.cold_reads is None:
        return
    for _ in range(COLD_READ_TRIES_MAX):
        cold = explain_fetch.cold_pages(broker, question)
        if cold is None:
            return
        arrived: list[bool] = []
        local.cold_reads.read_all(cold, lambda came=arrived: came.append(True))  # type: ignore[misc]
        while not arrived:
            yield b""


def _broker(local: LocalServices) -> ExplainedBroker:
    services = local.services
    coordinator = services.made_transactions
    transactions = () if coordinator is None else tuple(coordinator.transactions())
    return ExplainedBroker(
        image=services.image,
        settings=services.settings,
        partitions=services.replicas.partitions,
        reader=services.replicas.reader,
        sessions=services.fetch_sessions,
        listeners=_listeners(local),
        holder_of=holder_among(transactions, services.clock.wall_ms()),
    )


def _listeners(local: LocalServices) -> tuple[ListenerSending, ...]:
    advertised = local.services.advertised
    return tuple(
        ListenerSending(
            name=listener.config.name,
            fetch_mode=listener.config.fetch_mode.value,
            zero_copy=advertised[listener.config.name].security_protocol not in _ENCRYPTED,
            zero_copy_min_bytes=listener.traffic.zero_copy_min_bytes,
        )
        for listener in local.reactor.listeners
        if listener.config.name in advertised
    )
