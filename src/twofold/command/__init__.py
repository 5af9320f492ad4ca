"""The command line programs: ``twofold`` ``run``, ``launch``, ``doctor``, ``demo``, ``im2rec`` and ``show``."""

from .command_line import main

__all__ = ["main"]
