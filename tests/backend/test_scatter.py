"""Rows added in machine code: NumPy's bits, its errors, and what it leaves to NumPy."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.config import SETTINGS
from twofold_numpy import scatter
from twofold_numpy.jit import availability

from .jit import fresh

__all__ = ["fresh"]
ALL = slice(None)


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setattr(scatter, "is_worth_loading", lambda work: True)


def by_numpy(out, key, value):
    out = out.copy()
    np.add.at(out, key, value)
    return out


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize(
    ("shape", "key"),
    [
        ((7, 5), (np.array([3, 3, -1, 0, 6, 3]),)),
        ((7, 64), (np.array([3, 3, -1, 0, 6, 3, -7], np.int32),)),
        ((2, 3, 6, 33), (ALL, ALL, np.array([5, 5, 0], np.uint8), ALL)),
        ((2, 3, 6), (ALL, ALL, np.array([5, 0, 5, 1]))),
        ((7, 3), (np.array([[3, -1], [0, 3], [3, 6]]),)),
        ((2, 6, 5), (ALL, np.array([[5, 0], [0, 1], [5, 5]]).T, ALL)),
        ((4, 8), (np.array([], np.int64),)),
        ((4, 0), (np.array([1, 2]),)),
    ],
)
def test_rows_are_added_one_after_the_other(shape, key, dtype):
    draw = np.random.default_rng(0)
    axis = next(k for k, part in enumerate(key) if part is not ALL and not isinstance(part, slice))
    out = draw.standard_normal(shape).astype(dtype)
    value = draw.standard_normal((*shape[:axis], *key[axis].shape, *shape[axis + 1 :])).astype(dtype)
    expected = by_numpy(out, key, value)
    assert scatter._add_rows(out, key, value)
    assert out.tobytes() == expected.tobytes()


def test_a_row_that_does_not_exist_adds_nothing_and_raises_numpys_error():
    for row in (7, -8):
        out = np.zeros((7, 5), np.float32)
        with pytest.raises(IndexError, match=f"index {row} is out of bounds"):
            scatter.add_at(out, (np.array([1, row]),), np.ones((2, 5), np.float32))
    assert not scatter._add_rows(out, (np.array([1, 9]),), np.ones((2, 5), np.float32))
    assert not out.any()


def test_anything_else_is_added_by_numpy():
    draw = np.random.default_rng(1)
    out, at = draw.standard_normal((6, 6)).astype(np.float32), np.array([1, 1, 4])
    cases = [
        ((at, at), np.ones(3, np.float32)),
        ((at,), np.ones((1, 6), np.float32)),
        ((at,), np.ones((3, 6), np.float64)),
        ((at[0],), np.ones(6, np.float32)),
        ((slice(1, 4), at), np.ones((3, 3), np.float32)),
        ((at,), out[:3]),
    ]
    for key, value in cases:
        expected, found = by_numpy(out, key, value), out.copy()
        assert not scatter._add_rows(found, key, value if value.base is None else found[:3])
        scatter.add_at(found, key, value)
        np.testing.assert_array_equal(found, expected)


def test_without_a_compiler_numpy_adds(monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", False)
    out = np.zeros((7, 5), np.float32)
    assert not scatter._add_rows(out, (np.array([1, 2]),), np.ones((2, 5), np.float32))
    scatter.add_at(out, (np.array([1, 1]),), np.ones((2, 5), np.float32))
    assert out[1].tolist() == [2.0] * 5


def test_many_small_additions_are_worth_the_compiler(monkeypatch):
    monkeypatch.setattr(scatter, "is_worth_loading", availability.is_worth_loading)
    monkeypatch.setattr(availability, "is_loaded", lambda: False)
    monkeypatch.setattr(availability, "_done", [0.0])
    float32 = np.dtype(np.float32)
    found = [scatter.is_worth_machine_code(float32, 1 << 17) for _ in range(40)]
    assert found == [False] * 31 + [True] * 9
    assert not scatter.is_worth_machine_code(np.dtype(np.int64), 1 << 30)
