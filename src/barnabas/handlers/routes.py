"""Which APIs are served, in which versions, and by which file.

This table is also what ApiVersions advertises: an API is here when it works, and only then.
"""

from collections.abc import Callable, Mapping
from importlib import import_module
from types import MappingProxyType

from barnabas.base.errors import ApiError
from barnabas.base.hints import TYPE_CHECKING, Any
from barnabas.handlers.request import RequestContext
from barnabas.protocol import messages
from barnabas.protocol.api_keys import ApiKey

Handle = Callable[[RequestContext, Any], messages.Message | None]
ErrorResponse = Callable[[Any, ApiError, int], messages.Message | None]


class Route:
    """One served API.

    Args:
        spec: the API in the catalogue.
        versions: accepted; others close the connection.
        advertised: what ApiVersions tells; wider than `versions` only for Produce.
        file: the module in this folder that answers, imported with the first request: a client uses a dozen
            of all APIs, and importing the others would double a start.

    Attributes:
        request: the class that decodes the request.
        handle: returns the response, or None when it has answered or will.
        error_response: the answer to a request that failed as a whole; None closes the connection.
    """

    __slots__ = ("_file", "advertised", "error_response", "handle", "request", "spec", "versions")

    request: type[messages.Message]
    handle: Handle
    error_response: ErrorResponse

    def __init__(self, *, spec: messages.ApiSpec, versions: range, advertised: range, file: str) -> None:
        self.spec = spec
        self.versions = versions
        self.advertised = advertised
        self._file = file

    if not TYPE_CHECKING:  # the slots above say it all

        def __getattr__(self, name: str) -> Any:
            """Fill the three slots when one is first read; later reads do not come here."""
            if name not in ("request", "handle", "error_response"):
                raise AttributeError(name)
            module = import_module(f"barnabas.handlers.{self._file}")
            self.request = self.spec.request
            self.handle = module.handle
            self.error_response = module.error_response
            return getattr(self, name)


def _route(key: ApiKey, file: str, *, advertised_from: int | None = None) -> tuple[int, Route]:
    spec = messages.BY_KEY[key]
    versions = spec.valid_versions
    if spec.latest_unstable:
        versions = versions[:-1]
    first = versions.start if advertised_from is None else advertised_from
    return int(key), Route(spec=spec, versions=versions, advertised=range(first, versions.stop), file=file)


ROUTES: Mapping[int, Route] = MappingProxyType(
    dict(
        (
            # librdkafka before 2.9 gives up compression when versions below 3 are missing (P5).
            _route(ApiKey.PRODUCE, "api_00_produce", advertised_from=0),
            _route(ApiKey.FETCH, "api_01_fetch"),
            _route(ApiKey.LIST_OFFSETS, "api_02_list_offsets"),
            _route(ApiKey.METADATA, "api_03_metadata"),
            _route(ApiKey.OFFSET_COMMIT, "api_08_offset_commit"),
            _route(ApiKey.OFFSET_FETCH, "api_09_offset_fetch"),
            _route(ApiKey.FIND_COORDINATOR, "api_10_find_coordinator"),
            _route(ApiKey.JOIN_GROUP, "api_11_join_group"),
            _route(ApiKey.HEARTBEAT, "api_12_heartbeat"),
            _route(ApiKey.LEAVE_GROUP, "api_13_leave_group"),
            _route(ApiKey.SYNC_GROUP, "api_14_sync_group"),
            _route(ApiKey.DESCRIBE_GROUPS, "api_15_describe_groups"),
            _route(ApiKey.LIST_GROUPS, "api_16_list_groups"),
            _route(ApiKey.API_VERSIONS, "api_18_api_versions"),
            _route(ApiKey.CREATE_TOPICS, "api_19_create_topics"),
            _route(ApiKey.DELETE_TOPICS, "api_20_delete_topics"),
            _route(ApiKey.DELETE_RECORDS, "api_21_delete_records"),
            _route(ApiKey.INIT_PRODUCER_ID, "api_22_init_producer_id"),
            _route(ApiKey.OFFSET_FOR_LEADER_EPOCH, "api_23_offset_for_leader_epoch"),
            _route(ApiKey.ADD_PARTITIONS_TO_TXN, "api_24_add_partitions_to_txn"),
            _route(ApiKey.ADD_OFFSETS_TO_TXN, "api_25_add_offsets_to_txn"),
            _route(ApiKey.END_TXN, "api_26_end_txn"),
            _route(ApiKey.WRITE_TXN_MARKERS, "api_27_write_txn_markers"),
            _route(ApiKey.TXN_OFFSET_COMMIT, "api_28_txn_offset_commit"),
            _route(ApiKey.DESCRIBE_ACLS, "api_29_describe_acls"),
            _route(ApiKey.DESCRIBE_CONFIGS, "api_32_describe_configs"),
            _route(ApiKey.ALTER_CONFIGS, "api_33_alter_configs"),
            _route(ApiKey.ALTER_REPLICA_LOG_DIRS, "api_34_alter_replica_log_dirs"),
            _route(ApiKey.DESCRIBE_LOG_DIRS, "api_35_describe_log_dirs"),
            _route(ApiKey.CREATE_PARTITIONS, "api_37_create_partitions"),
            _route(ApiKey.DELETE_GROUPS, "api_42_delete_groups"),
            _route(ApiKey.ELECT_LEADERS, "api_43_elect_leaders"),
            _route(ApiKey.INCREMENTAL_ALTER_CONFIGS, "api_44_incremental_alter_configs"),
            _route(ApiKey.ALTER_PARTITION_REASSIGNMENTS, "api_45_alter_partition_reassignments"),
            _route(ApiKey.LIST_PARTITION_REASSIGNMENTS, "api_46_list_partition_reassignments"),
            _route(ApiKey.OFFSET_DELETE, "api_47_offset_delete"),
            _route(ApiKey.DESCRIBE_QUORUM, "api_55_describe_quorum"),
            _route(ApiKey.UPDATE_FEATURES, "api_57_update_features"),
            _route(ApiKey.DESCRIBE_CLUSTER, "api_60_describe_cluster"),
            _route(ApiKey.DESCRIBE_PRODUCERS, "api_61_describe_producers"),
            _route(ApiKey.UNREGISTER_BROKER, "api_64_unregister_broker"),
            _route(ApiKey.DESCRIBE_TRANSACTIONS, "api_65_describe_transactions"),
            _route(ApiKey.LIST_TRANSACTIONS, "api_66_list_transactions"),
            _route(ApiKey.CONSUMER_GROUP_HEARTBEAT, "api_68_consumer_group_heartbeat"),
            _route(ApiKey.CONSUMER_GROUP_DESCRIBE, "api_69_consumer_group_describe"),
            _route(ApiKey.LIST_CONFIG_RESOURCES, "api_74_list_config_resources"),
            _route(ApiKey.DESCRIBE_TOPIC_PARTITIONS, "api_75_describe_topic_partitions"),
        )
    )
)
