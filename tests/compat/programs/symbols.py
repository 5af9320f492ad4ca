"""What monitors see, variables that operators make, names of outputs, and private methods of symbols."""

from __future__ import annotations

from typing import Any

import numpy as np

IMAGES = np.array([[[[1, 2, 4]], [[-1, 3, 5]]]], "float32")


def _normalizing(sym: Any) -> Any:
    x = sym.var("data")
    return [
        sym.BatchNorm(x, name="bn"),
        sym.BatchNorm(x, use_global_stats=True, name="bn"),
        sym.LayerNorm(x, name="ln"),
        sym.InstanceNorm(x, name="in"),
        sym.GroupNorm(x, num_groups=1, name="gn"),
        sym.L2Normalization(x, name="l2"),
        sym.L2Normalization(x, mode="channel", name="l2"),
        sym.L2Normalization(x, mode="spatial", name="l2"),
    ]


def _seen(mx: Any, out: Any, training: bool, **options: Any) -> Any:
    """Names and arrays that a monitor sees in one forward."""
    executor = out.simple_bind(mx.cpu(), data=IMAGES.shape)
    for array in executor.arg_arrays:
        array[:] = 1
    monitor = mx.mon.Monitor(1, stat_func=lambda array: array.asnumpy(), **options)
    monitor.install(executor)
    monitor.tic()
    executor.forward(is_train=training, data=mx.nd.array(IMAGES))
    mx.nd.waitall()
    return [[str(name), value.round(3)] for _, name, value in monitor.queue]


def statistics_that_monitors_see(mx: Any) -> Any:
    return [[_seen(mx, out, training) for training in (False, True)] for out in _normalizing(mx.sym)]


def masks_that_monitors_see(mx: Any) -> Any:
    found = []
    for axes in ((), (1,)):
        (name, out), (kept, mask) = _seen(mx, mx.sym.Dropout(mx.sym.var("data"), p=0.25, axes=axes, name="do"), True)
        scaled = {round(float(v), 3) for v in mask.ravel()} <= {0.0, 1.333}
        found.append([name, kept, mask.shape, np.allclose(out, IMAGES * mask, atol=1e-2), scaled])
    return found


def names_that_monitors_see(mx: Any) -> Any:
    x = mx.sym.Dropout(mx.sym.BatchNorm(mx.sym.var("data"), name="bn"), name="do")
    out = mx.sym.LRN(mx.sym.Flatten(x, name="flat").reshape((1, 3, 2, 1), name="same"), nsize=3, name="lrn")
    return [[name for name, _ in _seen(mx, out, training)] for training in (False, True)]


def weight_of_up_sampling(mx: Any) -> Any:
    out = mx.sym.UpSampling(mx.sym.var("data"), scale=2, sample_type="bilinear", num_filter=2, name="up")
    named = mx.sym.UpSampling(data=mx.sym.var("x"), weight=mx.sym.var("w"), scale=2, sample_type="bilinear", num_filter=2)
    module = mx.mod.Module(out, label_names=None)
    module.bind([("data", (1, 2, 3, 3))], None, for_training=False)
    module.init_params(mx.init.Zero())
    again = mx.sym.load_json(out.tojson())
    nearest = mx.sym.UpSampling(mx.sym.var("a"), mx.sym.var("b"), scale=2, sample_type="nearest", name="up")
    shapes = out.infer_shape(data=(1, 2, 3, 3))
    names = [symbol.list_arguments() for symbol in (out, named, again, nearest)]
    counts = [symbol.list_attr()["num_args"] for symbol in (out, named, nearest)]
    return names, shapes, counts, out.attr_dict()["up_weight"], module.get_params()[0]


def operators_without_inputs(mx: Any) -> Any:
    bare = mx.sym.FullyConnected(mx.sym.var("x"), num_hidden=3, name="fc")._gen_atomic_symbol()
    before = [bare.name, bare.list_arguments(), bare.list_outputs(), bare.attr_dict(), type(bare).__name__]
    called = bare(data=mx.sym.var("q"), name="called")
    bare._compose(mx.sym.var("r"), name="made")
    parts = mx.sym.SliceChannel(mx.sym.var("x"), num_outputs=2, name="parts")._gen_atomic_symbol()
    made = [[symbol.list_arguments(), symbol.list_outputs(), symbol.name] for symbol in (called, bare)]
    return before, made, parts(mx.sym.var("y"), name="two").list_outputs()


def composition_in_place(mx: Any) -> Any:
    out = mx.sym.relu(mx.sym.var("x"), name="r") + mx.sym.var("y")
    out._compose(x=mx.sym.tanh(mx.sym.var("z"), name="t"), name="sum")
    return out.list_arguments(), out.list_outputs()
