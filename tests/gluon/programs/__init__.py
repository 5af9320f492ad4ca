"""Small Gluon programs that run on the real MXNet and on Twofold alike; `make_values.py` stores what MXNet computes.

A program is a public function of a module here; it takes the package (``mx``) and returns something that can be written as JSON.
"""

from __future__ import annotations

import inspect
from collections.abc import Callable
from typing import Any

from . import blocks, convolutions, datasets, files, layers, losses, parameters, recurrent, trainers

MODULES = (blocks, convolutions, datasets, files, layers, losses, parameters, recurrent, trainers)


def all_programs() -> dict[str, Callable[[Any], Any]]:
    """The programs by module and name."""
    return {
        f"{module.__name__.rpartition('.')[2]}.{name}": function
        for module in MODULES
        for name, function in vars(module).items()
        if inspect.isfunction(function) and function.__module__ == module.__name__ and not name.startswith("_")
    }
