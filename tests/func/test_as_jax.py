"""`mx.func` beside JAX: functions under transforms, and transforms of transforms, whose answers `make_jax_answers` has stored."""

import warnings
from pathlib import Path
from types import SimpleNamespace

import numpy as host
import pytest

import twofold as mx
from twofold.func.pytree import flatten

from .jax_cases import CASES, TRANSFORMS, arguments
from tests.cases import spread_in_ci

np, npx, func = mx.np, mx.npx, mx.func
_STORED = host.load(Path(__file__).with_name("jax_answers.npz"))
_PARTS = host.split(_STORED["values"], host.cumsum(_STORED["sizes"])[:-1])
ANSWERS = dict(zip(str(_STORED["names"]).split("\n"), _PARTS, strict=True))


def _conv(x, w):
    return mx.nd.Convolution(x.as_nd_ndarray(), w.as_nd_ndarray(), no_bias=True, kernel=(3, 3), num_filter=3).as_np_ndarray()


F = SimpleNamespace(
    cond=func.cond,
    scan=func.scan,
    grad=func.grad,
    jvp=func.jvp,
    vmap=func.vmap,
    jacrev=func.jacrev,
    jacfwd=func.jacfwd,
    checkpoint=func.checkpoint,
    jit=func.jit,
    relu=npx.relu,
    sigmoid=npx.sigmoid,
    softmax=npx.softmax,
    log_softmax=npx.log_softmax,
    erf=npx.erf,
    gammaln=npx.gammaln,
    conv=_conv,
    logit=npx.logit,
    logsumexp=npx.logsumexp,
    softplus=npx.softplus,
    log_sigmoid=npx.log_sigmoid,
    silu=npx.silu,
    digamma=npx.digamma,
    fori_loop=func.fori_loop,
    switch=func.switch,
)


@pytest.mark.parametrize("name", spread_in_ci(CASES, 3))
def test_transforms_agree_with_jax(name):
    case = CASES[name]
    args = tuple(map(np.array, arguments(case)))
    wrong = []
    for transform, apply in TRANSFORMS.items():
        answer = ANSWERS[f"{name}|{transform}"]
        with warnings.catch_warnings():
            warnings.filterwarnings("ignore", message="vmap: .* has no rule for batches")
            try:
                result = apply(np, F, lambda *x: case.function(np, F, *x), args)
            except Exception as error:
                wrong.append(f"{transform}: {type(error).__name__}: {error}")
                continue
        found = host.concatenate([host.asarray(leaf.asnumpy()).ravel() for leaf in flatten(result)[0]])
        scale = max(1.0, abs(answer).max(initial=0))
        if found.shape != answer.shape or not abs(found - answer).max(initial=0) <= 1e-6 * scale:
            wrong.append(f"{transform}: {found} for {answer}")
    assert not wrong, "\n".join(wrong)
