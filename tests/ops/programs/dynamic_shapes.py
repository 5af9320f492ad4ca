"""Blocks, executors and files of graphs in which a shape depends on values."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

X = [[1, 2], [3, 4], [5, 6]]


def _selecting(mx: Any) -> Any:
    class Selecting(mx.gluon.HybridBlock):
        def hybrid_forward(self, F: Any, x: Any, mask: Any) -> Any:
            chosen = F.contrib.boolean_mask(x * 2, mask)
            return F.sum(chosen * chosen, axis=1), F.contrib.boolean_mask(chosen, F.sum(chosen, axis=1) > 6)

    block = Selecting()
    block.hybridize()
    return block


def hybridized_block(mx: Any) -> Any:
    block, found = _selecting(mx), []
    for mask in ([1, 0, 1], [0, 1, 0], [1, 1, 1]):
        x = mx.nd.array(X)
        x.attach_grad()
        with mx.autograd.record():
            sums, rows = block(x, mx.nd.array(mask))
            total = sums.sum() + rows.sum()
        total.backward()
        found.append([sums, rows, x.grad])
    return found


def layers_on_both_sides(mx: Any) -> Any:
    class Layers(mx.gluon.HybridBlock):
        def __init__(self) -> None:
            super().__init__()
            with self.name_scope():
                self.before, self.norm = mx.gluon.nn.Dense(2, in_units=2), mx.gluon.nn.BatchNorm(in_channels=2)
                self.after = mx.gluon.nn.Dense(1, in_units=2)

        def hybrid_forward(self, F: Any, x: Any, mask: Any) -> Any:
            return self.after(F.contrib.boolean_mask(self.norm(self.before(x)), mask))

    block = Layers()
    block.initialize(mx.init.One())
    block.hybridize()
    x, mask = mx.nd.array([[1, 2], [4, 3], [6, 5], [0, 1]]), mx.nd.array([0, 1, 1, 0])
    with mx.autograd.record():
        out = block(x, mask)
        loss = (out * out * mx.nd.array([[1], [3]])).sum()
    loss.backward()
    gradients = [p.grad() for p in block.collect_params().values() if p.grad_req != "null"]
    return [out, gradients, block.norm.running_mean.data(), block.norm.running_var.data(), block(x, mask)]


def executor(mx: Any) -> Any:
    x, mask = mx.sym.Variable("x"), mx.sym.Variable("mask")
    chosen = mx.sym.contrib.boolean_mask(x * x, mask, name="chosen")
    given = {"x": mx.nd.array(X), "mask": mx.nd.array([1, 0, 1])}
    gradients = {"x": mx.nd.ones((3, 2)), "mask": mx.nd.ones((3,))}
    bound = chosen.bind(mx.cpu(), given, gradients, grad_req={"x": "add", "mask": "write"})
    bound.forward(is_train=True)
    first = bound.outputs[0].copy()
    bound.backward(mx.nd.array([[1, 2], [3, 4]]))
    return [chosen.list_arguments(), chosen.list_outputs(), first, gradients["x"], gradients["mask"]]


def exported_block(mx: Any) -> Any:
    block, given = _selecting(mx), (mx.nd.array(X), mx.nd.array([1, 0, 1]))
    block(*given)
    with tempfile.TemporaryDirectory() as folder:
        block.export(str(Path(folder) / "block"), 0)
        again = mx.gluon.SymbolBlock.imports(str(Path(folder) / "block-symbol.json"), ["data0", "data1"], None)
    return again(*given)
