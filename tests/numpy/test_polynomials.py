"""The functions of ``np.polynomial`` give what NumPy's give, for arrays of any number of dimensions, and their gradients."""

import numpy
import pytest

import twofold as mx
from twofold import np

FUNCTIONS = ["polynomial.polyval", "chebyshev.chebval", "legendre.legval", "hermite.hermval", "hermite_e.hermeval", "laguerre.lagval"]
SHAPES = [((3,), (4,)), ((3, 4), (3,)), ((3,), (3, 4)), ((3, 4), (3, 4)), ((3, 4), (3, 2)), ((), (3, 2)), ((2,), (3, 2, 2)), ((2,), ())]


def function_of(module, name):
    """The function of a family of polynomials."""
    family, function = name.split(".")
    return getattr(getattr(module.polynomial, family), function)


def drawn(*shapes):
    """Numbers in arrays of NumPy's."""
    draw = numpy.random.default_rng(3)
    return [draw.random(shape) for shape in shapes]


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("tensor", [True, False])
def test_polynomials_are_evaluated_at_every_point(name, tensor):
    for shapes in SHAPES if tensor else [((3, 4), (3, 4)), ((2,), (3, 2)), ((3,), (4,))]:
        x, c = drawn(*shapes)
        expected = function_of(numpy, name)(x, c, tensor)
        for at, rows in [(np.array(x), np.array(c)), (np.array(x), c), (x, np.array(c))]:
            found = function_of(np, name)(at, rows, tensor)
            assert isinstance(found, np.ndarray)
            numpy.testing.assert_array_equal(found.asnumpy(), expected)


@pytest.mark.parametrize("name", FUNCTIONS)
@pytest.mark.parametrize("shapes", [((2, 3), (4, 2)), ((2, 3), (4, 3)), ((3,), (4,)), ((), (3, 2))])
@pytest.mark.parametrize("recorded", ["x", "c", "xc"])
def test_gradients_of_several_polynomials(name, shapes, recorded):
    x, c = drawn(*shapes)
    values = {"x": np.array(x), "c": np.array(c)}
    for key in recorded:
        values[key].attach_grad()
    with mx.autograd.record():
        result = function_of(np, name)(values["x"], values["c"])
    numpy.testing.assert_allclose(result.asnumpy(), function_of(numpy, name)(x, c), rtol=1e-12)
    result.backward()
    for key in recorded:
        moved = [function_of(numpy, name)(x + step * (key == "x"), c + step * (key == "c")).sum() for step in (1e-6, -1e-6)]
        numpy.testing.assert_allclose(values[key].grad.asnumpy().sum(), (moved[0] - moved[1]) / 2e-6, rtol=1e-5)


def test_functions_of_polynomials_return_arrays():
    x, y = np.arange(5.0), np.arange(5.0) ** 2
    numpys = numpy.polynomial.polynomial
    for name, args in [("polyfit", (x, y, 2)), ("polymul", (x, y)), ("polyder", (x,)), ("polyroots", (x,)), ("polyvander", (x, 3))]:
        found = getattr(np.polynomial.polynomial, name)(*args)
        assert isinstance(found, np.ndarray)
        expected = getattr(numpys, name)(*[a.asnumpy() if isinstance(a, np.ndarray) else a for a in args])
        numpy.testing.assert_array_equal(found.asnumpy(), expected)
