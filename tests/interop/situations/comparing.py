"""Comparing what two brokers told in one situation, but for what may differ."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any

from barnabas.protocol import messages as m
from tests.interop.situations.exchange import Exchange, Told
from tests.oracle.compare import Allowed, differences

Plain = Callable[[Told, Exchange], Any]
"""Makes plain data of a request or an answer, in a form that two brokers share."""

SHOWN_MAX = 20


class Comparison:
    """How situations of one kind are compared.

    Args:
        tool: what makes the record anew, a module of tools/.
        allowed: what may differ.
    """

    def __init__(self, *, request: Plain, response: Plain, allowed: Sequence[Allowed], tool: str) -> None:
        self._request, self._response = request, response
        self._allowed = tuple(allowed)
        self._again = f"the record is of something else, make it anew: python -m tools.{tool}"

    def unexplained(
        self, name: str, theirs: Told, ours: Told, allowed: Sequence[Allowed] | None = None
    ) -> list[str]:
        """Return the differences between two brokers' answers in a situation that no rule covers.

        That both were asked the same is asserted; a record of other questions has to be made anew.
        """
        again = self._again
        rules = self._allowed if allowed is None else tuple(allowed)
        assert len(theirs) == len(ours), f"{len(theirs)} requests, {len(ours)} now; {again}"
        found = []
        for left, right in zip(theirs.exchanges, ours.exchanges, strict=True):
            assert left.asked == right.asked, f"{left.asked}, {right.asked} now; {again}"
            api = m.BY_KEY[left.key].name
            if left.request != right.request:
                asked = differences(self._request(theirs, left), self._request(ours, right), api=api)
                assert not asked, f"{left.asked}: {asked[0]}; {again}"
            answers = self._response(theirs, left), self._response(ours, right)
            if answers[0] != answers[1]:
                scenario = f"v{left.version} {name}"
                wrong = differences(*answers, api=api, scenario=scenario, allowed=rules)
                found += [f"v{left.version}, request {left.asked}: {difference}" for difference in wrong]
        return found

    def left_over(
        self, situation_of: Callable[[str], str], theirs: Mapping[str, Told], ours: Mapping[str, Told]
    ) -> list[str]:
        """Return the reasons of the rules that cover no difference any more."""
        return [
            rule.reason
            for rule in self._allowed
            if not any(
                self.unexplained(
                    situation_of(name),
                    told,
                    ours[name],
                    [other for other in self._allowed if other is not rule],
                )
                for name, told in theirs.items()
            )
        ]


def assert_none(wrong: Sequence[str]) -> None:
    """Fail with the first of the differences."""
    assert not wrong, f"{len(wrong)} differences:\n" + "\n".join(wrong[:SHOWN_MAX])
