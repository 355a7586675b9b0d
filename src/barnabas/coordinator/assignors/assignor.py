"""The assignors by name (KIP-848).

An assignor is a function of the members' subscriptions, their present targets and the topics' partition
counts; it knows nothing of epochs or of who still holds what. Those two of Apache Kafka 4.4 are here,
`uniform` and `range`; neither of them looks at racks, so a MemberSpec has none.

Loading assignors of a user's own, as `group.consumer.assignors` lets Apache Kafka do, has no counterpart:
they are Java classes.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.base.hints import Final
from barnabas.coordinator.assignors.assignments import MemberSpec, Partitions
from barnabas.coordinator.assignors.range import assign_range
from barnabas.coordinator.assignors.uniform import assign_uniform

Assignor = Callable[[Mapping[str, MemberSpec], bool, Mapping[bytes, int]], dict[str, Partitions]]
"""(members by id, whether all subscribe to the same topics, partitions by topic id) -> target by member."""

ASSIGNORS: Final[Mapping[str, Assignor]] = {"uniform": assign_uniform, "range": assign_range}
