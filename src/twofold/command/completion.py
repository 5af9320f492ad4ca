"""``twofold completion``: print what makes a shell complete the commands and their options."""

import argparse
from importlib import import_module

from ..errors import MissingDependency
from .command_line import PROGRAMS, parser_of

SHELLS = ("bash", "zsh", "tcsh")


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the program's arguments."""
    parser.add_argument("shell", choices=SHELLS, help='put the output where it looks: eval "$(twofold completion bash)" in ~/.bashrc')


def execute(given: argparse.Namespace) -> int:
    """Print the completion of a shell; returns 0."""
    try:
        shtab = import_module("shtab")
    except ImportError as error:
        raise MissingDependency.of("shtab", "the completion of commands", "twofold[completion]") from error
    # all programs are imported here: only their modules know their options
    print(shtab.complete(parser_of(PROGRAMS), shell=given.shell))
    return 0
