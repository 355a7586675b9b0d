"""The metrics process: `python -m barnabas.web BROKER_SOCKET BROKER_PID`, started by `metrics_process`.

Standard input is a pipe that ends when the broker does; descriptor 3 is the listening socket.
"""

import os
import socket
import sys
import threading

from barnabas.web.metrics_process import LISTEN_FD

_NICENESS = 5
"""Clients come first when both want the same processor."""


def main() -> None:
    """Serve until the broker is gone."""
    broker_socket, broker_pid = sys.argv[1], int(sys.argv[2])
    threading.Thread(target=_end_with_the_broker, daemon=True).start()
    os.nice(_NICENESS)

    import uvicorn  # noqa: PLC0415 - after the watch has begun: this takes a while

    from barnabas.web.app import CONCURRENT_REQUESTS_MAX, make_app  # noqa: PLC0415
    from barnabas.web.bounded_protocol import BoundedProtocol  # noqa: PLC0415
    from barnabas.web.scrape import Scraper  # noqa: PLC0415

    config = uvicorn.Config(
        make_app(Scraper(broker_socket, broker_pid)),
        http=BoundedProtocol,
        ws="none",
        lifespan="off",
        loop="asyncio",
        access_log=False,
        server_header=False,
        log_level="error",  # its warnings tell of what peers send, a line each
        limit_concurrency=CONCURRENT_REQUESTS_MAX,
        timeout_keep_alive=30,
    )
    uvicorn.Server(config).run(sockets=[socket.socket(fileno=LISTEN_FD)])


def _end_with_the_broker() -> None:
    os.read(0, 1)
    os._exit(0)


if __name__ == "__main__":
    main()
