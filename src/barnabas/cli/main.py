"""Where the process starts: `serve` by the short way, every other command through click.

Importing click costs more than starting the broker does, so a plain `serve` line is parsed here by
`serve_options`; whatever that does not understand (`--help`, a mistyped option) goes to click, which
knows the same options and answers with its usual words. Rejected: argparse for serve, which is half of
click's cost and would make the help of one command look unlike the others.
"""

import sys
from collections.abc import Sequence

from barnabas.base.hints import NoReturn

EXIT_OK = 0
EXIT_FAILURE = 1
EXIT_USAGE = 2
EXIT_INTERRUPTED = 130


def main(arguments: Sequence[str] | None = None) -> NoReturn:
    """Run the command line and exit with its code: 0 done, 1 failed, 2 wrongly called, 130 interrupted.

    Args:
        arguments: without the program's name; None takes the process's own.
    """
    try:
        _run(list(sys.argv[1:] if arguments is None else arguments))
    except KeyboardInterrupt:  # while modules were imported: commands and click answer it themselves
        sys.exit(EXIT_INTERRUPTED)


def _run(given: list[str]) -> NoReturn:
    if given[:1] == ["serve"]:
        from barnabas.cli.serve_options import parse_serve_options

        options = parse_serve_options(given[1:])
        if options is not None:
            from barnabas.cli.serve import serve

            sys.exit(serve(options))
    from barnabas.cli.root import root

    root.main(args=given, prog_name="barnabas")
    raise AssertionError("click exits by itself")
