"""Packed weights, weights by gate, and checkpoints."""

from __future__ import annotations

import os
import tempfile
from typing import Any

import numpy as np

from tests.oracle_programs import fails, files_in


def _arrays(mx: Any, cell: Any, inputs: int = 3) -> dict[str, Any]:
    """Numbered arrays for a cell's parameters."""
    outputs, _ = cell.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    shapes = dict(zip(outputs.list_arguments(), outputs.infer_shape(data=(1, 2, inputs))[0]))  # noqa: B905
    return {name: mx.nd.array(np.arange(np.prod(s)).reshape(s)) for name, s in sorted(shapes.items()) if name != "data"}


def _unpacked_and_packed(mx: Any, cell: Any) -> Any:
    arrays = {**_arrays(mx, cell), "other": mx.nd.ones((1,))}
    names = sorted(arrays)
    unpacked = cell.unpack_weights(arrays)
    packed = cell.pack_weights(unpacked)
    same = all((packed[name].asnumpy() == arrays[name].asnumpy()).all() for name in names)
    return [unpacked, sorted(packed), same, sorted(arrays) == names, list(unpacked)]


def basic_cells(mx):
    return [_unpacked_and_packed(mx, cell) for cell in (mx.rnn.LSTMCell(2), mx.rnn.GRUCell(2, prefix="g_"), mx.rnn.RNNCell(2))]


def fused_cells(mx):
    return [
        _unpacked_and_packed(mx, mx.rnn.FusedRNNCell(2, layers, mode, bidirectional, prefix="f_"))
        for layers, mode, bidirectional in [(2, "lstm", True), (2, "gru", False), (1, "rnn_relu", True)]
    ]


def containers_and_modifiers(mx):
    stack = mx.rnn.SequentialRNNCell()
    stack.add(mx.rnn.GRUCell(2, prefix="g_"))
    stack.add(mx.rnn.DropoutCell(0.5))
    stack.add(mx.rnn.ZoneoutCell(mx.rnn.RNNCell(2, prefix="r_"), 0.5))
    both = mx.rnn.BidirectionalCell(mx.rnn.LSTMCell(2, prefix="l_"), mx.rnn.LSTMCell(2, prefix="r_"))
    return [_unpacked_and_packed(mx, stack), _unpacked_and_packed(mx, both)]


def missing_arrays_are_errors(mx):
    cells = (mx.rnn.LSTMCell(2), mx.rnn.FusedRNNCell(2))
    found = [
        fails(lambda cell=cell, method=method: getattr(cell, method)({})) for cell in cells for method in ("unpack_weights", "pack_weights")
    ]
    return [*found, fails(lambda: mx.rnn.FusedRNNCell(2).unpack_weights({"lstm_parameters": mx.nd.zeros((57,))}))]


def checkpoints(mx):
    fused = mx.rnn.FusedRNNCell(2, 2, "gru", prefix="f_")
    outputs, _ = fused.unroll(2, mx.sym.Variable("data"), merge_outputs=True)
    arrays = _arrays(mx, fused)
    with tempfile.TemporaryDirectory() as folder:
        prefix = os.path.join(folder, "model")
        mx.rnn.save_rnn_checkpoint(fused, prefix, 3, outputs, arrays, {})
        stored = mx.nd.load(f"{prefix}-0003.params")
        symbol, read, aux = mx.rnn.load_rnn_checkpoint([fused], prefix, 3)
        _, unfused, _ = mx.rnn.load_rnn_checkpoint(fused.unfuse(), prefix, 3)
        callback = mx.rnn.do_rnn_checkpoint(fused, f"{prefix}-each", 2)
        for epoch in range(4):
            callback(epoch, outputs, arrays, {})
        return [stored, symbol.list_arguments(), read, aux, unfused, files_in(folder)]
