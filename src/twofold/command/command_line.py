"""The command line: parses arguments and runs the selected program."""

import argparse
import os
import re
import sys
from collections.abc import Container, Sequence
from importlib import import_module

from ..errors import FormatError, LaunchError, MissingDependency, ParameterError, printable
from ..suggestions import did_you_mean

#: The programs by name, with their descriptions for ``-h``. The module of a program is imported when the program is asked for.
PROGRAMS = {
    "run": "run a script that imports mxnet, or NumPy, on Twofold.",
    "launch": "run a program in several processes, on this machine or on others, by MPI.",
    "doctor": "show what is installed, what is in use, and what could be added.",
    "demo": "train on real handwritten digits in four ways, check that they agree, and write a report.",
    "im2rec": "make a list of the images in a folder, and a file of records of a list.",
    "show": "print and picture what is in a file of records, arrays, states or a network.",
    "completion": "print what makes a shell complete these commands and their options.",
}
#: Commands that end with a program and its arguments.
RUNNERS = ("run", "launch")
#: The exit status of Python, and of `argparse`, where nothing was run.
NOT_STARTED = 2
#: The exit status of a program whose input is damaged.
DAMAGED = 2


def main(arguments: Sequence[str] | None = None) -> int:
    """Run the program that the arguments select.

    Parameters
    ----------
    arguments
        The arguments; those of the command line if None.

    Returns
    -------
    int
        The exit status.
    """
    try:
        import_module("..config", __package__).fake_gpus()  # reads the settings in the environment
    except ParameterError as error:
        return _failed(error, NOT_STARTED)
    words = sys.argv[1:] if arguments is None else list(arguments)
    given = _parsed(words)
    try:
        status = given.program.execute(given)
        if given.name != "run":
            sys.stdout.flush()
        return status
    except LaunchError as error:
        return _failed(error, NOT_STARTED)
    except (OSError, MissingDependency, FormatError) as error:
        if given.name == "run":
            raise  # it is the script's own error, and its traceback is useful
        if isinstance(error, BrokenPipeError) or not _is_written():
            os.dup2(os.open(os.devnull, os.O_WRONLY), sys.stdout.fileno())  # Python flushes it once more at exit
            # the reader of the output, such as `head`, has enough; or the disk is full
            return 1 if isinstance(error, BrokenPipeError) else _failed(error, 1)
        return _failed(error, DAMAGED if isinstance(error, FormatError) else 1)


def _is_written() -> bool:
    """Whether all output is written: not if nobody reads it, or the disk is full."""
    try:
        sys.stdout.flush()
    except OSError:
        return False
    return True


def parser_of(asked: Container[str | None]) -> argparse.ArgumentParser:
    """The parser of the command line, with the arguments of the given commands only: adding those of all commands would import them all."""
    parser = argparse.ArgumentParser(prog="twofold", description="Runs MXNet 1.x and NumPy programs; shows what is installed.")
    programs = parser.add_subparsers(title="programs", required=True, metavar="PROGRAM", dest="name")
    for name, line in PROGRAMS.items():
        own = programs.add_parser(name, help=line, description=line, allow_abbrev=False)
        if name in asked:
            program = import_module(f".{name}", __package__)
            program.add_arguments(own)
            own.set_defaults(program=program, usage_error=own.error, help_text=own.format_help)
    return parser


def _parsed(words: Sequence[str]) -> argparse.Namespace:
    asked = next((word for word in words if not word.startswith("-")), None)  # no option before it takes a value
    parser = parser_of([asked])
    if asked is not None and asked not in PROGRAMS:
        parser.error(f"there is no program {asked!r}; " + did_you_mean(asked, PROGRAMS, f"choose from {', '.join(PROGRAMS)}"))
    own, arguments = list(words), []
    if words and words[0] in RUNNERS:
        own, arguments = import_module(f".{words[0]}", __package__).split(words[1:])
        own = [words[0], *own]
    given, unknown = parser.parse_known_args(own)
    if unknown:
        # the main parser's own message would not show the program's usage
        given.usage_error("; ".join([f"unrecognized arguments: {' '.join(unknown)}", *_meant(unknown, given.help_text())]))
    given.arguments = arguments
    return given


def _meant(unknown: Sequence[str], text: str) -> list[str]:
    """Which options of a program's help are meant by options that it does not have, if any is near."""
    options = re.findall(r"--[\w-]+", text)
    words = [word.partition("=")[0] for word in unknown if word.startswith("--")]
    return [meant for word in words if (meant := did_you_mean(word, options, ""))]


def _failed(error: Exception, status: int) -> int:
    """Print an error in one line; returns the exit status."""
    print("twofold:", printable(" ".join(str(error).split())), file=sys.stderr)
    return status
