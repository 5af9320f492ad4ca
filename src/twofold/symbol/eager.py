"""A symbol's operators run one by one on arrays, as imperative code would run them: the way to evaluate while recording."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from ..errors import AutogradError
from ..imperative.cell import Value, wrap
from ..imperative.invoke import invoke
from ..imperative.record import tls
from ..ndarray.array import NDArray
from .inference import Inference
from .inference_rules import is_open
from .node import Head


def is_recorded(cells: Iterable[NDArray]) -> bool:
    """Whether operations on some of the arrays would be recorded now."""
    if tls.tape is None:
        return False
    return any(v.__class__ is Value and v.rec is not None and v.rec.node.tracked for v in (c._v for c in cells))


def evaluated(heads: Sequence[Head], arrays: Mapping[str, NDArray], training: bool) -> list[NDArray]:
    """The outputs for arrays by name.

    Raises
    ------
    AutogradError
        If the graph holds a node that is no operator on arrays.
    """
    values: dict[Head, Any] = {}
    inference = Inference(heads, {n: a.shape for n, a in arrays.items()}, {n: a._dtype for n, a in arrays.items()}).run()
    for node in inference.order:
        if node.is_variable:
            values[Head(node, 0)] = arrays[node.name]
            continue
        if node.op is None:
            raise AutogradError(
                f"node {node.name} ({node.op_name}) cannot be evaluated while gradients are recorded", None, "leave the record() scope"
            )
        operands = [values[h] for h in node.inputs]
        sig = node.sig(training, **({"shape": inference.known[node][0].shape} if is_open(node) else {}))
        contents = invoke(sig, [*node.operands(operands), *node.scalars])
        for name, new in zip(sig.op.mutates, contents[len(contents) - len(sig.op.mutates) :], strict=True):
            operands[node.input_names.index(name)]._v = new
        values |= {Head(node, k): wrap(NDArray, c) for k, c in enumerate(contents[: node.visible])}
    return [values[h] for h in heads]
