"""Barnabas: a message broker that speaks Apache Kafka's wire protocol and keeps its on-disk format.

A compiled wheel has an extension module beside the source of each hot module, and Python takes that one. With
BARNABAS_PURE=1 in the environment the sources run instead (docs/adr/0012).
"""

import os

__version__ = "0.1.0.dev0"

if os.environ.get("BARNABAS_PURE") == "1":
    import sys
    from importlib.machinery import SOURCE_SUFFIXES, FileFinder, SourceFileLoader

    def _sources_only(path: str) -> FileFinder:
        """Find modules of this package in their sources only; every other path is for the usual finders."""
        root = __path__[0]
        if path != root and not path.startswith(root + os.sep):
            raise ImportError
        return FileFinder(path, (SourceFileLoader, SOURCE_SUFFIXES))

    sys.path_hooks.insert(0, _sources_only)
    sys.path_importer_cache.pop(__path__[0], None)
