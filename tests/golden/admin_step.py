"""One step of the administration script, and what the answers before it have told."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import dataclass, field

from barnabas.protocol import messages as m
from barnabas.protocol.api_keys import ApiKey

NODE_ID = 1


@dataclass(slots=True)
class Known:
    """What only the broker can tell: the ids of its topics, its log directory."""

    topic_ids: dict[str, bytes] = field(default_factory=dict)
    log_dir: str = ""
    producer_id: int = -1

    def learn(self, response: m.Message) -> None:
        """Remember what a later request needs."""
        if isinstance(response, m.MetadataResponse):
            for topic in response.topics:
                if topic.name is not None and not topic.error_code:
                    self.topic_ids[topic.name] = bytes(topic.topic_id)
        elif isinstance(response, m.DescribeLogDirsResponse) and response.results:
            self.log_dir = response.results[0].log_dir
        elif isinstance(response, m.InitProducerIdResponse):
            self.producer_id = response.producer_id


@dataclass(frozen=True, slots=True, kw_only=True)
class Step:
    """One request.

    Args:
        scenario: unique together with key and version.
        request: or how to make it of what is known by then.
        changes: whether later steps see something else because of it.
    """

    key: int
    version: int
    scenario: str
    request: m.Message | Callable[[Known], m.Message]
    changes: bool = False


def versions(key: ApiKey) -> Iterator[int]:
    """Yield the versions of an API that are not unstable."""
    spec = m.BY_KEY[key]
    yield from spec.valid_versions[:-1] if spec.latest_unstable else spec.valid_versions


def step(
    key: ApiKey,
    version: int,
    scenario: str,
    request: m.Message | Callable[[Known], m.Message],
    *,
    changes: bool = False,
) -> Step:
    """Return a step."""
    return Step(key=key, version=version, scenario=scenario, request=request, changes=changes)
