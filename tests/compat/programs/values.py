"""Arrays as dtypes, values that are not strings as attributes, names of custom operators, sizes of updates."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle_programs import fails


def arrays_as_dtypes(mx: Any) -> Any:
    x, wide, whole = mx.nd.ones(2), mx.nd.ones(2, dtype="float64"), mx.np.ones(2, dtype="int32")
    made = [
        x.astype(wide),
        mx.nd.zeros(2, dtype=wide),
        mx.nd.array([1], dtype=wide),
        mx.nd.cast(x, dtype=wide),
        mx.np.ones(2).astype(whole),
    ]
    return (
        [np.dtype(array.dtype).name for array in [*made, mx.np.zeros(2, dtype=whole)]],
        [np.dtype(wide).name, np.dtype(whole).name, np.ones(2, wide).dtype.name],
        np.dtype(mx.sym.zeros((2,), dtype=wide).infer_type()[1][0]).name,
        mx.sym.cast(mx.sym.var("a"), dtype=wide).list_attr(),
        fails(lambda: x.astype(np.ones(2, "int32"))),
    )


def truth_of_empty_arrays(mx: Any) -> Any:
    return bool(mx.nd.zeros((1,))[1:1]), bool(mx.nd.array([]).reshape((0,))), fails(lambda: bool(mx.nd.ones(2)))


def attributes_that_are_not_strings(mx: Any) -> Any:
    values = {"__a__": 1, "__b__": 1.5, "__c__": None, "__d__": (2, 3), "__e__": [1], "__f__": True}
    init = mx.sym.relu(mx.sym.var("x"), attr={"__init__": mx.init.Zero()}).list_attr()["__init__"]
    return (
        mx.sym.relu(mx.sym.var("x"), attr=values).list_attr(),
        mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc", attr={"__a__": 1}).attr_dict(),
        type(init).__name__,
        [fails(lambda: mx.sym.var("x", attr={"__a__": 1})), fails(lambda: mx.sym.var("x")._set_attr(__a__=1))],
        fails(lambda: mx.AttrScope(__a__=1)),
    )


def name_of_a_custom_operator(mx: Any) -> Any:
    """It is the node's, and no parameter of the property class."""
    given = []

    class Same(mx.operator.CustomOp):
        def forward(self, is_train: Any, req: Any, in_data: Any, out_data: Any, aux: Any) -> None:
            self.assign(out_data[0], req[0], in_data[0])

    @mx.operator.register("same_with_parameters")
    class Prop(mx.operator.CustomOpProp):
        def __init__(self, **parameters: str) -> None:
            super().__init__()
            given.append(parameters)

        def create_operator(self, ctx: Any, shapes: Any, dtypes: Any) -> Any:
            return Same()

    out = mx.nd.Custom(mx.nd.ones(2), name="n", op_type="same_with_parameters", z=3)
    symbol = mx.sym.Custom(mx.sym.var("x"), name="n", op_type="same_with_parameters", z=3)
    return out, symbol.list_outputs(), symbol.name, all(p == {"z": "3"} for p in given), len(given) > 0


def sizes_of_updates(mx: Any) -> Any:
    """How many weights an optimizer gets at once, if a subclass sets the number."""
    found = {}
    for number in (0, 1, 2):

        class Own(mx.optimizer.SGD):
            def __init__(self, number: int) -> None:
                super().__init__()
                self.aggregate_num = number
                self.sizes: list[int] = []

            def update_multi_precision(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
                self.sizes.append(len(index) if isinstance(index, (list, tuple)) else 0)
                super().update_multi_precision(index, weight, grad, state)

        net = mx.gluon.nn.HybridSequential()
        net.add(mx.gluon.nn.Dense(2, in_units=2), mx.gluon.nn.Dense(2, in_units=2))
        net.initialize()
        optimizer = Own(number)
        trainer = mx.gluon.Trainer(net.collect_params(), optimizer)
        with mx.autograd.record():
            loss = net(mx.nd.ones((1, 2))).sum()
        loss.backward()
        trainer.step(1)
        found[number] = optimizer.sizes
    return found


def rates_of_the_weights_of_an_update(mx: Any) -> Any:
    """With 1 as the number of weights, a subclass that overrides only a hook sees one weight at a time too."""
    seen = []

    class Own(mx.optimizer.SGD):
        def __init__(self) -> None:
            super().__init__()
            self.aggregate_num = 1

        def _get_lrs(self, indices: Any) -> Any:
            seen.append(len(indices))
            return super()._get_lrs(indices)

    update = mx.optimizer.get_updater(Own())
    update([0, 1, 2], [mx.nd.ones(2)] * 3, [mx.nd.ones(2), mx.nd.ones(2), mx.nd.ones(2)])
    return seen
