"""Small training programs that run on the real MXNet and on Twofold alike; `make_values.py` stores what MXNet computes.

A program is a public function of the package (``mx``) that returns something that `plain` can write as JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import callbacks, initializers, iterators, metrics, optimizers, schedules, stores
from tests.oracle_programs import programs_of


def all_programs() -> dict[str, Callable[[Any], Any]]:
    """The programs by module and name."""
    return programs_of((callbacks, initializers, iterators, metrics, optimizers, schedules, stores))
