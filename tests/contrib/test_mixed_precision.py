"""Mixed precision while training, in processes of their own: `amp.init` cannot be undone. And what conversion refuses."""

from __future__ import annotations

import subprocess
import sys
import textwrap

import numpy as np
import pytest

import twofold as mx
from twofold.contrib import amp
from twofold.errors import MXNetError

from tests.cases import later_in_ci

START = """
import numpy as np
import twofold as mx
from twofold import autograd, gluon
from twofold.contrib import amp
amp.init(TARGET)
half, single = mx.nd.ones((2, 2), dtype=TARGET), mx.nd.ones((2, 2))
"""


def run(program: str, target: str = "float16") -> None:
    text = START.replace("TARGET", repr(target)) + textwrap.dedent(program)
    subprocess.run([sys.executable, "-c", text], check=True, timeout=300)


@pytest.mark.parametrize("target", later_in_ci(["bfloat16", "float16"]))
def test_functions_and_operators_of_arrays_cast_their_operands(target):
    run(
        """
        name = lambda array: np.dtype(array.dtype).name
        assert name(mx.nd.exp(half)) == name(mx.nd.softmax(half)) == name(half.softmax()) == name(mx.nd.op.exp(data=half)) == "float32"
        assert name(mx.nd.FullyConnected(single, single, no_bias=True, num_hidden=2)) == name(half)
        assert name(mx.nd.concat(half, single, dim=0)) == name(half + single) == name(single - half) == "float32"
        assert name(mx.nd.maximum(half, single)) == "float32"
        assert name(half + half) == name(mx.nd.Activation(half, act_type="relu")) == name(half)
        assert name(mx.nd.Activation(half, "softrelu")) == name(mx.nd.LeakyReLU(half, act_type="elu")) == "float32"
        assert name(mx.nd.exp(single.astype("int32"))) == "int32"
        """,
        target,
    )


@pytest.mark.parametrize("target", later_in_ci(["float16", "bfloat16"]))
def test_operators_with_numbers_compute_in_the_same_dtype_in_arrays_and_symbols(target):
    run(
        """
        import operator
        NUMBERS = [lambda f, a, b: f(a, 2.0), lambda f, a, b: f(2.0, a)]
        OPERATORS = [getattr(operator, n) for n in "add sub truediv mod pow eq ne gt ge lt le".split()]
        FUNCTIONS = [lambda F, n=n: getattr(F, n) for n in ("maximum", "minimum", "power")]
        made = [lambda F, a, b, f=f, of=of: of(f, a, b) for f in OPERATORS for of in (*NUMBERS, lambda f, a, b: f(a, b))]
        made += [lambda F, a, b, f=f, of=of: of(f(F), a, b) for f in FUNCTIONS for of in (*NUMBERS, lambda f, a, b: f(a, b))]
        made += [lambda F, a, b, of=of: of(operator.mul, a, b) for of in NUMBERS] + [lambda F, a, b: -a, lambda F, a, b: abs(a)]
        one, two = mx.sym.Variable("a"), mx.sym.Variable("b")
        for k, function in enumerate(made):
            symbol = function(mx.sym, one, two)
            for a, b in [(half, half), (half, single), (single, half)]:
                want = symbol.eval(**{n: {"a": a, "b": b}[n] for n in symbol.list_arguments()})[0]
                found = function(mx.nd, a, b)
                assert found.dtype == want.dtype, (k, a.dtype, b.dtype, found.dtype, want.dtype)
                assert (found == want).asnumpy().all()
        large = half * 300
        assert (large**2).asnumpy().tolist() == [[90000, 90000], [90000, 90000]]
        assert mx.nd.logical_and(half, single).dtype == np.float32
        """,
        target,
    )


def test_operators_in_place_keep_the_dtype_of_the_array():
    run(
        """
        weights, rows = mx.nd.zeros((2, 2), dtype=TARGET), mx.nd.zeros((2, 2))
        row = weights[0]
        row += single[0]
        rows -= half
        half *= single * 3
        assert (np.dtype(row.dtype), np.dtype(rows.dtype), np.dtype(half.dtype)) == (np.float16, np.float32, np.float16)
        assert weights.asnumpy().tolist() == [[1, 1], [0, 0]]
        assert (rows.asnumpy() == -1).all() and (half.asnumpy() == 3).all()
        """.replace("TARGET", "'float16'")
    )


def test_bfloat16_reaches_the_operators_that_are_listed_for_either_precision():
    """Their aliases, such as `_sparse_relu`, are listed for float32."""
    for name in ("relu", "tanh", "sqrt", "square", "abs", "clip", "concat"):
        assert name in amp.list_lp16_fp32_ops("bfloat16")
        limits = {"a_min": 0, "a_max": 1} if name == "clip" else {}
        after = getattr(mx.sym, name)(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc"), name="f", **limits)
        # as MXNet 1.9.1
        assert amp.convert_symbol(after, "bfloat16").get_internals().list_outputs()[-3:] == [
            *("fc_output", "f_output", "f_output_amp_cast_float32_output"),
        ]
        single = amp.convert_symbol(after, "bfloat16", fp32_ops=[*amp.list_fp32_ops("bfloat16")])
        assert single.get_internals().list_outputs()[-2:] == ["fc_output_amp_cast_float32_output", "f_output"]


def test_arrays_of_two_dtypes_are_joined_beside_bfloat16():
    run("assert mx.nd.concat(half, single, dim=0).dtype == np.float32", "bfloat16")


@pytest.mark.parametrize("options", [{}, {"multi_precision": True}])
def test_weights_of_bfloat16_are_updated(options):
    run(
        f"""
        for name in ("sgd", "nag", "rmsprop", "ftml", "ftrl", "signum", "adam"):
            net = gluon.nn.Dense(2, in_units=2)
            net.initialize(mx.init.One())
            net.cast("bfloat16")
            trainer = gluon.Trainer(net.collect_params(), name, {{"learning_rate": 0.5, **{options}}})
            with autograd.record():
                loss = net(half)
            loss.backward()
            trainer.step(1)
            assert np.dtype(net.weight.dtype).name == "bfloat16"
            assert (net.weight.data().astype("float32").asnumpy() < 1).all()
        """,
        "bfloat16",
    )


def test_blocks_and_functions_that_have_run_compiled_are_traced_again():
    text = """
    import twofold as mx
    from twofold.contrib import amp
    net = mx.gluon.nn.Dense(2, in_units=2)
    net.initialize()
    net.hybridize()
    x = mx.nd.ones((1, 2))
    batched, kept = mx.func.vmap(lambda r: net(r.reshape((1, 2)))), mx.func.checkpoint(net)
    compiled = [mx.func.jit(f) for f in (net, batched, kept)]
    before = [net(x), *(f(x) for f in compiled for _ in range(3))]
    amp.init("bfloat16")
    assert {y.dtype.__name__ for y in before} == {"float32"}
    assert {f(x).dtype.__name__ for f in (net, *compiled) for _ in range(3)} == {"bfloat16"}
    """
    subprocess.run([sys.executable, "-c", textwrap.dedent(text)], check=True, timeout=300)


@pytest.mark.ci
def test_a_second_call_has_no_effect():
    run("amp.init('bfloat16'); assert mx.nd.FullyConnected(single, single, no_bias=True, num_hidden=2).dtype == np.float16")


@pytest.mark.ci
def test_new_symbols_and_compiled_blocks_have_casts():
    run(
        """
        net = gluon.nn.HybridSequential()
        net.add(gluon.nn.Conv2D(2, 3, activation="relu"), gluon.nn.BatchNorm(), gluon.nn.Dense(3))
        net.initialize()
        x = mx.nd.random.normal(shape=(2, 1, 6, 6))
        eager = net(x)
        net.hybridize()
        compiled = net(x)
        assert eager.dtype == compiled.dtype == np.float16
        np.testing.assert_allclose(compiled.asnumpy(), eager.asnumpy(), rtol=1e-2, atol=1e-2)
        assert {np.dtype(p.dtype).name for p in net.collect_params().values()} == {"float32"}
        loss = gluon.loss.SoftmaxCrossEntropyLoss()(compiled, mx.nd.array([0, 1]))
        assert loss.dtype == np.float32
        """
    )


def test_training_scales_the_loss_and_skips_steps_that_overflow():
    run(
        """
        class Scale(gluon.HybridBlock):
            def __init__(self):
                super().__init__()
                self.w = self.params.get("w", shape=(2,), init=mx.init.One())

            def hybrid_forward(self, F, x, w):
                return F.broadcast_mul(x, w)

        for on_store in (False, True):
            net, x = Scale(), mx.nd.ones((2, 2))
            net.initialize()
            options = {"kvstore": mx.kv.create("local"), "update_on_kvstore": True} if on_store else {}
            trainer = gluon.Trainer(net.collect_params(), "sgd", {"learning_rate": 0.1}, **options)
            amp.init_trainer(trainer)
            scaler = trainer._amp_loss_scaler
            scaler.__init__()

            def backward():
                with autograd.record():
                    loss = gluon.loss.L2Loss()(net(x), mx.nd.zeros((2, 2)))
                    with amp.scale_loss(loss, trainer) as scaled:
                        autograd.backward(scaled)

            # the values are those of MXNet 1.9.1
            backward()
            assert net.w.grad().asnumpy().tolist() == [65536, 65536]
            trainer.step(2)
            np.testing.assert_allclose(net.w.data().asnumpy(), 0.95, rtol=1e-6)
            backward()
            amp.unscale(trainer)
            np.testing.assert_allclose(net.w.grad().asnumpy(), 0.95, rtol=1e-6)
            trainer.step(2)
            np.testing.assert_allclose(net.w.data().asnumpy(), 0.9025, rtol=1e-6)
            backward()
            net.w.grad()[:] = np.inf
            trainer.step(2)
            np.testing.assert_allclose(net.w.data().asnumpy(), 0.9025, rtol=1e-6)
            backward()
            trainer.step(2)
            assert scaler.loss_scale == 32768
            np.testing.assert_allclose(net.w.data().asnumpy(), 0.857375, rtol=1e-6)
        """
    )


def test_gradients_that_no_scale_makes_finite_are_an_error():
    run(
        """
        from twofold.errors import MXNetError
        net = gluon.nn.Dense(1, in_units=1)
        net.initialize()
        trainer = gluon.Trainer(net.collect_params(), "sgd")
        amp.init_trainer(trainer)
        trainer._amp_loss_scaler._next_loss_scale = 2.0**-1073
        steps = 0
        try:
            while steps < 5:
                with autograd.record(), amp.scale_loss(net(single[:, :1]) * float("nan"), trainer) as scaled:
                    scaled.backward()
                trainer.step(1)
                steps += 1
        except MXNetError as error:
            assert "no scale makes the gradients finite" in str(error)
        assert steps == 3, steps
        """
    )


@pytest.mark.ci
def test_gradients_that_start_at_a_loss_operator_are_scaled():
    run(
        """
        trainer = gluon.Trainer([], "sgd")
        amp.init_trainer(trainer)
        x = mx.nd.array([[1.0, 2.0]])
        x.attach_grad()
        with autograd.record():
            out = mx.nd.SoftmaxOutput(x, mx.nd.array([1]))
        out.backward()
        np.testing.assert_allclose(x.grad.asnumpy() / 65536, out.asnumpy() - [[0, 1]], rtol=1e-4)
        """
    )


def test_it_must_be_initialized_first():
    trainer = mx.gluon.Trainer([], "sgd")
    with pytest.raises(AssertionError, match="did you forget to call"):
        amp.init_trainer(trainer)
    with pytest.raises(AttributeError, match="init_trainer"), amp.scale_loss(mx.nd.ones(2), trainer):
        pass


NET = mx.sym.exp(mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc"), name="ex")


@pytest.mark.parametrize(
    ("options", "message"),
    [
        ({"target_dtype": "float64"}, "Only target_dtype"),
        ({"target_dtype_ops": ["nope"]}, "one of the three lists"),
        ({"target_dtype_ops": ["exp"], "fp32_ops": ["exp"]}, "two or more lists"),
        ({"fp32_ops": ["FullyConnected"]}, "two or more lists"),
        ({"fp32_ops": "exp"}, "list of strs"),
        ({"conditional_fp32_ops": ["exp"]}, "str, str, list of str"),
        ({"excluded_sym_names": "fc"}, "list of strs"),
        ({"data_names": ["nope"]}, "not found"),
    ],
)
def test_invalid_options_are_refused(options, message):
    with pytest.raises(AssertionError, match=message) as caught:
        amp.convert_symbol(NET, **options)
    assert isinstance(caught.value, MXNetError)


@pytest.mark.parametrize("convert", [amp.convert_symbol, amp.convert_hybrid_block, amp.convert_bucketing_module])
def test_only_what_can_be_converted_is(convert):
    with pytest.raises(AssertionError):
        convert(3)
    with pytest.raises(AssertionError, match="dict of name"):
        amp.convert_model(NET, [], {})


def block():
    net = mx.gluon.nn.HybridSequential()
    net.add(mx.gluon.nn.Conv2D(2, 3, in_channels=1), mx.gluon.nn.BatchNorm(), mx.gluon.nn.Dense(3))
    net.initialize(mx.init.Xavier())
    return net


@pytest.mark.parametrize("optional", [False, True])
def test_a_block_is_converted(optional):
    net, x = block(), mx.nd.random.normal(shape=(2, 1, 6, 6))
    with pytest.raises(MXNetError, match="hybridize"):
        amp.convert_hybrid_block(net, ctx=mx.cpu())
    net.hybridize()
    expected = net(x).asnumpy()
    new = amp.convert_hybrid_block(net, ctx=mx.cpu(), cast_optional_params=optional)
    out = new(x)
    assert out.dtype == np.float32
    assert not np.array_equal(out.asnumpy(), expected)
    np.testing.assert_allclose(out.asnumpy(), expected, rtol=2e-2, atol=2e-3)
    dtypes = {name.partition("_")[2]: np.dtype(p.dtype).name for name, p in new.collect_params().items()}
    assert dtypes["weight"] == ("float16" if optional else "float32")
    assert dtypes["gamma"] == dtypes["running_mean"] == "float32"
    assert {n: p.grad_req for n, p in new.collect_params().items()} == {n: p.grad_req for n, p in net.collect_params().items()}


@pytest.mark.parametrize("target", ["float16", "bfloat16"])
def test_the_slopes_of_a_rectifier_have_the_dtype_of_its_data(target):
    """As MXNet declares them, whose CPU does not multiply in float16."""
    x = mx.sym.Convolution(mx.sym.Variable("data"), num_filter=4, kernel=(3, 3), name="c")
    net = mx.sym.FullyConnected(mx.sym.LeakyReLU(x, act_type="prelu", name="p"), num_hidden=3, name="f")
    shapes = {"c_weight": (4, 2, 3, 3), "c_bias": (4,), "p_gamma": (4,), "f_weight": (3, 144), "f_bias": (3,)}
    arrays = {name: mx.nd.random.normal(shape=shape, scale=0.3) for name, shape in shapes.items()}
    data = mx.nd.random.normal(shape=(2, 2, 8, 8))
    new, params, _ = amp.convert_model(net, arrays, {}, target_dtype=target)
    assert {n for n, a in params.items() if a._dtype == target} == {"p_gamma"}
    assert {n: a["__dtype__"] for n, a in new.attr_dict().items() if "__dtype__" in a}["p_gamma"] != "0"
    found, expected = (s.bind(mx.cpu(), {**a, "data": data}).forward()[0] for s, a in ((new, params), (net, arrays)))
    assert found.dtype == np.float32
    np.testing.assert_allclose(found.asnumpy(), expected.asnumpy(), rtol=5e-2, atol=5e-2)


@pytest.mark.parametrize("optional", [False, True])
def test_states_of_an_operator_that_is_listed_for_16_bits_stay(optional):
    x = mx.sym.BatchNorm(mx.sym.Convolution(mx.sym.Variable("data"), num_filter=4, kernel=(3, 3), name="c"), name="b")
    args = {"c_weight": mx.nd.ones((4, 2, 3, 3)), "c_bias": mx.nd.zeros(4), "b_gamma": mx.nd.ones(4), "b_beta": mx.nd.zeros(4)}
    states = {"b_moving_mean": mx.nd.zeros(4), "b_moving_var": mx.nd.ones(4)}
    listed = {"target_dtype_ops": ["Convolution", "BatchNorm"], "cast_optional_params": optional}
    _, params, kept = amp.convert_model(x, args, states, **listed)
    assert {a.dtype for a in kept.values()} == {np.float32}
    assert {a.dtype for a in params.values()} == {np.float16 if optional else np.float32}


def test_a_bucketing_module_is_converted():
    def symbol_of(key):
        net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
        return mx.sym.SoftmaxOutput(net, name="softmax"), ("data",), ("softmax_label",)

    old = mx.mod.BucketingModule(symbol_of, default_bucket_key=3)
    new = amp.convert_bucketing_module(old)
    for module in (old, new):
        module.bind([("data", (2, 3))], [("softmax_label", (2,))])
    old.init_params(mx.init.Xavier())
    new.set_params(*old.get_params())
    batch = mx.io.DataBatch([mx.nd.random.normal(shape=(2, 3))], [mx.nd.zeros(2)], bucket_key=3)
    batch.provide_data, batch.provide_label = [("data", (2, 3))], [("softmax_label", (2,))]
    for module in (old, new):
        module.forward(batch, is_train=False)
    found, expected = (m.get_outputs()[0].asnumpy() for m in (new, old))
    assert "amp_cast" in new.symbol.tojson(remove_amp_cast=False)
    np.testing.assert_allclose(found, expected, rtol=1e-2)


@pytest.mark.ci
@pytest.mark.parametrize(("target", "warned"), [("float16", 1), ("bfloat16", 0)])
def test_the_slow_dtype_of_a_cpu_is_named_once(target, warned):
    text = f"import twofold as mx\nmx.num_gpus() or mx.contrib.amp.init({target!r})\nmx.contrib.amp.init({target!r})"
    found = subprocess.run([sys.executable, "-c", text], capture_output=True, text=True, check=True)
    message = "<string>:2: UserWarning: amp.init: on a CPU float16 is several times slower than float32; leave AMP out, or pass 'bfloat16'"
    assert found.stderr.count(message) == (0 if mx.num_gpus() else warned)
