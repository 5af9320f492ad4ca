"""Objects that the real MXNet pickles (`make_pickles`), and what is compared of them once they are loaded."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any


def objects(mx: Any) -> dict[str, Callable[[], Any]]:
    """Functions that make the objects, by name."""
    nd, gluon, sym = mx.nd, mx.gluon, mx.sym
    x = sym.var("data")
    return {
        **{f"array of {dtype}": lambda dtype=dtype: nd.array([[1, 2], [3, 4]], dtype=dtype) for dtype in ("float32", "float16", "int64")},
        "view": lambda: nd.array([[1, 2], [3, 4]])[1:],
        "array with a gradient": lambda: _with_gradient(nd.ones((2,))),
        "array of mx.np": lambda: mx.np.array([[1, 2], [3, 4]], dtype="float64"),
        "matrix": lambda: _ready(nd.array([[1, 0], [0, 4]]).tostype("csr")),
        "rows": lambda: _ready(nd.array([[1, 0], [0, 0]]).tostype("row_sparse")),
        **{f"context {kind}": lambda kind=kind: mx.Context(kind, 1) for kind in ("cpu", "gpu", "cpu_pinned")},
        "symbol": lambda: sym.FullyConnected(x, num_hidden=2, name="fc"),
        "symbol of mx.np": lambda: sym.var("x").as_np_ndarray() + 1,
        "parameter": lambda: _parameter(mx),
        "parameter without a gradient": lambda: _parameter(mx, grad_req="null", lr_mult=2.0, wd_mult=0.5),
        "parameter that waits": lambda: _parameter(mx, shape=(0, 2), allow_deferred_init=True),
        "constant": lambda: gluon.Constant("c", [1, 2]),
        "parameters": lambda: _parameters(mx),
        "layer": lambda: _initialized(gluon.nn.Dense(2, in_units=2, prefix="dense_")),
        **{f"states of {name}": lambda name=name: _states(mx, name) for name in ("sgd", "nag", "adam", "rmsprop", "ftml", "adagrad")},
        "updater": lambda: _updater(mx, mx.optimizer.SGD(momentum=0.5, learning_rate=0.5)),
        "optimizer with a schedule": lambda: mx.optimizer.Adam(lr_scheduler=mx.lr_scheduler.FactorScheduler(10, 0.5, base_lr=0.001)),
        "batch": lambda: mx.io.DataBatch([nd.ones((1,))], [nd.zeros((1,))], pad=1),
        "data set": lambda: gluon.data.ArrayDataset(nd.ones((2, 2)), [1, 2]),
        "model": lambda: mx.model.FeedForward(sym.FullyConnected(x, num_hidden=2, name="fc"), num_epoch=3),
        "metric": lambda: mx.metric.create(["acc", "mse"]),
        "initializer": lambda: mx.init.Mixed(["b", ".*"], [mx.init.Zero(), mx.init.Xavier(magnitude=2)]),
        "cell": lambda: mx.rnn.LSTMCell(2),
    }


def _ready(array: Any) -> Any:
    # MXNet may write the size of a sparse array before it has computed it
    array.wait_to_read()
    return array


def _with_gradient(array: Any) -> Any:
    array.attach_grad()
    return array


def _initialized(thing: Any) -> Any:
    thing.initialize("ones")
    return thing


def _parameter(mx: Any, shape: tuple[int, ...] = (2,), **options: Any) -> Any:
    return _initialized(mx.gluon.Parameter("w", shape=shape, **options))


def _parameters(mx: Any) -> Any:
    found = mx.gluon.ParameterDict("a_")
    found.get("w", shape=(2,))
    found.get("v", shape=(1,), grad_req="add")
    return _initialized(found)


def _updater(mx: Any, optimizer: Any) -> Any:
    updater = mx.optimizer.get_updater(optimizer)
    weight = mx.nd.ones((2,))
    updater(3, mx.nd.ones((2,)), weight)
    return updater


def _states(mx: Any, name: str) -> Any:
    """States and their optimizer, as `Updater.get_states` pickles them."""
    updater = _updater(mx, mx.optimizer.create(name, **({"momentum": 0.5} if name in ("sgd", "nag") else {})))
    return updater.states, updater.optimizer


#: State that MXNet or Twofold has alone, or that says nothing of the object.
HIDDEN = {
    *("param_dict", "_all_index_update_counts", "allow_np_array", "_engine_type", "_pred_exec", "_predictor", "_calls"),
    *("argument_checked", "_own_params"),
}


def described(mx: Any, value: Any) -> Any:
    """A description of an object, which is the same in MXNet and Twofold."""
    if isinstance(value, mx.nd.NDArray):
        host = value.asnumpy()
        return [type(value).__name__, host.dtype.name, host.tolist(), value.stype, str(value.context)]
    if isinstance(value, mx.Context):
        return [str(value), value.device_type, value.device_id, value == mx.Context(str(value)[:-3], 1), len({value, mx.Context(value)})]
    if isinstance(value, mx.sym.Symbol):
        return [type(value).__name__, value.list_arguments(), value.list_outputs(), value.list_attr()]
    if isinstance(value, mx.gluon.Parameter):
        arrays = [] if value._data is None else [described(mx, array) for array in value.list_data()]
        waits = bool(value._deferred_init)
        return [type(value).__name__, str(value), value.grad_req, value.lr_mult, value.wd_mult, arrays, waits]
    if isinstance(value, mx.gluon.Block):
        return [str(value), value.prefix, {name: described(mx, p) for name, p in value.collect_params().items()}]
    if isinstance(value, (dict, mx.gluon.ParameterDict)):
        return {str(key): described(mx, item) for key, item in value.items()}
    if isinstance(value, (list, tuple)):
        return [described(mx, item) for item in value]
    if hasattr(value, "__dict__") and not callable(getattr(value, "tolist", None)) and not isinstance(value, type):
        return {
            "of": type(value).__name__,
            **{name: described(mx, item) for name, item in sorted(vars(value).items()) if name not in HIDDEN},
        }
    return value if value is None or isinstance(value, (bool, int, float, str)) else type(value).__name__
