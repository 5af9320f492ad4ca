"""Runs the programs with recurrent cells with the real MXNet and writes their results to `values.json`.

../shared/tools/oracle tests/rnn/make_values.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.oracle_programs import rounded, write_values
from tests.rnn.programs import all_programs

if __name__ == "__main__":
    write_values(__file__, all_programs(), mx, written=rounded)
