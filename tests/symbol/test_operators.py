"""Every operator gives the same results and gradients as a symbol and on arrays, on every sample."""

import numpy as np
import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.opdef.registry import OPS
from twofold.opdef.samples import samples_of
from twofold.symbol.compose import apply_op
from twofold.testing.operands import make_operands

from tests import probe
from tests.cases import each, module_of

#: An operator without results, which only writes to its inputs, gives no symbol.
CASES = [(op, k, s) for op in OPS.values() if op.names and not op.random and op.outputs != 0 for k, s in enumerate(samples_of(op))]


@pytest.fixture(autouse=True)
def _verify(monkeypatch):
    monkeypatch.setattr(SETTINGS, "verify", True)


def gradients_of(op, sample, arrays):
    """(results, gradients) of the imperative call, in training mode."""
    call = getattr(mx.nd._internal, op.names[0], None) or getattr(mx.nd, op.names[0])
    cells = [None if a is None else mx.nd.array(a, dtype=a.dtype) for a in arrays]
    for c in cells:
        if c is not None and c.dtype in (np.float32, np.float64, np.float16):
            c.attach_grad()
    with mx.autograd.record():
        results = call(*cells, **sample.params)
    results = results if isinstance(results, list) else [results]
    heads = [r for r in results if op.differentiable and _is_recorded(r)]
    if heads:
        mx.autograd.backward(heads)
    return [r.asnumpy() for r in results], [None if c is None or c.grad is None else c.grad.asnumpy() for c in cells]


def _is_recorded(array):
    from twofold.imperative.cell import Value

    v = probe.content(array)
    return v.__class__ is Value and v.entry is not None and v.entry.node.tracked


@each("op, sample", [pytest.param(op, s, id=f"{op.title}-{k}") for op, k, s in CASES], by=module_of)
def test_symbolic_equals_imperative(op, sample):
    arrays = make_operands(op, sample)[: len(sample.inputs)]
    names = [f"x{k}" for k in range(len(arrays))]
    given = [None if a is None else mx.sym.var(n) for n, a in zip(names, arrays, strict=True)]
    if not op.variadic:
        given += [None] * (len(op.arrays) - len(given))
    symbol = apply_op(op, "op", given, sample.params)
    assert len(symbol.list_inputs()) == len([a for a in arrays if a is not None]), "an input is expected that the sample leaves out"
    results, grads = gradients_of(op, sample, arrays)
    cells = {n: mx.nd.array(a, dtype=a.dtype) for n, a in zip(names, arrays, strict=True) if a is not None}
    states = symbol.list_auxiliary_states()
    targets = {n: mx.nd.zeros(c.shape, dtype=c.dtype) for n, c in cells.items() if n not in states}
    executor = symbol.bind(mx.current_context(), cells, targets, aux_states=cells)
    for got, expected in zip(executor.forward(is_train=True), results, strict=True):
        np.testing.assert_allclose(got.asnumpy(), expected, rtol=1e-5, atol=1e-6)
        assert got.asnumpy().dtype == expected.dtype
    executor.backward()
    for name, expected in zip(names, grads, strict=True):
        if expected is not None and name in targets:
            np.testing.assert_allclose(targets[name].asnumpy(), expected, rtol=1e-4, atol=1e-5, err_msg=name)
