"""The listing of live sessions: whole, and in pieces that do not hold the loop."""

import json
from types import SimpleNamespace

import pytest

from barnabas.handlers.fetch_session_cache import FetchSessionInfo
from barnabas.handlers.local_fetch_sessions import SESSIONS_PER_PIECE, fetch_sessions


def info(number: int) -> FetchSessionInfo:
    return FetchSessionInfo(
        id=number,
        epoch=2,
        privileged=False,
        size=3,
        age_ms=4000,
        idle_ms=5,
        client_id='reader "one"',
        client_host="::1",
    )


@pytest.mark.parametrize("count", [0, 1, SESSIONS_PER_PIECE, 2 * SESSIONS_PER_PIECE + 1])
def test_all_sessions_are_told_in_pieces(count: int) -> None:
    sessions = SimpleNamespace(sessions=lambda now_ms: map(info, range(count)))
    clock = SimpleNamespace(monotonic_ms=lambda: 7)
    local = SimpleNamespace(services=SimpleNamespace(fetch_sessions=sessions, clock=clock))
    pieces = list(fetch_sessions(local, {}))
    told = json.loads(b"".join(pieces))
    assert [session["id"] for session in told] == list(range(count))
    assert max(map(len, pieces)) < 200 * SESSIONS_PER_PIECE
    for session in told:
        assert session == {
            "id": session["id"], "epoch": 2, "privileged": False, "size": 3, "age_ms": 4000, "idle_ms": 5,
            "client_id": 'reader "one"', "client_host": "::1",
        }  # fmt: skip
