"""Runs the programs on arrays with the real MXNet and writes their results to `values.json`.

../shared/tools/oracle tests/ndarray/make_values.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.ndarray.programs import differing_programs, equal_programs
from tests.oracle_programs import rounded, write_values

if __name__ == "__main__":
    write_values(__file__, equal_programs() | differing_programs(), mx, rounded)
