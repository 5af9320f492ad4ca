"""Small module programs that run on the real MXNet and on Twofold alike; `make_values.py` stores MXNet's results.

A program is a public function that takes the package (``mx``) and returns a value that `plain` can convert to JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import composition, feed_forward, files, inference, life, own_optimizer, several_devices, training
from tests.oracle_programs import programs_of


def all_programs() -> dict[str, Callable[[Any], Any]]:
    """The programs by module and name."""
    return programs_of((life, inference, training, several_devices, files, composition, feed_forward, own_optimizer))
