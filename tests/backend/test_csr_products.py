"""Products of csr matrices in machine code: the bits of one addition after the other, and what is left to SciPy and its errors."""

from __future__ import annotations

import numpy as np
import pytest

from twofold.config import SETTINGS
from twofold_numpy import scatter, sparse_products

from .jit import fresh

__all__ = ["fresh"]


@pytest.fixture(autouse=True)
def compiled(monkeypatch):
    monkeypatch.setattr(scatter, "is_worth_loading", lambda work: True)


def in_turn(parts, dense, rows, is_transposed):
    """The product, element by element."""
    data, indices, indptr = parts
    out = np.zeros((rows, dense.shape[1]), dense.dtype)
    for i in range(len(indptr) - 1):
        for j in range(indptr[i], indptr[i + 1]):
            to, from_ = (indices[j], i) if is_transposed else (i, indices[j])
            out[to] += data[j] * dense[from_]
    return out


@pytest.mark.parametrize("is_transposed", [False, True], ids=["the matrix", "its transpose"])
@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("index", ["int64", "int32"])
@pytest.mark.parametrize(
    ("m", "k", "n", "spare"), [(1, 1, 1, 0), (7, 30, 3, 0), (30, 7, 8, 5), (20, 20, 21, 1), (4, 5, 0, 0), (600, 90, 40, 0)]
)
def test_products_are_added_one_after_the_other(m, k, n, spare, index, dtype, is_transposed):
    draw = np.random.default_rng(0)
    indptr = np.concatenate([[0], np.cumsum(draw.integers(0, 6, m))])
    size = indptr[-1] + spare  # padding, as programs have it, is not read
    indices, data = draw.integers(0, k, size).astype(index), draw.standard_normal(size).astype(dtype)
    dense = draw.standard_normal((m if is_transposed else k, n)).astype(dtype)
    dense = np.asfortranarray(dense)
    rows = k if is_transposed else m
    found = sparse_products._in_machine_code(data, indices, indptr, dense, rows, is_transposed)
    assert found is not None
    assert found.tobytes() == in_turn((data, indices, indptr), dense, rows, is_transposed).tobytes()
    whole = data[: indptr[-1]], indices[: indptr[-1]], indptr
    if is_transposed:
        np.testing.assert_array_equal(sparse_products.csr_transposed_matmul(*whole, dense, columns=k), found)
    else:
        np.testing.assert_array_equal(sparse_products.csr_matmul(*whole, dense), found)


@pytest.mark.parametrize(
    ("indices", "indptr"), [([0, 7], [0, 2]), ([0, -1], [0, 2]), ([0, 1], [0, 3]), ([0, 1], [0, 2, 1]), ([0, 1], [-1, 2]), ([0], [0, 2])]
)
@pytest.mark.parametrize("is_transposed", [False, True])
def test_parts_that_do_not_fit_together_are_not_read(indices, indptr, is_transposed):
    parts = np.ones(2, np.float32), np.array(indices), np.array(indptr)
    dense = np.ones((5, 4), np.float32)
    assert sparse_products._in_machine_code(*parts, dense, 5, is_transposed) is None


def test_a_matrix_of_more_rows_than_the_other_operand_is_not_read():
    parts = np.ones(2, np.float32), np.array([0, 1]), np.array([0, 1, 2])
    assert sparse_products._in_machine_code(*parts, np.ones((1, 4), np.float32), 5, True) is None


def test_other_dtypes_and_programs_without_jit_are_left_to_scipy(monkeypatch):
    parts = np.array([0, 1]), np.array([0, 1, 2])
    for dtype in (np.int32, np.float16):
        assert sparse_products._in_machine_code(np.ones(2, dtype), *parts, np.ones((2, 4), dtype), 2, False) is None
    monkeypatch.setattr(SETTINGS, "jit", False)
    assert sparse_products._in_machine_code(np.ones(2, np.float32), *parts, np.ones((2, 4), np.float32), 2, False) is None
