"""Layers, attention and optimizers beside PyTorch, whose answers `make_torch_answers` has stored."""

from pathlib import Path

import numpy as host
import pytest

import twofold as mx
from twofold import autograd, gluon
from twofold.errors import ParameterError, ShapeError
from twofold.gluon import nn

np, nd, npx = mx.np, mx.nd, mx.npx
ANSWERS = dict(host.load(Path(__file__).with_name("torch_answers.npz")))


def numbers(*shape, start=0, scale=0.5):
    """The numbers of `make_torch_answers`."""
    return (host.sin(host.arange(host.prod(shape)) * 0.7 + start) * scale).reshape(shape)


def variable(*shape, start=0):
    x = nd.array(numbers(*shape, start=start, scale=1), dtype="float64")
    x.attach_grad()
    return x


def check(name, run, *inputs, rtol=1e-9):
    """A result, and the gradients of its weighted sum, are those stored."""
    with autograd.record():
        out = run(*inputs)
        loss = (out * nd.array(numbers(*out.shape, start=9), dtype="float64")).sum()
    loss.backward()
    host.testing.assert_allclose(out.asnumpy(), ANSWERS[f"{name}:out"], rtol=rtol, atol=1e-9)
    for k, x in enumerate(inputs):
        if f"{name}:grad{k}" in ANSWERS:
            host.testing.assert_allclose(x.grad.asnumpy(), ANSWERS[f"{name}:grad{k}"], rtol=rtol, atol=1e-9)


attention = nd.contrib.scaled_dot_product_attention


@pytest.mark.parametrize(("name", "causal", "heads"), [("sdpa", False, 4), ("sdpa causal", True, 4), ("sdpa groups", True, 2)])
@pytest.mark.parametrize("in_blocks", [False, True])
def test_attention(name, causal, heads, in_blocks, monkeypatch):
    if in_blocks:
        monkeypatch.setattr("twofold.ops.scaled_attention.BLOCK_BYTES", 400)
    q, k, v = variable(2, 4, 6, 8), variable(2, heads, 6, 8, start=1), variable(2, heads, 6, 5, start=2)
    # a parameter of its own, so that no program of the other size of blocks is used
    check(name, lambda q, k, v: attention(q, k, v, causal=causal, scale=8**-0.5 * (1 + 1e-15 * in_blocks)), q, k, v)


def test_attention_with_masks():
    q, k, v = variable(2, 4, 5, 8), variable(2, 4, 7, 8, start=1), variable(2, 4, 7, 8, start=2)
    mask = numbers(2, 1, 5, 7) > -0.2
    mask[..., 0] = True
    check("sdpa mask", lambda q, k, v: attention(q, k, v, nd.array(mask, dtype="bool"), use_mask=True), q, k, v)
    q, added = variable(2, 4, 5, 8), nd.array(numbers(5, 7), dtype="float64")
    added.attach_grad()
    check("sdpa added", lambda q, added: attention(q, k, v, added, scale=0.3, use_mask=True), q, added)


def test_a_query_that_sees_nothing_gives_zeros_and_no_gradient():
    q, k = variable(1, 1, 2, 4), variable(1, 1, 3, 4, start=1)
    mask = nd.array([[0, 0, 0], [1, 1, 0]], dtype="bool")
    with autograd.record():
        out = attention(q, k, k, mask, use_mask=True)
    out.backward()
    assert (out[0, 0, 0].asnumpy() == 0).all()
    assert (q.grad[0, 0, 0].asnumpy() == 0).all()
    assert host.isfinite(k.grad.asnumpy()).all()


def test_attention_of_long_rows_makes_no_array_of_all_scores():
    length = 2048
    q, k, v = [np.array(numbers(1, 1, length, 8, start=s).astype("float32")) for s in range(3)]
    f = mx.func.jit(mx.func.grad(lambda q, k, v: npx.scaled_dot_product_attention(q, k, v, causal=True).sum(), (0, 1, 2)))
    seen = np.array(host.tri(length, dtype=bool))

    def plain(q, k, v):
        return (npx.softmax(np.where(seen, q @ np.swapaxes(k, 2, 3) * 8**-0.5, -host.inf)) @ v).sum()

    whole = mx.func.grad(plain, (0, 1, 2))
    for a, b in zip(f(q, k, v), whole(q, k, v), strict=True):
        host.testing.assert_allclose(a.asnumpy(), b.asnumpy(), rtol=1e-3, atol=1e-4)


@pytest.mark.parametrize(
    "shapes",
    [
        ((2, 3, 4, 8), (2, 2, 4, 8), (2, 2, 4, 8)),
        ((2, 2, 4, 8), (2, 2, 4, 7), (2, 2, 4, 8)),
        ((2, 2, 4, 8), (2, 2, 5, 8), (2, 2, 4, 8)),
        ((2, 2, 4, 8), (2, 2, 4, 8), (2, 2, 4, 8), (3, 4)),
    ],
)
def test_attention_refuses_other_shapes(shapes):
    with pytest.raises(ShapeError, match="attention"):
        attention(*[nd.zeros(s) for s in shapes], use_mask=len(shapes) > 3)


def loaded(layer, name, names):
    """A layer with the parameters of one of PyTorch's; ``names`` gives its names for ours."""
    layer.initialize()
    layer.cast("float64")
    layer(*[nd.zeros(s, dtype="float64") for s in names.pop("")])
    for parameter in layer.collect_params().values():
        own = parameter.name.removeprefix(layer.prefix)
        value = names[own] if own in names else ANSWERS[f"{name}.{own.replace('_', '.')}"]
        parameter.set_data(nd.array(value, dtype="float64"))
    return layer


def of_attention(name, prefix, theirs):
    """The parameters of an attention layer."""
    weight, bias = ANSWERS[f"{name}.{theirs}in_proj_weight"], ANSWERS[f"{name}.{theirs}in_proj_bias"]
    found = {
        f"{prefix}out_weight": ANSWERS[f"{name}.{theirs}out_proj.weight"],
        f"{prefix}out_bias": ANSWERS[f"{name}.{theirs}out_proj.bias"],
    }
    for part, w, b in zip(("query", "key", "value"), host.split(weight, 3), host.split(bias, 3), strict=True):
        found |= {f"{prefix}{part}_weight": w, f"{prefix}{part}_bias": b}
    return found


def of_layer(name, norms):
    """The parameters of normalizations and of the feed-forward network."""
    found = {}
    for k in range(1, norms + 1):
        found |= {f"norm{k}_gamma": ANSWERS[f"{name}.norm{k}.weight"], f"norm{k}_beta": ANSWERS[f"{name}.norm{k}.bias"]}
    for part, number in (("first", 1), ("second", 2)):
        found |= {f"ffn_{part}_{kind}": ANSWERS[f"{name}.linear{number}.{kind}"] for kind in ("weight", "bias")}
    return found


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize(("name", "heads"), [("attention", 2), ("attention 4", 4)])
def test_multi_head_attention(name, heads, hybrid):
    layer = loaded(nn.MultiHeadAttention(8, heads), name, {"": [(1, 2, 8)], **of_attention(name, "", "")})
    layer.hybridize(hybrid)
    check(name, layer, variable(2, 3, 8), variable(2, 5, 8, start=1))


@pytest.mark.parametrize("hybrid", [False, True])
@pytest.mark.parametrize("pre", [False, True])
def test_transformer_layers(pre, hybrid):
    name = "encoder pre" if pre else "encoder"
    names = {"": [(1, 2, 8)], **of_attention(name, "attention_", "self_attn."), **of_layer(name, 2)}
    layer = loaded(nn.TransformerEncoderLayer(8, 2, 16, dropout=0, activation="gelu", pre_norm=pre), name, names)
    layer.hybridize(hybrid)
    check(name, layer, variable(2, 4, 8))
    name = "decoder pre" if pre else "decoder"
    names = {"": [(1, 2, 8), (1, 2, 8)], **of_attention(name, "attention_", "self_attn."), **of_layer(name, 3)}
    names |= of_attention(name, "cross_", "multihead_attn.")
    layer = loaded(nn.TransformerDecoderLayer(8, 2, 16, dropout=0, pre_norm=pre), name, names)
    layer.hybridize(hybrid)
    check(name, layer, variable(2, 4, 8), variable(2, 5, 8, start=1))


@pytest.mark.parametrize(("pre", "hybrid"), [(False, False), (False, True), (True, False), (True, True)])
def test_decoding_with_a_cache_is_the_whole_at_once(pre, hybrid):
    layer = nn.TransformerEncoderLayer(16, 4, 32, True, 2, True, dropout=0.5, activation="silu", pre_norm=pre)
    layer.initialize()
    x = nd.random.normal(shape=(2, 9, 16))
    whole = layer(x).asnumpy()
    if hybrid:
        layer.hybridize()
    cache, parts = layer.attention.new_cache(2, 9), []
    for start, stop in ((0, 4), (4, 5), (5, 9)):
        out, cache = layer.decode(x[:, start:stop], cache)
        parts.append(out.asnumpy())
    host.testing.assert_allclose(host.concatenate(parts, 1), whole, rtol=1e-4, atol=1e-5)
    with pytest.raises(ShapeError, match="cache is full"):
        layer.decode(x[:, :1], cache)


def test_a_hybridized_layer_decodes_by_graphs_that_infer_shapes_and_follow_its_parameters():
    layer = nn.TransformerEncoderLayer(16, 4, 32, True, rotary=True, dropout=0)
    layer.initialize()
    layer.hybridize()
    x = nd.random.normal(shape=(2, 3, 16))

    def decoded():
        return layer.decode(x, layer.attention.new_cache(2, 3))[0].asnumpy()

    for value in (None, 0.5):
        if value is not None:
            layer.ffn.second.weight.set_data(nd.full((16, 32), value))
        host.testing.assert_allclose(decoded(), layer(x).asnumpy(), rtol=1e-4, atol=1e-5)
    assert {name: len(part.symbol.list_outputs()) for name, part in layer._parts.items()} == {"_heads_of": 3, "_after_heads": 1}
    layer.hybridize(False)
    assert not layer._parts
    host.testing.assert_allclose(decoded(), layer(x).asnumpy(), rtol=1e-4, atol=1e-5)


def test_a_mask_hides_keys():
    layer = nn.MultiHeadAttention(8, 2)
    layer.initialize()
    x = nd.random.normal(shape=(2, 5, 8))
    mask = nd.array([[1, 1, 1, 0, 0]] * 2).reshape((2, 1, 1, 5))
    expected = layer(x, x[:, :3]).asnumpy()
    for _ in range(2):
        host.testing.assert_allclose(layer(x, x, x, mask).asnumpy(), expected, rtol=1e-5, atol=1e-6)
        layer.hybridize()


def test_small_layers():
    check("rms", loaded(nn.RMSNorm(epsilon=1e-6), "rms", {"": [(1, 6)], "gamma": ANSWERS["rms.weight"]}), variable(3, 6))
    check("silu", nn.SiLU(), variable(4, 5))
    check("pool", nn.AdaptiveAvgPool2D((3, 2)), variable(2, 3, 7, 5))
    check("pool 1d", nn.AdaptiveAvgPool1D(3), variable(2, 3, 7))
    loss = gluon.loss.SoftmaxCrossEntropyLoss(label_smoothing=0.1)
    check("smoothing", lambda x: loss(x, nd.array([1, 0, 4, 2])), variable(4, 5))


def test_rotated_products_depend_on_distances():
    layer = nn.RotaryPositions()
    a, b = nd.random.normal(shape=(2, 1, 1, 1, 8))
    near = (layer(a, nd.array([3])) * layer(b, nd.array([1]))).sum().asscalar()
    far = (layer(a, nd.array([103])) * layer(b, nd.array([101]))).sum().asscalar()
    assert near == pytest.approx(far, rel=1e-3)
    x = numbers(3, 4)
    angle = host.arange(3)[:, None] * [1, 0.01]
    c, s = host.cos(angle), host.sin(angle)
    expected = host.concatenate([x[:, :2] * c - x[:, 2:] * s, x[:, :2] * s + x[:, 2:] * c], 1)
    host.testing.assert_allclose(layer(nd.array(x)).asnumpy(), expected, rtol=1e-5, atol=1e-6)


def test_layers_of_a_sentence():
    positions = nn.LearnedPositions(6, 4)
    positions.initialize()
    x = nd.ones((2, 3, 4))
    host.testing.assert_allclose(positions(x).asnumpy(), 1 + host.stack([positions.weight.data().asnumpy()[:3]] * 2))
    gated = nn.SwiGLU(8, 5)
    gated.initialize()
    y = gated(x).asnumpy()
    gate, up, down = (getattr(gated, n).weight.data().asnumpy() for n in ("gate", "up", "down"))
    g = x.asnumpy() @ gate.T
    host.testing.assert_allclose(y, (g / (1 + host.exp(-g)) * (x.asnumpy() @ up.T)) @ down.T, rtol=1e-5, atol=1e-7)


def test_dropped_paths_are_whole_samples():
    layer = nn.DropPath(0.25)
    x = nd.ones((400, 2, 3))
    assert (layer(x).asnumpy() == 1).all()
    for _ in range(2):
        with autograd.train_mode():
            found = layer(x).asnumpy().reshape(400, 6)
        assert (found == found[:, :1]).all()
        assert set(host.unique(found.round(4))) == {0, host.float32(1.3333)}
        assert 0.6 < (found[:, 0] > 0).mean() < 0.9
        layer.hybridize()


def test_depthwise_separable_convolution():
    layer = nn.DepthwiseSeparableConv2D(5, 3, strides=2)
    layer.initialize()
    x = nd.random.normal(shape=(2, 3, 8, 8))
    assert layer(x).shape == (2, 5, 4, 4)
    assert sum(p.data().size for p in layer.collect_params().values()) == 3 * 9 + 3 + 3 * 5 + 5


def test_mistakes_with_heads():
    for units, heads, own in ((8, 3, None), (8, 4, 3)):
        with pytest.raises(ParameterError, match="heads"):
            nn.MultiHeadAttention(units, heads, own)
    with pytest.raises(ParameterError, match="label_smoothing"):
        gluon.loss.SoftmaxCrossEntropyLoss(label_smoothing=2)


RULES = {
    "AdamW": lambda: mx.optimizer.AdamW(0.1, wd=0.2),
    "RAdam": lambda: mx.optimizer.RAdam(0.1),
    "RAdam decay": lambda: mx.optimizer.RAdam(0.1, wd=0.1),
    "Adafactor": lambda: mx.optimizer.Adafactor(0.1, wd=0.1),
    "Muon": lambda: mx.optimizer.Muon(0.1, wd=0.1),
}


@pytest.mark.parametrize("name", RULES)
@pytest.mark.parametrize("shape", [(3, 4), (5, 2), (4,)], ids=str)
def test_optimizers(name, shape):
    if name == "Muon" and len(shape) < 2:
        return
    weight, rule = nd.array(numbers(*shape)), RULES[name]()
    state = rule.create_state("x_weight", weight)
    for step, expected in enumerate(ANSWERS[f"{name} {shape}"]):
        rule.update("x_weight", weight, nd.array(numbers(*shape, start=step)), state)
        host.testing.assert_allclose(weight.asnumpy(), expected, rtol=2e-5, atol=2e-6)


def test_lion_steps_by_signs():
    weight, rule = nd.array([1.0, -2.0, 3.0]), mx.optimizer.Lion(0.1, wd=0.5)
    state = rule.create_state("x_weight", weight)
    w, m = weight.asnumpy(), host.zeros(3)
    for g in (host.array([1.0, -1, 2]), host.array([-0.05, 2, -1])):
        rule.update("x_weight", weight, nd.array(g), state)
        w = w * 0.95 - 0.1 * host.sign(0.9 * m + 0.1 * g)
        m = 0.99 * m + 0.01 * g
        host.testing.assert_allclose(weight.asnumpy(), w, rtol=1e-6)


@pytest.mark.parametrize("name", ["adamw", "radam", "lion", "adafactor", "muon"])
def test_new_optimizers_train(name):
    net = nn.HybridSequential()
    net.add(nn.Dense(16, activation="tanh"), nn.Dense(1))
    net.initialize(mx.init.Xavier(rnd_type="gaussian"))
    x = nd.random.normal(shape=(64, 4))
    y = nd.sin(x).sum(axis=1, keepdims=True)
    trainer = gluon.Trainer(net.collect_params(), name, {"learning_rate": 0.02})
    losses = []
    for _ in range(60):
        with autograd.record():
            loss = ((net(x) - y) ** 2).mean()
        loss.backward()
        trainer.step(1)
        losses.append(loss.asscalar())
    assert losses[-1] < 0.5 * losses[0]


def test_an_average_of_weights():
    net = nn.Dense(1, in_units=1)
    net.initialize(mx.init.One())
    average = gluon.WeightAverage(net.collect_params(), 0.9, warm_up=True)
    expected = 1.0
    for k in range(4):
        net.weight.set_data(nd.array([[2.0 + k]]))
        average.update()
        keep = min(0.9, (2 + k) / (11 + k))
        expected = keep * expected + (1 - keep) * (2 + k)
    with average.applied():
        assert net.weight.data().asscalar() == pytest.approx(expected, rel=1e-6)
    assert net.weight.data().asscalar() == 5
    with pytest.raises(ParameterError, match="decay"):
        gluon.WeightAverage(net.collect_params(), 1)


@pytest.mark.parametrize("hybridize", [False, True])
def test_learned_positions_are_those_that_are_given(hybridize):
    layer = nn.LearnedPositions(6, 4)
    layer.initialize(mx.init.Normal(1))
    if hybridize:
        layer.hybridize()
    x = nd.ones((2, 3, 4))
    found = layer(x, nd.array([5, 0, 2])).asnumpy()
    host.testing.assert_allclose(found, 1 + host.broadcast_to(layer.weight.data().asnumpy()[[5, 0, 2]], (2, 3, 4)))
