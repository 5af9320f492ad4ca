"""Runs the operator programs with the real MXNet and writes their results to `values.json`.

../shared/tools/oracle tests/ops/make_values.py
"""

from __future__ import annotations

import os
import sys
from concurrent.futures import ProcessPoolExecutor
from multiprocessing import get_context
from pathlib import Path
from typing import Any

import mxnet as mx

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.ops.programs import all_programs
from tests.oracle_programs import plain, write_values


def answer(name: str) -> Any:
    """The result of a program, as JSON."""
    return plain(all_programs()[name](mx))


def answers(names: list[str], onednn: bool) -> dict[str, Any]:
    """The results of programs in a process of their own, with oneDNN or without (MXNet reads the switch once)."""
    os.environ["MXNET_STORAGE_FALLBACK_LOG_VERBOSE"] = "0"
    os.environ["MXNET_MKLDNN_ENABLED"] = str(int(onednn))
    with ProcessPoolExecutor(1, mp_context=get_context("spawn")) as pool:
        return dict(zip(names, pool.map(answer, names)))


if __name__ == "__main__":
    programs = all_programs()
    # oneDNN alone has 8-bit layers, and refuses 16-bit floats
    with_onednn = [name for name in programs if name.startswith("quantized.")]
    found = answers([name for name in programs if name not in with_onednn], False) | answers(with_onednn, True)
    write_values(__file__, {name: lambda _, name=name: found[name] for name in programs}, mx)
