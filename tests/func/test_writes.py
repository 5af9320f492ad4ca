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


def arithmetic_at_a_mask(v):
    z, y = v * 1, np.ones((3, 2)) * v[:, None]
    z[z > 1.5] *= 2
    z[v < 1.5] -= 1
    middle = v > 1.5
    z[middle] = z[middle] ** 2 / (v[middle] + 1) - abs(-v[middle])
    z[z > 1] = 2 - z[z > 1]
    y[v > 1.5] *= v[:2]
    return z + y.sum(1)


def powers_at_a_mask(v):
    z = v - 1.1
    z[z > 0] = z[z > 0] ** 0.5 + 1 / z[z > 0]
    return z


def whole_numbers_at_a_mask(v):
    z = np.ones(3, dtype="int32")
    z[v > 1.5] = v[0] * 7.6
    return z * v


def repeated_values_at_a_mask(v):
    z = v * 2
    np.putmask(z, v > 1.5, v[:2] * 3)
    return z * v


def a_value_for_each_element_of_a_mask(v):
    z = v * 2
    np.place(z, v > 1.5, v[1:] * v[0])
    return z * v


def copied_at_a_mask(v):
    z = np.outer(v, v)
    np.copyto(z, v * 5, where=v > 1.5)
    return z * v


def columns_at_a_mask(v):
    z = np.ones((2, 3)) * v
    z[:, v > 1.5] = 7
    z[1, v > 2.5] = v[0]
    z[..., v < 1.5] = v[:2].reshape(2, 1)
    return z * v


def axes_beside_a_mask(v):
    z = np.ones((2, 3, 2)) * v.sum()
    z[0, v > 1.5] = v[:2]
    z[:, v > 2.5, 1] = v[0]
    z[None, 1:, v > 1.5, ::2] = v[1]
    z[..., v < 1.5, 0:1] = 3
    return z


def a_mask_of_two_axes(v):
    z = np.outer(v, v)
    z[z > 2.5] = v[2]
    return z * v[0]


def put_at_places(v):
    z, y = v * 2, np.outer(v, v)
    np.put(z, first_and_last(v), v[1:] * v[0])
    np.put(y, first_and_last(v) + 8, v, mode="wrap")
    np.put(y, first_and_last(v) * 7 - 3, 5, mode="clip")
    return z * v + y


def put_along_an_axis(v):
    y = np.outer(v, v)
    np.put_along_axis(y, np.argsort(-y, 1)[:, :1], v[0], 1)
    np.put_along_axis(y, first_and_last(v), v[:2] * 2, None)
    return y


def running_extrema(v):
    y = np.stack([v[::-1] * v, -v, v * 0 + v[1]])
    return np.maximum.accumulate(y, 0) + np.minimum.accumulate(y[:, ::-1] * v[2], 1)


def first_and_last(v):
    """The places 2 and 0, computed from values."""
    return np.argsort(-v)[::2]


def whole_numbers(v):
    z, y = v * 1, v * v
    z[0] = 2
    z[[2]] = 3
    y[...] = 5
    np.add.at(y, [1], 4)
    return z * v + y * v


FUNCTIONS = [
    repeated_values_at_a_mask,
    a_value_for_each_element_of_a_mask,
    copied_at_a_mask,
    columns_at_a_mask,
    axes_beside_a_mask,
    a_mask_of_two_axes,
    put_at_places,
    put_along_an_axis,
    running_extrema,
    whole_numbers,
    at_places,
    at_a_list,
    added,
    added_at_repeated_places,
    at_pairs,
    a_number_at_a_mask,
    a_traced_number_at_a_mask,
    a_row_at_a_mask,
    arithmetic_at_a_mask,
    powers_at_a_mask,
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
        for transform in (func.jacfwd, lambda f: func.jit(func.jacfwd(f)), lambda f: func.jacfwd(func.jit(f))):
            host.testing.assert_allclose(transform(lambda x: function(x).sum())(x).asnumpy(), slope, atol=1e-6)


def test_second_derivatives_of_written_constants():
    def cubes(v):
        z = v * 1
        z[0] = 2
        z[[2]] = 2
        return ((z * v) ** 3).sum()

    # 8a³ + b⁶ + 8c³
    assert func.hessian(cubes)(np.array([1.0, -2.0, 3.0])).tolist() == [[48, 0, 0], [0, 480, 0], [0, 0, 144]]


WITH_A_MASK = (
    "x[mask] with a mask of shape (3,); np.where(mask, x, 0) keeps the shape, x[mask] = value writes one value to all of them, "
    "np.place(x, mask, values) one to each; or select them outside"
)


def each(v):
    z = v * 1
    z[v > 1.5] = v[1:]
    return z


def at_another_mask(v):
    z = v * 1
    z[v > 1.5] = z[v > 2.5] * 2
    return z


def at_a_slice(v):
    z = v * 1
    z[:] = z[v > 1.5] * 2
    return z


@pytest.mark.parametrize(
    "function",
    [
        lambda v: v[v > 1.5],
        lambda v: np.where(v > 1.5, v, 0)[v > 1.5],
        lambda v: v[v > 1.5].sum(),
        lambda v: np.zeros(len(v[v > 1.5])),
        lambda v: v[v > 1.5] + v,
        lambda v: v[v > 1.5] + v[v > 2.5],
        lambda v: np.sqrt(v[v > 1.5]),
        each,
        at_another_mask,
        at_a_slice,
    ],
)
def test_a_number_of_elements_that_is_not_known(function):
    x = np.array([1.0, 2.0, 3.0])
    for name, transform in (
        ("jit", func.jit),
        ("vmap", lambda f: lambda v: func.vmap(f)(v[None])),
        ("jit", lambda f: func.jit(func.grad(f))),
    ):
        with pytest.raises(mx.MXNetError) as found:
            transform(function)(x)
        assert str(found.value) == (
            f"{name}: the number of elements that a mask selects is not known while its function is traced: given {WITH_A_MASK}"
        )


@pytest.mark.parametrize("function", [lambda v: v[v > 1.5], lambda v: np.where(v > 1.5, v, 0)[v > 1.5], each])
def test_masks_are_known_where_a_function_is_only_differentiated(function):
    x = np.array([1.0, 2.0, 3.0])
    assert func.grad(lambda v: (function(v) ** 2).sum())(x).tolist()[1:] == [4, 6]
    assert func.jvp(function, (x,), (np.ones(3),))[1].tolist()[-2:] == [1, 1]
