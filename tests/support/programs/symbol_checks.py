"""Checks of symbols: forward, backward, by finite differences, on several devices."""

from __future__ import annotations

from typing import Any

import numpy as np

from .told import passes, told
from tests.oracle_programs import fails

A, B = np.array([[1, 2.0], [3, 4]]), np.array([[5, 6.0], [7, 8]])


def _product(mx: Any) -> Any:
    return mx.sym.elemwise_mul(mx.sym.Variable("a"), mx.sym.Variable("b"), name="product")


def forward(mx: Any) -> Any:
    check, s = mx.test_utils.check_symbolic_forward, _product(mx)
    found = [
        check(s, [A, B], [A * B]),
        check(s, {"a": A, "b": B}, {"product_output": A * B}),
        check(s, [A, B], [A * B], dtype=np.float64),
        check(s, [A, B], [A * B], dtype="asnumpy"),
        check(s, [mx.nd.array(A), mx.nd.array(B)], [A * B]),
        check(s, [A, B], [A * B + 1], rtol=10),
    ]
    refused = [
        fails(lambda: check(s, [A], [A * B])),
        fails(lambda: check(s, {"a": A}, [A * B])),
        fails(lambda: check(s, {"a": A, "b": B, "c": B}, [A * B])),
        fails(lambda: check(s, [A, B], [A * B], dtype="int32")),
    ]
    return found, refused, told(lambda: check(s, [A, B], [A * B + 1]))


def backward(mx: Any) -> Any:
    check, s, heads = mx.test_utils.check_symbolic_backward, _product(mx), [np.ones((2, 2))]
    found = [
        check(s, [A, B], heads, [B, A]),
        check(s, [A, B], heads, {"a": B}),
        check(s, [A, B], {"product_output": heads[0]}, [B, A], dtype=np.float64),
        check(mx.sym.MakeLoss(s), [A, B], None, [B, A]),
        check(s, [A, B], [mx.nd.ones((2, 2))], [B, A], grad_req=["write", "write"]),
    ]
    outcomes = [
        passes(lambda: check(s, [A, B], heads, [B, A], grad_req="add")),
        passes(lambda: check(s, [A, B], heads, [B + 1, A], grad_req="add")),
        passes(lambda: check(s, [A, B], heads, [B + 1, A], grad_req="null")),
        passes(lambda: check(s, [A, B], heads, [B, A], grad_req=["write", "add"])),
        passes(lambda: check(s, [A, B], heads[0], [B, A])),
    ]
    return found, outcomes, told(lambda: check(s, [A, B], heads, {"a": B + 1}))


def by_differences(mx: Any) -> Any:
    check, s = mx.test_utils.check_numeric_gradient, _product(mx)
    wrong = mx.sym.BlockGrad(mx.sym.Variable("a")) * mx.sym.Variable("b")
    x = np.array([[0.5, -1], [2, 0.25], [1, 3], [-2, 1]])
    norm = mx.sym.BatchNorm(mx.sym.Variable("a"), name="bn", fix_gamma=False)
    parameters = {"a": x, "bn_gamma": np.ones(2), "bn_beta": np.ones(2)}
    states = {"bn_moving_mean": np.zeros(2), "bn_moving_var": np.ones(2)}
    embedding = mx.sym.Embedding(mx.sym.Variable("a"), mx.sym.Variable("w"), input_dim=4, output_dim=2)
    return [
        passes(lambda: check(s, [A / 8, B / 8])),
        passes(lambda: check(s, {"a": A, "b": B}, dtype=np.float64)),
        passes(lambda: check(s, [A, B], grad_nodes=["a"], dtype=np.float64)),
        passes(lambda: check(s, [A, B], grad_nodes={"a": "add", "b": "null"}, dtype=np.float64)),
        passes(lambda: check(wrong, [A, B], dtype=np.float64)),
        passes(lambda: check(wrong, [A, B], grad_nodes=["b"], dtype=np.float64)),
        passes(lambda: check(norm, parameters, aux_states=states, numeric_eps=1e-2, rtol=0.16, atol=1e-2)),
        passes(lambda: check(embedding, {"a": np.array([1, 2]), "w": A[[0, 1, 0, 1]]}, grad_nodes=["w"])),
        fails(lambda: check(s, [A, B], grad_nodes="a")),
        fails(lambda: check(s, [A, B], dtype=np.int32)),
        fails(lambda: check(norm, [x, np.ones(2), np.ones(2)], aux_states=[np.zeros(2)])),
    ]


def differences(mx: Any) -> Any:
    x = mx.sym.Variable("x")
    bound = (x * x * x).bind(mx.cpu(), {"x": mx.nd.zeros((2,), dtype="float64")})
    return mx.test_utils.numeric_grad(bound, {"x": np.array([0, 1.0])}, eps=0.5, dtype=np.float64)


def consistent(mx: Any) -> Any:
    check, s = mx.test_utils.check_consistency, _product(mx)
    single, double = ({"ctx": mx.cpu(), "a": (2, 2), "b": (2, 2), "type_dict": {"a": t, "b": t}} for t in (np.float32, np.float64))
    values = {"a": A, "b": B}
    found = [
        check(s, [double, single], arg_params=values),
        check(s, [single, single], arg_params=values, grad_req="null"),
        check(s, [single, single], arg_params=values, grad_req="add"),
        check(s, [single, single], arg_params=values, grad_req={"a": "write", "b": "null"}),
        check(s, [single, single], arg_params=values, ground_truth={"product_output": A * B, "a": A * B * B, "b": A * B * A}),
    ]
    return (
        found,
        passes(lambda: check(s, [single])),
        passes(lambda: check([s, mx.sym.Variable("a") + 1], [single, single])),
        passes(lambda: check(s, [single, single], arg_params=values, ground_truth={"product_output": A}, grad_req="null")),
    )


def structure(mx: Any) -> Any:
    same, a, b, c = mx.test_utils.same_symbol_structure, *map(mx.sym.Variable, "abc")
    return same(a + 1, b + 2), same(a + 1, b * 2), same(a + c, b + 1), same(a + c, c + b)


def simple(mx: Any) -> Any:
    s = _product(mx)
    run, group = mx.test_utils.simple_forward, mx.sym.Group([s, s])
    return (
        run(s, a=A, b=B),
        [type(x).__name__ for x in run(group, a=A, b=B)],
        fails(lambda: mx.test_utils.check_speed(s, typ="x", a=(2,), b=(2,))),
    )
