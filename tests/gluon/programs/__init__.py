"""Small Gluon programs that run on the real MXNet and on Twofold alike; `make_values.py` stores what MXNet computes.

A program is a public function of a module here; it takes the package (``mx``) and returns a value that can be written as JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import (
    blocks,
    contrib_layers,
    convolutions,
    datasets,
    estimators,
    files,
    layers,
    losses,
    model_zoo,
    node_names,
    parameters,
    recurrent,
    trainers,
)
from tests.oracle_programs import programs_of

MODULES = (
    blocks,
    contrib_layers,
    convolutions,
    datasets,
    estimators,
    files,
    layers,
    losses,
    model_zoo,
    node_names,
    parameters,
    recurrent,
    trainers,
)


def all_programs() -> dict[str, Callable[[Any], Any]]:
    """The programs by module and name."""
    return programs_of(MODULES)
