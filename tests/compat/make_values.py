"""Runs the programs on private names and state with the real MXNet and writes their results to `values.json`.

../shared/tools/oracle tests/compat/make_values.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.compat.programs import all_programs
from tests.oracle_programs import write_values

if __name__ == "__main__":
    write_values(__file__, all_programs(), mx)
