"""Runs the programs with `mx.contrib` with the real MXNet and writes their results to `values.json`.

../shared/tools/oracle tests/contrib/make_values.py
"""

from __future__ import annotations

import sys
from pathlib import Path

import mxnet as mx
import mxnet.contrib.svrg_optimization.svrg_module

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.contrib.programs import all_programs
from tests.oracle_programs import plain, write_values


def _rounded(value: object) -> object:
    """Round numbers to the digits of single precision, to keep the file readable."""
    if isinstance(value, dict):
        return {key: _rounded(item) for key, item in value.items()}
    if isinstance(value, list):
        return [_rounded(item) for item in value]
    return float(f"{value:.8g}") if isinstance(value, float) else value


if __name__ == "__main__":
    write_values(__file__, all_programs(), mx, written=lambda value: _rounded(plain(value)))
