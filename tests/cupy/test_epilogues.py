"""Matrix products with epilogues, by cuBLASLt and by the fallback."""

import numpy as np
import pytest

from twofold import nd
from twofold.device import interned
from twofold.dtype import NUMPY

from tests.cupy.conftest import SIMULATION, launches_of, simulated

pytest.importorskip("cupy")
cublaslt = pytest.importorskip("twofold_cupy.cublaslt")
GPU = interned("gpu", 0)
TOLERANCE = {"float16": 2e-3, "bfloat16": 2e-2, "float32": 2e-6, "float64": 1e-13}


def drawn(*shape, dtype="float32", seed=0):
    return np.random.default_rng(seed).normal(size=shape).astype(NUMPY[dtype])


def wide(*arrays):
    return [a.astype(np.float64) for a in arrays]


def run(backend, epilogue, operands, *shapes):
    """The results, and the number of launches."""
    there = [backend.from_host(np.ascontiguousarray(a), GPU) if isinstance(a, np.ndarray) else a for a in operands]
    outs = [backend.empty(shape, backend.type_of(there[0]).dtype) for shape in shapes]
    count = launches_of(lambda: backend.quietly(backend.product(epilogue), *there, *outs))
    return [backend.to_host(o).astype(np.float64) for o in outs], count


@pytest.mark.parametrize("dtype", TOLERANCE)
@pytest.mark.parametrize("epilogue", ["bias", "bias relu"])
@pytest.mark.parametrize("lead", [(6,), (2, 3)])
def test_biases_and_relu_in_products(backend, dtype, epilogue, lead):
    x, w, b = drawn(*lead, 5, dtype=dtype), drawn(5, 7, dtype=dtype, seed=1), drawn(7, dtype=dtype, seed=2)
    (got,), count = run(backend, epilogue, (x, w, b), (*lead, 7))
    xw, ww, bw = wide(x, w, b)
    want = xw @ ww + bw
    np.testing.assert_allclose(got, np.maximum(want, 0) if epilogue == "bias relu" else want, TOLERANCE[dtype], TOLERANCE[dtype] * 4)
    assert count in (None, 2 if dtype == "float64" else 1), "the simulated library proposes nothing for float64"


@pytest.mark.parametrize("dtype", TOLERANCE)
def test_row_sums_in_products(backend, dtype):
    d, x = drawn(40, 6, dtype=dtype), drawn(40, 5, dtype=dtype, seed=1)
    turned = backend.xp.permute_dims(backend.from_host(d, GPU), axes=(1, 0))
    (weight, bias), count = run(backend, "sums", (turned, x), (6, 5), (6,))
    dw, xw = wide(d, x)
    tolerance = TOLERANCE[dtype] * 10
    np.testing.assert_allclose(weight, dw.T @ xw, tolerance, tolerance)
    np.testing.assert_allclose(bias, dw.sum(0), tolerance, tolerance)
    assert count in (None, 2 if dtype == "float64" else 1)


def test_operands_lie_as_they_like(backend):
    x, w, b = drawn(5, 6), drawn(7, 5, seed=1), drawn(14, seed=2)
    there = [backend.from_host(a, GPU) for a in (x, w, b)]
    views = [backend.xp.permute_dims(a, axes=(1, 0)) for a in there[:2]]
    (got,), _ = run(backend, "bias", (*views, there[2][::2]), (6, 7))
    np.testing.assert_allclose(got, x.T @ w.T + b[::2], 2e-6, 2e-6)
    cut = backend.from_host(drawn(9, 8), GPU)[1:4, 2:7]
    (got,), _ = run(backend, "bias relu", (cut, views[1], there[2][:7]), (3, 7))
    np.testing.assert_allclose(got, np.maximum(drawn(9, 8)[1:4, 2:7] @ w.T + b[:7], 0), 2e-6, 2e-6)


def test_empty_products(backend):
    (got,), _ = run(backend, "bias", (np.zeros((3, 0), np.float32), np.zeros((0, 2), np.float32), np.ones(2, np.float32)), (3, 2))
    assert (got == 1).all()
    (got,), _ = run(backend, "bias relu", (np.zeros((0, 4), np.float32), np.zeros((4, 2), np.float32), np.ones(2, np.float32)), (0, 2))
    assert got.shape == (0, 2)


@pytest.mark.skipif(SIMULATION is None, reason="counts calls of the simulated library")
def test_library_descriptors_are_freed_with_the_cache(backend, monkeypatch):
    """A few kinds of products are cached; descriptors of the others are destroyed, though not while a call uses them."""
    alive = {"Layout": 0, "Desc": 0}
    library = cublaslt.library()

    class Counting:
        def __getattr__(self, name):
            for kind in alive:
                if name in (f"cublasLtMatrix{kind}Create", f"cublasLtMatmul{kind}Create"):
                    alive[kind] += 1
                if name in (f"cublasLtMatrix{kind}Destroy", f"cublasLtMatmul{kind}Destroy"):
                    alive[kind] -= 1
            return getattr(library, name)

    counting = Counting()
    monkeypatch.setattr(cublaslt, "library", lambda: counting)
    monkeypatch.setattr(cublaslt, "MAX_PLANS", 4)
    for n in range(3, 23):
        x, w, b = drawn(6, 5), drawn(5, n, seed=1), drawn(n, seed=2)
        (got,), _ = run(backend, "bias", (x, w, b), (6, n))
        np.testing.assert_allclose(got, x @ w + b, 1e-5, 1e-5)
        assert alive["Desc"] <= 4
        assert alive["Layout"] <= 3 * 4


def test_without_cublaslt_it_is_not_called(gpus, monkeypatch):
    import twofold_cupy

    monkeypatch.setattr(cublaslt, "library", lambda: None)
    assert not twofold_cupy.Backend().target.epilogues


def test_a_layer_is_one_launch(gpus):
    x, w, b = (nd.array(a, ctx=gpus[0]) for a in (drawn(6, 5), drawn(7, 5, seed=1), drawn(7, seed=2)))
    nd.waitall()
    out = nd.relu(nd.FullyConnected(x, w, b, num_hidden=7))
    assert launches_of(out.wait_to_read) in (None, 1)
    np.testing.assert_allclose(out.asnumpy(), np.maximum(drawn(6, 5) @ drawn(7, 5, seed=1).T + drawn(7, seed=2), 0), 2e-6, 2e-6)


@simulated
def test_a_known_product_neither_waits_nor_allocates(backend):
    operands = [backend.from_host(a, GPU) for a in (drawn(6, 5), drawn(5, 7), drawn(7))]
    out, product = backend.empty((6, 7), "float32"), backend.product("bias relu")
    backend.quietly(product, *operands, out)
    before = SIMULATION.counts()
    backend.quietly(product, *operands, out)
    after = SIMULATION.counts()
    assert (after.synchronisations, after.allocations) == (before.synchronisations, before.allocations)
    assert after.launches == before.launches + 1
