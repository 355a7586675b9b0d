"""CRC-32C against known values, in one go and in pieces."""

import subprocess
import sys

import pytest

from barnabas.protocol.checksum import crc32c

CHECK_VALUE = 0xE3069283  # of "123456789", as every description of CRC-32C gives it


@pytest.mark.parametrize("kind", [bytes, bytearray, memoryview])
def test_every_buffer_has_the_check_value(kind: type) -> None:
    assert crc32c(kind(b"123456789"), 0) == CHECK_VALUE


def test_it_continues_from_a_value() -> None:
    assert crc32c(b"6789", crc32c(memoryview(b"x12345")[1:], 0)) == CHECK_VALUE
    assert crc32c(b"", 7) == 7


def test_importing_it_leaves_package_metadata_alone() -> None:
    code = "import sys, barnabas.protocol.checksum; print('importlib.metadata' in sys.modules)"
    done = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert done.stdout.strip() == "False"


def test_without_the_extension_beside_it_the_package_is_imported() -> None:
    code = (
        "import importlib.machinery as m\n"
        "m.EXTENSION_SUFFIXES[:] = []\n"
        "from barnabas.protocol.checksum import crc32c, _load_extension\n"
        "assert crc32c(b'123456789', 0) == 0xE3069283\n"
    )
    # The extension suffixes are gone for our search only: the import system keeps its own copy.
    subprocess.run([sys.executable, "-c", code], check=True)
