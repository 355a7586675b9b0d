"""Questions of tools on this machine: answered, refused, and never at the cost of the loop."""

import json
from types import SimpleNamespace

import pytest

from barnabas.base.errors import ApiError, ErrorCode, ProtocolError
from barnabas.handlers import local_commands
from barnabas.handlers.local_commands import LocalCommands


class Loop:
    """Runs calls when the test says so."""

    def __init__(self):
        self.calls = []
        self.later = []

    def call_soon(self, call):
        self.calls.append(call)

    def call_later(self, delay_ms, call):
        self.later.append((delay_ms, call))

    def turn(self):
        calls, self.calls = self.calls, []
        for call in calls:
            call()


class Peer:
    """A connection that keeps its answer."""

    def __init__(self):
        self.is_open = True
        self.answer = None

    def respond(self, parts):
        assert self.is_open
        self.answer = json.loads(b"".join(parts))


@pytest.fixture
def commands():
    made = LocalCommands()
    made.local = SimpleNamespace(reactor=Loop())
    return made


def asked(commands, frame):
    peer = Peer()
    commands.request_received(peer, memoryview(bytearray(frame)))
    return peer


def with_command(commands, function):
    commands._commands["test"] = function
    return asked(commands, b'{"command":"test","arguments":{"a":1}}')


def test_a_command_gets_its_arguments_and_is_answered(commands):
    peer = with_command(commands, lambda local, arguments: {"got": arguments})
    assert peer.answer == {"result": {"got": {"a": 1}}}


def test_an_unknown_command_is_told_which_there_are(commands):
    peer = asked(commands, b'{"command":"nope"}')
    assert "health" in peer.answer["error"]
    assert commands.failed == 1


@pytest.mark.parametrize(
    "frame",
    [
        b"",
        b"\x00\x01\xff",
        b"nonsense",
        b"[]",
        b"7",
        b"{}",
        b'{"command":7}',
        b'{"command":"health","arguments":[]}',
        b"[" * 60_000,
        b'{"command":' + b'{"a":' * 10_000,
    ],
)
def test_what_is_no_question_closes_the_connection(commands, frame):
    with pytest.raises(ProtocolError):
        asked(commands, frame)


@pytest.mark.parametrize(
    "error", [ValueError("offset -7 makes no sense"), ApiError(ErrorCode.UNKNOWN_TOPIC_ID)]
)
def test_arguments_that_do_not_fit_are_told(commands, error, caplog):
    def refuse(local, arguments):
        raise error

    peer = with_command(commands, refuse)
    assert peer.answer == {"error": str(error)}
    assert caplog.records == []


def test_a_fault_of_ours_is_logged_and_told(commands, caplog):
    def fail(local, arguments):
        raise KeyError("x")

    assert "error" in with_command(commands, fail).answer
    assert [record.levelname for record in caplog.records] == ["ERROR"]


def test_a_walk_gives_the_loop_back_between_its_pieces(commands):
    seen = []

    def walk(local, arguments):
        yield b"["
        for number in range(3):
            seen.append(number)
            yield b"%d," % number
        yield b"3]"

    peer = with_command(commands, walk)
    assert seen == []
    for expected in ([0], [0, 1], [0, 1, 2]):
        commands.local.reactor.turn()
        assert seen == expected
        assert peer.answer is None
    commands.local.reactor.turn()
    commands.local.reactor.turn()
    assert peer.answer == {"result": [0, 1, 2, 3]}
    assert commands.local.reactor.calls == []


def test_f44_a_walk_that_waits_does_not_keep_the_loop_busy(commands):
    peer = with_command(commands, lambda local, arguments: iter([b"", b"7"]))
    loop = commands.local.reactor
    assert loop.calls == []
    [(delay_ms, go_on)] = loop.later
    assert delay_ms > 0
    go_on()
    loop.turn()
    assert peer.answer == {"result": 7}


def test_a_walk_ends_with_its_connection(commands):
    peer = with_command(commands, lambda local, arguments: iter([b"[", b"1,", b"2]"]))
    peer.is_open = False
    commands.local.reactor.turn()
    assert commands.local.reactor.calls == []
    assert peer.answer is None


def test_a_walk_that_fails_half_way_is_an_error(commands):
    def walk(local, arguments):
        yield b"["
        raise ValueError("gone")

    peer = with_command(commands, walk)
    commands.local.reactor.turn()
    assert peer.answer == {"error": "gone"}


def test_every_command_of_the_table_is_there(commands):
    for name in local_commands.COMMANDS:
        assert callable(commands._command(name))
