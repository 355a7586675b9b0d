"""One directory of `log.dirs` and whether it still works.

Every OSError of a log's files goes through `failed`: the directory is offline from then on, its
partitions answer KAFKA_STORAGE_ERROR, other directories go on. A log never decides alone that its disk is
fine again; the operator restarts the broker, as with Apache Kafka.
"""

from collections.abc import Callable

from barnabas.base.disk import Disk
from barnabas.base.errors import ApiError, ErrorCode

FailureListener = Callable[["LogDirectory", OSError], None]


class LogDirectory:
    """A root directory of logs.

    Args:
        disk: the file system it lies on.
        path: where.
        on_failure: called once, when the directory goes offline.

    Attributes:
        cordoned: gets no new logs; those it has stay (KIP-1066).
        log_count: open logs in it, kept by the log manager.
    """

    __slots__ = ("_on_failure", "cordoned", "disk", "failure", "log_count", "path")

    def __init__(self, disk: Disk, path: str, on_failure: FailureListener | None = None) -> None:
        self.disk = disk
        self.path = path
        self.failure: OSError | None = None
        self.cordoned = False
        self.log_count = 0
        self._on_failure = on_failure

    @property
    def online(self) -> bool:
        """False once an I/O error was met."""
        return self.failure is None

    def check(self) -> None:
        """Refuse work on an offline directory.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        if self.failure is not None:
            raise self._error(f"{self.path} is offline after {self.failure}")

    def failed(self, error: OSError, doing: str) -> ApiError:
        """Take the directory offline and return the error to raise in place of `error`.

        Args:
            doing: what was tried, for the message, such as "appending to t-0".
        """
        if self.failure is None:
            self.failure = error
            if self._on_failure is not None:
                self._on_failure(self, error)
        return self._error(f"{doing}: {error}")

    @staticmethod
    def _error(message: str) -> ApiError:
        return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, message)
