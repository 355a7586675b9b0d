"""Connections of the metrics process end, whatever their peers leave undone."""

import uvicorn
from uvicorn.server import ServerState

from barnabas.web.bounded_protocol import REQUEST_TIMEOUT_S, BoundedProtocol


class Timer:
    def __init__(self, delay_s, call):
        self.delay_s, self.call, self.is_set = delay_s, call, True

    def cancel(self):
        self.is_set = False


class Loop:
    """Keeps timers and runs none."""

    def __init__(self):
        self.timers = []

    def call_later(self, delay_s, call):
        self.timers.append(Timer(delay_s, call))
        return self.timers[-1]

    @property
    def waiting(self):
        return [timer for timer in self.timers if timer.is_set]


class Transport:
    def __init__(self):
        self.is_aborted = False

    def get_extra_info(self, name):
        return None

    def is_closing(self):
        return True  # nothing more is done after an answer

    def close(self):
        """Gone already."""

    def abort(self):
        self.is_aborted = True


async def nothing(scope, receive, send):
    """Never called."""


def opened():
    loop, transport = Loop(), Transport()
    config = uvicorn.Config(nothing, lifespan="off", log_config=None)
    protocol = BoundedProtocol(config, ServerState(), {}, _loop=loop)
    protocol.connection_made(transport)
    return protocol, loop, transport


def test_half_a_request_does_not_hold_a_connection_for_ever():
    protocol, loop, transport = opened()
    protocol.data_received(b"GET /met")
    [timer] = loop.waiting
    assert timer.delay_s == REQUEST_TIMEOUT_S
    timer.call()
    assert transport.is_aborted


def test_an_answer_gives_the_connection_time_for_another():
    protocol, loop, transport = opened()
    [first] = loop.waiting
    protocol.on_response_complete()
    [second] = loop.waiting
    assert second is not first
    assert not transport.is_aborted


def test_nothing_is_left_of_a_connection_that_is_gone():
    protocol, loop, _ = opened()
    protocol.connection_lost(None)
    assert not loop.waiting
