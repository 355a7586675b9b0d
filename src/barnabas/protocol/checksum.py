"""CRC-32C, the checksum of record batches, producer snapshots and quorum state.

The `crc32c` package computes it with the processor's own instruction over anything that has a buffer,
and continues from an earlier value. Importing that package, however, reads its metadata through
importlib.metadata to learn its own version, which costs more than the rest of a broker's start. So the
extension module inside the package is loaded by its path, without running the package's __init__;
where that fails (another layout, a zip import) the package itself is imported. zlib's and cramjam's
checksums are CRC-32 of another polynomial, google-crc32c takes bytes only.
"""

import importlib.machinery
import importlib.util
import os
import sys
from collections.abc import Callable
from types import ModuleType

Crc32c = Callable[[bytes | bytearray | memoryview, int], int]


def _load_extension() -> ModuleType | None:
    """Return the package's extension module, loaded by path; None when it lies elsewhere."""
    loaded = sys.modules.get("crc32c")
    if loaded is not None:
        return loaded
    spec = importlib.machinery.PathFinder.find_spec("crc32c")
    for folder in (spec.submodule_search_locations or ()) if spec else ():
        for suffix in importlib.machinery.EXTENSION_SUFFIXES:
            path = os.path.join(folder, "_crc32c" + suffix)
            if os.path.exists(path):
                extension_spec = importlib.util.spec_from_file_location("_crc32c", path)
                if extension_spec is None or extension_spec.loader is None:
                    return None
                module = importlib.util.module_from_spec(extension_spec)
                try:
                    extension_spec.loader.exec_module(module)
                except ImportError:
                    return None
                return module if hasattr(module, "crc32c") else None
    return None


def _find_crc32c() -> Crc32c:
    module = _load_extension() or importlib.import_module("crc32c")
    function: Crc32c = module.crc32c
    return function


crc32c = _find_crc32c()
"""`crc32c(data, value=0) -> int`: the CRC-32C of `data`, continuing from `value`, as an unsigned 32-bit int.

`data` is bytes, bytearray or a contiguous memoryview; large inputs release the GIL.
"""
