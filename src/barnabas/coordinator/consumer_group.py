"""One KIP-848 group: its members, their assignments, and what follows from them."""

from __future__ import annotations

from barnabas.base.enums import Enum


class ConsumerGroupState(Enum):
    """What a group is about; the values are what ListGroups and ConsumerGroupDescribe tell."""

    EMPTY = "Empty"
    ASSIGNING = "Assigning"
    RECONCILING = "Reconciling"
    STABLE = "Stable"
    DEAD = "Dead"
