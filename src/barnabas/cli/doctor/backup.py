"""Copies of what a repair changes: beside the data directory, where no broker looks.

A segment's file is linked rather than copied where the file system allows it: a repair never writes into
one, it puts a new one in its place. Small files are copied, since recovery writes into them.
"""

import os
import shutil
from collections.abc import Callable

LINKED_ENDINGS = (".log",)


class Backup:
    """The copies of one data directory.

    Args:
        root: the data directory.
        target: where they go; made when the first comes.

    Attributes:
        target: the same.
        used: whether there is any.
    """

    def __init__(self, root: str, target: str) -> None:
        self.root = root
        self.target = target
        self.used = False
        self._kept: set[str] = set()

    def keep(self, path: str) -> None:
        """Keep a file as it is now, once; one that is not there needs none.

        Raises:
            OSError: it cannot be kept; nothing must be changed then.
        """
        if path in self._kept or not os.path.exists(path):
            return
        copy = self._place(path)
        if path.endswith(LINKED_ENDINGS):
            try:
                os.link(path, copy)
            except OSError:
                self._copy(path, copy)
        else:
            self._copy(path, copy)
        self._kept.add(path)

    def move(self, path: str) -> None:
        """Take a file or directory away to the copies.

        Raises:
            OSError: it cannot be moved, such as to another file system.
        """
        os.rename(path, self._place(path))
        _sync_dir(os.path.dirname(path))

    def sync(self) -> None:
        """Make the copies' names durable."""
        for folder, _, _ in os.walk(self.target):
            _sync_dir(folder)

    def _place(self, path: str) -> str:
        copy = os.path.join(self.target, os.path.relpath(path, self.root))
        os.makedirs(os.path.dirname(copy), exist_ok=True)
        self.used = True
        return copy

    @staticmethod
    def _copy(path: str, copy: str) -> None:
        shutil.copy2(path, copy)
        with open(copy, "rb") as file:
            os.fsync(file.fileno())


def free_name(wanted: str, is_taken: Callable[[str], bool] = os.path.exists) -> str:
    """Return `wanted`, or with a number behind it."""
    number = 1
    name = wanted
    while is_taken(name):
        number += 1
        name = f"{wanted}-{number}"
    return name


def _sync_dir(path: str) -> None:
    fd = os.open(path, os.O_RDONLY | os.O_DIRECTORY)
    try:
        os.fsync(fd)
    finally:
        os.close(fd)
