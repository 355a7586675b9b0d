"""The topic in which a coordinator keeps its records: made when it is first needed, then followed.

Groups and transactions need the same of theirs, so it stands here once. Making both at a start was rejected:
a broker that coordinates nothing would carry a hundred empty logs.
"""

from __future__ import annotations

from barnabas.base.errors import ApiError, ErrorCode
from barnabas.base.logger import Logger
from barnabas.metadata.controller import Controller
from barnabas.metadata.image_types import TopicImage
from barnabas.metadata.topic_changes import TopicCreation

_log = Logger(__name__)


class InternalTopic:
    """One topic of one coordinator.

    Args:
        creation: how it is made.
    """

    __slots__ = ("_controller", "_creation", "_told_failure")

    def __init__(self, creation: TopicCreation, controller: Controller) -> None:
        self._creation = creation
        self._controller = controller
        self._told_failure: str | None = None

    @property
    def image(self) -> TopicImage | None:
        """The topic as metadata have it now; None while it does not exist."""
        return self._controller.image.topics.get(self._creation.name)

    def ensure(self) -> None:
        """Make it when it does not exist.

        Raises:
            ApiError: COORDINATOR_NOT_AVAILABLE, with the reason why it cannot be made.
        """
        if self.image is not None:
            return
        try:
            result = self._controller.create_topics([self._creation])[0]
        except ApiError as error:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, error.message) from None
        if result.error not in (ErrorCode.NONE, ErrorCode.TOPIC_ALREADY_EXISTS):
            if result.message != self._told_failure:
                # Clients ask again and again; the log need not say more than once why they get no answer.
                self._told_failure = result.message
                name = self._creation.name
                _log.error("%s cannot be created: %s %s", name, result.error.name, result.message)
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE, result.message)

    def leader_of(self, number: int) -> int:
        """Return the broker that leads a partition, and so coordinates what belongs to it.

        Raises:
            ApiError: COORDINATOR_NOT_AVAILABLE: nobody does.
        """
        partition = self._controller.image.partition(self._creation.name, number)
        if partition is None or partition.leader < 0:
            raise ApiError(ErrorCode.COORDINATOR_NOT_AVAILABLE)
        return partition.leader
