"""``util``, ``base``, ``runtime``, the default context, environment variables, repeated tests."""

from __future__ import annotations

import array
import gc
import os
from typing import Any

import numpy as np

from tests.oracle_programs import fails


def switches(mx: Any) -> Any:
    def state() -> list[bool]:
        return [mx.util.is_np_shape(), mx.util.is_np_array(), mx.is_np_shape(), mx.npx.is_np_array()]

    found = [state()]
    with mx.np_shape():
        found.append(state())
        with mx.util.np_shape(False), mx.np_array():
            found.append(state())
    mx.util.set_np()
    found.append(state())
    mx.npx.reset_np()
    found.append(state())
    found.append([mx.set_np_shape(True), mx.util.set_np_shape(False)])
    return found, fails(lambda: mx.util.set_np(shape=False))


def scopes_that_are_entered(mx: Any) -> Any:
    def enter() -> None:
        mx.util.np_shape(True).__enter__()

    enter()
    gc.collect()
    found: list[Any] = [mx.util.is_np_shape(), mx.util.np_array(True).__enter__() is None]
    gc.collect()
    found += [mx.util.is_np_array(), fails(lambda: mx.util.set_np_shape(False)), mx.util.is_np_shape()]
    mx.npx.reset_np()
    scope = mx.util.np_shape(True)
    for _ in range(2):
        scope.__enter__()
        found.append(mx.util.is_np_shape())
        scope.__exit__(None, None, None)
        found.append(mx.util.is_np_shape())
    return found


def unknown_sizes_of_filled_symbols(mx: Any) -> Any:
    found: list[Any] = []
    for shape in (2, -1), (2, 0), (-1, -1):
        filled = mx.sym.zeros(shape)
        found.append([filled.infer_shape_partial()[1], (filled + mx.sym.var("a")).infer_shape(a=(2, 3))])
    with mx.np_shape():
        for shape in (2, -1), (2, 0), ():
            filled = mx.sym.ones(shape)
            found.append(filled.infer_shape_partial()[1])
        found.append((mx.sym.ones((2, -1)) * mx.sym.var("a")).infer_shape(a=(2, 3)))
        found += [mx.sym.zeros(()).eval()[0], mx.nd.full((), 3), mx.nd.full((2, 0), 3)]
    return found


def classes_in_training_under_set_np(mx: Any) -> Any:
    def are_arrays(*arrays: Any) -> bool:
        return all(type(a) is type(mx.np.ones(2)) for a in arrays)

    rnn = mx.gluon.rnn
    mx.npx.set_np()
    try:
        dense, found = mx.gluon.nn.Dense(3, in_units=2), []
        dense.initialize(mx.init.One())
        weight = dense.weight.data()
        trainer = mx.gluon.Trainer(dense.collect_params(), "sgd", {"learning_rate": 0.5, "momentum": 0.5})
        for _ in range(2):
            with mx.autograd.record():
                y = dense(mx.np.ones((4, 2)))
            y.backward()
            trainer.step(4)
            found.append([are_arrays(y, weight, dense.weight.grad(), weight.grad), weight is dense.weight.data(), weight.asnumpy()])
        weight[0] = 3
        weight *= 2
        found.append(dense(mx.np.ones((1, 2))).asnumpy())
        dense.weight.set_data(mx.np.ones((3, 2)))
        found.append(weight.asnumpy())
        dense.cast("float64")
        found.append(are_arrays(*dense.weight.list_data(), *dense.bias.list_grad()))
        for layer in (rnn.RNN(2), rnn.LSTM(2), rnn.GRU(2)):
            layer.initialize()
            states = layer.begin_state(3)
            output, new = layer(mx.np.ones((2, 3, 4)), states)
            found.append(are_arrays(output, *states, *new, layer(mx.np.ones((2, 3, 4)))))
    finally:
        mx.npx.reset_np()
    return found


def decorators(mx: Any) -> Any:
    class Methods:
        def state(self) -> list[bool]:
            return [mx.util.is_np_shape(), mx.util.is_np_array()]

    found = [
        decorate(lambda: [mx.util.is_np_shape(), mx.util.is_np_array()])()
        for decorate in (mx.util.use_np, mx.use_np_shape, mx.util.use_np_array)
    ]
    return found, mx.use_np(Methods)().state(), fails(lambda: mx.use_np(3))


def modules_of_functions(mx: Any) -> Any:
    named = mx.util.set_module("a.b")(lambda: 0)
    return named.__module__, mx.util.set_module(None)(fails).__module__ == fails.__module__


def keywords_of_ufuncs(mx: Any) -> Any:
    one = mx.util.wrap_np_unary_func(lambda x, out=None, **rest: [x, out, rest])
    two = mx.util.wrap_np_binary_func(lambda x, y, out=None, **rest: [x, y, out, rest])
    given = [{}, {"where": True}, {"casting": "same_kind"}, {"dtype": None}, {"subok": True}, {"order": "K"}, {"out": 3}]
    refused = [({"where": False}, NotImplementedError), ({"order": "C"}, NotImplementedError), ({"dtype": "float64"}, NotImplementedError)]
    kinds = []
    for keywords, kind in (*refused, ({"other": 1}, TypeError)):
        for call in (lambda k=keywords: one(1, **k), lambda k=keywords: two(1, 2, **k)):
            try:
                call()
            except kind:
                kinds.append(kind.__name__)
    legal = [
        ("where", True),
        ("where", False),
        ("casting", "no"),
        ("order", "C"),
        ("dtype", None),
        ("dtype", "float32"),
        ("dtype", "x"),
        ("z", 1),
    ]
    return [one(1, **k) for k in given], [two(1, 2, **k) for k in given], kinds, [mx.util.np_ufunc_legal_option(*pair) for pair in legal]


def helpers_of_base(mx: Any) -> Any:
    base = mx.base
    values = [base.c_array(base.mx_uint, [1, 2])[1], base.c_str("ab").value.decode(), base.c_str_array(["a", "b"])[1].decode()]
    buffers = [base.c_array_buf(base.mx_uint, array.array("I", [1, 2]))[1], base.mx_float(0.5).value, base.py_str(b"x")]
    lists = [base._as_list(x) for x in (1, [1], (1,), "a", None)]
    handles = [getattr(base, f"{name}Handle")().value for name in ("NDArray", "Symbol", "Executor", "CachedOp", "KVStore", "DataIter")]
    return values, buffers, lists, handles, base.build_param_doc(["a", "b", "a"], ["int", "float", "x"], ["d1", "", "d3"])


def classes_of_base(mx: Any) -> Any:
    base = mx.base

    class Own(metaclass=base._MXClassPropertyMetaClass):
        value = 1

        @base.classproperty
        def twice(cls) -> int:  # a property of the class
            return 2 * cls.value

    class Base(base.with_metaclass(base._MXClassPropertyMetaClass, dict)):
        pass

    types = [isinstance(1.5, base.numeric_types), isinstance(np.int64(1), base.integer_types), isinstance("", base.string_types)]
    return Own.twice, type(Base).__name__, Base.__mro__[1].__name__, types, base.mx_real_t.__name__


def names_of_errors(mx: Any) -> Any:
    @mx.error.register
    class Own(mx.MXNetError):
        pass

    mx.error.register_error("Other", KeyError)
    return mx.base.error_types["Own"] is Own, mx.base.error_types["Other"].__name__, mx.base.error_types["ValueError"].__name__


def features(mx: Any) -> Any:
    found = mx.runtime.Features()
    once = mx.runtime.Features() is found, mx.runtime.Features.instance is found
    signs = [repr(feature)[0] == "✖✔"[feature.enabled] for feature in mx.runtime.feature_list()]
    return list(found), once, found.is_enabled("lapack"), fails(lambda: found.is_enabled("other")), all(signs), found["LAPACK"].name


def default_contexts(mx: Any) -> Any:
    tu, found = mx.test_utils, [mx.test_utils.default_context()]
    tu.set_default_context(mx.cpu(1))
    found += [tu.default_context(), mx.current_context(), mx.nd.ones(1).context, mx.Context.default_ctx]
    with mx.cpu(2):
        mx.Context.default_ctx = mx.cpu(3)
        found.append(mx.current_context())
    found.append(mx.current_context())
    mx.Context._default_ctx.value = mx.cpu(4)
    found.append(mx.current_context())
    tu.set_default_context(mx.cpu(0))
    return [str(ctx) for ctx in found], mx.cpu().empty_cache()


def environment(mx: Any) -> Any:
    tu, found = mx.test_utils, []
    with tu.environment("MXNET_OWN_1", "3"):
        found.append(os.environ.get("MXNET_OWN_1"))
        with tu.environment({"MXNET_OWN_1": None, "MXNET_OWN_2": "x"}):
            found += [os.environ.get("MXNET_OWN_1"), os.environ.get("MXNET_OWN_2")]
        found.append(os.environ.get("MXNET_OWN_1"))
    return found, os.environ.get("MXNET_OWN_1"), fails(lambda: tu.environment(3).__enter__())


def repeated(mx: Any) -> Any:
    calls = []

    @mx.test_utils.retry(3)
    def third() -> None:
        calls.append(1)
        assert len(calls) > 2

    @mx.test_utils.retry(2)
    def never() -> None:
        calls.append(1)
        raise AssertionError

    third()
    return len(calls), fails(never), len(calls), fails(lambda: mx.test_utils.retry(0)(third))


def optimizers(mx: Any) -> Any:
    def sgd(rate: float) -> Any:
        return mx.optimizer.SGD(learning_rate=rate, momentum=0.9)

    compare = mx.test_utils.compare_optimizer
    return [
        fails(lambda: compare(sgd(0.1), sgd(0.1), (3, 4), np.float32)),
        fails(lambda: compare(sgd(0.1), sgd(0.2), (3, 4), np.float32)),
        fails(lambda: compare(sgd(0.1), sgd(0.1), [(3, 4), (2,)], np.float32, ntensors=2)),
    ]
