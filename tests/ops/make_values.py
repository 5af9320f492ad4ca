"""Runs the operator programs with the real MXNet and writes their results to `values.json`.

../shared/tools/oracle tests/ops/make_values.py
"""

from __future__ import annotations

import os
import sys
from pathlib import Path

os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"
os.environ["MXNET_MKLDNN_ENABLED"] = "0"  # some of its own implementations refuse 16-bit floats
import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.ops.programs import all_programs
from tests.oracle_programs import write_values

if __name__ == "__main__":
    write_values(__file__, all_programs(), mx)
