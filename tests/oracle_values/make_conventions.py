"""Evaluates every expression of the convention tables in the real MXNet and writes `conventions.json`.

../shared/tools/oracle tests/oracle_values/make_conventions.py tests/oracle_values
"""

from __future__ import annotations

import json
import sys
from pathlib import Path
from typing import TYPE_CHECKING, Any

import mxnet as mx
import numpy as np
from case_runner import first_line
from convention_tables.all_tables import all_rows

if TYPE_CHECKING:
    from convention_tables.declare import RowSpec


def describe(value: Any) -> dict[str, Any]:
    """A value as JSON: arrays by shape, dtype and content, sequences by their items, anything else by its repr."""
    kind = type(value).__name__
    if isinstance(value, (mx.nd.NDArray, np.ndarray)):
        content = value.asnumpy() if isinstance(value, mx.nd.NDArray) else value
        facts = {
            "shape": list(content.shape),
            "dtype": str(content.dtype),
            "values": plain(content.tolist()) if content.size < 100 else None,
        }
        return {"type": kind, **facts, "repr": repr(value)}
    if isinstance(value, (list, tuple)):
        return {"type": kind, "items": [describe(item) for item in value]}
    return {"type": kind, "repr": repr(value)}


def plain(value: Any) -> Any:
    """Nested lists of numbers that strict JSON can hold: nan, infinities and objects as strings."""
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, (bool, int)) or (isinstance(value, float) and np.isfinite(value)):
        return value
    return str(value)


def evaluate(row: RowSpec) -> dict[str, Any]:
    """The row with its result or its exception; names of symbols count from zero in each row."""
    names = {"mx": mx, "nd": mx.nd, "sym": mx.sym, "autograd": mx.autograd, "np": np}
    result: dict[str, Any] = {"topic": row.topic, "setup": row.setup, "expression": row.expression, "result": {}}
    try:
        with mx.name.NameManager():
            exec(row.setup, names)
            result["result"] = describe(eval(row.expression, names))
            mx.nd.waitall()
    except Exception as error:  # the exception is the fact that the row records
        result.update(result={}, exception=type(error).__name__, message=first_line(error))
    return result


def main(folder: Path) -> None:
    """Writes one row a line and says how many there are."""
    results = [evaluate(row) for row in all_rows()]
    lines = ",\n".join(json.dumps(result, allow_nan=False) for result in results)
    (folder / "conventions.json").write_text(f'{{"mxnet": "{mx.__version__}", "rows": [\n{lines}\n]}}\n')
    print(f"{len(results)} rows, {sum('exception' in result for result in results)} exceptions")


if __name__ == "__main__":
    main(Path(sys.argv[1]))
