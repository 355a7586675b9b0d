"""A start imports little: what crept in here once cost milliseconds of every start (docs/adr/0008)."""

import subprocess
import sys
import textwrap
from pathlib import Path

import pytest

import barnabas
from tests.certificates import Certificates

KEPT_OUT = (
    "ast",  # by way of inspect
    "asyncio",
    "barnabas.protocol.message_json",
    "barnabas.protocol.message_source",
    "base64",
    "click",
    "cramjam",
    "ctypes",
    "dataclasses",
    "email",
    "encodings.idna",
    "enum",
    "importlib.metadata",
    "inspect",
    "json",
    "ipaddress",
    "linecache",
    "logging",
    "pathlib",
    "pickle",
    "queue",
    "random",
    "re",
    "rich",
    "selectors",
    "shutil",
    "signal",
    "socket",
    "ssl",
    "subprocess",
    "tempfile",
    "threading",
    "tokenize",
    "traceback",
    "typing",
    "typing_extensions",
    "urllib",
)

OTHERS_MAX = 75
"""Modules beside ours of a first start: 66 with Python 3.11, most of them the interpreter's own."""

START = """
    import sys

    import barnabas
    from barnabas.cli.main import main
    from barnabas.cli.serve import settings_of
    from barnabas.cli.serve_options import parse_serve_options
    from barnabas.base.entropy import SystemEntropy
    from barnabas.server.broker import Broker
    from barnabas.handlers.routes import ROUTES
    from barnabas.protocol import compiler, messages

    compiled = []
    at_run_time = compiler._compile
    compiler._compile = lambda lines, filename: compiled.append(filename) or at_run_time(lines, filename)
    options = parse_serve_options(["--listen", "127.0.0.1:0", "--data-dir", sys.argv[1]])
    broker = Broker(settings_of(options, None))
    broker.start()
    print("\\n".join("first:" + name for name in sys.modules))
    broker.stop()
    broker.run()
    broker = Broker(settings_of(options, None))
    broker.start()
    ROUTES[18].handle
    messages.ApiVersionsRequest.decode(b"\\x02a\\x02b\\x00", 4)
    messages.ApiVersionsResponse().encode(4)
    for version, body in (1, bytes(4)), (12, b"\\1\\1\\0\\0"), (13, b"\\1\\1\\0\\0"):
        messages.MetadataRequest.decode(body, version)
        messages.MetadataResponse().encode(version)
    print("\\n".join(sys.modules))
    for module in [module for name, module in sys.modules.items() if name.startswith("barnabas")]:
        for value in vars(module).values():
            if isinstance(value, type) and value.__module__.startswith("barnabas"):
                bases = getattr(value, "__orig_bases__", ())
                if type(value).__module__ == "enum" or any(b.__module__ == "typing" for b in bases):
                    print(f"standard:{value.__module__}.{value.__name__}")
    print("\\n".join("compiled:" + filename.replace(" ", "_") for filename in compiled))
    broker.stop()
    broker.run()
    print("from:" + barnabas.__file__)
"""


START_WITH_TLS = """
    import sys
    from barnabas.cli.serve import settings_of
    from barnabas.cli.serve_options import parse_serve_options
    from barnabas.server.broker import Broker

    directory, keystore = sys.argv[1:]
    overrides = {
        "listeners": "SSL://127.0.0.1:0",
        "ssl.keystore.type": "PEM",
        "ssl.keystore.location": keystore,
    }
    line = ["--data-dir", directory]
    for name, value in overrides.items():
        line += ["--override", f"{name}={value}"]
    broker = Broker(settings_of(parse_serve_options(line), None))
    broker.start()
    print("\\n".join(sys.modules))
    broker.stop()
    broker.run()
"""


def modules_of(code: str, *arguments: object) -> set[str]:
    """Return the words that a fresh interpreter says."""
    # -I keeps what the environment wants imported out of it, -S what is installed beside us.
    paths = [path for path in sys.path if path]
    whole = f"import sys; sys.path = {paths!r}\n{textwrap.dedent(code)}"
    line = [sys.executable, "-I", "-S", "-c", whole, *map(str, arguments)]
    ran = subprocess.run(line, capture_output=True, text=True, check=True)
    assert ran.stderr == "", "a start has nothing to complain about"
    return set(ran.stdout.split())


@pytest.fixture(scope="module")
def imported(tmp_path_factory: pytest.TempPathFactory) -> set[str]:
    """Return the modules of a process that started a broker on a fresh directory, and again on the same."""
    return modules_of(START, tmp_path_factory.mktemp("start") / "data")


def test_what_starts_is_what_is_under_test(imported: set[str]) -> None:
    assert f"from:{barnabas.__file__}" in imported


@pytest.mark.parametrize("name", KEPT_OUT)
def test_a_start_does_not_import(imported: set[str], name: str) -> None:
    assert name not in imported


def test_a_first_start_imports_few_modules_of_others(imported: set[str]) -> None:
    others = sorted(name for name in imported if name.startswith("first:") and "barnabas" not in name)
    assert len(others) > 10
    assert len(others) <= OTHERS_MAX, others


def test_a_start_imports_the_files_of_no_api_but_the_first_asked_for(imported: set[str]) -> None:
    files = {name for name in imported if name.startswith("barnabas.handlers.api_")}
    assert files <= {"barnabas.handlers.api_18_api_versions"}


def test_a_start_compiles_no_class_or_codec(imported: set[str]) -> None:
    compiled = [name for name in imported if name.startswith("compiled:")]
    assert compiled == [], "tools/write_start_codecs.py does not list what a start needs"


def test_a_start_defines_no_enum_or_named_tuple_of_the_standard_library(imported: set[str]) -> None:
    standard = [name for name in imported if name.startswith("standard:")]
    assert standard == [], "base/enums.py and base/named_tuple.py cost a start a tenth of it"


def test_a_start_with_a_tls_listener_imports_openssl_and_nothing_around_it(tmp_path: Path) -> None:
    keystore = Certificates(tmp_path / "certificates").keystore
    modules = modules_of(START_WITH_TLS, tmp_path / "data", keystore)
    assert "_ssl" in modules
    assert not modules & {"ssl", "socket", "selectors", "enum", "re", "base64", "barnabas.net.handshakes"}
