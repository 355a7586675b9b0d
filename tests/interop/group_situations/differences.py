"""Where Barnabas and Apache Kafka 4.4 answer about groups differently and may: each entry has its reason."""

from functools import partial

from tests.interop.group_situations.recorded import plain_request, plain_response
from tests.interop.situations.comparing import Comparison
from tests.oracle.compare import Allowed

MayDiffer = partial(Allowed, same_presence=False)

ALLOWED: tuple[Allowed, ...] = (
    MayDiffer(
        reason="A member epoch without a member id is an unknown member; a fault of Apache Kafka's server.",
        api="OffsetFetch",
        scenario="v* consumer offsets: fetched by members",
        path="groups[].error_code",
        theirs=-1,
    ),
    MayDiffer(
        reason="Members of a group that became classic are told with what they have, not with their targets.",
        api="DescribeGroups",
        scenario="v* two protocols: the last consumer leaves classic members behind",
        path="groups[].members[].member_assignment",
    ),
)

COMPARISON = Comparison(
    request=plain_request, response=plain_response, allowed=ALLOWED, tool="record_group_answers"
)
