"""Programs whose kernels fuse: chains with gradients, norms, losses, weight updates, recurrent cells, metrics.

Each is a function of a context that issues the program once; its results are checked elsewhere.
"""

from collections.abc import Callable
from functools import partial
from itertools import product

import numpy as np

import twofold as mx
from twofold import autograd, gluon, nd
from twofold.optimizer import Optimizer

Program = Callable[[mx.Context], object]
FLOATS = ("float32", "float64", "float16", "bfloat16")
WHOLE = ("int8", "uint8", "int32", "int64")
ROWS, COLUMNS = 6, 10


def drawn(ctx, *shape, dtype="float32", seed=0):
    return nd.array(np.random.default_rng(seed).uniform(0.25, 2, shape), ctx=ctx, dtype="float32").astype(dtype)


def with_gradients(function, *arrays):
    """A function's result and the gradients of its sum, in one window."""
    for a in arrays:
        a.attach_grad()
    with autograd.record():
        out = function(*arrays)
    out.backward()
    for found in (out, *[a.grad for a in arrays]):
        found.wait_to_read()


CHAINS = {
    "polynomial": lambda x, y: (x * 2 + 1) * y - x / (y + 3),
    "exponentials": lambda x, y: (x.exp() * y.log() + (x * y).sqrt()).expm1() * (y + 1).log1p(),
    "sigmoid and tanh": lambda x, y: x.sigmoid() * y.tanh() + nd.softsign(x - y),
    "choices": lambda x, y: nd.where(x > y, x * 2, y).relu() + nd.broadcast_maximum(x, y) - (x * 3).clip(0.5, 4),
    "trigonometry": lambda x, y: (x.sin() * y.cos()).arctan() + x.arcsinh() * y.sinh(),
    "powers": lambda x, y: nd.broadcast_power(x, y) + x**3 + y**-0.5 + 2**x,
    "special functions": lambda x, y: x.erf() * nd.gamma(y) + nd.gammaln(x + y),
    "rounding": lambda x, y: x * y.floor() + (x * 4).round() * y.sign() + x.abs(),
}
LAYOUTS = {
    "alike": ((ROWS, COLUMNS), (ROWS, COLUMNS)),
    "a row": ((ROWS, COLUMNS), (1, COLUMNS)),
    "a column": ((ROWS, COLUMNS), (ROWS, 1)),
    "both": ((ROWS, 1), (1, COLUMNS)),
    "one element": ((ROWS, COLUMNS), (1, 1)),
    "four axes": ((2, 3, 4, 5), (1, 3, 1, 1)),
}


def broadcast(chain, x, y):
    """A chain over broadcast operands."""
    shape = np.broadcast_shapes(x.shape, y.shape)
    return CHAINS[chain](x.broadcast_to(shape), y.broadcast_to(shape))


def chain(ctx, name, dtype="float32", layout="alike"):
    left, right = LAYOUTS[layout]
    with_gradients(partial(broadcast, name), drawn(ctx, *left, dtype=dtype), drawn(ctx, *right, dtype=dtype, seed=1))


def turned(ctx, dtype):
    """A chain over a transposed array, a reversed slice, and a view of every second row."""
    x = drawn(ctx, ROWS, COLUMNS, dtype=dtype)
    with_gradients(lambda x: (x.T[1:].T * 2 + nd.reverse(x, axis=1)[:, 1:]).tanh()[::2] * 3, x)


def whole_numbers(ctx, dtype):
    x, y = drawn(ctx, ROWS, COLUMNS, dtype=dtype), drawn(ctx, ROWS, COLUMNS, dtype=dtype, seed=1)
    ((x * 3 + y) * x - y).wait_to_read()
    nd.where(x > y, x, y + 1).wait_to_read()
    (mx.np.array(x.asnumpy(), dtype=dtype, ctx=ctx) // 2 % 3).wait_to_read()
    (x.astype("float32") * 0.5).astype(dtype).sum(axis=1).wait_to_read()


REDUCED = {
    "softmax": lambda x: nd.softmax(x * 2, axis=-1) * 3,
    "softmax over columns": lambda x: nd.softmax(x, axis=0) * x,
    "log-softmax": lambda x: nd.log_softmax(x) - 1,
    "softmin": lambda x: nd.softmin(x) * x,
    "tempered softmax": lambda x: nd.softmax(x, temperature=2.0),
    "L2 normalisation": lambda x: nd.L2Normalization(x, mode="instance") * 2,
    "mean and variance": lambda x: (x - x.mean(axis=1, keepdims=True)) / ((x * x).mean(axis=1, keepdims=True) + 1).sqrt(),
    "sum, max and min": lambda x: x.sum(axis=1) + x.max(axis=1) * x.min(axis=1),
    "product": lambda x: x.prod(axis=1),
    "norm": lambda x: x.norm(axis=1) + x.norm(ord=1, axis=1),
    "sum of all": lambda x: (x * x).sum(),
    "mean over rows": lambda x: (x * 2).mean(axis=0),
}


def reduced(ctx, name, dtype):
    with_gradients(REDUCED[name], drawn(ctx, ROWS, COLUMNS, dtype=dtype))


LAYERS = {
    "batch norm": gluon.nn.BatchNorm,
    "layer norm": gluon.nn.LayerNorm,
    "group norm": partial(gluon.nn.GroupNorm, num_groups=2),
    "instance norm": gluon.nn.InstanceNorm,
    "dropout": partial(gluon.nn.Dropout, 0.4),
    "dropout along axes": partial(gluon.nn.Dropout, 0.4, axes=(0,)),
    "leaky relu": partial(gluon.nn.LeakyReLU, 0.2),
    "prelu": gluon.nn.PReLU,
    "elu": gluon.nn.ELU,
    "selu": gluon.nn.SELU,
    "gelu": gluon.nn.GELU,
    "swish": gluon.nn.Swish,
    "softrelu": partial(gluon.nn.Activation, "softrelu"),
}


def layer(ctx, name, dtype, training=True):
    block = LAYERS[name]()
    block.cast(dtype)
    block.initialize(ctx=ctx)
    block.hybridize()
    x = drawn(ctx, 4, 6, 3, dtype=dtype)
    if not training:
        (block(x) * 2).wait_to_read()
        return
    for _ in range(4):
        with_gradients(lambda x: block(x) * x, x)


LOSSES = {
    "cross-entropy": (gluon.loss.SoftmaxCrossEntropyLoss, "classes"),
    "cross-entropy of distributions": (partial(gluon.loss.SoftmaxCrossEntropyLoss, sparse_label=False), "numbers"),
    "sigmoid cross-entropy": (gluon.loss.SigmoidBinaryCrossEntropyLoss, "numbers"),
    "Kullback-Leibler": (gluon.loss.KLDivLoss, "numbers"),
    "L1": (gluon.loss.L1Loss, "numbers"),
    "L2": (gluon.loss.L2Loss, "numbers"),
    "Huber": (gluon.loss.HuberLoss, "numbers"),
    "hinge": (gluon.loss.HingeLoss, "numbers"),
    "squared hinge": (gluon.loss.SquaredHingeLoss, "numbers"),
    "logistic": (gluon.loss.LogisticLoss, "numbers"),
    "Poisson": (gluon.loss.PoissonNLLLoss, "numbers"),
}


def loss(ctx, name, dtype):
    make, kind = LOSSES[name]
    of, x = make(), drawn(ctx, ROWS, COLUMNS, dtype=dtype)
    label = nd.array(np.arange(ROWS) % COLUMNS, ctx=ctx) if kind == "classes" else drawn(ctx, ROWS, COLUMNS, dtype=dtype, seed=1)
    with_gradients(lambda x: of(x * 2, label), x)


def trained(ctx, net, data, optimizer, **options):
    """A training loop, which is captured after two iterations."""
    net.initialize(mx.init.Normal(0.1), ctx=ctx)
    net.hybridize()
    trainer = gluon.Trainer(net.collect_params(), optimizer, options)
    for _ in range(4):
        with autograd.record():
            out = net(data)
        out.backward()
        trainer.step(4)
        out.wait_to_read()


def updates(ctx, name, dtype="float32"):
    by_rows = name == "groupadagrad"  # supports neither vectors nor weight decay
    net, own = gluon.nn.HybridSequential(), {"use_bias": not by_rows}
    net.add(gluon.nn.Dense(5, activation="relu", **own), gluon.nn.Dense(5, activation="tanh", **own), gluon.nn.Dense(3, **own))
    net.cast(dtype)
    options = {"multi_precision": True} if dtype != "float32" else {}
    trained(ctx, net, drawn(ctx, 4, 5, dtype=dtype), name, learning_rate=0.01, wd=0.0 if by_rows else 0.01, **options)


def cells(ctx, name):
    """Five steps of a cell, and a bidirectional layer of the same kind."""
    cell = getattr(gluon.rnn, f"{name}Cell")(4, input_size=3)
    cell.initialize(ctx=ctx)
    x = drawn(ctx, 2, 5, 3)
    with_gradients(lambda x: cell.unroll(5, x, merge_outputs=True)[0], x)
    trained(ctx, getattr(gluon.rnn, name)(4, input_size=3, bidirectional=True, layout="NTC"), x, "sgd")


MEASURES = {
    "accuracy": lambda out, label: (out.argmax(axis=1) == label).sum(),
    "top 2": lambda out, label: (nd.topk(out, k=2) == label.reshape((-1, 1)).astype("float32")).sum(),
    "cross-entropy": lambda out, label: -(nd.pick(nd.softmax(out), label) + 1e-12).log().mean(),
    "perplexity": lambda out, label: (-(nd.pick(nd.log_softmax(out), label)).mean()).exp(),
    "mean absolute error": lambda out, label: (out[:, 0] - label).abs().mean(),
    "root mean square": lambda out, label: ((out[:, 0] - label) ** 2).mean().sqrt(),
    "F1": lambda out, label: 2 * ((out[:, 1] > 0.5) * label).sum() / ((out[:, 1] > 0.5).sum() + label.sum()),
    "correlation": lambda out, label: (
        ((out[:, 0] - out[:, 0].mean()) * (label - label.mean())).mean() / ((out[:, 0] - out[:, 0].mean()) ** 2).mean().sqrt()
    ),
}


def measure(ctx, name, dtype):
    out, label = drawn(ctx, ROWS, COLUMNS, dtype=dtype), nd.array(np.arange(ROWS) % 2, ctx=ctx)
    MEASURES[name](out, label.astype(dtype)).wait_to_read()


#: The programs by (group, name).
CORPUS: dict[tuple[str, str], Program] = {
    **{("chains", f"{c}, {d}"): partial(chain, name=c, dtype=d) for c, d in product(CHAINS, FLOATS)},
    **{("broadcasting", f"{c}, {a}"): partial(chain, name=c, layout=a) for c, a in product(list(CHAINS)[:4], list(LAYOUTS)[1:])},
    **{("strided", d): partial(turned, dtype=d) for d in FLOATS},
    **{("whole numbers", d): partial(whole_numbers, dtype=d) for d in WHOLE},
    **{("rows", f"{r}, {d}"): partial(reduced, name=r, dtype=d) for r, d in product(REDUCED, FLOATS)},
    **{("layers", f"{n}, {d}"): partial(layer, name=n, dtype=d) for n, d in product(LAYERS, ("float32", "float16"))},
    **{("predictions", n): partial(layer, name=n, dtype="float32", training=False) for n in LAYERS},
    **{("losses", f"{n}, {d}"): partial(loss, name=n, dtype=d) for n, d in product(LOSSES, ("float32", "float16"))},
    **{("updates", n): partial(updates, name=n) for n in sorted(Optimizer.opt_registry) if not n.startswith("_")},
    **{("updates", f"{n}, float16"): partial(updates, name=n, dtype="float16") for n in ("sgd", "nag", "adam", "lamb")},
    **{("cells", n): partial(cells, name=n) for n in ("RNN", "LSTM", "GRU")},
    **{("measures", f"{n}, {d}"): partial(measure, name=n, dtype=d) for n, d in product(MEASURES, FLOATS)},
}
