"""Keywords that functions on arrays do not have: what the error or warning says."""

from __future__ import annotations

import pytest

import twofold as mx
from twofold import nd


@pytest.mark.parametrize(
    ("call", "message"),
    [
        (lambda: nd.zeros(3, contxt=mx.cpu()), "zeros: there is no argument 'contxt'; it takes shape, ctx, dtype, stype, out"),
        (lambda: nd.zeros(3, requires_grad=True), "zeros: there is no argument 'requires_grad'; call attach_grad() on the array"),
        (lambda: nd.ones(3, dtyp="int8"), "ones: there is no argument 'dtyp'; did you mean 'dtype'?"),
        (lambda: nd.random.normal(size=3), "normal: there is no argument 'size'; use shape"),
        # the operator's own parameter, which the function computes
        (lambda: nd.random.exponential(lam=2), "exponential: there is no argument 'lam'; it takes scale, shape, dtype, ctx, out"),
        (lambda: nd.random.multinomial(nd.ones((2,)), shap=3), "multinomial: there is no argument 'shap'; did you mean 'shape'?"),
    ],
)
def test_the_error_says_what_the_function_takes(call, message):
    with pytest.raises(mx.MXNetError) as found:
        call()
    assert str(found.value) == message
    assert isinstance(found.value, TypeError)  # as for any other function of Python


def test_shuffle_warns_of_what_mxnet_ignores():
    with pytest.warns(UserWarning, match=r"shuffle: there is no parameter: given axis"):
        nd.random.shuffle(nd.ones((2,)), axis=0, name="own")


@pytest.mark.parametrize("ctx", ["cpu(0)", mx.cpu()], ids=str)
def test_arange_like_takes_a_context_without_effect(ctx):
    assert nd.contrib.arange_like(nd.ones((2, 3)), axis=1, ctx=ctx).asnumpy().tolist() == [0, 1, 2]
