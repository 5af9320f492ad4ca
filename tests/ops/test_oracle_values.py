"""Operators match the real MXNet 1.9.1: results, gradients, states and errors of every stored case."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import numpy as np
import pytest

import twofold as mx
import twofold.ndarray

from tests.cases import each
from tests.ops.differences import DIFFERENCES, SINGLE_PRECISION, Difference
from tests.ops.neural_differences import ELSEWHERE
from tests.oracle_values.reader import Case, load_cases

#: (relative, absolute) tolerance by dtype; of results that are exact in neither library only.
TOLERANCE = {"float16": (2e-3, 1e-3), "float32": (2e-5, 1e-6), "float64": (1e-9, 1e-12)}
#: Operators whose integers may differ by 1: the row "Resized bytes" of the documentation.
ROUNDED = ("_image_resize", "_cvimresize")
#: Cases of which only the first output was stored; the others are tested elsewhere.
FIRST_ONLY = ("LeakyReLU.14", "LeakyReLU.15")
CASES = {case.name: case for case in load_cases()}


def function_of(case: Case) -> Callable[..., Any]:
    """The function under ``mx`` that a case calls."""
    found: Any = mx
    for part in case.path.split("."):
        found = getattr(found, part)
    return found


def forward(case: Case, tracked: bool) -> tuple[list[Any], list[Any]]:
    """Inputs and outputs of a case, recorded in its mode if inputs are tracked."""
    function = function_of(case)
    inputs = [None if a is None else mx.nd.array(a, dtype=a.dtype) for a in case.positional()]
    for position in case.gradients if tracked else ():
        inputs[position].attach_grad()
    scope = mx.autograd.record(case.train) if tracked else mx.autograd.train_mode() if case.train else mx.autograd.predict_mode()
    with scope:
        outputs = function(*inputs, **case.attrs)
    found = list(outputs) if isinstance(outputs, list) else [outputs]
    return inputs, found[:1] if case.name in FIRST_ONLY else found


def backward(case: Case) -> list[Any]:
    """The inputs of a case after backward with its head gradients."""
    inputs, outputs = forward(case, tracked=True)
    mx.autograd.backward(outputs, [mx.nd.array(h, dtype=h.dtype) for h in case.heads.in_order()], train_mode=case.train)
    return inputs


def expect(got: np.ndarray, want: np.ndarray, case: Case, what: str) -> None:
    """Shape, dtype and values agree."""
    assert (got.shape, got.dtype) == (want.shape, want.dtype), f"{case}: {what}"
    accurate = "float32" if case.op in SINGLE_PRECISION and want.dtype == "float64" else str(want.dtype)
    relative, absolute = TOLERANCE.get(accurate, (0, 1) if case.op in ROUNDED else (0, 0))
    np.testing.assert_allclose(got, want, relative, absolute, err_msg=f"{case}: {what}")


def differs(case: Case, kind: str) -> bool:
    """Whether a difference is listed, or the case is tested elsewhere."""
    return case.name in ELSEWHERE or any(d.case == case.name and d.kind.startswith(kind) for d in DIFFERENCES)


def cases(kind: str, of: Callable[[Case], bool]) -> Any:
    """Run a test on its cases, without those that differ on purpose."""
    return each("case", [pytest.param(c, id=c.name) for c in CASES.values() if of(c) and not differs(c, kind)])


@cases("result", lambda case: case.error is None)
def test_results_match_mxnet(case: Case):
    _, outputs = forward(case, tracked=False)
    assert len(outputs) == len(case.outputs)
    for k, (got, want) in enumerate(zip(outputs, case.outputs.in_order(), strict=True)):
        expect(got.asnumpy(), want, case, f"output {k}")


@cases("gradient", lambda case: bool(case.gradients))
def test_gradients_match_mxnet(case: Case):
    inputs = backward(case)
    for position, want in case.gradients.items():
        expect(inputs[position].grad.asnumpy(), want, case, f"gradient of input {position}")


@cases("state", lambda case: bool(case.states_after_forward))
def test_states_after_forward_match_mxnet(case: Case):
    inputs, _ = forward(case, tracked=bool(case.gradients))
    for position, want in case.states_after_forward.items():
        expect(inputs[position].asnumpy(), want, case, f"input {position} after forward")


@cases("state", lambda case: bool(case.states_after_backward))
def test_states_after_backward_match_mxnet(case: Case):
    inputs = backward(case)
    for position, want in case.states_after_backward.items():
        expect(inputs[position].asnumpy(), want, case, f"input {position} after backward")


@cases("accepted", lambda case: case.error is not None)
def test_calls_that_mxnet_rejects_are_rejected(case: Case):
    function_of(case)
    with pytest.raises((mx.MXNetError, ValueError, TypeError, IndexError)):
        forward(case, tracked=False)[1][0].asnumpy()


@each("difference", [pytest.param(d, id=f"{d.case} {d.kind}") for d in DIFFERENCES])
def test_differences_from_mxnet_are_as_listed(difference: Difference):
    case = CASES[difference.case]
    names: dict[str, Any] = {"np": np, "x": case.positional(), "h": case.heads.in_order(), "out": next(iter(case.outputs.values()), None)}
    if difference.kind.startswith("gradient"):
        inputs = backward(case)
        # all that is listed of the case
        listed = {d.kind: d.ours for d in DIFFERENCES if d.case == difference.case}
        for k, mxnets in case.gradients.items():
            want = eval(listed.get(f"gradient {k}", "want"), names | {"want": mxnets})
            expect(inputs[k].grad.asnumpy(), want, case, f"gradient of input {k}")
    else:
        got = forward(case, tracked=False)[1][0].asnumpy()
        expect(got, eval(difference.ours, names), case, difference.title)
