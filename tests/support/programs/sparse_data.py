"""Random sparse arrays, and checks of symbols with sparse arrays."""

from __future__ import annotations

from typing import Any

import numpy as np

from .told import passes

SHAPE = (3, 4)


def _parts(array: Any) -> list[Any]:
    """Storage type, shape, dtype, values and indices."""
    indices = [array.indices, array.indptr] if array.stype == "csr" else [array.indices]
    return [array.stype, array.shape, np.dtype(array.dtype).name, array.data.asnumpy(), [x.asnumpy() for x in indices]]


def draws_with_a_seed(mx: Any) -> Any:
    tu, found = mx.test_utils, []
    for stype in ("csr", "row_sparse"):
        for keywords in (
            {"density": 0.5},
            {"density": 1, "data_init": 2},
            {"density": 0.5, "dtype": "float64"},
            {"density": 0.5, "distribution": "uniform"},
        ):
            np.random.seed(5)
            found.append(_parts(tu.rand_sparse_ndarray(SHAPE, stype, **keywords)[0]))
        np.random.seed(5)
        found.append(_parts(tu.create_sparse_array(SHAPE, stype, density=0.7)))
        np.random.seed(5)
        found.append(_parts(tu.rand_ndarray(SHAPE, stype, density=0.3)))
    return found


def stored_rows(mx: Any) -> Any:
    tu = mx.test_utils
    chosen = tu.create_sparse_array((4, 2), "row_sparse", data_init=3, rsp_indices=np.array([0, 2]))
    changed = tu.rand_sparse_ndarray((4, 2), "row_sparse", density=1, modifier_func=lambda x: 7)[0]
    empty = [tu.create_sparse_array_zd(SHAPE, stype, density=0).asnumpy() for stype in ("csr", "row_sparse")]
    return _parts(chosen), _parts(changed), empty


def growing_rows(mx: Any) -> Any:
    """The numbers of elements in each row, and whether the columns are the first ones."""
    found = []
    for shape, density in (((3, 4), 0.5), ((5, 16), 0.5), ((5, 16), 0.3), ((8, 4), 0.5), ((8, 64), 0.2), ((6, 3), 0.8), ((10, 100), 0.1)):
        array = mx.test_utils.rand_sparse_ndarray(shape, "csr", density=density, distribution="powerlaw")[0]
        indptr, indices = array.indptr.asnumpy(), array.indices.asnumpy()
        first = all(np.array_equal(indices[a:b], np.arange(b - a)) for a, b in zip(indptr[:-1], indptr[1:]))  # noqa: B905,RUF007
        found.append([np.diff(indptr), first])
    return found


def refused(mx: Any) -> Any:
    tu = mx.test_utils
    calls = (
        lambda: tu.rand_sparse_ndarray(SHAPE, "other"),
        lambda: tu.rand_sparse_ndarray((3, 4, 2), "csr"),
        lambda: tu.rand_sparse_ndarray(SHAPE, "row_sparse", distribution="powerlaw"),
        lambda: tu.rand_sparse_ndarray(SHAPE, "csr", distribution="other"),
    )
    return [passes(call) for call in calls]


def symbols_of_sparse_arrays(mx: Any) -> Any:
    tu, a = mx.test_utils, np.array([[0, 1.0], [2, 0]])
    product = mx.sym.sparse.dot(mx.sym.Variable("a", stype="csr"), mx.sym.Variable("b"))
    b = np.array([[1.0, 2, 3], [4, 5, 6]])
    location = {"a": mx.nd.array(a).tostype("csr"), "b": mx.nd.array(b)}
    return tu.check_symbolic_forward(product, location, [a @ b])[0].asnumpy()
