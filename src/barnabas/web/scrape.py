"""One scrape: ask the broker for its statistics, make the text that Prometheus reads.

The broker counts from its start on. Quantiles are to tell of the recent past, so what earlier scrapes saw is
kept for five minutes, and the difference is what counts.
"""

import threading
from collections.abc import Iterable, Iterator

from prometheus_client import CollectorRegistry
from prometheus_client.exposition import choose_encoder
from prometheus_client.metrics_core import Metric
from prometheus_client.process_collector import ProcessCollector
from prometheus_client.registry import Collector

from barnabas.base.hints import Any
from barnabas.net.local_client import ask
from barnabas.web.families import families
from barnabas.web.recent import RecentTimes, flushes_as_requests

ANSWER_TIMEOUT_S = 5.0
"""A loop that has not answered by then is counted as down."""


class Scraper:
    """Asks one broker. Calls may come from many threads; they wait for each other."""

    def __init__(self, broker_socket: str, broker_pid: int) -> None:
        self._broker_socket = broker_socket
        self._lock = threading.Lock()
        self._recent = RecentTimes()
        self._recent_flushes = RecentTimes()
        self._process = ProcessCollector(pid=lambda: broker_pid, registry=None)

    def metrics(self, accept: str) -> tuple[str, bytes]:
        """Return content type and text of all metrics.

        Args:
            accept: the header of that name: Prometheus' own text, or OpenMetrics.
        Raises:
            NoBrokerError, CommandError: there are no figures to be had.
        """
        encoder, content_type = choose_encoder(accept)
        with self._lock:
            statistics = ask(self._broker_socket, "statistics", timeout_s=ANSWER_TIMEOUT_S)
            times, recent = self._recent.update(statistics["now_us"], statistics["requests"])
            flushes = self._recent_flushes.update(
                statistics["now_us"], flushes_as_requests(statistics["flushes"]["times"])
            )
            registry = CollectorRegistry(auto_describe=False)
            registry.register(_Given(self._process.collect()))
            registry.register(_Given(families(statistics, times, recent, flushes)))
            return content_type, encoder(registry)

    def health(self) -> dict[str, Any]:
        """Return what the broker says of itself; it does not wait for scrapes.

        Raises:
            NoBrokerError, CommandError: it does not answer.
        """
        health: dict[str, Any] = ask(self._broker_socket, "health", timeout_s=ANSWER_TIMEOUT_S)
        return health


class _Given(Collector):
    """A collector of what is there already."""

    def __init__(self, metrics: Iterable[Metric]) -> None:
        self._metrics = list(metrics)

    def collect(self) -> Iterator[Metric]:
        yield from self._metrics
