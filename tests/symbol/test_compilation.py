"""``mx.compile``: one program per types, memory, donation, states, recording."""

import numpy as np
import pytest

import twofold as mx
from twofold.errors import MXNetError, ParameterError, ShapeError
from twofold.graph.tables import drop_generation
from twofold.program import cache
from twofold.program.compile import Program

sym, nd = mx.sym, mx.nd


def textbook():
    """The textbook example of in-place results: c = b * a, d = c + 1."""
    return sym.var("b") * sym.var("a") + 1


def doubles(*values):
    return nd.array(values, dtype="float64")


def test_a_compiled_symbol_is_a_function_of_arrays():
    a, b = sym.var("a"), sym.var("b")
    f = mx.compile([a * b + 1, a - 1])
    first, second = f(a=doubles(1, 2), b=doubles(3, 4))
    assert first.asnumpy().tolist() == [4, 9]
    assert second.asnumpy().tolist() == [0, 1]


@pytest.fixture
def compiled(monkeypatch):
    """The titles of all programs that symbols, executors and loops compile from now on."""
    drop_generation()
    titles = []

    def compile_(*args, title, **kwargs):
        titles.append(title.name)
        return Program(*args, title=title, **kwargs)

    monkeypatch.setattr(cache, "Program", compile_)
    return titles


def test_new_types_recompile_and_new_values_do_not(compiled):
    f = mx.compile(textbook())
    for n in (2, 3, 2):
        f(a=nd.ones((n,)), b=nd.full((n,), n))
    assert compiled.count("compiled") == 2


def test_equal_symbols_share_a_program(compiled):
    for _ in range(2):
        mx.compile(sym.var("a") * 2)(a=nd.ones((2,)))
    assert compiled.count("compiled") == 1


def test_executors_on_several_cpu_devices_compile_once(compiled):
    symbol = sym.tanh(sym.var("a") * sym.var("b"))
    for k in range(3):
        executor = symbol.simple_bind(mx.cpu(k), a=(2,), b=(2,))
        executor.forward(is_train=True)
        executor.backward()
    assert compiled == ["forward", "backward"]


@pytest.mark.parametrize(("donate", "nbytes"), [((), 240), (("b",), 160)])
def test_the_textbook_example_needs_little_memory(donate, nbytes):
    f = mx.compile(textbook(), donate=donate)
    a, b = nd.arange(10, dtype="float64"), nd.arange(10, dtype="float64")
    assert f(a=a, b=b).asnumpy().tolist() == [k * k + 1 for k in range(10)]
    assert f.memory_plan().nbytes == nbytes


def test_a_donated_array_cannot_be_read_afterwards():
    f = mx.compile(textbook(), donate=["b"])
    a, b = doubles(1, 2), doubles(3, 4)
    result = f(a=a, b=b)
    with pytest.raises(MXNetError, match="donated"):
        b.asnumpy()
    assert b.shape == (2,)
    assert a.asnumpy().tolist() == [1, 2]
    a[:] = 7
    assert result.asnumpy().tolist() == [4, 9]


def test_memory_of_a_donated_array_seen_elsewhere_is_unchanged():
    f = mx.compile(textbook(), donate=["b"])
    b = doubles(3, 4, 5, 6)
    part = b[1:3]
    f(a=doubles(1, 1), b=part)
    assert b.asnumpy().tolist() == [3, 4, 5, 6]


def test_states_are_written():
    update = mx.compile(sym.sgd_mom_update(sym.var("w"), sym.var("g"), sym.var("m"), lr=0.5, momentum=0.5))
    assert (update.arguments, update.states) == (["w", "g"], ["m"])
    momentum = nd.array([4])
    assert update(w=nd.array([1]), g=nd.array([2]), m=momentum).asnumpy().tolist() == [2]
    assert momentum.asnumpy().tolist() == [1]


def test_the_training_mode_is_that_of_the_call():
    f = mx.compile(sym.Dropout(sym.var("a"), p=0.5))
    assert f(a=nd.ones((50,))).asnumpy().tolist() == [1] * 50
    with mx.autograd.train_mode():
        assert set(f(a=nd.ones((50,))).asnumpy()) == {0, 2}


def test_while_recording_the_results_are_part_of_the_graph():
    x = sym.var("a")
    f = mx.compile(sym.exp(x) * x)
    a = nd.array([0, 1])
    a.attach_grad()
    with mx.autograd.record():
        y = f(a=a) * 2
    y.backward()
    np.testing.assert_allclose(a.grad.asnumpy(), [2, 4 * np.e], rtol=1e-6)


def test_recording_evaluates_open_sizes_too():
    f = mx.compile(sym.zeros((0, 2)) + sym.var("a"))
    a = nd.ones((3, 2))
    a.attach_grad()
    with mx.autograd.record():
        y = f(a=a)
    y.backward()
    assert a.grad.asnumpy().tolist() == [[1, 1]] * 3


def test_an_array_given_twice_has_the_sum_of_both_gradients():
    a = sym.var("a")
    f = mx.compile(a * a * sym.var("b"))
    x = doubles(1, 2, 3)
    x.attach_grad()
    with mx.autograd.record():
        y = f(a=x, b=x)
    y.backward()
    assert x.grad.asnumpy().tolist() == [3, 12, 27]


def test_a_compiled_formula_is_not_rewritten_together_with_what_its_inputs_were_computed_from():
    f = mx.compile(sym.log(sym.var("x")))
    x = doubles(-800, 0)
    x.attach_grad()
    with mx.autograd.record():
        y = f(x=nd.softmax(x))
    assert y.asnumpy().tolist() == [float("-inf"), 0]  # as outside `record`


def test_missing_and_unknown_arrays_are_named():
    f = mx.compile(textbook())
    with pytest.raises(ParameterError, match="it takes b, a"):
        f(a=doubles(1))
    with pytest.raises(ParameterError, match="it takes b, a"):
        f(a=doubles(1), b=doubles(1), c=doubles(1))
    with pytest.raises(ShapeError, match="_mul"):
        f(a=doubles(1), b=doubles(1, 2))
    with pytest.raises(ParameterError, match="donate contains an unknown argument"):
        mx.compile(textbook(), donate=["z"])
    with pytest.raises(ParameterError, match="variables have the same name"):
        mx.compile([sym.var("a"), sym.var("a")])


def test_nothing_is_explained_before_a_call():
    f = mx.compile(textbook())
    with pytest.raises(MXNetError, match="call it once"):
        f.explain()
    f(a=doubles(1), b=doubles(1))
    assert f.explain().replace("+", " ").split() == ["multiply", "add"]
