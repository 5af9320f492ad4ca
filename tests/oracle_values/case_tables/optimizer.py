"""Optimizer updates: the weight they return and the states they rewrite; weight decay, rescaling, clipping."""

from __future__ import annotations

from typing import Any

from .declare import CaseSpec, case, real

SHAPE = (2, 3)
WEIGHT, GRADIENT, MOMENT = real(SHAPE), real(SHAPE), real(SHAPE, -1, 1)
SQUARE = real(SHAPE, 0, 1)
LARGE = real(SHAPE, 1, 2)  # a running mean of squares that stays above a running mean squared
HALF = tuple(real(SHAPE, dtype="float16") for _ in range(2))

COMMON = (
    {"lr": 0.1},
    {"lr": 0.1, "wd": 0.01},
    {"lr": 0.1, "rescale_grad": 0.25},
    {"lr": 0.1, "clip_gradient": 0.5},
    {"lr": 0.05, "wd": 0.1, "rescale_grad": 2.0, "clip_gradient": 0.75},
    {"lr": 0.1, "clip_gradient": 0.0},
)


def family(op: str, *states: Any, half: bool = False, ways: tuple = ({},)) -> list[CaseSpec]:
    """Every common setting with every setting of the operator's own."""
    inputs = (*HALF, *states) if half else (WEIGHT, GRADIENT, *states)
    settings = [{**COMMON[4], **way} for way in ways[1:]] + [{**common, **ways[0]} for common in COMMON]
    return [case(op, *inputs, grad=False, **setting) for setting in settings]


MOMENTUM = ({"momentum": 0.9}, {"momentum": 0.0}, {})
CASES = [
    *family("sgd_update"),
    *family("sgd_mom_update", MOMENT, ways=MOMENTUM),
    *family("mp_sgd_update", WEIGHT, half=True),
    *family("mp_sgd_mom_update", MOMENT, WEIGHT, half=True, ways=MOMENTUM),
    *family("nag_mom_update", MOMENT, ways=MOMENTUM),
    *family("mp_nag_mom_update", MOMENT, WEIGHT, half=True, ways=MOMENTUM),
    *family("signsgd_update"),
    *family("signum_update", MOMENT, ways=(*MOMENTUM, {"momentum": 0.9, "wd_lh": 0.05})),
    *family("adam_update", MOMENT, SQUARE, ways=({}, {"beta1": 0.5, "beta2": 0.75, "epsilon": 1e-3}, {"lazy_update": False})),
    *family("ftrl_update", MOMENT, SQUARE, ways=({}, {"lamda1": 0.5, "beta": 0.1}, {"lamda1": 0.0})),
    *family("rmsprop_update", SQUARE, ways=({}, {"gamma1": 0.5, "epsilon": 1e-3}, {"clip_weights": 0.5})),
    *family("rmspropalex_update", LARGE, real(SHAPE, -0.5, 0.5), MOMENT, ways=({}, {"gamma1": 0.5, "gamma2": 0.75}, {"clip_weights": 0.5})),
    case("sgd_update", real(SHAPE, dtype="float64"), real(SHAPE, dtype="float64"), grad=False, lr=0.1, wd=0.01),
    case("sgd_update", *HALF, grad=False, lr=0.1),
    case("sgd_mom_update", *HALF, real(SHAPE, dtype="float16"), grad=False, lr=0.1, momentum=0.9),
    case("sgd_update", WEIGHT, real((3, 2)), grad=False, lr=0.1, note="shapes differ"),
    case("sgd_update", WEIGHT, GRADIENT, grad=False, note="lr is missing"),
]
