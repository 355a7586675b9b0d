"""Wires up the transaction coordinator.

Imported with the first request about a transactional id, or behind a start that finds
`__transaction_state`: a broker without transactions starts without it.
"""

from __future__ import annotations

from collections.abc import Callable

from barnabas.base.clock import Clock
from barnabas.base.cold_reads import ColdReads
from barnabas.coordinator.groups.coordinator import GroupCoordinator
from barnabas.coordinator.runtime.config import RuntimeConfig
from barnabas.coordinator.transactions.config import TransactionConfig
from barnabas.coordinator.transactions.coordinator import TransactionCoordinator
from barnabas.metadata.controller import Controller
from barnabas.metadata.topic_changes import TopicCreation
from barnabas.replica.manager import ReplicaManager
from barnabas.replica.produce import TRANSACTION_TOPIC
from barnabas.server.settings import Settings
from barnabas.timing.timer_wheel import TimerWheel


def make_transaction_coordinator(
    settings: Settings,
    *,
    new_producer_id: Callable[[], int],
    groups: Callable[[], GroupCoordinator],
    controller: Controller,
    replicas: ReplicaManager,
    clock: Clock,
    wheel: TimerWheel,
    call_soon: Callable[[Callable[[], None]], None],
    cold_reads: ColdReads | None,
    was_clean: bool,
) -> TransactionCoordinator:
    """Return the coordinator of all transactional ids.

    Args:
        groups: returns the group coordinator, which takes the markers for offsets.
        was_clean: the last stop was.
    """
    return TransactionCoordinator(
        config=transaction_config(settings),
        runtime_config=RuntimeConfig(
            topic=TRANSACTION_TOPIC,
            partition_count=settings.integer("transaction.state.log.num.partitions"),
            commit_timeout_ms=settings.integer("request.timeout.ms"),
        ),
        topic=transaction_topic(settings),
        new_producer_id=new_producer_id,
        groups=groups,
        controller=controller,
        replicas=replicas,
        clock=clock,
        wheel=wheel,
        call_soon=call_soon,
        cold_reads=cold_reads,
        was_clean=was_clean,
    )


def transaction_topic(settings: Settings) -> TopicCreation:
    """Return `__transaction_state` as it is made when it is first needed."""
    return TopicCreation(
        name=TRANSACTION_TOPIC,
        num_partitions=settings.integer("transaction.state.log.num.partitions"),
        replication_factor=settings.integer("transaction.state.log.replication.factor"),
        configs={
            "unclean.leader.election.enable": "false",
            "compression.type": "uncompressed",
            "cleanup.policy": "compact",
            "min.insync.replicas": str(settings.integer("transaction.state.log.min.isr")),
            "segment.bytes": str(settings.integer("transaction.state.log.segment.bytes")),
        },
    )


def transaction_config(settings: Settings) -> TransactionConfig:
    """Return what the broker's settings say of transactions."""
    return TransactionConfig(
        transaction_max_timeout_ms=settings.integer("transaction.max.timeout.ms"),
        transactional_id_expiration_ms=settings.integer("transactional.id.expiration.ms"),
        remove_expired_interval_ms=settings.integer(
            "transaction.remove.expired.transaction.cleanup.interval.ms"
        ),
    )
