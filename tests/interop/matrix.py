"""Who produced, who consumed, with which codec, and that all was equal: printed when the tests end.

A module and not part of this folder's conftest.py, since with several workers the process that prints
loads only the root's.
"""

import pytest


def write(terminalreporter: pytest.TerminalReporter) -> None:
    """Print who produced, who consumed, with which codec, and that all was equal."""
    cells: dict[tuple[str, str], dict[str, str]] = {}
    for outcome in ("passed", "failed"):
        for report in terminalreporter.getreports(outcome):
            properties = dict(report.user_properties)
            if "matrix_producer" not in properties:
                continue
            consumers = str(properties["matrix_consumers"]).split(",")
            mark = "ok" if outcome == "passed" else "FAILED"
            for consumer in consumers:
                row = cells.setdefault((str(properties["matrix_producer"]), consumer), {})
                row[str(properties["matrix_codec"])] = mark
    if not cells:
        return
    codecs = sorted({codec for row in cells.values() for codec in row})
    terminalreporter.write_sep("=", "interop matrix: every field of every record compared")
    terminalreporter.write_line(f"{'producer':<14}{'consumer':<14}" + "".join(f"{c:<10}" for c in codecs))
    for (producer, consumer), row in sorted(cells.items()):
        terminalreporter.write_line(
            f"{producer:<14}{consumer:<14}" + "".join(f"{row.get(c, ''):<10}" for c in codecs)
        )
