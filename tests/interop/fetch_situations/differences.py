"""Where Barnabas and Apache Kafka 4.4 answer a Fetch differently and may: every entry has its reason."""

from functools import partial

from tests.interop.fetch_situations.recorded import Told, plain_request, plain_response
from tests.oracle.compare import Allowed, differences

_MayDiffer = partial(Allowed, api="Fetch", same_presence=False)

ALLOWED: tuple[Allowed, ...] = (
    _MayDiffer(
        reason="Clients below v10 cannot read zstd: they are told so instead of failing on the bytes (F2b).",
        scenario="v[4-9] *zstd*",
        path="responses*",
    ),
    _MayDiffer(
        reason="A negative limit is a limit of 0; Apache Kafka answers a fault of the server.",
        scenario="v* *negative *limit*",
        path="responses*",
    ),
    _MayDiffer(
        reason="An isolation level nobody defines is an invalid request, not a fault of the server.",
        scenario="v* *isolation*",
        path="*error_code",
        theirs=-1,
    ),
    _MayDiffer(
        reason="The isolation level is checked before anything is looked up.",
        scenario="v* isolation 2 of *",
    ),
    _MayDiffer(
        reason="Ids that no broker draws are not found; they are a fault of Apache Kafka's server.",
        scenario="v* session: unknown ids",
    ),
)


def unexplained(name: str, theirs: Told, ours: Told, allowed: tuple[Allowed, ...] = ALLOWED) -> list[str]:
    """Return the differences between two brokers' answers in a situation that no rule covers.

    That both were asked the same is asserted; a record of other questions has to be made anew.
    """
    again = "the record is of something else, make it anew: python -m tools.record_fetch_answers"
    assert len(theirs) == len(ours), f"{len(theirs)} requests, {len(ours)} now; {again}"
    found = []
    for left, right in zip(theirs.exchanges, ours.exchanges, strict=True):
        if left.request != right.request:
            asked = differences(plain_request(theirs, left), plain_request(ours, right), api="Fetch")
            assert not asked, f"{asked[0]}; {again}"
        answers = plain_response(theirs, left), plain_response(ours, right)
        if answers[0] != answers[1]:
            scenario = f"v{left.version} {name}"
            wrong = differences(*answers, api="Fetch", scenario=scenario, allowed=allowed)
            found += [f"v{left.version}, request {left.asked}: {difference}" for difference in wrong]
    return found
