"""The command line programs: ``twofold run``, ``twofold launch``, ``twofold doctor``, ``twofold demo``, ``twofold im2rec``."""

from .command_line import main

__all__ = ["main"]
