"""The command line: parses arguments and runs the selected program."""

import argparse
import sys
from collections.abc import Sequence

from ..errors import MissingDependency, MissingFileError
from . import demo, doctor, run

__all__ = ["main"]

PROGRAMS = {"run": run, "doctor": doctor, "demo": demo}


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program that the arguments select.

    Parameters
    ----------
    arguments
        Those of the command line if None.

    Returns
    -------
    int
        The exit status.
    """
    parser = argparse.ArgumentParser(prog="twofold", description="Runs MXNet 1.x and NumPy programs; shows what is installed.")
    programs = parser.add_subparsers(title="programs", required=True, metavar="PROGRAM")
    for name, program in PROGRAMS.items():
        line = (program.__doc__ or "").partition(": ")[2].partition("\n")[0]
        own = programs.add_parser(name, help=line, description=line)
        program.add_arguments(own)
        own.set_defaults(program=program)
    given = parser.parse_args(arguments)
    try:
        return given.program.execute(given)
    except (MissingDependency, MissingFileError) as error:
        if given.program is run:
            raise  # it is the script's own error, and its traceback is useful
        print(f"twofold: {error}", file=sys.stderr)
        return 1
