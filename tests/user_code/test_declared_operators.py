"""Operators that users declare with ``@mx.op`` and ``@mx.elementwise`` behave like built-in ones."""

import subprocess
import sys

import numpy as np
import pytest

import twofold as mx
from twofold.config import SETTINGS
from twofold.errors import DTypeError, OperatorError, ParameterError
from twofold.opdef.declare import primitive
from twofold.opdef.inputs import Index
from twofold.opdef.params import Scalar
from twofold.opdef.samples import samples_of
from twofold.testing.op_conformance import CHECKS


@mx.elementwise("own_swish")
def own_swish(xp, data, *, beta: Scalar = 1.0):
    """Data / (1 + exp(-beta * data))."""
    return data / (1 + xp.exp(-beta * data))


@own_swish.sample
def _(draw):
    return draw(draw.real((3, 4)), beta=1.5)


@mx.op("own_centred")
def own_centred(xp, data, *, axis: int = -1):
    """Rows minus their mean."""
    return data - xp.mean(data, axis=axis, keepdims=True)


@own_centred.grad
def _(xp, dout, *, axis):
    return dout - xp.mean(dout, axis=axis, keepdims=True)


@own_centred.sample
def _(draw):
    return draw(draw.real((3, 4)), axis=0)


@mx.op("own_weighted")
def own_weighted(xp, data, weight=None, shift=None):
    """Data * weight + shift; what is omitted has no effect."""
    data = data if weight is None else data * weight
    return data if shift is None else data + shift


@own_weighted.sample
def _(draw):
    return draw(draw.real((3, 4)), draw.real((4,)))


@primitive("own_half_at", "_npx_own_half_at", reference=lambda np, x, at: x[at] / 2, floats=("float32", "float64"), differentiable=False)
def own_half_at(xp, data, at: Index):
    """Half of the elements at indices."""


own_half_at.type(lambda data, at: (at.shape, data.dtype))
own_half_at.sample(lambda draw: draw(draw.real((5,)), draw.integer((3,), 0, 5, "int64")))


@mx.op("own_rounded")
def own_rounded(xp, data, *, step: Scalar = 1.0):
    """Data rounded to multiples of ``step``; the gradient passes straight through."""
    return xp.round_even(data / step) * step


@own_rounded.grad
def _(xp, dout):
    return dout


@own_rounded.sample
def _(draw):
    return draw(draw.real((3, 4)), gradient=False, why="the gradient passes straight through", step=0.5)


@mx.op("own_steps", differentiable=False)
def own_steps(xp, data):
    """Data without a gradient."""
    return data * 1


@mx.op("own_quantized")
def own_quantized(xp, data, weight, *, step: Scalar = 1.0):
    """Rounded data times weight, plus the weight."""
    return own_rounded(xp, data, step=step) * weight + own_steps(xp, weight)


X = np.random.default_rng(0).standard_normal((3, 4)).astype("f4")


def test_declared_operators_are_array_functions_with_gradients():
    x = mx.nd.array(X)
    x.attach_grad()
    with mx.autograd.record():
        y = mx.nd.own_swish(x, beta=2.0)
    y.backward()
    s = 1 / (1 + np.exp(-2 * X))
    np.testing.assert_allclose(y.asnumpy(), X * s, rtol=1e-5)
    np.testing.assert_allclose(x.grad.asnumpy(), s + 2 * X * s * (1 - s), rtol=1e-4, atol=1e-6)


@pytest.mark.parametrize("defer", [1, 1 << 40])
@pytest.mark.parametrize("hybridize", [False, True])
def test_an_operator_inside_another_keeps_its_own_gradient(monkeypatch, defer, hybridize):
    class Block(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, data, weight):
            return F.own_quantized(data, weight, step=0.5)

    monkeypatch.setattr(SETTINGS, "defer_elements", defer)
    block = Block()
    if hybridize:
        block.hybridize()
    x, w = mx.nd.array(X), mx.nd.array(2 * X)
    x.attach_grad()
    w.attach_grad()
    with mx.autograd.record():
        y = block(x, w)
    y.backward()
    rounded = np.rint(X / 0.5) * 0.5
    np.testing.assert_allclose(y.asnumpy(), rounded * 2 * X + 2 * X, rtol=1e-6)
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * X)  # not 0, the gradient of rint
    np.testing.assert_allclose(w.grad.asnumpy(), rounded)  # own_steps passes none


def test_declared_operators_are_symbol_nodes_with_inference_and_json():
    symbol = mx.sym.own_centred(mx.sym.var("x"), axis=1)
    assert symbol.infer_shape(x=(3, 4))[1] == [(3, 4)]
    again = mx.sym.load_json(symbol.tojson())
    (got,) = again.eval(ctx=mx.current_context(), x=mx.nd.array(X))
    np.testing.assert_allclose(got.asnumpy(), X - X.mean(1, keepdims=True), rtol=1e-5, atol=1e-6)


@pytest.mark.parametrize("optional", [(), ("weight",), ("weight", "shift")], ids=["none", "first", "all"])
def test_a_symbol_has_the_optional_inputs_that_are_given(optional):
    symbol = mx.sym.own_weighted(mx.sym.var("x"), **{name: mx.sym.var(name) for name in optional})
    again = mx.sym.load_json(symbol.tojson())
    assert again.list_arguments() == ["x", *optional]
    assert again.infer_shape(x=(3, 4), **dict.fromkeys(optional, (4,)))[1] == [(3, 4)]
    values = {"weight": 3.0, "shift": 5.0}
    given = {name: mx.nd.full((4,), values[name]) for name in optional}
    (got,) = again.eval(ctx=mx.current_context(), x=mx.nd.array(X), **given)
    want = X * (3 if "weight" in optional else 1) + (5 if "shift" in optional else 0)
    np.testing.assert_allclose(got.asnumpy(), want, rtol=1e-6)


def test_a_symbol_cannot_have_an_optional_input_after_an_omitted_one():
    with pytest.raises(ParameterError, match="own_weighted: a symbol cannot have the input shift without weight"):
        mx.sym.own_weighted(mx.sym.var("x"), shift=mx.sym.var("b"))


def test_a_hybridized_call_with_an_optional_input_equals_the_imperative_one():
    class Weighted(mx.gluon.HybridBlock):
        def hybrid_forward(self, F, x, weight):
            return F.own_weighted(x, weight)

    block = Weighted()
    block.hybridize()
    np.testing.assert_array_equal(block(mx.nd.array(X), mx.nd.full((4,), 2)).asnumpy(), X * 2)


@pytest.mark.parametrize("check", CHECKS)
@pytest.mark.parametrize("op", [own_swish, own_centred, own_weighted], ids=lambda op: op.name)
def test_declared_operators_pass_the_generated_checks(op, check):
    (sample,) = samples_of(op)
    CHECKS[check](op, sample)


def test_a_name_in_use_is_rejected():
    with pytest.raises(OperatorError, match="taken"):

        @mx.op("FullyConnected")
        def another(xp, data):
            return data


def test_an_element_wise_primitive_without_a_c_text_is_refused():
    with pytest.raises(
        OperatorError, match=r"own_cube: an element-wise primitive without a C text: .* or leave out elementwise and declare \.type"
    ):

        @primitive("own_cube", elementwise=True, reference=lambda np, x: x**3)
        def own_cube(xp, data):
            """The cube."""


@pytest.mark.parametrize("namespace", [mx.nd, mx.npx], ids=["nd", "npx"])
def test_a_primitive_that_computes_in_floats_refuses_integers_but_not_as_indices(namespace):
    array = mx.np.array if namespace is mx.npx else mx.nd.array
    function, x = namespace.own_half_at, array([3.0, 5.0], dtype="float32")
    np.testing.assert_array_equal(function(x, array([1], dtype="int32")).asnumpy(), [2.5])
    with pytest.raises(DTypeError, match="own_half_at: it computes in float32 and float64 only: given int32"):
        function(x.astype("int32"), array([1], dtype="int32"))


def test_a_rule_that_looks_for_a_composite_on_xp_is_told_how_to_call_it():
    @mx.op("own_looks")
    def own_looks(xp, data):
        """Looks for sigmoid in the wrong place."""
        return xp.sigmoid(data)

    with pytest.raises(AttributeError, match=r"a composite is called as sigmoid\(xp, x\)"):
        mx.nd.own_looks(mx.nd.ones(2))


METHOD = """
import twofold as mx

@mx.op("own_next", method="following")
def own_next(xp, data):
    return data + 1

assert mx.sym.var("x").following().eval(x=mx.nd.ones(2))[0].asnumpy().tolist() == [2, 2]
assert mx.nd.ones(2).following().asnumpy().tolist() == [2, 2]
"""


def test_a_method_may_have_another_name_than_its_operator():
    subprocess.run([sys.executable, "-c", METHOD], check=True)


def test_the_decorator_exists_whatever_was_imported_before():
    import twofold.opdef.spec

    assert callable(twofold.op)
    assert twofold.op.__name__ == "op"


def test_undeclared_results_are_returned_too():
    @mx.op("own_both")
    def own_both(xp, a, b):
        """Sum and difference."""
        return a + b, a - b

    x = mx.nd.ones((2,))
    with pytest.raises(
        ParameterError, match="own_both: its rule returns a different number of results than declared: given 2 for 1; declare outputs=2"
    ):
        mx.nd.own_both(x, x)
    with pytest.raises(ParameterError, match="declare outputs=2"):
        mx.sym.own_both(mx.sym.var("a"), mx.sym.var("b")).infer_shape(a=(2,), b=(2,))

    @mx.op("own_two", outputs=2)
    def own_two(xp, a, b):
        """Sum and difference."""
        return a + b, a - b

    total, difference = mx.nd.own_two(x, x)
    assert (total.asnumpy().tolist(), difference.asnumpy().tolist()) == ([2, 2], [0, 0])
