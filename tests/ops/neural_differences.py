"""Where the operators of neural networks differ from MXNet 1.9.1 on purpose: rows of `differences.Difference`, as there."""

from __future__ import annotations

SOFTMAX = "(lambda z: np.exp(z) / np.exp(z).sum(-1, keepdims=True))(x[0].astype('{dtype}') * {sign})"
SELU = (
    "h[0] * np.where(x[0] > 0, 1.0507009873554805, 1.0507009873554805 * 1.6732632423543772 * np.exp(np.minimum(x[0], 0)))"
    ".astype(want.dtype)"
)
SLOPES = "h[0] * np.where(x[0] > 0, 1, np.float32({mean}))"
HEAD = "(want / out * h[0]).astype('float32')"
#: Convolution.28 by its definition: windows (1, 3, 3, channel, i, j) of NHWC data, weight (filter, i, j, channel).
WINDOWS = "np.lib.stride_tricks.sliding_window_view(x[0], (2, 2), (1, 2))"
NORMAL = "((h[0] * (d - d.mean(0))) / np.sqrt(d.var(0) + 1e-3)).sum(0)"
GROUPS = "((g - g.mean((2, 3), keepdims=True)) / np.sqrt(g.var((2, 3), keepdims=True) + 1e-5)).reshape(2, 4, 3)"
SAME = "np.maximum.reduce([p[..., i::2, j::2] for i in (0, 1) for j in (0, 1)])"

ROWS = [
    ("Gradient of selu", "LeakyReLU.2", "gradient 0", SELU),
    ("Gradient of selu", "LeakyReLU.6", "gradient 0", SELU),
    ("Gradient of selu", "LeakyReLU.17", "gradient 0", SELU),
    ("Gradient of rrelu outside training", "LeakyReLU.14", "gradient 0", SLOPES.format(mean=0.2295)),
    ("Gradient of rrelu outside training", "LeakyReLU.15", "gradient 0", SLOPES.format(mean=0.5)),
    ("Softmax in another dtype", "softmax.6", "result", SOFTMAX.format(dtype="float64", sign=1)),
    ("Softmax in another dtype", "softmax.8", "result", SOFTMAX.format(dtype="float32", sign=1)),
    ("Softmax in another dtype", "softmin.6", "result", SOFTMAX.format(dtype="float64", sign=-1)),
    ("Softmax in another dtype", "softmin.8", "result", SOFTMAX.format(dtype="float32", sign=-1)),
    ("Softmax in another dtype", "log_softmax.6", "result", f"np.log({SOFTMAX.format(dtype='float64', sign=1)})"),
    ("Softmax in another dtype", "log_softmax.8", "result", f"np.log({SOFTMAX.format(dtype='float32', sign=1)})"),
    (
        "Dtypes of arguments",
        "softmax.14",
        "accepted",
        "(lambda e: e / e.sum(1, keepdims=True))(np.exp(x[0]) * (np.arange(4) < x[1][:, None]).astype('float32'))",
    ),
    ("Gradient of SoftmaxActivation", "SoftmaxActivation.2", "gradient 0", "out * (h[0] - (h[0] * out).sum(-1, keepdims=True))"),
    ("Softmax over channels", "SoftmaxActivation.1", "accepted", SOFTMAX.format(dtype="float32", sign=1)),
    ("Cross-entropy of unlikely classes", "softmax_cross_entropy.2", "result", "np.array([200 + np.log(3)], 'float32')"),
    ("Labels outside the classes", "softmax_cross_entropy.1", "result", "-np.log({0})[[0, 1], [3, 0]].sum(keepdims=True)"),
    ("Head gradient of SoftmaxOutput", "SoftmaxOutput.31", "gradient 0", HEAD),
    ("Head gradient of SoftmaxOutput", "SoftmaxOutput.32", "gradient 0", HEAD),
    ("Head gradient of SoftmaxOutput", "SoftmaxOutput.33", "gradient 0", HEAD),
    ("Head gradient of SoftmaxOutput", "SoftmaxOutput.34", "gradient 0", HEAD),
    ("Head gradient of SoftmaxOutput", "SoftmaxOutput.39", "gradient 0", HEAD),
    (
        "Samples of several axes",
        "SoftmaxOutput.24",
        "accepted",
        "(lambda e: e / e.sum(1, keepdims=True))(np.exp(x[0].reshape(2, 6))).reshape(2, 3, 2)",
    ),
    ("Channels last", "Convolution.28", "accepted", f"np.einsum('nhwcij,fijc->nhwf', {WINDOWS}, x[1]) + x[2]"),
    ("Pooling convention", "Pooling.32", "accepted", "np.maximum.reduceat(x[0], [0, 2, 4], axis=2)"),
    (
        "Pooling convention",
        "Pooling.33",
        "accepted",
        f"(lambda p: {SAME})(np.pad(x[0], ((0, 0), (0, 0), (0, 1), (0, 0)), constant_values=-np.inf))",
    ),
    (
        "Parameters of GroupNorm",
        "GroupNorm.1",
        "accepted",
        f"(lambda g: {GROUPS} * x[1][:, None] + x[2][:, None])(x[0].reshape(2, 2, 2, 3))",
    ),
    ("Precision of BatchNorm", "BatchNorm.19", "gradient 1", f"(lambda d: {NORMAL})(x[0].astype('float32'))"),
    *[("Fixed gamma", f"BatchNorm.{k}", "state", "out") for k in (0, 1, 4, 5, 8)],
    ("Time on axis 1", "SequenceReverse.3", "accepted", "x[0][:, ::-1]"),
    *[("Nesterov's momentum of 16-bit weights", f"mp_nag_mom_update.{k}", "state", "out") for k in (0, 1, 3, 6)],
]
ROWS = [(title, case, kind, ours.replace("{0}", SOFTMAX.format(dtype="float32", sign=1))) for title, case, kind, ours in ROWS]

#: Cases that MXNet supports on a GPU only; elsewhere it ignores what was requested: see test_recurrent.py.
ELSEWHERE = {"RNN.22", "RNN.23"}

#: Operators whose float64 values MXNet computes with float32 constants.
SINGLE_PRECISION = {"_contrib_BilinearResize2D", "LeakyReLU", "SoftmaxOutput", "sgd_update"}
