"""The catalogue against the definitions inside Apache Kafka's jars."""

import importlib.util
import os
from pathlib import Path
from types import ModuleType

import pytest

from tests import toolchain

pytestmark = [pytest.mark.interop, pytest.mark.java]

TOOL = Path(__file__).parents[2] / "tools" / "compare_catalogue.py"


def _tool() -> ModuleType:
    spec = importlib.util.spec_from_file_location("compare_catalogue", TOOL)
    assert spec is not None
    assert spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture(scope="module")
def jars() -> Path:
    """A folder of Apache Kafka's jars: BARNABAS_KAFKA_LIBS, or what the oracle runs from."""
    chosen = os.environ.get("BARNABAS_KAFKA_LIBS")
    if chosen:
        return Path(chosen)
    try:
        return toolchain.kafka_jars()
    except toolchain.ToolchainMissingError as missing:
        toolchain.unavailable(str(missing))


def test_the_catalogue_says_what_kafkas_definitions_say(jars: Path) -> None:
    assert _tool().differences(jars) == []


def test_the_comparison_sees_a_difference(jars: Path) -> None:
    tool = _tool()
    definition = tool.definitions(jars)["FetchRequest"]
    definition["fields"][1]["default"] = "-2"
    facts = tool.message_facts(definition)
    unchanged = tool.message_facts(tool.definitions(jars)["FetchRequest"])
    assert len(list(tool._differences("", facts, unchanged))) == 1


def test_a_folder_without_definitions_is_no_agreement(tmp_path: Path) -> None:
    assert _tool().differences(tmp_path) == [f"there are no definitions in {tmp_path}"]
