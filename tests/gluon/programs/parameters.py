"""Parameters and dictionaries of them: shapes, devices, gradients, merging, errors."""

from __future__ import annotations

import warnings
from typing import Any

from tests.oracle_programs import fails


def _parameter(mx: Any, **kwargs: Any) -> Any:
    param = mx.gluon.Parameter("p_weight", **{"shape": (2, 3), **kwargs})
    param.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
    return param


def initialization(mx: Any) -> Any:
    p = mx.gluon.Parameter("w", shape=(3, 0), allow_deferred_init=True)
    before = [repr(p), fails(p.data), fails(p.grad), fails(p.list_ctx), fails(lambda: p.reset_ctx(mx.cpu(1)))]
    p.initialize(mx.init.One())
    waiting = [fails(p.data), [str(c) for c in p.list_ctx()]]
    p.shape = (3, 2)
    p._finish_deferred_init()
    return [before, waiting, p.data(), p.grad(), fails(lambda: setattr(p, "shape", (4, 2))), fails(lambda: p.set_data(mx.nd.ones((2, 2))))]


def several_devices(mx: Any) -> Any:
    p = _parameter(mx)
    p.set_data(mx.nd.array([[1, 2, 3], [4, 5, 6]]))
    arrays = [p.list_data(), p.list_grad(), [str(c) for c in p.list_ctx()], fails(lambda: p.data(mx.cpu(2)))]
    with mx.cpu(1):
        arrays.append(str(p.data().context))
    p.data(mx.cpu(1))[:] = 3
    p.reset_ctx([mx.cpu(2), mx.cpu(3)])
    return [arrays, p.list_data(), [str(c) for c in p.list_ctx()], str(p.data(mx.cpu_pinned(2)).context)]


def gradient_requests(mx: Any) -> Any:
    p = _parameter(mx)
    found = []
    for request in ("write", "add", "null", "write"):
        p.grad_req = request
        x = p.data()
        for _ in range(2):
            with mx.autograd.record():
                y = (x * 3).sum()
                z = x.sum() if request == "null" else y
            if request != "null":
                z.backward()
        found.append([request, fails(p.grad) or p.grad().copy()])
    fixed = mx.gluon.Parameter("f", shape=2, differentiable=False)
    fixed.grad_req = "write"
    p.zero_grad()
    return [found, fixed.grad_req, p.grad(), fails(lambda: setattr(p, "grad_req", "other"))]


def casting(mx: Any) -> Any:
    p = _parameter(mx, dtype="float64")
    found = [p.data(), str(p.dtype)]
    p.cast("float16")
    return [*found, p.data(), p.grad(), str(p.dtype)]


def variables(mx: Any) -> Any:
    p = mx.gluon.Parameter("x_weight", shape=(2, 0), init="xavier", lr_mult=2.0, wd_mult=3.0, dtype="float64")
    q = mx.gluon.Parameter("y", shape=None)
    return [p.var().attr_dict(), q.var().attr_dict(), p.var() is p.var()]


def initializers(mx: Any) -> Any:
    """The parameter's own goes before the model's, that of the call before both."""
    found = []
    for own, call in ((None, None), (mx.init.Constant(3), None), (mx.init.Constant(3), mx.init.Constant(4)), ("zeros", None)):
        p = mx.gluon.Parameter("p_bias", shape=(2,), init=own)
        p.initialize(call, default_init=mx.init.Constant(2))
        found.append(p.data())
    with warnings.catch_warnings(record=True) as caught:
        warnings.simplefilter("always")
        p.initialize(mx.init.One())
    kept = p.data().copy()
    p.initialize(mx.init.One(), force_reinit=True)
    return [found, len(caught), kept, p.data()]


def constants(mx: Any) -> Any:
    c = mx.gluon.Constant("c", [[1, 2], [3, 4]])
    c.initialize()
    c.grad_req = "null"
    x = mx.nd.ones((2, 2))
    x.attach_grad()
    with mx.autograd.record():
        y = x * c.data()
    y.backward()
    return [repr(c), c.data(), c.grad_req, fails(c.grad), x.grad]


def merging(mx: Any) -> Any:
    d = mx.gluon.ParameterDict("net_")
    p = d.get("w", shape=(0, 4), allow_deferred_init=True)
    merged = d.get("w", shape=(3, 0)).shape
    refused = [
        fails(lambda: d.get("w", shape=(3, 5))),
        fails(lambda: d.get("w", shape=(3,))),
        fails(lambda: d.get("w", dtype="float16")),
        fails(lambda: d.get("w", lr_mult=4)),
        fails(lambda: d.get("w", grad_req="null")),
        fails(lambda: d.get_constant("nothing")),
    ]
    same = [d.get("w", dtype="float32") is p, d.get("w", lr_mult=1) is p, d.get("w", init="zeros").init]
    return [repr(d), merged, refused, same, list(d.keys()), "net_w" in d]


def sharing(mx: Any) -> Any:
    d = mx.gluon.ParameterDict("net_")
    p = d.get("w", shape=(2,))
    shared = mx.gluon.ParameterDict("net_", shared=d)
    taken = shared.get("w") is p
    shared.get("v", shape=(1,))
    other = mx.gluon.ParameterDict("net_")
    other.get("w", shape=(2,))
    d.update(shared)
    return [taken, list(d.keys()), list(shared.keys()), fails(lambda: d.update(other))]


def operations_on_all_parameters(mx: Any) -> Any:
    d = mx.gluon.ParameterDict("net_")
    d.get("w", shape=(2,))
    d.get("v", shape=(2,))
    d.get_constant("c", mx.nd.array([5, 6]))
    d.initialize(mx.init.One(), ctx=[mx.cpu(0), mx.cpu(1)])
    devices = [str(c) for c in d.list_ctx()]
    d.setattr("grad_req", "add")
    d.setattr("lr_mult", 3)
    d.reset_ctx(mx.cpu(2))
    return [
        devices,
        [[p.name, p.grad_req, p.lr_mult, p.data()] for p in d.values()],
        [str(c) for c in d.list_ctx()],
        fails(lambda: d["zzz"]),
    ]
