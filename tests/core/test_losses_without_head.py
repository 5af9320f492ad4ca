"""Losses have their gradient wherever they stand below a head, even if nothing passes a gradient to them, as in MXNet."""

import numpy as np
import pytest

import twofold as mx
from twofold import autograd, nd
from twofold.gluon import HybridBlock

X = np.array([[1, 2, -1], [0.5, -0.3, 2]], "float32")
LABEL = np.full((2, 3), 0.75, "float32")

#: What follows a loss: no gradient passes.
ENDS = {
    "BlockGrad": lambda F, y: F.BlockGrad(y),
    "comparison": lambda F, y: y > 0.3,
    "two comparisons": lambda F, y: (y > 0.3) + (y < 0.1),
    "argmax": lambda F, y: F.argmax(y, axis=1),
    "argsort": lambda F, y: F.argsort(y, axis=1),
    "one_hot": lambda F, y: F.one_hot(F.argmax(y, axis=1), 3),
    "zeros_like": lambda F, y: F.zeros_like(y),
    "exp above": lambda F, y: F.exp(F.BlockGrad(y)),
    "exp below": lambda F, y: F.BlockGrad(F.exp(y)),
}

LOSSES = {
    "MakeLoss": (lambda F, x, label: F.MakeLoss(x * x), 2 * X),
    "make_loss": (lambda F, x, label: F.make_loss(x * x), 2 * X),
    "LinearRegressionOutput": (lambda F, x, label: F.LinearRegressionOutput(x, label), (X - LABEL) / 3),
    "MAERegressionOutput": (lambda F, x, label: F.MAERegressionOutput(x, label), np.sign(X - LABEL) / 3),
}


def variable(data):
    """An array whose gradient is not zero yet."""
    x = nd.array(data)
    x.attach_grad()
    x.grad[:] = 7
    return x


@pytest.mark.parametrize("end", ENDS)
@pytest.mark.parametrize("loss", LOSSES)
@pytest.mark.parametrize("size", [1, 3000], ids=["small", "large"])
def test_a_loss_has_its_gradient(loss, end, size):
    compute, expected = LOSSES[loss]
    x = variable(np.tile(X, (size, 1)))
    label = nd.array(np.tile(LABEL, (size, 1)))
    with autograd.record():
        y = ENDS[end](nd, compute(nd, x, label))
    y.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), np.tile(expected, (size, 1)), rtol=1e-6)


@pytest.mark.parametrize("end", ENDS)
def test_so_it_has_in_symbols(end):
    x, label = mx.sym.Variable("x"), mx.sym.Variable("label")
    symbol = ENDS[end](mx.sym, mx.sym.LinearRegressionOutput(x, label))
    executor = symbol.bind(
        mx.cpu(),
        {"x": nd.array(X), "label": nd.array(LABEL)},
        args_grad={"x": nd.full((2, 3), 7)},
        grad_req={"x": "write", "label": "null"},
    )
    (out,) = executor.forward(is_train=True)
    executor.backward(nd.ones(out.shape))
    np.testing.assert_allclose(executor.grad_dict["x"].asnumpy(), (X - LABEL) / 3, rtol=1e-6)


def test_outputs_that_are_integers_give_gradients_of_zero():
    executor = mx.sym.shape_array(mx.sym.Variable("x") * 2).bind(mx.cpu(), {"x": nd.array(X)}, args_grad={"x": nd.full((2, 3), 7)})
    executor.forward(is_train=True)
    executor.backward()
    np.testing.assert_array_equal(executor.grad_dict["x"].asnumpy(), 0)


class Outputs(HybridBlock):
    """A loss, a value without a gradient, and another value."""

    def hybrid_forward(self, F, x):
        return F.MakeLoss(x * x), F.BlockGrad(x) * 2, x * 3


@pytest.mark.parametrize("hybridized", [False, True])
@pytest.mark.parametrize("part", [0, 1, 2])
def test_a_hybridized_block_is_one_operation(part, hybridized):
    """Its losses count whichever of its outputs is the head; those of a block that is not hybridized are separate."""
    block = Outputs()
    block.hybridize(hybridized)
    x = variable(X)
    with autograd.record():
        y = block(x)[part]
    y.backward()
    loss = 2 * X if hybridized or part == 0 else 0 * X
    np.testing.assert_allclose(x.grad.asnumpy(), loss + 3 * (part == 2), rtol=1e-6)


def test_a_loss_inside_a_loop_and_beside_another_head():
    x = variable(X)
    with autograd.record():
        out, _ = nd.contrib.foreach(lambda d, s: (nd.BlockGrad(nd.MakeLoss(d * d)), s), x, [nd.zeros((3,))])
    out.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * X, rtol=1e-6)
    with autograd.record():
        both = nd.concat(nd.BlockGrad(nd.MakeLoss(x * x)), x * 3, dim=0)
    both.backward()
    np.testing.assert_allclose(x.grad.asnumpy(), 2 * X + 3, rtol=1e-6)


class Adding(mx.operator.CustomOp):
    """Adds to its head gradient."""

    def forward(self, is_train, req, in_data, out_data, aux):
        self.assign(out_data[0], req[0], in_data[0] * 2)

    def backward(self, req, out_grad, in_data, out_data, in_grad, aux):
        self.assign(in_grad[0], req[0], out_grad[0] * 2 + 5)


@mx.operator.register("adding_to_its_head")
class AddingProp(mx.operator.CustomOpProp):
    """Declares it."""

    def create_operator(self, ctx, in_shapes, in_dtypes):
        return Adding()


class AddingFunction(autograd.Function):
    """The same as a function."""

    def forward(self, x):
        return x * 2

    def backward(self, dy):
        return dy * 2 + 5


@pytest.mark.parametrize("compute", [lambda x: nd.Custom(x, op_type="adding_to_its_head"), lambda x: AddingFunction()(x)])
@pytest.mark.parametrize("end", ["BlockGrad", "comparison", "argmax"])
def test_user_code_runs_with_heads_of_zeros(compute, end):
    x = variable(X)
    with autograd.record():
        y = ENDS[end](nd, compute(x))
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 5)


@pytest.mark.parametrize("size", [3, 30000])
def test_without_a_loss_the_gradient_is_zero_at_every_size(size):
    x = variable(np.ones(size))
    with autograd.record():
        y = (x > 0.5) + (x <= 1)
    y.backward()
    np.testing.assert_array_equal(x.grad.asnumpy(), 0)
    with autograd.record():
        (first,) = autograd.grad((x <= 1) + (x <= 1), [x], create_graph=True)
    np.testing.assert_array_equal(first.asnumpy(), 0)
