"""Programs that use MXNet as libraries do, on private names and private state; `make_values.py` stores MXNet's results.

A program is a public function that takes the package (``mx``: the real one, or the alias) and returns what `plain` converts to JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import files, gluon_state, hooks, loaders, monitors, names, object_state, private_functions, samplers, star_imports, symbols, values
from tests.oracle_programs import programs_of


def all_programs() -> dict[str, Callable[[Any], Any]]:
    """The programs by module and name."""
    return programs_of(
        (files, gluon_state, hooks, loaders, monitors, names, object_state, private_functions, samplers, star_imports, symbols, values)
    )
