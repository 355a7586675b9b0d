"""`./dev demo`: Barnabas at work, with nothing to set up.

`stream` (what runs unless told otherwise) streams Python's own source through a broker and back; `fetch`
repeats three published experiments on how a broker serves reads and compares the figures.
"""

import argparse
import importlib
import sys

DEMOS = {"stream": "tools.demo_stream", "fetch": "tools.demo_fetch"}


def main(arguments: list[str]) -> int:
    """Run a demo and return the exit code."""
    # Options alone belong to `stream`.
    if not arguments or (arguments[0].startswith("-") and arguments[0] not in ("-h", "--help")):
        arguments = ["stream", *arguments]
    parser = argparse.ArgumentParser(
        prog="./dev demo", description=__doc__, formatter_class=argparse.RawTextHelpFormatter
    )
    commands = parser.add_subparsers(dest="demo", required=True)
    modules = {name: importlib.import_module(path) for name, path in DEMOS.items()}
    for name, module in modules.items():
        summary = (module.__doc__ or "").splitlines()[0]
        command = commands.add_parser(
            name, help=summary, description=module.__doc__, formatter_class=argparse.RawTextHelpFormatter
        )
        module.add_options(command)
    options = parser.parse_args(arguments)
    return int(modules[options.demo].main(options))


if __name__ == "__main__":
    sys.exit(main(sys.argv[1:]))
