"""The broker's loggers as configs: which there are, at which level, and changing that (KIP-412).

Logger names are this broker's own, its Python modules, under Kafka's level names; only the request log has
Kafka's name. Loggers belong to the process, so brokers that share one share them, as they do in a JVM.
Nothing is remembered over a restart.

The names stand in a table, since modules are imported when they are needed: a level must be settable before.
"""

from __future__ import annotations

from collections.abc import Sequence

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.hints import TYPE_CHECKING, Final
from barnabas.base.logger import before_first_line
from barnabas.handlers.request_log import LOGGER_NAME
from barnabas.metadata.config_changes import ConfigAlteration, ConfigOperation

if TYPE_CHECKING:
    import logging

ROOT: Final = "root"
MODULES: Final = (
    "barnabas.coordinator.runtime.appender",
    "barnabas.coordinator.classic.groups",
    "barnabas.coordinator.classic.rebalance",
    "barnabas.coordinator.classic.requests",
    "barnabas.coordinator.consumer.classic",
    "barnabas.coordinator.consumer.core",
    "barnabas.coordinator.consumer.heartbeat",
    "barnabas.coordinator.consumer.migration",
    "barnabas.coordinator.consumer.resolution",
    "barnabas.coordinator.consumer.update",
    "barnabas.coordinator.groups.coordinator",
    "barnabas.coordinator.runtime.internal_topic",
    "barnabas.coordinator.runtime.log_loader",
    "barnabas.coordinator.offsets.cleanup",
    "barnabas.coordinator.runtime.runtime",
    "barnabas.coordinator.transactions.coordinator",
    "barnabas.coordinator.transactions.markers",
    "barnabas.coordinator.transactions.shard",
    "barnabas.handlers.api_01_fetch",
    "barnabas.handlers.dispatch",
    "barnabas.handlers.local_commands",
    "barnabas.handlers.request",
    "barnabas.handlers.request_log",
    "barnabas.metadata.metadata_log",
    "barnabas.net.acceptor",
    "barnabas.net.connection",
    "barnabas.net.handshakes",
    "barnabas.net.reactor",
    "barnabas.replica.fetch_verifier",
    "barnabas.replica.hosted_partitions",
    "barnabas.server.broker",
    "barnabas.server.directory_failures",
    "barnabas.server.dynamic_configs",
    "barnabas.server.log_moves",
    "barnabas.server.settings",
    "barnabas.server.slice_errors",
    "barnabas.server.start_directories",
    "barnabas.storage.checkpoints.directory_checkpoints",
    "barnabas.storage.deletions",
    "barnabas.storage.flush.durable_logs",
    "barnabas.storage.flush.group_commit",
    "barnabas.storage.flush.scheduler",
    "barnabas.storage.loading.directory_check",
    "barnabas.storage.loading.directory_loading",
    "barnabas.storage.loading.recovery",
    "barnabas.storage.log_cleaner.cleaner",
    "barnabas.storage.log_cleaner.selection",
    "barnabas.storage.log_cleaner.trouble",
    "barnabas.storage.log_manager",
    "barnabas.storage.log_moves.future_logs",
    "barnabas.storage.partition_logs",
    "barnabas.storage.producer_state.states",
    "barnabas.storage.retention",
    "barnabas.web.metrics_process",
)
"""Every module of the broker that logs."""

_LEVELS: Final = {"TRACE": 5, "DEBUG": 10, "INFO": 20, "WARN": 30, "ERROR": 40, "FATAL": 50}
"""Kafka's names for the numbers of `logging`, which has no TRACE of its own."""
_NOT_SET: Final = 0


def logger_levels() -> dict[str, str]:
    """Return each logger's name and effective level, the root's first."""
    found = {ROOT: _level_name(_logger(ROOT).getEffectiveLevel())}
    for name in sorted(_known()):
        found[name] = _level_name(_logger(name).getEffectiveLevel())
    return found


def alter_loggers(
    resource_name: str, node_id: int, alterations: Sequence[ConfigAlteration], *, validate_only: bool
) -> None:
    """Set or reset levels; all of them or none.

    Args:
        resource_name: the id of the broker whose loggers are meant.
    Raises:
        ApiError: INVALID_REQUEST, INVALID_CONFIG.
    """
    _check_node(resource_name, node_id)
    known = _known()
    for alteration in alterations:
        _check(alteration, known)
    if validate_only:
        return
    for alteration in alterations:
        is_set = alteration.operation == ConfigOperation.SET
        _logger(alteration.name).setLevel(_LEVELS[str(alteration.value)] if is_set else _NOT_SET)


def _logger(name: str) -> logging.Logger:
    import logging  # noqa: PLC0415 - the broker loads it with its first line only

    # What the user configured must not come later and undo what is set here.
    before_first_line(_nothing)
    return logging.getLogger(None if name == ROOT else name)


def _nothing() -> None:
    """Configure nothing further."""


def _known() -> set[str]:
    """Return the modules that log, the packages above them, and the request log."""
    found = {LOGGER_NAME}
    for name in MODULES:
        parts = name.split(".")
        found.update(".".join(parts[:end]) for end in range(1, len(parts) + 1))
    return found


def _level_name(level: int) -> str:
    """Return the Kafka level that lets through what `level` does."""
    return next((name for name, number in _LEVELS.items() if level <= number), "FATAL")


def _check_node(resource_name: str, node_id: int) -> None:
    try:
        given = int(resource_name)
    except ValueError:
        why = f"Node id must be an integer, but it is: {resource_name}"
        raise ApiError(ErrorCode.INVALID_REQUEST, why) from None
    if given != node_id:
        why = f"Unexpected node id. Expected {node_id}, but received {given}"
        raise ApiError(ErrorCode.INVALID_REQUEST, why)


def _check(alteration: ConfigAlteration, known: set[str]) -> None:
    name, operation = alteration.name, alteration.operation
    if operation not in (ConfigOperation.SET, ConfigOperation.DELETE):
        try:
            said = ConfigOperation(operation).name
        except ValueError:
            raise ApiError(
                ErrorCode.INVALID_REQUEST,
                f"Unknown operation type {operation} is not allowed for the BROKER_LOGGER resource",
            ) from None
        raise ApiError(
            ErrorCode.INVALID_REQUEST, f"{said} operation is not allowed for the BROKER_LOGGER resource"
        )
    if name != ROOT and name not in known:
        raise ApiError(ErrorCode.INVALID_CONFIG, f"Logger {name} does not exist!")
    if operation == ConfigOperation.DELETE:
        if name == ROOT:
            why = f"Removing the log level of the {ROOT} logger is not allowed"
            raise ApiError(ErrorCode.INVALID_REQUEST, why)
    elif alteration.value not in _LEVELS:
        raise ApiError(
            ErrorCode.INVALID_CONFIG,
            f"Cannot set the log level of {name} to {alteration.value} as it is not a supported log level. "
            f"Valid log levels are {', '.join(sorted(_LEVELS))}",
        )
