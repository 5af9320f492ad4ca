"""Runs the programs on records and images with the real MXNet and writes their results to `values.json`.

../shared/tools/oracle tests/data/make_values.py, with opencv-python-headless<4.9 on the PYTHONPATH, which MXNet's pack_img needs.
"""

from __future__ import annotations

import sys
from pathlib import Path

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.data.programs import all_programs
from tests.oracle_programs import write_values

if __name__ == "__main__":
    write_values(__file__, all_programs(), mx)
