"""Evaluates probes, lines of a text, on the real MXNet and on Twofold alike: outcomes as JSON, one line each on standard output.

    ../shared/tools/oracle tests/probes/evaluation.py FILE [FIRST]
    python tests/probes/evaluation.py --twofold FILE

A line is one probe: statements, the value of the last of which is the outcome. ``<<a|b>>`` in a line makes a probe of each alternative.
Lines that begin with ``>`` are run before every probe of the file.
"""

from __future__ import annotations

import ast
import contextlib
import io
import itertools
import json
import math
import os
import random
import re
import sys
import tempfile
import warnings
from collections.abc import Callable
from pathlib import Path
from types import ModuleType
from typing import Any

import numpy as onp

ALTERNATIVES = re.compile(r"<<(.*?)>>(?!>)")


def read(path: Path) -> tuple[str, list[str]]:
    """The lines that precede every probe of a file, and its probes."""
    lines = [line for line in path.read_text(encoding="utf-8").splitlines() if line and not line.startswith("#")]
    before = "\n".join(line[1:].strip() for line in lines if line.startswith(">"))
    return before, list(dict.fromkeys(text for line in lines if not line.startswith(">") for text in expanded(line)))


def expanded(line: str) -> list[str]:
    """A line with each combination of its alternatives."""
    parts = ALTERNATIVES.split(line)
    choices = [part.split("|") if number % 2 else [part] for number, part in enumerate(parts)]
    return ["".join(chosen) for chosen in itertools.product(*choices)]


def outcome(text: str, before: str, names: dict[str, Any]) -> Any:
    """What a probe gives, as JSON; of an exception the classes, without those of one library only."""
    names = dict(names)
    body = ast.parse(before + "\n" + text).body
    last = body.pop() if isinstance(body[-1], ast.Expr) else None
    random.seed(1)
    onp.random.seed(1)  # noqa: NPY002
    names["mx"].random.seed(1)
    try:
        with (
            onp.errstate(all="ignore"),
            names["mx"].name.NameManager(),
            names["mx"].AttrScope(),
            names["mx"].autograd.pause(),
            warnings.catch_warnings(),
        ):
            warnings.simplefilter("ignore")
            exec(compile(ast.Module(body, []), "probe", "exec"), names)
            return None if last is None else plain(eval(compile(ast.Expression(last.value), "probe", "eval"), names))
    except Exception as error:
        # `re.error` has another name from Python 3.13 on
        classes = ["error" if c is re.error else c.__name__ for c in type(error).__mro__[:-2]]
        return {"raises": classes, "text": str(error)[:100]}


def plain(value: Any) -> Any:
    """A value as JSON: arrays with their class, dtype, shape and elements; symbols with their names."""
    if value is None or isinstance(value, (bool, str)):
        return value
    if isinstance(value, (int, float)) and not isinstance(value, onp.generic):
        return number(value)
    if isinstance(value, tuple):
        return {"tuple": [plain(item) for item in value], "class": type(value).__name__}
    if isinstance(value, list):
        return [plain(item) for item in value]
    if isinstance(value, dict):
        return {type(value).__name__: [[plain(key), plain(item)] for key, item in value.items()]}
    if isinstance(value, (set, frozenset)):
        return {type(value).__name__: sorted(map(str, value))}
    if isinstance(value, bytes):
        return {"bytes": value.decode("latin1")}
    if isinstance(value, (onp.ndarray, onp.generic)):
        return {
            "class": f"numpy.{type(value).__name__.rstrip('_')}",
            "dtype": str(value.dtype),
            "shape": list(value.shape),
            "of": elements(value),
        }
    if isinstance(value, type):
        return {"type": value.__name__.rstrip("_")}
    if hasattr(value, "asnumpy"):
        host = value.asnumpy()
        kind = type(value).__name__.replace("View", "")
        return {"class": kind, "dtype": onp.dtype(value.dtype).name, "shape": list(value.shape), "of": elements(host)}
    if hasattr(value, "list_arguments"):
        return {"symbol": value.name, "arguments": value.list_arguments(), "outputs": value.list_outputs()}
    if isinstance(value, ModuleType):
        return {"module": value.__name__}
    if isinstance(value, onp.dtype):
        return {"numpy.dtype": value.name}
    return {"an": type(value).__name__}


def elements(host: Any) -> Any:
    """The elements as numbers."""
    return [number(x) for x in onp.asarray(host).reshape(-1)[:64].tolist()]


def number(x: Any) -> Any:
    """A number as JSON: rounded to the digits of single precision; nan, infinities and others as text."""
    if isinstance(x, float):
        return float(f"{x:.6g}") if math.isfinite(x) else str(x)
    return x if isinstance(x, (bool, int)) else str(x)


def warned(action: Callable[[], Any]) -> Any:
    """The classes of the warnings that an action issues, and its result."""
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        found = action()
    return [sorted({w.category.__name__ for w in caught}), found]


def printed(action: Callable[[], Any]) -> str:
    """What an action prints."""
    text = io.StringIO()
    with contextlib.redirect_stdout(text):
        action()
    return text.getvalue()


def helpers(mx: Any) -> dict[str, Any]:
    """The names that probes may use."""

    def grad(function: Callable[..., Any], *arrays: Any, head: Any = None) -> list[Any]:
        """The result of a function and the gradients of its arguments."""
        for a in arrays:
            a.attach_grad()
        with mx.autograd.record():
            found = function(*arrays)
        results = list(found) if isinstance(found, (list, tuple)) else [found]
        if head is None:
            mx.autograd.backward(results)
        else:
            results[0].backward(head)
        return [found, *(a.grad for a in arrays)]

    def run(function: Callable[..., Any], *arrays: Any) -> list[Any]:
        """The outputs of a function of symbols, and the gradients of its arguments if they are floating-point."""
        front = mx.sym.np if type(arrays[0]).__name__.startswith("ndarray") else mx.sym
        symbols = [mx.sym.var(f"x{i}") for i in range(len(arrays))]
        symbols = [s.as_np_ndarray() for s in symbols] if front is not mx.sym else symbols
        found = function(*symbols)
        found = mx.sym.Group(found) if isinstance(found, (list, tuple)) else found
        given = {s.name: arrays[i] for i, s in enumerate(symbols)}
        bound = found.bind(
            mx.cpu(),
            {n: given[n] for n in found.list_arguments()},
            {
                n: a.zeros_like() if front is mx.sym else mx.np.zeros_like(a)
                for n, a in given.items()
                if "float" in str(onp.dtype(a.dtype)) and n in found.list_arguments()
            },
        )
        outputs = list(bound.forward(is_train=True))
        bound.backward([o.ones_like() if front is mx.sym else mx.np.ones_like(o) for o in outputs])
        return [*outputs, *(bound.grad_dict.get(n) for n in given)]

    def of(dtype: str, values: Any) -> Any:
        return mx.np.array(onp.array(values).astype(dtype), dtype=dtype)

    def nd(dtype: str, values: Any) -> Any:
        return mx.nd.array(onp.array(values), dtype=dtype)

    return {
        "mx": mx,
        "onp": onp,
        "np": mx.np,
        "npx": mx.npx,
        "gluon": mx.gluon,
        "grad": grad,
        "run": run,
        "warned": warned,
        "printed": printed,
        "of": of,
        "nd": nd,
        "folder": tempfile.mkdtemp(),
        "os": os,
    }


def main() -> None:
    """Print the outcomes of a file's probes from a number on, each with its text."""
    words = sys.argv[1:]
    if words[0] == "--twofold":
        from twofold.compat import mxnet_alias, old_python

        mxnet_alias.install()
        old_python.install()
        words = words[1:]
    out = os.fdopen(os.dup(1), "w")
    os.dup2(2, 1)  # libraries in C print too
    import mxnet as mx

    before, texts = read(Path(words[0]))
    names = helpers(mx)
    for text in texts[int(words[1]) if len(words) > 1 else 0 :]:
        print(json.dumps(text), file=out, flush=True)
        print(json.dumps(outcome(text, before, names)), file=out, flush=True)


if __name__ == "__main__":
    main()
