"""``x.flat`` beside NumPy's: parts of it are read and written where the array's elements lie, and values are repeated."""

import numpy as onp
import pytest

import twofold.np as np
from twofold import autograd, mxnet_numpy

PARTS = {
    "whole": "x",
    "transposed": "x.T",
    "columns": "x[:, ::2]",
    "a row": "x[1]",
    "reversed": "x[::-1, ::-1]",
    "no axes": "x[1, 2, ...]",
}
KEYS = ["0", "-1", "slice(None)", "slice(None, None, 2)", "[0, -1]", "np.array([0, 0])", "mask", "Ellipsis", "slice(0, 0)"]


@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS.keys())
def test_values_are_written_where_the_elements_lie(part: str, key: str) -> None:
    results = []
    for xp in (onp, np):
        x = xp.arange(24.0).reshape(4, 6)
        values = "7.5", "[1.5, -2]", "np.arange(40)"
        for value in values[:1] if key in ("0", "-1") else values:
            view = eval(part, {"x": x})
            flat = view.flat
            mask = xp.asarray(view).reshape(-1) > 8
            flat[eval(key, {"np": xp, "mask": mask})] = eval(value, {"np": xp})
            results.append((x.tolist(), flat[eval(key, {"np": xp, "mask": mask})]))
    half = len(results) // 2
    for (expected, read), (found, read_here) in zip(results[:half], results[half:], strict=True):
        assert found == expected
        assert onp.array_equal(read, onp.asarray(read_here))


@pytest.mark.parametrize("part", PARTS.values(), ids=PARTS.keys())
def test_elements_are_those_that_the_array_has_when_they_are_read(part: str) -> None:
    found = []
    for xp in (onp, np):
        x = xp.arange(24.0).reshape(4, 6)
        flat = eval(part, {"x": x}).flat
        x *= 2
        found.append([float(flat[0]), float(flat[-1]), flat[:].tolist()])
    assert found[0] == found[1]


def test_a_place_outside_is_refused() -> None:
    x = np.zeros((2, 3))
    for view in (x, x.T):
        with pytest.raises(IndexError, match="out of bounds"):
            view.flat[6] = 1
        with pytest.raises(IndexError, match="out of bounds"):
            view.flat[6]


def test_no_values_write_nothing_and_arrays_that_are_read_only_are_refused() -> None:
    x = np.zeros((2, 3))
    x.flat[1:3] = []
    assert not x.any()
    with pytest.raises(ValueError, match="read-only"):
        np.broadcast_to(x, (4, 2, 3)).flat[0] = 1


@pytest.mark.parametrize("part", ["x", "x.T"])
def test_gradients_reach_values_that_are_written(part: str) -> None:
    w = np.array([1.0, 2.0])
    w.attach_grad()
    with autograd.record():
        x = np.zeros((2, 3))
        view = eval(part, {"x": x})
        view.flat[[0, 1, 3]] = w  # the first value twice
        view.flat[4:] = w[1]
        loss = (x * x).sum()
    loss.backward()
    assert w.grad.tolist() == [4.0, 12.0]  # 2 * (1 + 1) and 2 * (2 + 2 + 2)


def test_iterators_and_operators_see_what_is_written_meanwhile() -> None:
    found = []
    for xp in (onp, np):
        x = xp.zeros((3, 2))
        flat = x.T.flat
        x[0, 1] = 5
        flat[0] = 3
        whole = xp.asarray(flat)
        found.append(
            [list(flat), flat[3], flat[2:].tolist(), whole.tolist(), xp.add(flat, 1).tolist(), float(xp.sum(flat)), flat.copy().tolist()]
        )
    assert found[0] == found[1]


@pytest.mark.parametrize("part", ["x.T", "x[:, 1:]", "x[::2, ::2]", "x"])
def test_an_iterator_goes_on_with_what_is_written_meanwhile(part: str) -> None:
    found = []
    for xp in (onp, np):
        x = xp.arange(12.0).reshape(3, 4)
        elements = iter(eval(part).flat)
        first = next(elements)
        x[...] = 9
        found.append([first, *elements])
    assert found[0] == found[1]


def test_the_dialect_of_mxnet_writes_all_elements() -> None:
    x = mxnet_numpy.ones((2, 2))
    x.flat = [3, 4]
    assert x.asnumpy().tolist() == [[3, 4], [3, 4]]
