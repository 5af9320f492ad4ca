"""The miniature in docs/inside matches the package's results and memory use, and stays within its length."""

import doctest
import importlib.util
import sys
from pathlib import Path

import numpy as np
import pytest

import twofold as mx

SOURCE = Path(__file__).parents[2] / "docs/inside/twofold_in_300_lines.py"


def loaded():
    spec = importlib.util.spec_from_file_location("miniature", SOURCE)
    module = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(module)
    return module


@pytest.fixture
def mini():
    return loaded()


def drawn(*shapes):
    rng = np.random.default_rng(3)
    return [rng.uniform(0.5, 1.5, shape) for shape in shapes]


def perceptron(data, weight, bias, top):
    hidden = (data @ weight + bias).tanh()
    return ((hidden @ top).exp() / 3.0 - hidden.sum() * 0.25).sum()


def mxnets(arrays):
    return [mx.nd.array(a, dtype="float64") for a in arrays]


def test_it_has_at_most_300_lines():
    assert len(SOURCE.read_text(encoding="utf-8").splitlines()) <= 300


def test_its_page_prints_what_it_says(mini, monkeypatch):
    monkeypatch.setitem(sys.modules, "twofold_in_300_lines", mini)
    text = SOURCE.with_name("miniature.md").read_text(encoding="utf-8").partition("```text\n")[2].partition("```")[0]
    example = doctest.DocTestParser().get_doctest(text, {}, "miniature.md", None, 0)
    assert doctest.DocTestRunner().run(example) == (0, 8)


def test_parts_of_an_array_cannot_be_written(mini):
    x = mini.Array([1.0, 2.0, 3.0])
    with pytest.raises(AssertionError, match=r"only x\[:\] can be assigned to"):
        x[1:2] = mini.Array([5.0])
    np.testing.assert_array_equal(x.asnumpy(), [1.0, 2.0, 3.0])


def test_values_match_the_package(mini):
    arrays = drawn((5, 4), (4, 3), (3,), (3, 2))
    mine = perceptron(*[mini.Array(a) for a in arrays]).asnumpy()
    data, weight, bias, top = mxnets(arrays)
    hidden = (mx.nd.dot(data, weight) + bias.reshape((1, 3)).broadcast_to((5, 3))).tanh()
    want = (mx.nd.dot(hidden, top).exp() / 3.0 - hidden.sum().broadcast_to((5, 2)) * 0.25).sum()
    np.testing.assert_allclose(mine, want.asscalar(), rtol=1e-12)


def test_gradients_match_the_package(mini):
    arrays = drawn((5, 4), (4, 3), (3,), (3, 2))
    mine, theirs = [mini.Array(a) for a in arrays], mxnets(arrays)
    for a in [*mine, *theirs]:
        a.attach_grad()
    with mini.Scope(recording=True):
        perceptron(*mine).backward()
    data, weight, bias, top = theirs
    with mx.autograd.record():
        hidden = (mx.nd.dot(data, weight) + bias.reshape((1, 3)).broadcast_to((5, 3))).tanh()
        loss = (mx.nd.dot(hidden, top).exp() / 3.0 - hidden.sum().broadcast_to((5, 2)) * 0.25).sum()
    loss.backward()
    for a, b in zip(mine, theirs, strict=True):
        np.testing.assert_allclose(a.grad.asnumpy(), b.grad.asnumpy(), rtol=1e-12)


@pytest.mark.parametrize("size", [1, 4095, 4096, 4097, 20_000])
def test_a_fused_kernel_has_the_bits_of_single_operations(mini, size):
    x, y = (mini.leaf(k, (size,)) for k in range(2))
    out = mini.node("exp", x * y - x / y) * x + y
    arrays = drawn((size,), (size,))
    fused, single = mini.Program([out]), mini.Program([out], fuse=False)
    assert (len(fused.steps), len(single.steps)) == (1, 6)
    np.testing.assert_array_equal(fused.run(arrays)[0], single.run(arrays)[0])


def test_the_textbook_example_needs_the_bytes_that_the_package_needs(mini):
    a, b = mini.leaf(0, (10,)), mini.leaf(1, (10,))
    d = b * a + 1.0
    assert mini.Program([d], fuse=False, in_place=False).nbytes == 320
    assert mini.Program([d], fuse=False).nbytes == 240
    assert mini.Program([d], donated=[1]).nbytes == 160
    f = mx.compile(mx.sym.Variable("b") * mx.sym.Variable("a") + 1, donate=["b"])
    f(a=mx.nd.ones((10,), dtype="float64"), b=mx.nd.ones((10,), dtype="float64"))
    assert f.memory_plan().nbytes == 160


def test_a_donated_leaf_that_is_read_later_is_not_overwritten(mini):
    a, b = mini.leaf(0, (10,)), mini.leaf(1, (10,))
    c = a * b
    program = mini.Program([c + 1.0, c * b, mini.node("exp", b)], donated=[1])
    x, y = drawn((10,), (10,))
    want = [x * y + 1.0, x * y * y, np.exp(y)]
    for got, expected in zip(program.run([x, y.copy()]), want, strict=True):
        np.testing.assert_array_equal(got, expected)


def test_a_structure_is_compiled_once_whatever_its_numbers(mini):
    w = mini.Array([1.0, 2.0])
    w.attach_grad()
    compiled = []
    for step in range(4):
        with mini.Scope(recording=True):
            ((w * w) * float(step)).sum().backward()
        w[:] = w - w.grad * 0.1
        w.asnumpy()
        compiled.append(mini.program_of.cache_info().currsize)
    assert compiled[0] == compiled[-1]


def test_a_result_that_nobody_holds_is_never_made(mini):
    x = mini.Array([1.0])
    dead = x.exp()
    del dead
    alive = x * 2.0
    assert alive.asnumpy().tolist() == [2.0]
    assert mini.program_of.cache_info().currsize == 1
    assert "exp" not in mini.program_of((alive.value.node,)).source


def test_a_write_is_not_seen_by_what_was_computed_before(mini):
    x = mini.Array([1.0, 2.0])
    y = x * 3.0
    x[:] = mini.Array([5.0, 5.0])
    assert y.asnumpy().tolist() == [3.0, 6.0]
    assert x.asnumpy().tolist() == [5.0, 5.0]
