"""Small programs on records and images that run on the real MXNet and on Twofold alike; `make_values.py` stores MXNet's results.

A program is a public function that takes the package (``mx``) and returns a value that `plain` can convert to JSON.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

from . import images, numpy_arrays, record_iterators, records, sets, text_files, transforms
from tests.oracle_programs import programs_of


def all_programs() -> dict[str, Callable[[Any], Any]]:
    """The programs by module and name."""
    return programs_of((images, numpy_arrays, record_iterators, records, sets, text_files, transforms))
