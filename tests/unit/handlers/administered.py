"""A broker without network: the real controller, replicas and logs on a disk in memory, two directories."""

from types import MappingProxyType

from barnabas.coordinator.groups.coordinator import GroupCoordinator
from barnabas.coordinator.transactions.coordinator import TransactionCoordinator
from barnabas.coordinator.transactions.producer_ids import ProducerIds
from barnabas.handlers.fetch_session_cache import FetchSessionCache
from barnabas.handlers.routes import ROUTES
from barnabas.handlers.services import HandlerSettings, Services
from barnabas.metadata.image import ConfigResourceType, Endpoint
from barnabas.metadata.topic_configs import LogConfigs
from barnabas.replica.manager import ReplicaManager
from barnabas.server.groups import make_group_coordinator
from barnabas.server.settings import load_settings
from barnabas.server.transactions import make_transaction_coordinator
from barnabas.storage.log_manager import LogManager
from barnabas.timing.timer_wheel import TimerWheel
from tests.unit.metadata.broker_node import Node

DIRECTORIES = ("/logs/a", "/logs/b")

COORDINATOR_SETTINGS = (
    "log.dirs=/logs/a",
    "offsets.topic.num.partitions=3",
    "transaction.state.log.num.partitions=3",
    "transaction.state.log.min.isr=1",
    "transaction.state.log.replication.factor=1",
)


def administered(**static_configs: str) -> Services:
    """Return the services of a started broker without topics; underscores in names stand for dots."""
    node = Node()
    controller = node.start(log_dirs=",".join(DIRECTORIES), **static_configs)
    configs = LogConfigs(controller.broker_configs)

    def config_for(topic: str):
        return configs.of(controller.image.config(ConfigResourceType.TOPIC, topic))

    logs = LogManager(
        disk=node.disk,
        clock=node.clock,
        entropy=node.entropy,
        directories=list(DIRECTORIES),
        config_for=config_for,
    )
    logs.start()
    wheel = TimerWheel(node.clock.monotonic_ms())
    replicas = ReplicaManager(
        local_id=1,
        clock=node.clock,
        wheel=wheel,
        call_soon=lambda call: None,
        log_manager=logs,
        image=controller.image,
        log_config_for=config_for,
    )
    replicas.start()
    controller.subscribe(replicas.apply_delta)
    settings = load_settings(overrides=COORDINATOR_SETTINGS)

    def make_groups() -> GroupCoordinator:
        made = make_group_coordinator(
            settings,
            current_settings=lambda: settings,
            controller=controller,
            replicas=replicas,
            clock=node.clock,
            entropy=node.entropy,
            wheel=wheel,
            call_soon=lambda call: None,
            cold_reads=None,
        )
        controller.subscribe(lambda delta, image: made.metadata_changed(delta))
        return made

    def make_transactions() -> TransactionCoordinator:
        made = make_transaction_coordinator(
            settings,
            new_producer_id=services.producer_ids.next_id,
            groups=lambda: services.groups,
            was_clean=True,
            controller=controller,
            replicas=replicas,
            clock=node.clock,
            wheel=wheel,
            call_soon=lambda call: None,
            cold_reads=None,
        )
        controller.subscribe(lambda delta, image: made.metadata_changed())
        return made

    services = Services(
        cluster_id="cluster",
        node_id=1,
        rack=None,
        clock=node.clock,
        image=controller.image,
        controller=controller,
        replicas=replicas,
        logs=logs,
        producer_ids=ProducerIds(controller.allocate_producer_ids),
        fetch_sessions=FetchSessionCache(slots=1000, entropy=node.entropy),
        settings=HandlerSettings(max_request_partition_size_limit=5),
        advertised_apis=MappingProxyType({key: route.advertised for key, route in ROUTES.items()}),
        advertised={"PLAINTEXT": Endpoint(name="PLAINTEXT", host="broker.example", port=9092)},
        make_groups=make_groups,
        make_transactions=make_transactions,
    )
    return services
