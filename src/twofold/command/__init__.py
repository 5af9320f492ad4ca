"""The command line programs: ``twofold run``, ``twofold doctor``, ``twofold demo``."""

from .command_line import main

__all__ = ["main"]
