"""Small programs on sparse arrays that run on the real MXNet and on Twofold alike; `make_values.py` stores what MXNet computes."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import arrays, batches, functions, gradients, graphs, modules, neighbors, storage, symbols, training, updates
from tests.oracle_programs import programs_of

MODULES = (arrays, batches, functions, gradients, graphs, modules, neighbors, storage, symbols, training, updates)


def all_programs() -> dict[str, Callable[[Any], Any]]:
    """The programs by module and name."""
    return programs_of(MODULES)
