"""Administration as a script: some two hundred requests, errors among them, for any broker that speaks Kafka.

The same steps are asked of Apache Kafka and of Barnabas; what a request depends on and no script can know
(topic ids, directories) is taken from the answers before it. Steps build on each other, so a broker that does
something else than it says is found by the steps that follow.
"""

from __future__ import annotations

import time
from collections.abc import Iterator

from barnabas.base.errors import ErrorCode
from barnabas.protocol.messages import InitProducerIdResponse, Message
from tests.golden.admin_cluster_steps import cluster_steps
from tests.golden.admin_config_steps import config_steps
from tests.golden.admin_step import Known, Step
from tests.golden.admin_topic_steps import ending_steps, topic_steps
from tests.golden.exchanges import Exchange
from tests.golden.script import Wire

LOADING = ErrorCode.COORDINATOR_LOAD_IN_PROGRESS

Answer = tuple[Exchange, Message]
"""The frames and the decoded response."""


def steps() -> Iterator[Step]:
    """Yield all steps in order."""
    yield from topic_steps()
    yield from config_steps()
    yield from cluster_steps()
    yield from ending_steps()


def play(port: int, *, settle_s: float = 0.0) -> list[Answer]:
    """Ask everything of a fresh broker and return its answers in the order of the steps.

    Args:
        settle_s: waited after each change; Apache Kafka answers before all of it has seen the change.
    """
    wire = Wire(port)
    known = Known()
    answers = []
    try:
        for step in steps():
            request = step.request(known) if callable(step.request) else step.request
            response = wire.ask(step.scenario, step.key, step.version, request)
            while isinstance(response, InitProducerIdResponse) and response.error_code == LOADING:
                time.sleep(settle_s)
                wire.exchanges.pop()
                response = wire.ask(step.scenario, step.key, step.version, request)
            known.learn(response)
            answers.append((wire.exchanges[-1], response))
            if step.changes:
                time.sleep(settle_s)
        return answers
    finally:
        wire.close()
