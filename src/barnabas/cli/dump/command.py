"""`barnabas dump-log`: what the files of a log hold, and whether it is right."""

import json
import os

import click

from barnabas.base.disk import OsDisk
from barnabas.base.hints import Any
from barnabas.cli.dump.directory import DumpOptions, dump_file, files_under
from barnabas.cli.dump.findings import Findings, Problem, Row, Tally
from barnabas.cli.main import EXIT_FAILURE
from barnabas.cli.options import lines_output_option
from barnabas.cli.output import counted


@click.command()
@click.argument("paths", metavar="PATH...", nargs=-1, type=click.Path(exists=True))
@click.option("--files", metavar="PATH,...", help="The same as PATH..., as kafka-dump-log takes them.")
@click.option("--deep-iteration", "deep", is_flag=True, help="Show and check the records of every batch.")
@click.option("--print-data", is_flag=True, help="Show keys, values and headers (implies --deep-iteration).")
@click.option("--raw", is_flag=True, help="Do not decode the records of Kafka's own topics.")
@click.option(
    "--topic",
    metavar="NAME",
    help="Whose records they are, for files outside of their partition's directory.",
)
@click.option("--check-only", is_flag=True, help="Show problems only.")
@lines_output_option
def command(
    *,
    paths: tuple[str, ...],
    files: str | None,
    deep: bool,
    print_data: bool,
    raw: bool,
    topic: str | None,
    check_only: bool,
    output: str,
) -> None:
    """Show and check segments, indexes, snapshots, checkpoints and metadata records.

    PATH is a file, a partition's directory or a whole data directory; files that are being deleted,
    compacted or moved are read like others. Checked are: the CRC and length of every batch, that offsets
    rise, every index entry against the log beside it, snapshot checksums, counts.
    With --deep-iteration every record too. Exit code 1 when something is damaged.

    \b
    Examples:
      barnabas dump-log data/orders-0/00000000000000000000.log --print-data
      barnabas dump-log data/orders-0 --check-only --deep-iteration
      barnabas dump-log data/__cluster_metadata-0 --deep-iteration --output json
      barnabas dump-log --files a/00000000000000000000.log,b/00000000000000000000.index
    """
    given = [*paths, *(files or "").split(",")] if files else list(paths)
    if not given:
        raise click.UsageError("there is no PATH to show")
    for path in given:
        if not os.path.exists(path):
            raise click.UsageError(f"{path} does not exist")
    disk = OsDisk()
    for path in given:
        if next(files_under(disk, path), None) is None:
            raise click.UsageError(f"{path} holds no file of a log and no directory of a partition")
    options = DumpOptions(deep=deep or print_data, print_data=print_data, decode=not raw, topic=topic)
    tally = Tally()
    show = _show_json if output == "json" else _show_plain
    for path in given:
        for file in files_under(disk, path):
            tally.files += 1
            if output == "plain" and not check_only and os.path.exists(file):
                click.echo(f"{file}  {os.path.getsize(file)} bytes")
            for finding in _readable(disk, file, options):
                tally.add(file, finding)
                if not check_only or (isinstance(finding, Problem) and finding.damage):
                    show(file, finding)
    if output == "plain":
        _summarise(tally)
    if tally.damaged:
        click.get_current_context().exit(EXIT_FAILURE)


def _readable(disk: OsDisk, path: str, options: DumpOptions) -> Findings:
    """Yield the findings of a file; what cannot be read is damage and the next file's turn."""
    if os.path.exists(path) and not os.path.isfile(path):
        yield Problem(text="is no regular file")  # a pipe passes for an empty one, a device may never end
        return
    try:
        yield from dump_file(disk, path, options)
    except OSError as error:
        yield Problem(text=error.strerror or str(error))


def _show_plain(path: str, finding: Row | Problem) -> None:
    if isinstance(finding, Problem):
        mark = "DAMAGE" if finding.damage else "note"
        where = path if finding.position is None else f"{path} at byte {finding.position}"
        click.echo(f"{mark}: {where}: {finding.text}")
        return
    indent = "    " if finding.kind == "record" else "  "
    values = " ".join(f"{name}={_plain(value)}" for name, value in finding.values.items())
    click.echo(f"{indent}{finding.kind} {values}")


def _plain(value: Any) -> str:
    if value is None:
        return "null"
    if isinstance(value, bool):
        return "yes" if value else "no"
    if isinstance(value, dict | list):
        return json.dumps(value, ensure_ascii=False)
    if isinstance(value, str) and not value.isprintable():
        return json.dumps(value)
    return str(value)


def _show_json(path: str, finding: Row | Problem) -> None:
    if isinstance(finding, Problem):
        document: dict[str, Any] = {
            "file": path,
            "kind": "problem",
            "damage": finding.damage,
            "position": finding.position,
            "text": finding.text,
        }
    else:
        document = {"file": path, "kind": finding.kind, **finding.values}
    click.echo(json.dumps(document, ensure_ascii=False))


def _summarise(tally: Tally) -> None:
    damage = sum(problem.damage for _, problem in tally.problems)
    parts = [counted(tally.files, "file"), counted(tally.batches, "batch", "batches")]
    if tally.records:
        parts.append(counted(tally.records, "record"))
    parts.append(counted(damage, "problem") if damage else "no damage found")
    click.echo(", ".join(parts))
