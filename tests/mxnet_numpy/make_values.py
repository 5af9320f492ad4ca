"""Evaluates the expressions with the real MXNet and writes their results to `values.json`.

../shared/tools/oracle tests/mxnet_numpy/make_values.py
"""

from __future__ import annotations

import json
import sys
from pathlib import Path

import mxnet

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.mxnet_numpy.evaluation import imported, result
from tests.mxnet_numpy.expressions import expressions

if __name__ == "__main__":
    mx, np, npx = imported(mxnet)
    lines = [
        f"{json.dumps(text)}: {json.dumps(result(text, mx, np, npx))}" for group in expressions().values() for text in dict.fromkeys(group)
    ]
    (Path(__file__).parent / "values.json").write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(lines)} expressions")
