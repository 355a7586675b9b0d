"""What handlers may use: the parts of a broker that answer requests, handed to each of them.

One slotted object instead of globals, so that several brokers live in one process.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping

from barnabas.base.dataclass import dataclass, field
from barnabas.base.hints import TYPE_CHECKING
from barnabas.handlers.request_log import RequestLog

if TYPE_CHECKING:
    from barnabas.base.clock import Clock
    from barnabas.coordinator.groups.coordinator import GroupCoordinator
    from barnabas.coordinator.transactions.coordinator import TransactionCoordinator
    from barnabas.coordinator.transactions.producer_ids import ProducerIds
    from barnabas.handlers.fetch_session_cache import FetchSessionCache
    from barnabas.metadata.controller import Controller
    from barnabas.metadata.image import Endpoint, MetadataImage
    from barnabas.replica.manager import ReplicaManager
    from barnabas.storage.log_manager import LogManager


@dataclass(frozen=True, slots=True, kw_only=True)
class HandlerSettings:
    """The broker settings that handlers read, by Kafka's names."""

    fetch_max_bytes: int = 57671680
    auto_create_topics_enable: bool = True
    delete_topic_enable: bool = True
    max_request_partition_size_limit: int = 2000
    consumer_groups_enable: bool = True
    """Whether group.coordinator.rebalance.protocols names the consumer protocol."""
    transaction_partition_verification_enable: bool = True
    transaction_max_timeout_ms: int = 900_000


@dataclass(slots=True, kw_only=True)
class Services:
    """The parts of one broker.

    Attributes:
        rack: `broker.rack`, None when unset.
        advertised: where clients are told to connect, by the name of the listener they came in on.
        advertised_apis: api key -> versions that ApiVersions tells.
        request_log: off unless it is asked for.
        make_groups: makes the group coordinator when it is first needed.
        made_groups: it, once it is made; whoever needs it asks for `groups`.
        make_transactions: makes the transaction coordinator when it is first needed.
        made_transactions: it, once it is made; whoever needs it asks for `transactions`.
    """

    cluster_id: str
    node_id: int
    rack: str | None
    clock: Clock
    image: MetadataImage
    controller: Controller
    replicas: ReplicaManager
    logs: LogManager
    producer_ids: ProducerIds
    fetch_sessions: FetchSessionCache
    settings: HandlerSettings
    advertised_apis: Mapping[int, range]
    advertised: dict[str, Endpoint] = field(default_factory=dict)
    request_log: RequestLog = field(default_factory=RequestLog)
    make_groups: Callable[[], GroupCoordinator] | None = None
    made_groups: GroupCoordinator | None = None
    make_transactions: Callable[[], TransactionCoordinator] | None = None
    made_transactions: TransactionCoordinator | None = None

    @property
    def groups(self) -> GroupCoordinator:
        """The coordinator of groups; its code is imported when this is first read."""
        if self.made_groups is None:
            assert self.make_groups is not None, "this broker was made without groups"
            self.made_groups = self.make_groups()
        return self.made_groups

    @property
    def transactions(self) -> TransactionCoordinator:
        """The coordinator of transactions; its code is imported when this is first read."""
        if self.made_transactions is None:
            assert self.make_transactions is not None, "this broker was made without transactions"
            self.made_transactions = self.make_transactions()
        return self.made_transactions
