"""`while_loop`, `fori_loop` and `switch`, and the structures of pytrees. What JAX computes alike is in `jax_cases`."""

import numpy as host
import pytest

import twofold as mx
from twofold.errors import AutogradError, ParameterError, ShapeError, WrongArgument

np, func = mx.np, mx.func


def collatz(n):
    """The number of steps to 1."""
    return func.while_loop(lambda s: s[0] != 1, lambda s: (np.where(s[0] % 2 == 0, s[0] // 2, 3 * s[0] + 1), s[1] + 1), (n, np.array(0)))[1]


def root(a):
    """The square root, by Newton's steps until they no longer change it."""
    return func.while_loop(lambda x: abs(x * x - a) > 1e-13 * a, lambda x: (x + a / x) / 2, a)


@pytest.mark.parametrize(("number", "steps"), [(1, 0), (6, 8), (27, 111)])
def test_values_decide_how_often_a_compiled_loop_runs(number, steps):
    assert int(collatz(np.array(number))) == steps
    assert int(func.jit(collatz)(np.array(number))) == steps


def test_one_program_serves_all_numbers_of_steps():
    calls = []
    counted = func.jit(lambda n: calls.append(n) or collatz(n))
    assert [int(counted(np.array(n))) for n in (1, 6, 27)] == [0, 8, 111]
    assert len(calls) == 1


def test_each_example_of_a_batch_stops_by_itself():
    assert func.vmap(collatz)(np.array([27, 1, 6])).tolist() == [111, 0, 8]
    assert func.jit(func.vmap(func.vmap(collatz)))(np.array([[27, 1], [6, 7]])).tolist() == [[111, 0], [8, 16]]


def test_a_batch_shares_a_counter():
    powers = func.vmap(lambda x: func.fori_loop(0, np.array(3), lambda i, c: c * x + i, x * 0))(np.array([1.0, 2.0]))
    assert powers.tolist() == [3.0, 4.0]


def test_forward_mode():
    value, slope = func.jvp(root, (np.array(9.0),), (np.array(2.0),))
    assert value.item() == 3.0
    assert slope.item() == pytest.approx(2 / 6)
    assert func.jacfwd(func.jacfwd(root))(np.array(4.0)).item() == pytest.approx(-1 / 32)
    assert func.vmap(func.jacfwd(root))(np.array([4.0, 25.0])).tolist() == pytest.approx([1 / 4, 1 / 10])


def test_forward_mode_of_compiled_loops():
    value, slope = func.jvp(func.jit(root), (np.array(9.0),), (np.array(2.0),))
    assert value.item() == 3.0
    assert slope.item() == pytest.approx(2 / 6)
    assert func.jit(func.jacfwd(func.jit(root)))(np.array(4.0)).item() == pytest.approx(1 / 4)


def test_a_recorded_loop_raises_when_backward_comes_to_it():
    x = np.array(9.0)
    x.attach_grad()
    with mx.autograd.record():
        y = root(x)
    assert y.item() == 3.0
    with pytest.raises(AutogradError, match=r"no gradient in reverse mode"):
        y.backward()


def test_a_direction_that_arises_in_the_loop():
    # the second variable depends on x from the second step on
    def f(x):
        return func.while_loop(lambda s: s[2] < 3, lambda s: (s[0] * x, s[1] + s[0], s[2] + 1), (x, np.array(0.0), np.array(0)))[1]

    assert func.jvp(f, (np.array(2.0),), (np.array(1.0),))[1].item() == 1 + 2 * 2 + 3 * 4


@pytest.mark.parametrize("loop", [root, lambda x: func.fori_loop(0, np.array(3), lambda i, c: c * x, x)])
def test_reverse_mode_names_scan(loop):
    with pytest.raises(AutogradError, match=r"no gradient in reverse mode.*use func\.scan or func\.fori_loop with a fixed number"):
        func.grad(loop)(np.array(2.0))


def test_a_loop_that_no_gradient_needs_is_no_obstacle():
    slope = func.grad(lambda x: x**2 * func.while_loop(lambda k: k < 5, lambda k: k + 2, np.array(0)))(np.array(3.0))
    assert slope.item() == 36.0


def test_a_fixed_number_of_steps_has_a_gradient():
    assert func.grad(lambda x: func.fori_loop(0, 3, lambda i, c: c * x, x))(np.array(2.0)).item() == 32.0


def test_loops_keep_no_states():
    # a row for each possible step of this loop would take 80 GB
    found = func.while_loop(lambda s: s[1] < 3, lambda s: (s[0] + 1, s[1] + 1), (np.zeros(1000), np.array(0)))
    assert found[0][0].item() == 3.0
    with mx.autograd.record():
        x = np.zeros(3)
        x.attach_grad()
    assert func.fori_loop(np.array(2), np.array(10_000), lambda i, c: c + 1, np.zeros(3)).tolist() == [9998.0] * 3


def test_the_body_reads_arrays_from_outside_at_each_call():
    scale = np.array(2.0)
    grown = func.jit(lambda x: func.while_loop(lambda v: v < 10, lambda v: v * scale, x))
    assert grown(np.array(3.0)).item() == 12.0
    scale[()] = 3.0
    assert grown(np.array(3.0)).item() == 27.0


@pytest.mark.parametrize(
    ("call", "error", "words"),
    [
        (lambda: func.while_loop(lambda v: v < 3, lambda v: v + 0.5, np.array(0)), ShapeError, r"while_loop: the carry changes its type"),
        (lambda: func.while_loop(lambda v: v < 3, lambda v: (v, v), np.array(0)), WrongArgument, r"while_loop: the new carry differs"),
        (lambda: func.while_loop(lambda v: v < 3, lambda v: v, np.zeros(2)), ShapeError, r"the condition has one element"),
        (lambda: func.while_loop(lambda v: True, lambda v: v, np.zeros(2)), WrongArgument, r"the condition is no array"),
        (lambda: func.while_loop(lambda v: True, lambda v: v, ()), WrongArgument, r"the state has no arrays"),
        (
            lambda: func.while_loop(lambda v: v.sum() < 3, lambda v: v + mx.nd.random.uniform(shape=(2,)), mx.nd.zeros(2)),
            ParameterError,
            r"draws random numbers",
        ),
        (lambda: func.fori_loop(0, np.array(2.0), lambda i, c: c, np.array(0)), WrongArgument, r"fori_loop: upper is no integer"),
        (lambda: func.fori_loop(np.array([0, 1]), 2, lambda i, c: c, np.array(0)), ShapeError, r"fori_loop: lower has one element"),
        (lambda: func.fori_loop(0, 2, lambda i, c: c + 0.5, np.array(0)), ShapeError, r"fori_loop: the carry changes its type"),
        (lambda: func.switch(np.array(0.0), [abs], np.ones(2)), WrongArgument, r"switch: the index is no integer"),
        (lambda: func.switch(np.array(0), [], np.ones(2)), WrongArgument, r"switch: there is no function"),
        (lambda: func.switch(np.array([0, 1]), [abs, abs], np.ones(2)), ShapeError, r"switch: the index has one element"),
        (
            lambda: func.switch(np.array(0), [abs, np.sum], np.ones(2)),
            ShapeError,
            r"switch: the functions return arrays of different types",
        ),
        (lambda: func.tree_unflatten(func.tree_flatten([1, 2])[1], [1]), WrongArgument, r"the number of leaves differs: given 1 for 2"),
        (lambda: func.tree_unflatten([1, 2], [1]), WrongArgument, r"pass what tree_flatten returned"),
    ],
)
def test_mistakes(call, error, words):
    with pytest.raises(error, match=words):
        call()


def test_switch_of_one_function():
    assert func.switch(3, [np.negative], np.array([1.0])).tolist() == [-1.0]


def test_structures_of_equal_nesting_are_equal():
    _, first = func.tree_flatten({"b": [1, None], "a": (2, 3)})
    leaves, second = func.tree_flatten({"a": ("x", "y"), "b": ["z", None]})
    assert first == second
    assert hash(first) == hash(second)
    assert first != func.tree_flatten([1, 2, 3])[1]
    assert func.tree_unflatten(first, leaves) == {"a": ("x", "y"), "b": ["z", None]}
    assert host.array_equal(leaves, func.tree_leaves({"a": ("x", "y"), "b": ["z"]}))
