"""Where Barnabas and Apache Kafka 4.4 answer about groups differently and may: each entry has its reason."""

from functools import partial

from barnabas.protocol import messages as m
from tests.interop.group_situations.recorded import Told, plain_request, plain_response
from tests.oracle.compare import Allowed, differences

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


def unexplained(name: str, theirs: Told, ours: Told, allowed: tuple[Allowed, ...] = ALLOWED) -> list[str]:
    """Return the differences between two brokers' answers in a situation that no rule covers.

    That both were asked the same is asserted; a record of other questions has to be made anew.
    """
    again = "the record is of something else, make it anew: python -m tools.record_group_answers"
    assert len(theirs) == len(ours), f"{len(theirs)} requests, {len(ours)} now; {again}"
    found = []
    for left, right in zip(theirs.exchanges, ours.exchanges, strict=True):
        assert left.asked == right.asked, f"{left.asked}, {right.asked} now; {again}"
        api = m.BY_KEY[left.key].name
        if left.request != right.request:
            asked = differences(plain_request(theirs, left), plain_request(ours, right), api=api)
            assert not asked, f"{left.asked}: {asked[0]}; {again}"
        answers = plain_response(theirs, left), plain_response(ours, right)
        if answers[0] != answers[1]:
            wrong = differences(*answers, api=api, scenario=f"v{left.version} {name}", allowed=allowed)
            found += [f"{left.asked}: {difference}" for difference in wrong]
    return found
