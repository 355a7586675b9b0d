"""The command `explain` of the local socket: how a Fetch would be answered now.

Arguments: {"fetch": {...}}, with the names of `FetchQuestion`. The result is `explain_fetch.explain`'s.
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any

from barnabas.handlers import explain_fetch
from barnabas.handlers.explain_fetch import ExplainedBroker, ListenerSending, question_of

if TYPE_CHECKING:
    from barnabas.handlers.local_commands import LocalServices

_ENCRYPTED = (1, 3)
"""SSL and SASL_SSL, as the metadata number security protocols."""


def explain(local: LocalServices, arguments: Mapping[str, Any]) -> object:
    """Explain one Fetch.

    Raises:
        ValueError: the arguments ask for something else, or no Fetch could ask it.
    """
    asked = arguments.get("fetch")
    if not isinstance(asked, dict) or len(arguments) != 1:
        raise ValueError("explain wants what is asked of it under `fetch`")
    services = local.services
    broker = ExplainedBroker(
        image=services.image,
        settings=services.settings,
        partitions=services.replicas.partitions,
        reader=services.replicas.reader,
        sessions=services.fetch_sessions,
        listeners=_listeners(local),
    )
    return explain_fetch.explain(broker, question_of(asked))


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
