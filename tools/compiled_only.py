"""Part of the Python of `./dev test --compiled` and `--trained`: barnabas is the compiled copy's, or none.

`tools/compiled_python.py` puts this file into that Python's site-packages, where each of its processes runs
`install` before anything else. What would silently run as source then fails where it is imported: a hot
module without its extension module, or a package from anywhere but the copy (by PYTHONPATH, by the folder
it is started in). With BARNABAS_PURE=1 the sources of the copy may run: that is asked for.

Only tests could look at this afterwards, and see the processes that they know of.
"""

import os
import sys
from collections.abc import Collection, Sequence
from importlib.machinery import EXTENSION_SUFFIXES, ModuleSpec, PathFinder
from types import ModuleType


class CompiledOnly:
    """Finds modules of barnabas as Python does, and refuses all but the expected ones.

    Args:
        folder: the compiled copy.
        hot: dotted names of the modules that must be extension modules.
    """

    def __init__(self, folder: str, hot: Collection[str]) -> None:
        self._within = os.path.join(os.path.realpath(folder), "barnabas", "")
        self._hot = hot

    def find_spec(
        self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        """Find a module; raise ImportError when it is another than the compiled copy's."""
        if name.partition(".")[0] != "barnabas":
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or spec.origin is None:
            return spec
        if not os.path.realpath(spec.origin).startswith(self._within):
            raise ImportError(f"{name} is {spec.origin}, not in the compiled copy {self._within}")
        must_be_compiled = name in self._hot and os.environ.get("BARNABAS_PURE") != "1"
        if must_be_compiled and not spec.origin.endswith(tuple(EXTENSION_SUFFIXES)):
            raise ImportError(f"{name} is {spec.origin}, not compiled")
        return spec


def install(folder: str, hot: Collection[str]) -> None:
    """Watch all imports of this process from here on."""
    sys.meta_path.insert(0, CompiledOnly(folder, hot))
