"""Updates of several weights at once, LAMB, AdamW, FTML; checks for finite numbers."""

from __future__ import annotations

from typing import Any

import numpy as np

RANDOM = np.random.RandomState(5)
SHAPES = ((2, 3), (4,))
WEIGHTS, GRADIENTS, MOMENTA = ([RANDOM.uniform(-1, 1, s).astype("float32") for s in SHAPES] for _ in range(3))
SQUARES = [RANDOM.uniform(0, 1, s).astype("float32") for s in SHAPES]
#: Rates, decays and multipliers of the two weights.
LRS, WDS, ETAS = (0.1, 0.2), (0.0, 0.05), (1.0, 0.5)
CLIPPED = {"rescale_grad": 0.5, "clip_gradient": 0.3}


def _arrays(mx: Any, values: Any, dtype: str = "float32") -> list[Any]:
    return [mx.nd.array(x, dtype=dtype) for x in values]


def _several(mx: Any, name: str, states: list[Any], dtype: str = "float32", preloaded: bool = False, **settings: Any) -> Any:
    """New weights and states after one operator on both weights, plain and with clipping."""
    found = []
    for more in ({}, CLIPPED):
        weights, own = _arrays(mx, WEIGHTS, dtype), [_arrays(mx, s) for s in states]
        # the oracle's Python has no zip(strict=True)
        groups = [x for group in zip(weights, _arrays(mx, GRADIENTS, dtype), *own) for x in group]  # noqa: B905
        rates = {} if preloaded else {"lrs": LRS, "wds": WDS}
        last = [mx.nd.array(LRS), mx.nd.array(WDS)] if preloaded else []
        getattr(mx.nd, name)(*groups, *last, out=weights, num_weights=2, **rates, **settings, **more)
        found.append([weights, own])
    return found


def multi_sgd(mx: Any) -> Any:
    return [_several(mx, "multi_sgd_update", []), _several(mx, "multi_mp_sgd_update", [WEIGHTS], "float16")]


def multi_momentum(mx: Any) -> Any:
    plain = _several(mx, "multi_sgd_mom_update", [MOMENTA], momentum=0.9)
    return [plain, _several(mx, "multi_mp_sgd_mom_update", [MOMENTA, WEIGHTS], "float16", momentum=0.9)]


def preloaded_sgd(mx: Any) -> Any:
    plain = _several(mx, "preloaded_multi_sgd_update", [], preloaded=True)
    return [plain, _several(mx, "preloaded_multi_mp_sgd_update", [WEIGHTS], "float16", preloaded=True)]


def preloaded_momentum(mx: Any) -> Any:
    plain = _several(mx, "preloaded_multi_sgd_mom_update", [MOMENTA], preloaded=True, momentum=0.9)
    mixed = _several(mx, "preloaded_multi_mp_sgd_mom_update", [MOMENTA, WEIGHTS], "float16", preloaded=True, momentum=0.9)
    return [plain, mixed]


def lars(mx: Any) -> Any:
    lrs, wds = mx.nd.array([0.1, 0.2, 0.3]), mx.nd.array([0.5, 0.5, 0.5])
    return mx.nd.multi_lars(lrs, mx.nd.array([4.0, 0.0, 1.0]), mx.nd.array([1.0, 1.0, 0.0]), wds, eta=0.01, eps=1e-3, rescale_grad=0.5)


def sums_of_squares(mx: Any) -> Any:
    return [mx.nd.multi_sum_sq(*_arrays(mx, WEIGHTS, d), num_arrays=2) for d in ("float32", "float64", "float16")]


def finite(mx: Any) -> Any:
    good, bad = mx.nd.array([1.0, 2.0]), mx.nd.array([1.0, np.inf])
    one = [mx.nd.all_finite(x) for x in (good, bad, good.astype("float64"), bad.astype("float16"))]
    several = [mx.nd.multi_all_finite(good, x, num_arrays=2) for x in (good, bad)]
    kept = [mx.nd.full((1,), old) for old in (0.0, 1.0, 1.0)]
    for out, x in zip(kept, (good, good, bad)):  # noqa: B905
        mx.nd.all_finite(x, init_output=False, out=out)
    mx.nd.multi_all_finite(good, good, num_arrays=2, init_output=False, out=kept[0])
    return [one, several, kept]


def reset(mx: Any) -> Any:
    arrays = _arrays(mx, WEIGHTS)
    return [mx.nd.reset_arrays(*arrays, num_arrays=2), arrays]


def lamb_phases(mx: Any) -> Any:
    found = []
    for more in ({}, {"beta1": 0.5, "beta2": 0.6, "epsilon": 0.1, "bias_correction": False, **CLIPPED}):
        weight, grad, mean, var = (mx.nd.array(x[0]) for x in (WEIGHTS, GRADIENTS, MOMENTA, SQUARES))
        step = mx.nd.lamb_update_phase1(weight, grad, mean, var, t=2, wd=0.1, **more)
        found.append([step, mean, var])
    norms = [(2.0, 0.5), (9.0, 0.5), (0.0, 0.5), (2.0, 0.0)]
    bounds: list[Any] = [{}, {"lower_bound": 3.0, "upper_bound": 4.0}]
    weight, step = mx.nd.array(WEIGHTS[0]), mx.nd.array(GRADIENTS[0])
    return found + [
        [mx.nd.lamb_update_phase2(weight, step, mx.nd.array([a]), mx.nd.array([b]), lr=0.1, **bound) for a, b in norms] for bound in bounds
    ]


def lamb_phases_of_16_bits(mx: Any) -> Any:
    weight, grad = (mx.nd.array(x[0], dtype="float16") for x in (WEIGHTS, GRADIENTS))
    mean, var, wide = (mx.nd.array(x[0]) for x in (MOMENTA, SQUARES, WEIGHTS))
    step = mx.nd.mp_lamb_update_phase1(weight, grad, mean, var, wide, t=2, wd=0.1)
    return [step, mx.nd.mp_lamb_update_phase2(weight, step, mx.nd.array([2.0]), mx.nd.array([0.5]), wide, lr=0.1), mean, var]


def _lists(mx: Any, name: str, dtype: str, numbers: list[Any], **settings: Any) -> Any:
    """New weights and states after a function of ``nd.contrib`` on lists of weights."""
    weights, grads = _arrays(mx, WEIGHTS, dtype), _arrays(mx, GRADIENTS, dtype)
    states = [_arrays(mx, s) for s in (MOMENTA, SQUARES, *([WEIGHTS] if "_mp_" in name else []))]
    getattr(mx.nd.contrib, name)(weights, grads, *states, *numbers, out=weights, **settings)
    return [weights, states]


def multi_lamb(mx: Any) -> Any:
    bounded = {"lower_bound": 1.0, "upper_bound": 1.2, "bias_correction": False, **CLIPPED}
    numbers = [[1, 3], LRS, WDS]
    plain = [_lists(mx, "multi_lamb_update", "float32", numbers, num_tensors=2, **more) for more in ({}, bounded)]
    return [plain, [_lists(mx, "multi_mp_lamb_update", "float16", numbers, num_tensors=2, **more) for more in ({}, bounded)]]


def adamw(mx: Any) -> Any:
    found = []
    for scale, more in ((1.0, {}), (mx.nd.array([0.5]), {"clip_gradient": 0.3}), (mx.nd.array([np.nan]), {}), (0.0, {})):
        weight, grad, mean, var = (mx.nd.array(x[0]) for x in (WEIGHTS, GRADIENTS, MOMENTA, SQUARES))
        mx.nd.contrib.adamw_update(weight, grad, mean, var, scale, lr=0.1, eta=0.5, wd=0.2, out=weight, **more)
        found.append([weight, mean, var])
    weight, grad = (mx.nd.array(x[0], dtype="float16") for x in (WEIGHTS, GRADIENTS))
    mean, var, wide = (mx.nd.array(x[0]) for x in (MOMENTA, SQUARES, WEIGHTS))
    mx.nd.contrib.mp_adamw_update(weight, grad, mean, var, wide, 2.0, lr=0.1, eta=0.5, wd=0.2, out=weight)
    return [found, [weight, mean, var, wide]]


def multi_adamw(mx: Any) -> Any:
    found = []
    for scale in (1.0, 0.5, np.inf):
        numbers = [mx.nd.array([scale]), LRS, WDS, ETAS]
        found.append(_lists(mx, "multi_adamw_update", "float32", numbers, size=2, clip_gradient=0.4))
        found.append(_lists(mx, "multi_mp_adamw_update", "float16", numbers, size=2))
    return found


def ftml(mx: Any) -> Any:
    found = []
    for more in ({}, {"wd": 0.3, "rescale_grad": 2.0, "clip_grad": 0.25, "beta1": 0.5, "beta2": 0.9, "epsilon": 1e-3}):
        weight, grad, d, z = (mx.nd.array(x[0]) for x in (WEIGHTS, GRADIENTS, MOMENTA, MOMENTA))
        v = mx.nd.array(SQUARES[0])
        mx.nd.ftml_update(weight, grad, d, v, z, lr=0.1, t=3, out=weight, **more)
        found.append([weight, d, v, z])
    return found


def tests_of_numbers(mx: Any) -> Any:
    x = mx.nd.array([1, np.nan, np.inf, -np.inf, 0])
    contrib = mx.nd.contrib
    return [[f(x), f(x.astype("float16")), f(mx.nd.array([1, 2], dtype="int32"))] for f in (contrib.isnan, contrib.isinf, contrib.isfinite)]


def zipfian_expectations(mx: Any) -> Any:
    samples, true, sampled = mx.nd.contrib.rand_zipfian(mx.nd.array([3, 1]), 4, 1)
    return [samples, true, sampled]


def states_in_symbols(mx: Any) -> Any:
    names = ["w0", "g0", "m0", "v0", "w1", "g1", "m1", "v1"]
    symbol = mx.sym.multi_mp_sgd_mom_update(*map(mx.sym.Variable, names), lrs=LRS, wds=WDS, num_weights=2, name="u")
    return [symbol.list_arguments(), symbol.list_auxiliary_states(), symbol.list_outputs()]
