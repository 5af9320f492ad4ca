"""Channels-last layout inside programs: what the pass does to graphs, and that it changes no bit of any result."""

import random
from types import SimpleNamespace

import numpy as np
import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.graph.build import G
from twofold.graph.channels_last import with_channels_last
from twofold.graph.ir import applications, leaf
from twofold.graph.tables import drop_generation
from twofold.program import passes
from twofold_numpy import adapter, calls, convolution, namespace
from twofold_numpy.convolution import applicable
from twofold_numpy.convolution_table import Choice

from tests.cases import later_in_ci

STEPS = {"stride": (1, 1), "dilate": (1, 1), "pad": (1, 1), "groups": 1}
IMAGES = {"convolve", "convolve_data", "convolve_weight"}


def image(name="x", c=4):
    return leaf(name, (2, c, 8, 8), "float32", True)


def conv(x, name, c=4):
    """A convolution whose result is as large as its data."""
    return G.convolve(x, leaf(name, (c, x.shape[1], 3, 3), "float32", True), **STEPS)


def always(n):
    """As if every convolution gained a lot."""
    return 0.0 if n.bound_op.op.name == "sum" else 1e9


def worth_of_one_image(n):
    return 0.0 if n.bound_op.op.name == "sum" else n.nbytes


def names(outputs):
    return [n.bound_op.op.name for n in applications(outputs)]


def shapes_of(outputs, name):
    return [n.shape for n in applications(outputs) if n.bound_op.op.name == name]


# graphs


def test_a_graph_without_convolutions_is_unchanged():
    y = [G.tanh(image() * 2.0)]
    assert with_channels_last(y, always) == y


@pytest.mark.parametrize("gain", [lambda n: None, lambda n: 0.0], ids=["channels first", "nothing"])
def test_convolutions_that_would_not_gain_are_unchanged(gain):
    y = [conv(conv(image(), "a"), "b")]
    assert with_channels_last(y, gain) == y


def test_what_has_channels_last_already_is_unchanged():
    x, y, w = (leaf(name, shape, "float32", True) for name, shape in {"x": (1, 6, 4, 5), "y": (1, 6, 4, 3), "w": (3, 5, 3, 3)}.items())
    same = STEPS | {"channels_last": True}
    outputs = [
        G.convolve(G.tanh(x), w, **same),
        G.convolve_data(G.tanh(y), w, size=(6, 4), **same),
        G.convolve_weight(G.tanh(x), G.tanh(y), kernel=(3, 3), **same),
    ]
    assert with_channels_last(outputs, always) == outputs


def test_a_chain_is_transposed_once_on_each_side():
    y = G.maximum(conv(G.tanh(conv(G.maximum(conv(image(), "a"), 0.0), "b")), "c"), 0.0)
    (found,) = with_channels_last([y], always)
    assert found.shape == y.shape
    assert names([found]).count("permute_dims") == 2
    assert shapes_of([found], "convolve") == [(2, 8, 8, 4)] * 3
    assert shapes_of([found], "tanh") == [(2, 8, 8, 4)]


def test_no_conversion_if_transposing_costs_more_than_it_gains():
    one = [conv(image(), "a")]
    assert with_channels_last(one, worth_of_one_image) == one
    two = [conv(conv(image(), "a"), "b")]
    assert with_channels_last(two, lambda n: 0.9 * n.nbytes) == two
    assert with_channels_last(two, lambda n: 1.1 * n.nbytes) != two


def test_conversion_stops_at_a_convolution_that_stays_channels_first():
    y = conv(conv(conv(conv(image(), "a"), "b"), "strided"), "c")
    (found,) = with_channels_last([y], lambda n: None if getattr(n.inputs[1], "name", "") == "strided" else 1e9)
    assert shapes_of([found], "convolve") == [(2, 8, 8, 4), (2, 8, 8, 4), (2, 4, 8, 8), (2, 8, 8, 4)]
    assert names([found]).count("permute_dims") == 4


def test_transposes_in_user_code_cancel():
    last = leaf("x", (2, 8, 8, 4), "float32")
    y = G.permute_dims(conv(G.permute_dims(last, axes=(0, 3, 1, 2)), "a"), axes=(0, 2, 3, 1))
    assert names(with_channels_last([y], lambda n: 1.0)) == ["convolve"]
    half = [conv(G.permute_dims(last, axes=(0, 3, 1, 2)), "a")]
    assert names(with_channels_last(half, lambda n: 1.1 * n.nbytes)) == ["convolve", "permute_dims", "contiguous"]


def test_reshapes_that_keep_batch_and_channel_axes_are_converted():
    y = conv(G.reshape(G.reshape(conv(image(), "a"), shape=(2, 4, 4, 2, 8)) * 2.0, shape=(2, 4, 8, 8)), "b")
    (found,) = with_channels_last([y], always)
    assert shapes_of([found], "multiply") == [(2, 4, 2, 8, 4)]
    mixed = conv(G.reshape(G.reshape(conv(image(), "a"), shape=(8, 8, 8)) * 2.0, shape=(2, 4, 8, 8)), "b")
    (found,) = with_channels_last([mixed], always)
    assert shapes_of([found], "multiply") == [(8, 8, 8)]


def test_per_channel_arrays_are_reshaped_not_transposed():
    y = G.maximum(conv(image(), "a") + G.reshape(leaf("bias", (4,), "float32"), shape=(-1, 1, 1)), 0.0)
    (found,) = with_channels_last([y], always)
    assert names([found]).count("permute_dims") == 2
    assert shapes_of([found], "reshape") == [(1, 1, 1, 4)]


def test_a_per_channel_sum_transposes_image_arrays_only():
    total = G.sum(conv(image(), "a"), axis=(0, 2, 3))
    (found,) = with_channels_last([total], always)
    assert shapes_of([found], "sum") == [(1, 8, 8, 4), (4,)]
    assert shapes_of([found], "contiguous") == [(2, 8, 8, 4), (1, 4, 8, 8)]


def test_a_variance_stays_beside_the_convolution_that_its_image_comes_from():
    x = conv(image(), "first")
    apart = x - G.sum(x, axis=(0, 2, 3), keepdims=True)
    total = G.sum(G.square(apart), axis=(0, 2, 3))
    y = conv(G.maximum(apart * 2.0, 0.0), "last")
    found = with_channels_last([total, y], lambda n: None if getattr(n.inputs[-1], "name", "") == "first" else always(n))
    assert shapes_of(found, "square") == [(2, 4, 8, 8)]
    assert shapes_of(found, "convolve") == [(2, 4, 8, 8), (2, 8, 8, 4)]


def test_elementwise_operations_before_the_chain_are_unchanged():
    y = conv(conv(G.tanh(G.exp(image())), "a"), "b")
    (found,) = with_channels_last([y], always)
    assert shapes_of([found], "tanh") == shapes_of([found], "exp") == [(2, 4, 8, 8)]


# programs


@pytest.fixture
def small(monkeypatch):
    """Programs on small arrays are like those on large ones: convolutions and sums have channels last, and all that can fuse does."""

    def choice(kind, g, with_winograd, with_direct, on_wide):
        names = applicable(kind, g, np.dtype(np.float32))
        return Choice("winograd" if with_winograd else "patches" if "patches" in names else "gathered", 1 << 20)

    changed = []

    def converted(outputs, gain):
        found = with_channels_last(outputs, gain)
        if not IMAGES.isdisjoint(names(outputs)):
            changed.append(found != list(outputs))
        return found

    scale = SimpleNamespace(gain=100.0, changed=changed)
    monkeypatch.setattr(convolution, "MIN_PRODUCTS", 1)
    monkeypatch.setattr(convolution, "choice", choice)
    monkeypatch.setattr(convolution, "saving", lambda *_: scale.gain)
    monkeypatch.setattr(passes, "with_channels_last", converted)
    for module in (adapter, calls, namespace):
        monkeypatch.setattr(module, "BLOCK", 8)
    monkeypatch.setattr(SETTINGS, "defer_elements", 1)
    monkeypatch.setattr(SETTINGS, "jit", False)
    convolution.chosen.cache_clear()
    yield scale
    convolution.chosen.cache_clear()


class Net:
    """A random network on images: a list of layers drawn from a seed, over `mx.sym` or `mx.nd` (``F``)."""

    def __init__(self, seed):
        draw = self.draw = random.Random(seed)
        self.shape = draw.randint(1, 3), draw.randint(1, 5), draw.randint(6, 9), draw.randint(6, 9)
        self.layers = [draw.choice(LAYERS) for _ in range(draw.randint(3, 8))]
        self.seed = seed

    def composed(self, F, x, parameter):
        """The results; ``parameter(shape)`` returns weights."""
        self.draw = random.Random(self.seed + 1)
        self.F, self.parameter, self.before = F, parameter, []
        self.size = self.shape
        for layer in self.layers:
            self.before.append((self.size, x))
            x = layer(self, x)
        inner = self.draw.choice(self.before[1:] or self.before)[1]
        return [x, inner] if self.draw.random() < 0.4 else [x]

    def convolution(self, x):
        n, c, h, w = self.size
        groups = 2 if c % 2 == 0 and self.draw.random() < 0.15 else 1
        f, k = groups * self.draw.randint(1, 3), self.draw.choice((1, 3, 3, 3))
        step = 2 if min(h, w) > 4 and self.draw.random() < 0.2 else 1
        weight, bias = self.parameter((f, c // groups, k, k)), self.parameter((f,))
        self.size = (n, f, (h - 1) // step + 1, (w - 1) // step + 1)
        params = {"kernel": (k, k), "stride": (step, step), "pad": (k // 2, k // 2), "num_filter": f, "num_group": groups}
        return self.F.Convolution(x, weight, bias, **params)

    def convolution_with_channels_last(self, x):
        n, c, h, w = self.size
        y = self.F.transpose(x, axes=(0, 2, 3, 1))
        params = {"kernel": (3, 3), "pad": (1, 1), "num_filter": 3, "layout": "NHWC"}
        y = self.F.Convolution(y, self.parameter((3, 3, 3, c)), self.parameter((3,)), **params)
        self.size = (n, 3, h, w)
        return self.F.transpose(y, axes=(0, 3, 1, 2))

    def transposed_convolution(self, x):
        n, c, h, w = self.size
        self.size = (n, 2, h, w)
        return self.F.Deconvolution(x, self.parameter((c, 2, 3, 3)), kernel=(3, 3), pad=(1, 1), num_filter=2)

    def batch_norm(self, x):
        states = [self.parameter((self.size[1],), state=k > 1) for k in range(4)]
        return self.F.BatchNorm(x, *states, fix_gamma=self.draw.random() < 0.5, use_global_stats=self.draw.random() < 0.3)

    def activation(self, x):
        return self.F.Activation(x, act_type=self.draw.choice(("relu", "tanh", "sigmoid", "softrelu")))

    def pooling(self, x):
        n, c, h, w = self.size
        if min(h, w) < 4:
            return x
        kernel, kind = self.draw.choice((2, 3)), self.draw.choice(("max", "max", "avg", "sum"))
        pad = self.draw.choice((0, 1))
        self.size = (n, c, *[(s + 2 * pad - kernel) // 2 + 1 for s in (h, w)])
        return self.F.Pooling(x, kernel=(kernel, kernel), stride=(2, 2), pad=(pad, pad), pool_type=kind)

    def residual(self, x):
        same = [y for size, y in self.before if size == self.size]
        return x + self.draw.choice(same)

    def joined(self, x):
        same = [(size, y) for size, y in self.before if (size[0], *size[2:]) == (self.size[0], *self.size[2:])]
        size, y = self.draw.choice(same)
        self.size = (self.size[0], self.size[1] + size[1], *self.size[2:])
        return self.F.concat(x, y, dim=1)

    def scaled(self, x):
        own = self.draw.choice(((1, self.size[1], 1, 1), (self.size[0], self.size[1], 1, 1), (1, 1, 1, self.size[3])))
        return self.F.broadcast_mul(x, self.parameter(own))

    def less_its_mean(self, x):
        axes = self.draw.choice(((2, 3), (1,), (0, 2, 3)))
        return self.F.broadcast_sub(x, self.F.mean(x, axis=axes, keepdims=True))

    def cut(self, x):
        axis = self.draw.choice((1, 2, 3))
        begin = 1 if self.size[axis] > 3 else 0
        self.size = tuple(s - begin if k == axis else s for k, s in enumerate(self.size))
        return self.F.slice_axis(x, axis=axis, begin=begin, end=None)

    def padded(self, x):
        self.size = (*self.size[:2], self.size[2] + 1, self.size[3] + 2)
        return self.F.pad(x, mode="constant", pad_width=(0, 0, 0, 0, 0, 1, 1, 1), constant_value=0.5)

    def softmax(self, x):
        return self.F.softmax(x, axis=self.draw.choice((1, -1)))

    def chosen(self, x):
        return self.F.where(x > 0.0, x * 2.0, self.F.square(x))


LAYERS = [
    *[Net.convolution] * 5,
    *[Net.batch_norm] * 3,
    *[Net.activation, Net.pooling, Net.residual] * 2,
    *[Net.convolution_with_channels_last, Net.transposed_convolution, Net.joined, Net.scaled],
    *[Net.less_its_mean, Net.cut, Net.padded, Net.softmax, Net.chosen],
]


def arrays_of(net):
    draw = np.random.default_rng(net.seed)
    return lambda shape: draw.standard_normal(shape).astype(np.float32)


def bound(net, training):
    """An executor's results, gradients and states."""
    shapes, states = {"x": net.shape}, []

    def parameter(shape, state=False):
        name = f"p{len(shapes)}"
        shapes[name] = shape
        states.extend([name] if state else [])
        return mx.sym.var(name)

    y = mx.sym.Group(net.composed(mx.sym, mx.sym.var("x"), parameter))
    executor = y.simple_bind(mx.cpu(), grad_req="write" if training else "null", **shapes)
    number = arrays_of(net)
    for name, shape in shapes.items():
        values = number(shape)
        if name in states:
            executor.aux_dict[name][:] = abs(values) + 0.5
        else:
            executor.arg_dict[name][:] = values
    found = [a.asnumpy() for a in executor.forward(is_train=training)]
    if training:
        executor.backward([mx.nd.array(number(a.shape)) for a in found])
        found += [a.asnumpy() for a in (*executor.grad_arrays, *executor.aux_arrays)]
    return found


def recorded(net, training):
    """The same from `mx.nd` operations run one by one."""
    number = arrays_of(net)
    given = [mx.nd.array(number(net.shape))]

    def parameter(shape, state=False):
        given.append(mx.nd.array(abs(number(shape)) + 0.5 if state else number(shape)))
        if not state:
            given[-1].attach_grad()
        return given[-1]

    given[0].attach_grad()
    with mx.autograd.record() if training else mx.autograd.pause():
        results = net.composed(mx.nd, given[0], parameter)
        total = sum((y * y).sum() for y in results)
    if training:
        total.backward()
    return [a.asnumpy() for a in (*results, total, *given, *[a.grad for a in given if training and a.grad is not None])]


def results_of(run, seed, training, on):
    drop_generation()
    SETTINGS.channels_last = on
    return run(Net(seed), training)


@pytest.mark.parametrize("run", [bound, recorded])
@pytest.mark.parametrize("training", later_in_ci([True, False]))
def test_random_networks_are_bitwise_equal_with_channels_first_and_last(small, monkeypatch, run, training):
    monkeypatch.setattr(SETTINGS, "channels_last", True)
    for seed in range(30):
        small.gain = (100.0, 100.0, 1.0)[seed % 3]
        first, last = (results_of(run, seed, training, on) for on in (False, True))
        for k, (a, b) in enumerate(zip(first, last, strict=True)):
            np.testing.assert_array_equal(a.view(np.int32), b.view(np.int32), err_msg=f"seed {seed}, array {k}")
    assert sum(small.changed) > 15, "the pass is hardly tried"


@pytest.mark.parametrize("run", [bound, recorded])
def test_machine_code_is_bitwise_equal_with_channels_first_and_last(small, monkeypatch, run):
    monkeypatch.setattr(SETTINGS, "channels_last", True)
    monkeypatch.setattr(SETTINGS, "jit", True)
    monkeypatch.setattr(SETTINGS, "jit_eager", True)
    for seed in range(3):
        first, last = (results_of(run, seed, True, on) for on in (False, True))
        for a, b in zip(first, last, strict=True):
            np.testing.assert_array_equal(a.view(np.int32), b.view(np.int32))


@pytest.mark.parametrize("training", [False, True])
def test_the_cost_table_converts_resnet_layers(monkeypatch, training):
    def block(x, k):
        for j in range(2):
            y = mx.sym.Convolution(x, num_filter=64, kernel=(3, 3), pad=(1, 1), no_bias=True, name=f"conv{k}{j}")
            x = mx.sym.Activation(mx.sym.BatchNorm(y, fix_gamma=False, name=f"norm{k}{j}"), act_type="relu") + x
        return x

    results = []
    for on in (False, True):
        drop_generation()
        monkeypatch.setattr(SETTINGS, "channels_last", on)
        monkeypatch.setattr(SETTINGS, "jit", False)  # machine code reads either order
        executor = block(block(mx.sym.var("x"), 0), 1).simple_bind(mx.cpu(), x=(8, 64, 56, 56), grad_req="write" if training else "null")
        draw = np.random.default_rng(0)
        for name in sorted(executor.arg_dict):
            executor.arg_dict[name][:] = draw.standard_normal(executor.arg_dict[name].shape).astype(np.float32) * 0.1
        found = [executor.forward(is_train=training)[0]]
        if training:
            executor.backward(mx.nd.ones(found[0].shape))
            found += executor.grad_arrays
        results.append([a.asnumpy() for a in found])
        lasts = {
            n.bound_op.params["channels_last"]
            for _, p in executor.programs()
            for n in applications(p.outputs)
            if n.bound_op.op.name in IMAGES
        }
        assert on in lasts
        assert on or lasts == {False}
    for a, b in zip(*results, strict=True):
        np.testing.assert_array_equal(a, b)
