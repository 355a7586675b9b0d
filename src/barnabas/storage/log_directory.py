"""One directory of `log.dirs` and whether it still works.

Every OSError of a log's files goes through `failed`: the directory is offline from then on, its
partitions answer KAFKA_STORAGE_ERROR, other directories go on. A log never decides alone that its disk is
fine again; the operator restarts the broker, as with Apache Kafka.
"""

import errno
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
        failure: why it is offline; None while it works.
        failed_while: what was tried when it failed, such as "appending to t-0".
        cordoned: gets no new logs; those it has stay (KIP-1066).
        log_count: open logs in it, kept by the log manager.
    """

    __slots__ = (
        "_identity", "_on_failure", "cordoned", "disk", "failed_while", "failure", "log_count", "path",
    )  # fmt: skip

    def __init__(self, disk: Disk, path: str, on_failure: FailureListener | None = None) -> None:
        self.disk = disk
        self.path = path
        self.failure: OSError | None = None
        self.failed_while = ""
        self.cordoned = False
        self.log_count = 0
        self._on_failure = on_failure
        self._identity: tuple[int, int] | None = None

    @property
    def online(self) -> bool:
        """False once an I/O error was met."""
        return self.failure is None

    def remember_place(self) -> None:
        """Take note of which directory the path names now; call when it is locked.

        Raises:
            OSError: it cannot be looked at.
        """
        self._identity = self.disk.identity(self.path)

    def require_in_place(self) -> None:
        """See that the path still names the directory it named at the start; may be called on any thread.

        Open files go on working when a directory was removed or its disk unmounted, and new ones would be
        made in an empty mount point: neither would be found again.

        Raises:
            OSError: it was taken away, or another one is there.
        """
        if self._identity is not None and self.disk.identity(self.path) != self._identity:
            raise OSError(errno.ESTALE, "it is not the directory that was there at the start", self.path)

    def absence(self) -> OSError | None:
        """As `require_in_place`, with the error returned."""
        try:
            self.require_in_place()
        except OSError as error:
            return error
        return None

    def check(self) -> None:
        """Refuse work on an offline directory.

        Raises:
            ApiError: KAFKA_STORAGE_ERROR.
        """
        if self.failure is not None:
            raise self._error(f"{self.path} is offline after {self.failure}")

    def failed(self, error: OSError, doing: str) -> ApiError:
        """Take the directory offline and return the error to raise in place of `error`.

        The first one is told in the log by whoever is told of failures; whatever fails after it is no news.

        Args:
            doing: what was tried, for the message, such as "appending to t-0".
        """
        if self.failure is None:
            self.failure, self.failed_while = error, doing
            if self._on_failure is not None:
                self._on_failure(self, error)
        return self._error(f"{doing}: {error}")

    @staticmethod
    def _error(message: str) -> ApiError:
        return ApiError(ErrorCode.KAFKA_STORAGE_ERROR, message)
