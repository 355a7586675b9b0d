"""In a run of the compiled build every process has the compiled modules, or does not start.

`./dev test --compiled` or `--trained`; without them there is nothing to see here.
"""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path

import pytest

from barnabas.storage.compaction import cleaning_process
from tests.broker import BarnabasBroker
from tests.compiled_build import HOT_NAMES, is_under_test, mapped_modules
from tests.interop.command_line import runner
from tests.waiting import wait_until
from tools.fetch_client import FetchClient, batch_of, fetch_request

pytestmark = pytest.mark.skipif(not is_under_test(), reason="of the compiled build: ./dev test --compiled")

ROOT = Path(__file__).resolve().parents[2]

ENVIRONMENTS: dict[str, Mapping[str, str]] = {
    "ours": dict(os.environ),
    "empty": {},
    "PYTHONPATH": {"PYTHONPATH": str(ROOT)},
}

FLAGS = {"plain": (), "-P": ("-P",), "-I": ("-I",)}

SAYS_FILES = f"""
import importlib
for name in {HOT_NAMES!r}:
    print(importlib.import_module(name).__file__)
"""


def _python(
    *arguments: str, environment: Mapping[str, str], folder: Path = ROOT
) -> subprocess.CompletedProcess[str]:
    return subprocess.run(
        [sys.executable, *arguments],
        env=environment, cwd=folder, capture_output=True, text=True, check=False, timeout=60,
    )  # fmt: skip


def test_a_broker_that_has_served_has_all_of_them_in_its_memory(tmp_path: Path) -> None:
    with BarnabasBroker(tmp_path) as broker:
        with FetchClient(broker.bootstrap, "compiled") as client:
            topic_id = client.create_topic("orders")
            client.produce("orders", batch_of(20, 100))
            assert client.fetch(fetch_request(topic_id)).record_count == 20
        runner(broker.bootstrap)("topics", "list")
        assert mapped_modules(broker.pid) == set(HOT_NAMES)


def test_a_process_that_cleans_has_those_that_it_uses() -> None:
    command = [sys.executable, "-P", "-m", cleaning_process.MODULE]
    with subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.DEVNULL) as process:
        wait_until(lambda: "barnabas.protocol.varint" in mapped_modules(process.pid), "it is loaded")
        process.kill()


@pytest.mark.parametrize("environment", ENVIRONMENTS)
@pytest.mark.parametrize("flags", FLAGS)
def test_no_process_falls_back_whatever_it_is_started_with(flags: str, environment: str) -> None:
    ran = _python(*FLAGS[flags], "-c", SAYS_FILES, environment=ENVIRONMENTS[environment])
    assert ran.returncode == 0, ran.stderr
    assert len(ran.stdout.split()) == len(HOT_NAMES)
    assert [file for file in ran.stdout.split() if not file.endswith(".so")] == []


@pytest.mark.parametrize("way", ["PYTHONPATH", "its folder"])
def test_a_process_that_finds_the_sources_first_fails(way: str) -> None:
    sources = ROOT / "src"
    environment, folder = ({"PYTHONPATH": str(sources)}, ROOT) if way == "PYTHONPATH" else ({}, sources)
    ran = _python("-m", "barnabas", "--help", environment=environment, folder=folder)
    assert ran.returncode != 0
    assert "not in the compiled copy" in ran.stderr


def test_a_process_that_misses_an_extension_module_fails(tmp_path: Path) -> None:
    name = HOT_NAMES[0]
    code = (
        "import importlib.machinery, sys\n"
        "sys.path_hooks[:] = [importlib.machinery.FileFinder.path_hook(\n"
        "    (importlib.machinery.SourceFileLoader, importlib.machinery.SOURCE_SUFFIXES))]\n"
        "sys.path_importer_cache.clear()\n"
        f"import {name}\n"
    )
    ran = _python("-c", code, environment={}, folder=tmp_path)
    assert ran.returncode != 0
    assert "not compiled" in ran.stderr
