"""Names of the nodes of recurrent cells as symbols."""

from __future__ import annotations

import itertools
import json
from typing import Any


def _cells(mx: Any) -> Any:
    rnn = mx.gluon.rnn
    bidirectional = rnn.BidirectionalCell(rnn.LSTMCell(2, prefix="l_"), rnn.LSTMCell(2, prefix="r_"))
    return [
        rnn.RNNCell(2, prefix="rnn_"),
        rnn.RNNCell(2, activation="relu", prefix="rnn_"),
        rnn.LSTMCell(2, prefix="lstm_"),
        rnn.GRUCell(2, prefix="gru_"),
        rnn.ZoneoutCell(rnn.RNNCell(2, prefix="rnn_"), 0.5, 0.5),
        rnn.ResidualCell(rnn.RNNCell(2, prefix="rnn_")),
        mx.gluon.contrib.rnn.LSTMPCell(3, 2, prefix="lstmp_"),
        mx.gluon.contrib.rnn.Conv1DGRUCell((2, 4), 2, 3, 3, prefix="conv_"),
        bidirectional,
    ]


def of_single_steps(mx: Any) -> Any:
    found = []
    for cell in _cells(mx)[:-1]:
        with mx.name.NameManager():
            out, states = cell(mx.sym.var("x"), cell.begin_state(func=mx.sym.var))
        found.append([out.get_internals().list_outputs(), [s.list_outputs() for s in states]])
    return found


def of_unrolled_cells(mx: Any) -> Any:
    found = []
    for cell in _cells(mx):
        with mx.name.NameManager():
            outputs, states = cell.unroll(2, [mx.sym.var("t0"), mx.sym.var("t1")], layout="NTC", merge_outputs=False)
        out = mx.sym.Group(outputs)
        found.append([out.get_internals().list_outputs(), out.list_outputs(), [s.list_outputs() for s in states]])
    return found


def of_merged_outputs(mx: Any) -> Any:
    found = []
    for cell in _cells(mx)[:4]:
        with mx.name.NameManager():
            out, _ = cell.unroll(2, mx.sym.var("x"), layout="NTC", merge_outputs=True)
        found.append(out.get_internals().list_outputs())
    return found


def _operators(mx: Any, values: Any) -> list[list[str]]:
    nodes = json.loads(mx.sym.Group(values).tojson())["nodes"]
    return [[node["op"], node["name"], *(f"{nodes[i]['name']} {k}" for i, k, *_ in node["inputs"])] for node in nodes]


def of_modified_and_bidirectional_cells(mx: Any) -> Any:
    rnn = mx.gluon.rnn

    def stacked() -> Any:
        cells = rnn.HybridSequentialRNNCell(prefix="s_")
        cells.add(rnn.LSTMCell(2, activation="relu", prefix="a_"))
        cells.add(rnn.ResidualCell(rnn.LSTMCell(2, recurrent_activation="tanh", prefix="b_")))
        return cells

    makers = (
        lambda: rnn.ResidualCell(rnn.RNNCell(2, prefix="rnn_")),
        lambda: rnn.BidirectionalCell(rnn.RNNCell(2, prefix="l_"), rnn.RNNCell(2, prefix="r_"), output_prefix="both_"),
        stacked,
    )
    found = []
    for make, merges, lengths, inputs in itertools.product(makers, (None, True, False), (None, "n"), ("x", ("t0", "t1"))):
        if merges is False and lengths:
            continue  # of a residual cell, MXNet takes the masked input for a list
        with mx.name.NameManager():
            cell = make()
            begin = [mx.sym.var(f"begin{k}") for k in range(len(cell.state_info()))]
            x = mx.sym.var(inputs) if isinstance(inputs, str) else [mx.sym.var(name) for name in inputs]
            out, states = cell.unroll(2, x, begin, "TNC", merges, lengths and mx.sym.var(lengths))
        found.append([isinstance(out, list), _operators(mx, [*(out if isinstance(out, list) else [out]), *states])])
    return found


def of_merged_dropout(mx: Any) -> Any:
    found = []
    for inputs in (mx.sym.var("x"), [mx.sym.var("t0"), mx.sym.var("t1")]):
        with mx.name.NameManager():
            out, _ = mx.gluon.rnn.DropoutCell(0.5, prefix="drop_").unroll(2, inputs, layout="NTC", merge_outputs=True)
        found.append(out.get_internals().list_outputs())
    return found


def unrolled_stacks(mx: Any) -> Any:
    """The nodes of stacks of cells that are unrolled over one symbol, and their row pointers."""
    rnn = mx.gluon.rnn
    found = {}
    cells = {
        "lstm": lambda: rnn.LSTMCell(3),
        "residual": lambda: rnn.ResidualCell(rnn.GRUCell(3)),
        "dropout": lambda: rnn.DropoutCell(0.2),
    }
    for kind in (rnn.SequentialRNNCell, rnn.HybridSequentialRNNCell):
        for name, make in cells.items():
            for merges in (None, True, False):
                with mx.name.NameManager():
                    stack = kind(prefix="stack_")
                    with stack.name_scope():
                        stack.add(make())
                        stack.add(rnn.GRUCell(3))
                    outputs, states = stack.unroll(2, mx.sym.var("x"), merge_outputs=merges)
                graph = json.loads(mx.sym.Group([*(outputs if isinstance(outputs, list) else [outputs]), *states]).tojson())
                nodes = " ".join("{}:{}".format(n["name"], ",".join(str(i[0]) for i in n["inputs"])) for n in graph["nodes"])
                found[f"{kind.__name__} {name} {merges}"] = [nodes, graph["node_row_ptr"][-1]]
    return found


def row_pointers(mx: Any) -> Any:
    """How many outputs files count, of operators that work in memory of their own, and the names of outputs."""
    sym = mx.sym
    operators = [
        ("BilinearSampler", {}),
        ("CTCLoss", {}),
        ("Correlation", {}),
        ("Dropout", {}),
        ("GridGenerator", {"transform_type": "affine", "target_shape": (2, 2)}),
        ("InstanceNorm", {}),
        ("L2Normalization", {}),
        ("LRN", {"nsize": 3}),
        ("Pooling", {"kernel": (2, 2)}),
        ("Pooling", {"kernel": (2, 2), "pool_type": "avg"}),
        ("ROIPooling", {"pooled_size": (2, 2), "spatial_scale": 1.0}),
        ("SpatialTransformer", {"transform_type": "affine", "sampler_type": "bilinear", "target_shape": (2, 2)}),
        ("linalg_det", {}),
        ("linalg_slogdet", {}),
        ("sort", {}),
        ("topk", {"k": 2, "ret_typ": "mask"}),
        ("topk", {"k": 2, "ret_typ": "both"}),
        ("sample_multinomial", {}),
        ("sample_multinomial", {"get_prob": True}),
        ("relu", {}),
    ]
    found = []
    for name, options in operators:
        symbol = getattr(sym, name)(name="n", **options)
        found.append([name, json.loads(symbol.tojson())["node_row_ptr"], symbol.list_outputs()])
    value = sym.topk(name="n", k=2, ret_typ="value")
    found.append(json.loads(value.tojson())["node_row_ptr"])
    numbers = sym.var("a").as_np_ndarray()
    for function in (sym.np.std, sym.np.var, sym.np.average, sym.np.linalg.det):
        with mx.name.NameManager():
            symbol = function(numbers)
        found.append([json.loads(symbol.tojson())["node_row_ptr"], symbol.list_outputs()])
    return found
