"""`barnabas doctor`: read everything in data directories, say what is wrong, mend it when asked."""

import json
import logging
import os
import sys

import click

from barnabas.base.hints import Any
from barnabas.cli.doctor.examination import CannotExamineError, Examination, examine
from barnabas.cli.doctor.findings import Finding, Fix, PartitionReport, Severity
from barnabas.cli.main import EXIT_FAILURE, EXIT_OK, EXIT_USAGE
from barnabas.cli.options import lines_output_option
from barnabas.cli.output import Column, counted, print_table, visible
from barnabas.cli.progress import size_text

_MODES = ("lossless", "drop-batches", "truncate")
_TOLD_MAX = 200
"""Findings that a person is shown; --output json shows all."""


@click.command()
@click.argument(
    "paths", metavar="DATA_DIR...", nargs=-1, required=True, type=click.Path(exists=False, file_okay=False)
)
@click.option("--repair", type=click.Choice(_MODES), help="Mend what is found; see below.")
@click.option(
    "--backup-to",
    type=click.Path(file_okay=False),
    help="Where the copies go of what a repair changes; beside DATA_DIR when not given.",
)
@click.option(
    "--live", is_flag=True, help="Look although a broker is at it; what it has not finished is not judged."
)
@click.option(
    "--jobs",
    "-j",
    type=click.IntRange(1, 64),
    default=min(4, os.cpu_count() or 1),
    show_default=True,
    help="Partitions read at one time.",
)
@click.option("--quiet", "-q", is_flag=True, help="No progress.")
@lines_output_option
def command(
    *,
    paths: tuple[str, ...],
    repair: str | None,
    backup_to: str | None,
    live: bool,
    jobs: int,
    quiet: bool,
    output: str,
) -> None:
    """Read everything in the log.dirs of a stopped broker and say what is damaged.

    Give all of the broker's directories: what is in one is compared with what the others say. Every batch's
    checksum, order and records are checked, and every index, snapshot, checkpoint and properties file
    against them. Nothing is changed without --repair. Exit code 0: nothing is wrong, 1: something is, 2: it
    could not be looked at.

    \b
    --repair lossless       put back what can be told from what is around it, make derived files anew
    --repair drop-batches   also leave damaged batches out, with gaps in the offsets
    --repair truncate       also end a log at its first damage, losing all that follows

    \b
    Examples:
      barnabas doctor data
      barnabas doctor /disk1/kafka /disk2/kafka --output json
      barnabas doctor data --repair lossless
    """
    context = click.get_current_context()
    if live and repair:
        raise click.UsageError("--repair needs a stopped broker; it does not go with --live")
    roots = list(dict.fromkeys(os.path.abspath(path) for path in paths))
    progress = _Progress(quiet=quiet)
    # What opening a log says of its repairs would mislead: here they happen in memory, or are told anyway.
    silenced = logging.root.manager.disable
    logging.disable(logging.CRITICAL)
    context.call_on_close(lambda: logging.disable(silenced))
    try:
        found = examine(roots, jobs=jobs, live=live, must_lock=repair is not None, tell=progress.tell)
    except CannotExamineError as error:
        click.echo(f"barnabas: {error}", err=True)
        context.exit(EXIT_USAGE)
    finally:
        progress.done()
    try:
        _show(found, output)
        code = EXIT_OK if found.is_clean else EXIT_FAILURE
        if repair is not None and not found.is_clean:
            code = _repair(found, repair, backup_to, output)
    finally:
        found.release()
    context.exit(code)


def _repair(found: Examination, mode: str, backup_to: str | None, output: str) -> int:
    from barnabas.cli.doctor.repair import CannotRepairError, repair

    try:
        done = repair(found, mode=mode, backup_to=backup_to)
    except (CannotRepairError, OSError) as error:
        click.echo(f"barnabas: {error}", err=True)
        return EXIT_USAGE
    if output == "json":
        for action in done.actions:
            click.echo(json.dumps({"kind": "repair", **action.to_json()}, ensure_ascii=False))
        click.echo(
            json.dumps(
                {"kind": "repaired", "actions": len(done.actions), "left": done.left, "copies": done.copies},
                ensure_ascii=False,
            )
        )
    else:
        for action in done.actions:
            click.echo(f"  {visible(action.path)}: {action.what}")
        for copy in done.copies:
            click.echo(f"what was changed is kept as it was in {visible(copy)}")
        click.echo(f"{len(done.actions)} repaired, {done.left} left")
    return EXIT_OK if not done.left else EXIT_FAILURE


class _Progress:
    """A line on standard error, where that is a terminal."""

    def __init__(self, *, quiet: bool) -> None:
        self._live = not quiet and sys.stderr.isatty()
        self._bytes = 0

    def tell(self, report: PartitionReport, done: int, count: int) -> None:
        """A partition is done."""
        self._bytes += report.size_bytes
        if self._live:
            sys.stderr.write(
                f"\r\x1b[K{done} of {counted(count, 'partition')}, {size_text(self._bytes)} read"
            )
            sys.stderr.flush()

    def done(self) -> None:
        """Clear the line."""
        if self._live:
            sys.stderr.write("\r\x1b[K")


def _show(found: Examination, output: str) -> None:
    if output == "json":
        for finding in found.all_findings():
            click.echo(json.dumps(finding.to_json(), ensure_ascii=False))
        for _, report in found.partitions:
            click.echo(json.dumps(_partition_json(report), ensure_ascii=False))
        click.echo(json.dumps(_summary_json(found), ensure_ascii=False))
        return
    findings = sorted(found.all_findings(), key=lambda f: list(Severity).index(f.severity))
    if findings:
        columns = [
            Column(heading="SEVERITY"),
            Column(heading="WHERE"),
            Column(heading="WHAT"),
            Column(heading="REPAIR"),
            Column(heading="LOSES"),
        ]
        print_table(columns, [_row(finding) for finding in findings[:_TOLD_MAX]])
        more = len(findings) - _TOLD_MAX + sum(report.more_findings for _, report in found.partitions)
        if more > 0:
            click.echo(f"and {more} more; --output json shows them")
    for _, report in found.partitions:
        loss = report.cut_loss
        if not loss.is_nothing and any(f.fix is Fix.DROP for f in report.damage):
            click.echo(
                f"{report.name}: --repair truncate would end it at offset {loss.first_offset} and lose "
                f"{counted(loss.records, 'offset')}, {size_text(loss.size_bytes)}; "
                f"--repair drop-batches would lose {_dropped_text(report)}"
            )
    summary = _summary_json(found)
    click.echo(
        f"{counted(summary['partitions'], 'partition')}, {counted(summary['batches'], 'batch', 'batches')}, "
        f"{counted(summary['records'], 'record')}, {size_text(summary['bytes'])}: "
        + ("no damage found" if found.is_clean else counted(summary["findings"], "finding"))
    )


def _dropped_text(report: PartitionReport) -> str:
    losses = [finding.loss for finding in report.damage]
    records = sum(loss.records for loss in losses if loss.records > 0)
    return f"{counted(records, 'offset')}, {size_text(sum(loss.size_bytes for loss in losses))}"


def _row(finding: Finding) -> list[str | int | None]:
    where = finding.file
    if finding.position is not None:
        where += f" at {finding.position}"
    loss = finding.loss
    lost = ""
    if not loss.is_nothing:
        offsets = (
            f"offsets {loss.first_offset}-{loss.last_offset}" if loss.last_offset >= 0 else "unknown offsets"
        )
        lost = f"{offsets}, {size_text(loss.size_bytes)}" if loss.size_bytes else offsets
    offset = "" if finding.offset is None else f"offset {finding.offset}: "
    return [
        finding.severity.value,
        where,
        f"{finding.kind}: {offset}{finding.cause}",
        finding.fix.value,
        lost,
    ]


def _partition_json(report: PartitionReport) -> dict[str, Any]:
    return {
        "kind": "partition",
        "partition": report.name,
        "path": report.path,
        "log_start_offset": report.log_start_offset,
        "log_end_offset": report.log_end_offset,
        "segments": report.segments,
        "batches": report.batches,
        "records": report.records,
        "bytes": report.size_bytes,
        "findings": len(report.findings) + report.more_findings,
        "truncate_would_lose": {
            "first_offset": report.cut_loss.first_offset,
            "last_offset": report.cut_loss.last_offset,
            "records": report.cut_loss.records,
            "bytes": report.cut_loss.size_bytes,
        },
    }


def _summary_json(found: Examination) -> dict[str, Any]:
    reports = [report for _, report in found.partitions]
    return {
        "kind": "summary",
        "directories": len(found.roots),
        "partitions": len(reports),
        "batches": sum(report.batches for report in reports),
        "records": sum(report.records for report in reports),
        "bytes": sum(report.size_bytes for report in reports),
        "findings": sum(finding.severity is not Severity.NOTE for finding in found.all_findings()),
        "notes": sum(finding.severity is Severity.NOTE for finding in found.all_findings()),
    }
