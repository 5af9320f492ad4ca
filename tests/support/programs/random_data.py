"""Random shapes and arrays with a seed, reductions, and checks of generators."""

from __future__ import annotations

from typing import Any

import numpy as np

from .told import passes

DRAWS = {
    "rand_shape_2d": [(), (4, 4, True)],
    "rand_shape_3d": [(), (2, 3, 4)],
    "rand_shape_nd": [(4,), (3, 4, True)],
    "rand_coord_2d": [(1, 9, 2, 8)],
    "random_sample": [([1, 2, 3, 4], 3)],
    "random_arrays": [((2, 2),), ((),), ((2,), (1, 2))],
    "random_uniform_arrays": [((2,), (1, 2))],
    "rand_ndarray": [((2, 2),), ((2, 2), "default", None, "float64")],
}


def draws_with_a_seed(mx: Any) -> Any:
    found = []
    for name, calls in DRAWS.items():
        for arguments in calls:
            np.random.seed(3)
            found.append(getattr(mx.test_utils, name)(*arguments))
    np.random.seed(3)
    return found, mx.test_utils.random_uniform_arrays((2,), low=-1, dtype="float64")


def made_arrays(mx: Any) -> Any:
    tu = mx.test_utils
    tables = [tu.create_2d_tensor(2, 3), tu.create_vector(4), tu.create_2d_tensor(2, 3, np.float32), tu.get_identity_mat(2)]
    each = [tu.assign_each(np.ones(3), lambda x: x + 1), tu.assign_each(np.array(3.0), lambda x: x + 1), tu.assign_each(np.ones(2), None)]
    pairs = [tu.assign_each2(np.ones(3), np.arange(3.0), lambda x, y: x + 2 * y), tu.assign_each2(np.ones(2), np.zeros(2), None)]
    return tables, tu.get_identity_mat_batch(3), each, pairs


def reductions(mx: Any) -> Any:
    tu, x = mx.test_utils, np.arange(24.0).reshape(2, 3, 4)
    axes = [((0, 2), True), (None, False), (1, False), (None, True), ((), False), (-1, True)]
    return [tu.np_reduce(x, axis, keepdims, np.sum) for axis, keepdims in axes], tu.collapse_sum_like(x, (3, 1))


def eigenvalues(mx: Any) -> Any:
    """Whether the random matrices have the properties of their names."""
    tu, found = mx.test_utils, []
    for n in (2, 5):
        q, s, m = (f(n) for f in (tu.new_orthonormal_matrix_2d, tu.new_sym_matrix_with_real_eigvals_2d, tu.new_matrix_with_real_eigvals_2d))
        found.append([np.allclose(q @ q.T, np.eye(n)), np.allclose(s, s.T), bool(np.all(np.isreal(np.linalg.eigvals(m))))])
    shapes = [tu.new_matrix_with_real_eigvals_nd((3, 4, 2, 2)).shape, tu.new_sym_matrix_with_real_eigvals_nd((1, 2, 2)).shape]
    return found, shapes


def chi_square(mx: Any) -> Any:
    tu, quarters = mx.test_utils, ([0, 1, 2, 3], [0.25] * 4)
    found = [
        tu.chi_square_check(lambda n: np.arange(n) % 4, *quarters, 1000),
        tu.chi_square_check(lambda n: np.minimum(np.arange(n) % 5, 3), *quarters, 1000),
        tu.chi_square_check(lambda n: mx.nd.array(np.arange(n) % 4), *quarters, 1000),
        tu.chi_square_check(lambda n: np.linspace(0, 0.99, n), [(0, 0.5), (0.5, 1)], [0.5] * 2, 1000),
        tu.chi_square_check(lambda n: np.linspace(0, 0.99, n), [(0, 0.25), (0.25, 0.75), (0.75, 1)], [0.25, 0.5, 0.25], 1000),
    ]
    found += [
        tu.chi_square_check(lambda n, k=k: np.arange(n) % 20 * k // 19, list(range(k + 1)), [1 / (k + 1)] * (k + 1), 84000) for k in (3, 6)
    ]
    return found


def verified(mx: Any) -> Any:
    tu, quarters = mx.test_utils, ([0, 1, 2, 3], [0.25] * 4)
    return [
        tu.verify_generator(lambda n: np.arange(n) % 4, *quarters, 1000),
        passes(lambda: tu.verify_generator(lambda n: np.arange(n) % 2, *quarters, 1000)),
        tu.gen_buckets_probs_with_ppf(lambda p: 2 * p, 4),
        bool(tu.mean_check(np.zeros, 0, 1, 100)),
        bool(tu.mean_check(np.ones, 0, 1, 100)),
        bool(tu.var_check(np.ones, 1, 100)),
        bool(tu.var_check(lambda n: np.arange(n) % 2 * 2, 1, 100)),
    ]


def dummy_iterator(mx: Any) -> Any:
    class Batches(mx.io.DataIter):
        provide_data, provide_label = ["data"], ["label"]

        def next(self) -> Any:
            return 7

    made = mx.test_utils.DummyIter(Batches(3))
    return made.provide_data, made.provide_label, made.batch_size, made.next(), next(iter(made)), made.the_batch
