"""The values that assignors work with."""

from __future__ import annotations

from collections.abc import Mapping

from barnabas.base.dataclass import dataclass

Partitions = Mapping[bytes, frozenset[int]]
"""Partition numbers by topic id; no topic with none. Never changed once made."""


@dataclass(frozen=True, slots=True, kw_only=True)
class MemberSpec:
    """A member as an assignor sees it.

    Attributes:
        topic_ids: what it subscribes to, of the topics that exist.
        target: what it is to have until now; an assignor that is sticky keeps what it can of it.
        instance_id: of a static member (KIP-345).
    """

    topic_ids: frozenset[bytes]
    target: Partitions
    instance_id: str | None = None
