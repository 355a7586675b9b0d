"""`barnabas explain`: how the broker would answer a request, step by step.

A running broker is asked by the socket in its data directory, so the answer is that of its memory: its
sessions, its newest batches, its watermarks. With --data-dir the files alone are looked at, by the code that
a start runs, and nothing is changed.
"""

import os
from collections.abc import Callable

import click

from barnabas.base.hints import Any
from barnabas.cli.explain.output import print_explanation
from barnabas.cli.explain.source import explain_directory, explain_running, list_sessions
from barnabas.cli.options import Bootstrap, BootstrapServers, ParamType, TopicName, output_option
from barnabas.cli.output import Column, print_json, print_table
from barnabas.cli.serve_options import ServeOptions

FETCH_VERSION_MAX = 18


class SessionName(ParamType):
    """ID:EPOCH"""

    name = "ID:EPOCH"

    def convert(
        self, value: Any, param: click.Parameter | None, ctx: click.Context | None
    ) -> tuple[int, int]:
        if isinstance(value, tuple):
            return value
        session_id, colon, epoch = str(value).partition(":")
        try:
            return int(session_id), int(epoch) if colon else int("")
        except ValueError:
            self.fail(f"{value!r} is not ID:EPOCH, two numbers", param, ctx)


@click.group()
def command() -> None:
    """Tell step by step how the broker would answer a request."""


def _request_options(decorated: Callable[..., Any]) -> Callable[..., Any]:
    """Add what a Fetch can ask for."""
    options = [
        click.option("--isolation", type=click.Choice(["read_uncommitted", "read_committed"]),
                     default="read_uncommitted", show_default=True, help="How far it may read."),
        click.option("--max-bytes", type=int, default=52_428_800, show_default=True,
                     help="Limit of the whole answer."),
        click.option("--partition-max-bytes", type=int, default=1_048_576, show_default=True,
                     help="Limit of this partition."),
        click.option("--min-bytes", type=int, default=1, show_default=True,
                     help="Bytes below which it waits."),
        click.option("--max-wait-ms", type=int, default=500, show_default=True,
                     help="The longest wait for them."),
        click.option("--leader-epoch", type=int, default=-1, help="The leader epoch the reader knows."),
        click.option("--last-fetched-epoch", type=int, default=-1,
                     help="The epoch of the last record it has, as followers tell it."),
        click.option("--replica-id", type=int, default=-1, help="The follower's node id; -1: a consumer."),
        click.option("--session", type=SessionName(), default=(0, -1),
                     help="Fetch session to go on with; 0:0 opens one, 0:-1 wants none (the default)."),
        click.option("--version", "api_version", type=click.IntRange(4, FETCH_VERSION_MAX),
                     default=FETCH_VERSION_MAX, show_default=True, help="Version of the Fetch API."),
    ]  # fmt: skip
    for option in reversed(options):
        decorated = option(decorated)
    return decorated


@command.command("fetch")
@click.argument("topic", type=TopicName())
@click.argument("partition", type=click.IntRange(min=0))
@click.argument("offset", type=int)
@_request_options
@click.option(
    "--bootstrap-server", "-b", type=BootstrapServers(), envvar="BARNABAS_BOOTSTRAP_SERVER",
    help="Ask the broker of this machine that answers there.",
)  # fmt: skip
@click.option("--data-dir", metavar="DIR[,DIR...]", help="Look at these files only; no broker is asked.")
@click.option("--config", metavar="FILE", help="With --data-dir: the broker's server.properties.")
@output_option
def explain_fetch(
    *,
    topic: str,
    partition: int,
    offset: int,
    bootstrap_server: Bootstrap | None,
    data_dir: str | None,
    config: str | None,
    output: str,
    isolation: str,
    api_version: int,
    **limits: Any,
) -> None:
    """Tell how a Fetch of TOPIC's PARTITION at OFFSET would be answered.

    Each line is one step of the read path: session, bounds, segment, index entry, batch headers, the slice of
    the file, and whether the answer goes out now or waits, with the name of the rule it follows (see
    docs/explain.md). The broker of this machine's default data directory is asked, else the one at
    localhost:9092; with --data-dir, running or not, files are looked at and nothing is changed.

    \b
    Examples:
      barnabas explain fetch orders 0 1234
      barnabas explain fetch orders 0 1234 --min-bytes 1048576 --max-wait-ms 3000
      barnabas explain fetch orders 0 1234 --isolation read_committed --output json
      barnabas explain fetch orders 0 1234 --data-dir /var/lib/barnabas
    """
    if data_dir is not None and bootstrap_server is not None:
        raise click.UsageError(
            "--data-dir looks at files, --bootstrap-server asks a broker: give one of them"
        )
    if config is not None and data_dir is None:
        raise click.UsageError("--config goes with --data-dir")
    question = {
        "topic": topic,
        "partition": partition,
        "offset": offset,
        "version": api_version,
        "read_committed": isolation == "read_committed",
        **limits,
    }
    if data_dir is not None:
        paths = ",".join(os.path.abspath(path) for path in data_dir.split(","))
        options = ServeOptions(config=config, overrides=(f"log.dirs={paths}",))
        explanation = explain_directory(options, question)
    else:
        explanation = explain_running(bootstrap_server, question)
    if output == "json":
        print_json(explanation)
    else:
        print_explanation(explanation)


@command.command("sessions")
@click.option(
    "--bootstrap-server", "-b", type=BootstrapServers(), envvar="BARNABAS_BOOTSTRAP_SERVER",
    help="Ask the broker of this machine that answers there.",
)  # fmt: skip
@output_option
def explain_sessions(*, bootstrap_server: Bootstrap | None, output: str) -> None:
    """List the incremental fetch sessions that live in a running broker (KIP-227).

    NEXT EPOCH is what the session's next request has to name; a follower's session cannot be displaced by
    a consumer's. `barnabas explain fetch --session ID:EPOCH` tells what the next fetch of one would hear.

    \b
    Examples:
      barnabas explain sessions
      barnabas explain sessions -b localhost:9092 --output json
    """
    found = list_sessions(bootstrap_server)
    if output == "json":
        print_json(found)
        return
    numbers = ("id", "next epoch", "partitions", "age s", "idle s")
    columns = [Column(heading=heading, number=True) for heading in numbers]
    columns += [Column(heading=heading) for heading in ("of a", "client id", "client host")]
    print_table(
        columns,
        [
            (
                session["id"],
                session["epoch"],
                session["size"],
                session["age_ms"] // 1000,
                session["idle_ms"] // 1000,
                "follower" if session["privileged"] else "consumer",
                session["client_id"],
                session["client_host"],
            )
            for session in found
        ],
    )
