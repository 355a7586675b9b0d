"""Where Barnabas and Apache Kafka 4.4 answer a Fetch differently and may: every entry has its reason."""

from functools import partial

from tests.interop.fetch_situations.recorded import plain_request, plain_response
from tests.interop.situations.comparing import Comparison
from tests.oracle.compare import Allowed

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

COMPARISON = Comparison(
    request=plain_request, response=plain_response, allowed=ALLOWED, tool="record_fetch_answers"
)
