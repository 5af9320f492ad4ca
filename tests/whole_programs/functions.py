"""Random pure functions, each run in every way that MXNet has. Statements are chosen by the shapes that arrays have in them."""

import random
import re

import numpy as np

from .outcomes import outcome_at, outcome_of
from .own_operators import register
from .programs import MOST, size_together
from .ways import WAYS, Ways

UNARY = [
    "exp",
    "tanh",
    "relu",
    "sigmoid",
    "abs",
    "square",
    "sign",
    "floor",
    "negative",
    "softsign",
    "sin",
    "erf",
    "log1p_abs",
    "hard_sigmoid",
    "rint",
]
BINARY = ["broadcast_add", "broadcast_sub", "broadcast_mul", "broadcast_div", "broadcast_maximum", "broadcast_minimum", "broadcast_greater"]
OPERATORS = ["+", "-", "*", "/", ">", "<=", "maximum"]
REDUCTIONS = ["sum", "mean", "max", "min", "norm", "prod"]
SMALL = [(3,), (2, 3), (4, 3), (1, 3), (2, 3, 4), (4, 1), (1,), (2, 3, 5, 5)]
#: Around the size from which on operations wait, and blocks and executors compute by other ways.
LARGE = [(255, 257), (256, 256), (300, 300), (4, 3, 80, 80), (65536,)]


#: Statements through which nothing has a gradient.
NOT_SMOOTH = re.compile(r">|<=|greater|one_hot|zeros_like|argmax")


class Function(Ways):
    """One random function.

    Parameters
    ----------
    mx
        The library.
    seed
        The program's number.
    """

    def __init__(self, mx, seed, answers=()):
        self.mx, self.rng, self.seed, self.answers = mx, random.Random(seed), seed, answers
        register(mx)
        self.log = []
        #: The statements: a name, and the function that makes its value of `F` and the values before, by name.
        self.statements = []
        self.inputs = {}
        self.values = {}
        #: The inputs through which a value has a gradient, by name. MXNet has none for what has none of them, or zeros.
        self.sources = {}

    def run(self):
        """Write and run it; what it did is a list of pairs: a statement, and its outcome in words."""
        large = self.rng.random() < 0.3
        shape = self.rng.choice(LARGE) if large else None
        for k in range(self.rng.randint(1, 3)):
            own = shape if large and self.rng.random() < 0.7 else self.rng.choice([*SMALL, *(self.inputs[n].shape for n in self.inputs)])
            values = np.random.RandomState(self.seed * 7 + k).randint(-8, 9, own).astype("float32") / 4
            self.inputs[f"a{k}"] = values
            self.values[f"a{k}"] = self.mx.nd.array(values)
            self.sources[f"a{k}"] = {f"a{k}"}
            self.log.append((f"a{k} = array {own}", ""))
        for _ in range(self.rng.randint(3, 14)):
            self.rng.choice(
                [
                    self.unary,
                    self.binary,
                    self.binary,
                    self.scalar,
                    self.reduce,
                    self.shape,
                    self.shape,
                    self.several,
                    self.layer,
                    self.control,
                    self.cast,
                ]
            )()
        made = [name for name, _ in self.statements if self.sources[name]]
        if not made:
            return self.log
        self.heads = list(dict.fromkeys([made[-1], *(self.rng.sample(made, 1) if self.rng.random() < 0.4 else [])]))
        self.requests = {name: self.rng.choice(["write", "write", "add", "null"]) for name in self.inputs}
        for head in self.heads:
            if all(self.requests[name] == "null" for name in self.sources[head]):
                self.requests[min(self.sources[head])] = "write"
        self.train = self.rng.random() < 0.6
        self.log.append((f"heads {self.heads}, {self.requests}, train {self.train}", ""))
        for way in WAYS:
            self.run_way(way)
        return self.log

    # -- statements

    def make(self, statement, function):
        """Add a statement, and note its value for arrays."""
        name = f"v{len(self.statements)}"
        found, outcome = outcome_of(lambda: function(self.mx.nd, self.values))
        self.log.append((f"{name} = {statement}", outcome))
        if found is None or outcome_at(self.answers, len(self.log) - 1).startswith("error"):
            return
        self.values[name] = found
        self.statements.append((name, function))
        used = re.findall(r"\b[av]\d+\b", statement)
        if re.match(r"(foreach|while|while_over|cond)\(", statement):
            used = used[:1]  # the second one only chooses a branch
        self.sources[name] = set() if NOT_SMOOTH.search(statement) else set().union(*(self.sources[a] for a in used))

    def pick(self, test=None):
        """The name of a value, rather a later one."""
        names = [n for n in self.values if test is None or test(self.values[n])]
        return self.rng.choice(names[-4:] if self.rng.random() < 0.6 else names) if names else None

    def floats(self, axes=1):
        return self.pick(lambda x: len(x.shape) >= axes and x.dtype == np.float32)

    def unary(self):
        a, f = self.pick(), self.rng.choice(UNARY)
        if f == "log1p_abs":
            return self.make(f"log1p(abs({a}))", lambda F, v: F.log1p(F.abs(v[a])))
        return self.make(f"{f}({a})", lambda F, v: getattr(F, f)(v[a]))

    def binary(self):
        a = self.pick()
        shape, dtype = self.values[a].shape, self.values[a].dtype
        b = self.pick(lambda x: x.shape == shape and x.dtype == dtype)
        if self.rng.random() < 0.5:
            f = self.rng.choice(OPERATORS)
            calls = {
                "+": lambda F, x, y: x + y,
                "-": lambda F, x, y: x - y,
                "*": lambda F, x, y: x * y,
                "/": lambda F, x, y: x / (y * y + 1),
                ">": lambda F, x, y: x > y,
                "<=": lambda F, x, y: x <= y,
                "maximum": lambda F, x, y: F.maximum(x, y),
            }
            return self.make(f"{a} {f} {b}", lambda F, v: calls[f](F, v[a], v[b]))
        f = self.rng.choice(BINARY)
        b = self.rng.choice(
            [b, self.pick(lambda x: broadcast(x.shape, shape) and size_together(x.shape, shape) <= MOST and x.dtype == dtype) or b]
        )
        if f == "broadcast_div":
            return self.make(f"{f}({a}, {b})", lambda F, v: F.broadcast_div(v[a], F.square(v[b]) + 1))
        return self.make(f"{f}({a}, {b})", lambda F, v: getattr(F, f)(v[a], v[b]))

    def scalar(self):
        a, c, f = self.pick(), self.rng.choice([2, 0.5, -1.5, 3, 0]), self.rng.choice(["+", "*", "r-", "max", "**", "%", "clip", ">"])
        calls = {
            "+": lambda F, x: x + c,
            "*": lambda F, x: c * x,
            "r-": lambda F, x: c - x,
            "max": lambda F, x: F.maximum(x, c),
            "**": lambda F, x: x**2,
            "%": lambda F, x: x % 3,
            "clip": lambda F, x: F.clip(x, -1.1, 1.3),
            ">": lambda F, x: x > c,
        }
        self.make(f"{a} {f} {c}", lambda F, v: calls[f](F, v[a]))

    def reduce(self):
        a, f = self.pick(), self.rng.choice(REDUCTIONS)
        axis, keepdims = self.rng.choice([None, 0, -1]), self.rng.random() < 0.4
        options = {} if axis is None else {"axis": axis, "keepdims": keepdims}
        self.make(f"{f}({a}, {options})", lambda F, v: getattr(F, f)(v[a], **options))

    def shape(self):
        a = self.pick()
        axes, size = len(self.values[a].shape), self.values[a].size
        kinds = [
            "flatten",
            "expand_dims",
            "flip",
            "broadcast_like",
            "slice_axis",
            "slice",
            "reshape",
            "identity",
            "swapaxes",
            "stop",
            "transpose",
        ]
        kinds += ["tile", "repeat", "pad"] if size < 99 else []
        f = self.rng.choice(kinds)
        calls = {
            "flatten": lambda F, x: F.flatten(x),
            "expand_dims": lambda F, x: F.expand_dims(x, axis=0),
            "flip": lambda F, x: F.flip(x, axis=0),
            "broadcast_like": lambda F, x: F.broadcast_like(F.sum(x, axis=0, keepdims=True), x),
            "slice_axis": lambda F, x: F.slice_axis(x, axis=0, begin=0, end=1),
            "slice": lambda F, x: F.slice(x, begin=(0,), end=(None,), step=(2,)),
            "reshape": lambda F, x: F.reshape(x, shape=(-1, 1)),
            "identity": lambda F, x: F.identity(x),
            "swapaxes": lambda F, x: F.swapaxes(x, 0, axes - 1),
            "stop": lambda F, x: F.BlockGrad(x) * x,
            "transpose": lambda F, x: F.transpose(x),
            "tile": lambda F, x: F.tile(x, reps=(2,)),
            "repeat": lambda F, x: F.repeat(x, repeats=2, axis=0),
            "pad": lambda F, x: F.concat(F.zeros_like(x), x, dim=0),
        }
        self.make(f"{f}({a})", lambda F, v: calls[f](F, v[a]))

    def several(self):
        a = self.pick()
        shape, dtype = self.values[a].shape, self.values[a].dtype
        b = self.pick(lambda x: x.shape == shape and x.dtype == dtype)
        f = self.rng.choice(
            ["concat", "stack", "where", "dot", "add_n", "split", "batch_dot", "take", "one_hot", "topk", "sort", "custom", "two"]
        )
        small = self.values[a].size < 99
        two_axes = len(shape) == 2 and shape[0] <= 1000 and dtype == np.float32
        calls = {
            "concat": lambda F, x, y: F.concat(x, y, dim=0),
            "stack": lambda F, x, y: F.stack(x, y, axis=0),
            "where": lambda F, x, y: F.where(x > 0, x, y),
            "dot": lambda F, x, y: F.dot(x, y, transpose_b=True) if two_axes else x + y,
            "add_n": lambda F, x, y: F.add_n(x, y, x),
            "split": lambda F, x, y: (lambda parts: parts[0] + parts[1] * 2)(F.split(F.concat(x, y, dim=0), num_outputs=2, axis=0)),
            "batch_dot": lambda F, x, y: (
                F.batch_dot(F.expand_dims(x, axis=0), F.expand_dims(y, axis=0), transpose_b=True) if two_axes else x - y
            ),
            "take": lambda F, x, y: F.take(x, F.zeros_like(F.slice_axis(F.reshape(y, shape=(-1,)), axis=0, begin=0, end=1))),
            "one_hot": lambda F, x, y: F.one_hot(F.slice_axis(F.reshape(F.abs(x), shape=(-1,)), axis=0, begin=0, end=1), 3),
            "topk": lambda F, x, y: F.topk(x, k=1, ret_typ="value") if small else y * 0.25,  # MXNet takes any of equal ones
            "sort": lambda F, x, y: F.sort(x, axis=-1),
            "custom": lambda F, x, y: F.Custom(x, op_type="whole_square"),
            "two": lambda F, x, y: (lambda parts: parts[0] - parts[1])(F.Custom(x, y, op_type="whole_two")),
        }
        reads = a if f in ("one_hot", "topk", "sort", "custom", "take") else f"{a}, {b}"  # what has a gradient
        self.make(f"{f}({reads})", lambda F, v: calls[f](F, v[a], v[b]))

    def layer(self):
        a = self.floats(2)
        if a is None:
            return
        shape = self.values[a].shape
        f = self.rng.choice(
            ["dense", "softmax", "log_softmax", "layer_norm", "dropout", "conv", "pool", "l2", "smooth", "pick", "activation", "leaky"]
        )
        image = len(shape) == 4
        calls = {
            "dense": lambda F, x: F.FullyConnected(
                x, F.slice_axis(F.flatten(x), axis=0, begin=0, end=1) * 0.01, num_hidden=1, no_bias=True
            ),
            "softmax": lambda F, x: F.softmax(x, axis=-1),
            "log_softmax": lambda F, x: F.log_softmax(x, axis=-1) if shape[-1] > 1 else x * 2,  # rounding errors as against 0
            "layer_norm": lambda F, x: F.LayerNorm(
                F.broadcast_sub(x, F.mean(x, axis=-1, keepdims=True)),  # see "Layer normalization of large means"
                F.ones((shape[-1],)),
                F.zeros((shape[-1],)),
            ),
            "dropout": lambda F, x: F.Dropout(x, p=0.0),
            "conv": lambda F, x: (
                F.Convolution(x, F.ones((2, shape[1], 3, 3)) * 0.1, kernel=(3, 3), pad=(1, 1), num_filter=2, no_bias=True)
                if image
                else x * 2
            ),
            "pool": lambda F, x: F.Pooling(x, kernel=(2, 2), stride=(2, 2), pool_type="avg") if image and min(shape[2:]) > 2 else x + 1,
            "l2": lambda F, x: F.L2Normalization(x),
            "smooth": lambda F, x: F.smooth_l1(x, scalar=1.0),
            "pick": lambda F, x: F.pick(x, F.zeros_like(F.mean(x, axis=-1)), axis=-1),
            "activation": lambda F, x: F.Activation(x, act_type="softrelu"),
            "leaky": lambda F, x: F.LeakyReLU(x, act_type="elu", slope=0.3),
        }
        self.make(f"{f}({a})", lambda F, v: calls[f](F, v[a]))

    def control(self):
        a, kind = self.floats(2), self.rng.choice(["foreach", "while", "while_over", "cond", "cond"])
        if kind == "cond" and self.rng.random() < 0.7:  # MXNet's gradient is right for inputs
            a = self.rng.choice([n for n in self.inputs if len(self.inputs[n].shape) > 1] or [a])
        if a is None or self.values[a].shape[0] > 300:
            return
        b, c, limit = self.floats(), self.rng.choice([0.5, -1.0, 2.0]), self.rng.randint(1, 4)

        def loop(F, v):
            first = F.squeeze(F.slice_axis(v[a], axis=0, begin=0, end=1), axis=0)
            outputs, state = F.contrib.foreach(lambda d, s: (d * s, F.tanh(d * c + s)), v[a], first)
            return F.broadcast_add(outputs, state)

        def repeat(F, v):
            outputs, states = F.contrib.while_loop(
                lambda i, s: i < limit, lambda i, s: (s * 0.5, [i + 1, F.tanh(s + v[a])]), [F.zeros((1,)), v[a] * c], max_iterations=4
            )
            return states[1] + F.sum(F.slice_axis(outputs, axis=0, begin=0, end=limit), axis=0)

        def repeat_over(F, v):
            outputs, states = F.contrib.while_loop(
                lambda i, s, x: i < limit,
                lambda i, s, x: (s * 0.5, [i + 1, F.tanh(s + x), x]),
                [F.zeros((1,)), v[a] * c, v[a]],
                max_iterations=4,
            )
            return states[1] + F.sum(F.slice_axis(outputs, axis=0, begin=0, end=limit), axis=0)

        def choose(F, v):
            total = F.sum(v[b])
            return F.contrib.cond(total > c, lambda: F.tanh(v[a]), lambda: v[a] * c)

        self.make(f"{kind}({a}, {b}, {c}, {limit})", {"foreach": loop, "while": repeat, "while_over": repeat_over, "cond": choose}[kind])

    def cast(self):
        a, dtype = self.floats(), self.rng.choice(["float64", "float16", "float32"])
        if a is not None:
            self.make(f"cast({a}, {dtype})", lambda F, v: F.cast(F.cast(v[a], dtype=dtype) * 2, dtype="float32"))


def broadcast(shape, other):
    """Whether two shapes have as many axes, and broadcast."""
    return len(shape) == len(other) and all(m == other[k] or 1 in (m, other[k]) for k, m in enumerate(shape))
