"""The short way of reading a serve line must agree with click's."""

import subprocess
import sys

import click
import pytest
from click.testing import CliRunner
from hypothesis import given
from hypothesis import strategies as st

from barnabas.cli import serve_command
from barnabas.cli.serve import default_data_dir, own_overrides
from barnabas.cli.serve_options import ServeOptions, parse_serve_options

PIECES = st.sampled_from(
    [
        "--data-dir", "--listen", "--config", "--override", "--ephemeral", "--data-dir=/d", "--listen=h:1",
        "--override=a=b", "--override=", "--ephemeral=yes",
        "--help", "--bogus", "-x", "/tmp/d", "localhost:0", "a=b", "",
    ]
)  # fmt: skip


def by_click(arguments: list[str]) -> ServeOptions | None:
    """What click makes of a line; None when it refuses it or shows help."""
    taken: list[ServeOptions] = []
    command = click.Command(
        "serve",
        params=serve_command.command.params,
        callback=lambda **options: taken.append(_options(options)),
    )
    result = CliRunner().invoke(command, arguments)
    return taken[0] if taken and result.exit_code == 0 else None


def _options(given: dict[str, object]) -> ServeOptions:
    del given["print_config"], given["output"]
    if given["ephemeral"] and given["data_dir"] is not None:
        raise click.UsageError("exclusive")
    return ServeOptions(**given)  # type: ignore[arg-type]


@given(st.lists(PIECES, max_size=6))
def test_whatever_is_read_the_short_way_click_reads_alike(arguments: list[str]) -> None:
    options = parse_serve_options(arguments)
    if options is not None:
        assert by_click(arguments) == options


def test_a_full_line() -> None:
    options = parse_serve_options(
        ["--data-dir", "/d", "--listen=:1", "--config", "c", "--override", "a=b", "--override=c=d=e"]
    )
    assert options == ServeOptions(data_dir="/d", listen=":1", config="c", overrides=("a=b", "c=d=e"))


@pytest.mark.parametrize(
    "arguments",
    [
        ["--help"],
        ["--data-dir"],
        ["--data-dir", "--listen"],
        ["extra"],
        ["--dat", "/d"],
        ["--ephemeral", "--data-dir", "d"],
    ],
)
def test_click_gets_what_is_not_plain(arguments: list[str]) -> None:
    assert parse_serve_options(arguments) is None


def test_own_overrides_come_before_the_users() -> None:
    options = ServeOptions(data_dir="/d", listen="[::1]:9", overrides=("log.dirs=/e",))
    assert own_overrides(options, None) == ["log.dirs=/d", "listeners=PLAINTEXT://[::1]:9", "log.dirs=/e"]
    assert own_overrides(ServeOptions(ephemeral=True), "/scratch") == ["log.dirs=/scratch"]


def test_the_data_home_is_the_users() -> None:
    assert default_data_dir({"XDG_DATA_HOME": "/home/x/share"}) == "/home/x/share/barnabas"


def test_a_relative_data_home_is_ignored(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HOME", "/home/x")
    assert default_data_dir({"XDG_DATA_HOME": "share"}) == "/home/x/.local/share/barnabas"


def test_serve_imports_neither_click_nor_rich() -> None:
    code = (
        "import sys; from barnabas.cli import main, serve, serve_options; import barnabas.server.broker; "
        "slow = ('click', 'rich', 'tempfile', 'shutil', 'cramjam', 'dataclasses', 'inspect'); "
        "print([name for name in slow if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"
