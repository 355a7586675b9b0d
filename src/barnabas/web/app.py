"""The HTTP application: /metrics, /health, /health/live, /health/ready.

Answers are made on starlette's threads, since asking the broker blocks; metrics one at a time, so that a
crowd of scrapers costs the broker no more than one.
"""

from starlette.applications import Starlette
from starlette.requests import Request
from starlette.responses import JSONResponse, PlainTextResponse, Response
from starlette.routing import Route

from barnabas.base.hints import TYPE_CHECKING
from barnabas.net.local_client import CommandError, NoBrokerError

if TYPE_CHECKING:
    from barnabas.web.scrape import Scraper

CONCURRENT_REQUESTS_MAX = 32
"""Connections at once; further ones hear 503."""

_UNAVAILABLE = 503


def make_app(scraper: "Scraper") -> Starlette:
    """Return the application that tells what `scraper` finds."""

    def metrics(request: Request) -> Response:
        try:
            content_type, body = scraper.metrics(request.headers.get("accept", ""))
        except (NoBrokerError, CommandError) as error:
            return PlainTextResponse(f"{error}\n", status_code=_UNAVAILABLE)
        return Response(body, media_type=content_type)

    def live(request: Request) -> Response:
        """Whether the broker's loop answers in time."""
        del request
        health, error = _ask(scraper)
        if health is None:
            return JSONResponse({"status": "down", "problems": [error]}, status_code=_UNAVAILABLE)
        return JSONResponse({"status": "up"})

    def ready(request: Request) -> Response:
        """Whether it answers and can do its work."""
        del request
        health, error = _ask(scraper)
        if health is None:
            return JSONResponse({"status": "down", "problems": [error]}, status_code=_UNAVAILABLE)
        status = "ready" if health["ready"] else "not ready"
        code = 200 if health["ready"] else _UNAVAILABLE
        return JSONResponse({**health, "status": status}, status_code=code)

    return Starlette(
        routes=[
            Route("/metrics", metrics),
            Route("/health", live),
            Route("/health/live", live),
            Route("/health/ready", ready),
        ]
    )


def _ask(scraper: "Scraper") -> tuple[dict[str, object] | None, str]:
    try:
        return scraper.health(), ""
    except (NoBrokerError, CommandError) as error:
        return None, str(error)
