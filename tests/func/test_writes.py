"""`mx.func`: writes at index arrays and masks in functions whose values are not known while they are traced."""

import numpy as host
import pytest

import twofold as mx

np, func = mx.np, mx.func
PLACES, REPEATED = np.array([1, 0]), np.array([0, 0, 1])


def at_places(v):
    z = np.zeros(3)
    z[PLACES] = v[:2]
    return z


def at_a_list(v):
    z = np.ones(3) * v.sum()
    z[[2, 0]] = v[:2]
    return z


def added(v):
    z = np.zeros(2)
    z[PLACES] += v[:2]
    return z


def added_at_repeated_places(v):
    z = np.ones(2)
    np.add.at(z, REPEATED, v)
    return z


def at_pairs(v):
    z = np.zeros((2, 2))
    z[PLACES, PLACES] = v[:2]
    z[:, [1]] = v[0]
    return z


def a_number_at_a_mask(v):
    z = v * 2
    z[v > 1.5] = 0.5
    return z


def a_traced_number_at_a_mask(v):
    z = np.ones((3, 2))
    z[v > 1.5] = v.sum()
    return z


def a_row_at_a_mask(v):
    z = np.zeros((3, 2))
    z[v > 1.5] = v[:2]
    return z


def whole_numbers_at_a_mask(v):
    z = np.ones(3, dtype="int32")
    z[v > 1.5] = v[0] * 7.6
    return z * v


FUNCTIONS = [
    at_places,
    at_a_list,
    added,
    added_at_repeated_places,
    at_pairs,
    a_number_at_a_mask,
    a_traced_number_at_a_mask,
    a_row_at_a_mask,
    whole_numbers_at_a_mask,
]


@pytest.mark.parametrize("function", FUNCTIONS)
def test_a_traced_function_writes_as_numpy_does(function, monkeypatch):
    v = host.array([1.0, 2.0, 3.0])
    monkeypatch.setitem(globals(), "np", host)
    monkeypatch.setitem(globals(), "PLACES", PLACES.asnumpy())
    monkeypatch.setitem(globals(), "REPEATED", REPEATED.asnumpy())
    rows = [function(v), function(2 * v)]
    slope = host.array([(function(v + d).sum() - function(v - d).sum()) / 2e-6 for d in 1e-6 * host.eye(3)])
    monkeypatch.undo()
    x = np.array(v)
    host.testing.assert_array_equal(func.jit(function)(x).asnumpy(), rows[0])
    host.testing.assert_array_equal(func.vmap(function)(np.stack([x, 2 * x])).asnumpy(), host.stack(rows))
    host.testing.assert_array_equal(func.jit(func.vmap(function))(np.stack([x, 2 * x])).asnumpy(), host.stack(rows))
    if function is not whole_numbers_at_a_mask:  # a cast to integers has no slope, while finite differences see none either
        host.testing.assert_allclose(func.jit(func.grad(lambda x: function(x).sum()))(x).asnumpy(), slope, atol=1e-6)
        host.testing.assert_allclose(func.jvp(lambda x: function(x).sum(), (x,), (np.ones(3),))[1].asnumpy(), slope.sum(), atol=1e-6)


def test_a_value_for_each_element_of_a_mask_needs_the_mask():
    def each(v):
        z = v * 1
        z[v > 1.5] = v[1:]
        return z

    with pytest.raises(mx.MXNetError, match="jit: the value of an array is not known"):
        func.jit(each)(np.array([1.0, 2.0, 3.0]))
