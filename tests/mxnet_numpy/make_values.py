"""Evaluates expressions and compositions with the real MXNet and writes their results to `values.json` and `nodes.json`.

../shared/tools/oracle tests/mxnet_numpy/make_values.py
"""

from __future__ import annotations

import json
import sys
from collections.abc import Iterable
from pathlib import Path
from typing import Any

import mxnet

sys.path.insert(0, str(Path(__file__).parents[2]))

from tests.mxnet_numpy.compositions import COMPOSITIONS, nodes
from tests.mxnet_numpy.evaluation import imported, result
from tests.mxnet_numpy.expressions import expressions


def write(name: str, rows: Iterable[tuple[str, Any]]) -> None:
    """Write results to a file, one per line, and print their number."""
    lines = [f"{json.dumps(text)}: {json.dumps(value)}" for text, value in rows]
    (Path(__file__).parent / name).write_text("{\n" + ",\n".join(lines) + "\n}\n")
    print(f"{len(lines)} expressions")


if __name__ == "__main__":
    mx, np, npx = imported(mxnet)
    texts = dict.fromkeys(text for group in expressions().values() for text in group)
    write("values.json", ((text, result(text, mx, np, npx)) for text in texts))
    write("nodes.json", ((text, nodes(text, mx)) for text in dict.fromkeys(COMPOSITIONS)))
