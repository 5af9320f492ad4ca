"""Examples of operators: calls on their declared samples, run when the documentation is built."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

import numpy as np

import twofold as mx
from twofold.opdef.samples import Drawn, Sample, samples_of
from twofold.testing.operands import make_operands

if TYPE_CHECKING:
    from twofold.opdef.spec import Op

#: Arrays up to this size are written out, and results up to this size are printed.
SMALL = 18


def example_of(op: Op, function: str) -> str:
    """A session that calls an operator's function, with what it prints; empty if no sample is a call that users would write."""
    for sample in samples_of(op) or [Sample(tuple(Drawn((2, 3), 0.1, 0.9) for _ in op.arrays))]:
        try:
            return session(op, sample, function)
        except Exception:
            continue
    return ""


def session(op: Op, sample: Sample, function: str) -> str:
    """The session for one sample."""
    values = make_operands(op, sample)[: len(sample.inputs)]
    names = [f"{op.arrays[-1].name}{k}" for k in range(len(values))] if op.variadic else [i.name for i in op.arrays]
    known: dict[str, Any] = {"mx": mx}
    lines, arguments = [], []
    for name, drawn, value in zip(names, sample.inputs, values, strict=False):
        if drawn is not None:
            text = array_text(drawn, value, "np" if function.startswith("mx.npx.") else "nd")
            known[name] = eval(text, known)
            lines.append(f">>> {name} = {text}")
            arguments.append(name if len(arguments) == names.index(name) else f"{name}={name}")
    arguments += [f"{key}={given!r}" for key, given in sample.params.items() if key in op.params]
    call = f"{function}({', '.join(arguments)})"
    mx.random.seed(0)
    found = eval(call, known)
    several = isinstance(found, (list, tuple))
    small = not op.random and all(f.size <= SMALL for f in (found if several else [found]))
    if several:
        return "\n".join([*lines, f">>> {', '.join(letters(len(found)))} = {call}", *shown(letters(len(found)), found, small)])
    return "\n".join([*lines, f">>> {call}" if small else f">>> {call}.shape", str(found) if small else str(found.shape)])


def letters(count: int) -> list[str]:
    """Names for several results."""
    return [f"result{k}" for k in range(count)]


def shown(names: list[str], found: Any, small: bool) -> list[str]:
    """Lines that print several results, or their shapes."""
    lines = []
    for name, array in zip(names, found, strict=True):
        lines += [f">>> {name}" if small else f">>> {name}.shape", str(array) if small else str(array.shape)]
    return lines


def array_text(drawn: Drawn, value: np.ndarray, front: str) -> str:
    """An expression for an array of ``nd`` or ``np`` like a drawn one: its values where they are few, else a random one of its shape."""
    if value.size <= SMALL:
        values = value.astype(int).tolist() if drawn.whole else np.round(value.astype(float), 2).tolist()
        dtype = "" if value.dtype == np.float32 else f", dtype={value.dtype.name!r}"
        return f"mx.{front}.array({values}{dtype})"
    if drawn.then is not None:
        raise ValueError("an operand that is computed from what is drawn, and too large to be written out")
    shape = f"{'size' if front == 'np' else 'shape'}={drawn.shape}"
    if drawn.whole:
        return f"mx.{front}.random.randint({int(drawn.low)}, {int(drawn.high)}, {shape}).astype({value.dtype.name!r})"
    return f"mx.{front}.random.uniform({drawn.low:g}, {drawn.high:g}, {shape})"
