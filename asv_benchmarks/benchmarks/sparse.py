"""Sparse storage: products with csr matrices against SciPy, and lazy updates against NumPy's fancy indexing."""

import numpy as np

import twofold as mx


def matrix(rows, columns, density):
    """SciPy's random csr matrix in float32."""
    from scipy.sparse import random

    return random(rows, columns, density, format="csr", dtype=np.float32, random_state=np.random.default_rng(0))


class Product:
    """A csr matrix (rows, 100,000), or its transpose, times a dense one with 16 columns."""

    params = ((64, 4096), (False, True))
    param_names = ("rows", "transposed")

    def setup(self, rows, transposed):
        self.csr = matrix(rows, 100_000, 1e-3)
        dense = np.random.default_rng(1).random((rows if transposed else 100_000, 16)).astype(np.float32)
        self.dense, self.ours, self.array = dense, mx.nd.sparse.csr_matrix(self.csr), mx.nd.array(dense)

    def time_twofold(self, rows, transposed):
        mx.nd.sparse.dot(self.ours, self.array, transpose_a=transposed).wait_to_read()

    def time_scipy(self, rows, transposed):
        (self.csr.T if transposed else self.csr) @ self.dense


class LazyUpdate:
    """A step of Adam on 1,000 rows of a table (1,000,000, 16)."""

    def setup(self):
        rng = np.random.default_rng(2)
        rows = np.sort(rng.choice(1_000_000, 1000, replace=False))
        self.rows, self.values = rows, rng.random((1000, 16)).astype(np.float32)
        self.gradient = mx.nd.sparse.row_sparse_array((self.values, rows), shape=(1_000_000, 16))
        self.weight, self.update = mx.nd.zeros((1_000_000, 16)), mx.optimizer.get_updater(mx.optimizer.create("adam"))
        self.table, self.mean, self.var = (np.zeros((1_000_000, 16), np.float32) for _ in range(3))
        self.time_twofold()

    def time_twofold(self):
        self.update(0, self.gradient, self.weight)
        self.weight.wait_to_read()

    def time_numpy(self):
        rows, g = self.rows, self.values
        mean = self.mean[rows] = 0.9 * self.mean[rows] + np.float32(0.1) * g
        var = self.var[rows] = 0.999 * self.var[rows] + np.float32(0.001) * g * g
        self.table[rows] -= np.float32(0.001) * mean / (np.sqrt(var) + np.float32(1e-8))
