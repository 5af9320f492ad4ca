"""Matrix products in pieces: the same bits with any number of threads, in every mode; and BLAS gets its threads back."""

import os
import signal
import subprocess
import sys
import threading

import numpy as np
import pytest

import twofold as mx
from twofold import gluon, nd
from twofold.backend import workers
from twofold.backend.ledger import HAND_OFFS
from twofold.config import SETTINGS
from twofold_numpy import lapack, products, threads
from twofold_numpy.blas import blas
from twofold_numpy.jit import handoff
from twofold_numpy.jit.availability import is_installed
from twofold_numpy.jit.compiler import compiler
from twofold_numpy.packing import has_wide_vectors
from twofold_numpy.products import CUT, blocks_of, multiply, pieces_of

from .matrices import layouts, operands
from tests.cases import spread_in_ci
from tests.conftest import absent
from tests.forked import in_child

if blas() is None:
    absent("the number of threads of NumPy's BLAS cannot be set")

WITH_MACHINE_CODE = is_installed() and compiler() is not None
WAYS = [False, True] if WITH_MACHINE_CODE else [False]
#: (batch, m, k, n): below and above the limits, with sides that cannot be cut, odd ones, and stacks.
SIZES = [
    (1, 64, 784, 128),
    (1, 33, 1001, 70),
    (1, 3, 1200, 400),
    (1, 20, 30_000, 17),
    (1, 400, 3, 2000),
    (1, 1000, 700, 2),
    (7, 40, 50, 60),
    (2, 300, 200, 100),
    (1, 257, 1030, 300),
    (1, 1001, 700, 1),
    (1, 1, 700, 1001),
    (1, 1, 200_003, 1),
    (5, 1, 300, 400),
]


@pytest.fixture(autouse=True)
def _two_threads_of_blas(monkeypatch):
    """BLAS has two threads outside, and small products are shared as well as large ones."""
    library = blas()
    before = library.get_threads()
    library.set_threads(2)
    monkeypatch.setattr(products, "THREADED", 0)
    monkeypatch.setattr(SETTINGS, "threads", 2)
    handoff._board[handoff.ALONE] = handoff._board[handoff.LEVEL] = 0
    yield
    assert library.get_threads() == 2
    library.set_threads(before)


@pytest.mark.parametrize("sizes", [*SIZES, (100, 64, 64, 64), (3, 1, 500, 1000), (1, 5000, 5000, 5000)], ids=str)
def test_pieces_cover_a_product_once(sizes):
    batch, m, k, n = sizes
    seen = np.zeros((batch, m, n), np.int8)
    pieces = pieces_of(batch, m, n, k)
    for lo, hi, top, bottom, left, right in pieces:
        seen[lo:hi, top:bottom, left:right] += 1
    assert (seen == 1).all()
    assert len(pieces) <= workers.MOST
    assert len(pieces) > 1 or products.multiplications(batch, m, n, k) < CUT or (batch == 1 and max(m, n) < 2 * products.GRAIN)


@pytest.mark.parametrize("dtype", ["float32", "float64", "complex64"])
@pytest.mark.parametrize("rows", [2, 5, 8])
def test_a_few_rows_are_multiplied_one_by_one_with_the_rows_of_a_weight(rows, dtype, monkeypatch):
    """In blocks of the weight, which BLAS would copy; with the same bits however it is done, but by machine code without BLAS."""
    draw = np.random.default_rng(0)
    x, w = (draw.normal(size=size).astype(dtype) for size in ((rows, 3000), (517, 3000)))
    taken, found = [], set()
    monkeypatch.setattr(products, "blocks_of", lambda *sizes: taken.append(sizes) or blocks_of(*sizes))
    for with_machine_code in WAYS:
        monkeypatch.setattr(SETTINGS, "jit", with_machine_code)
        for count in (1, 2):
            monkeypatch.setattr(SETTINGS, "threads", count)
            found.add(multiply(x, w.T).tobytes())
    assert taken
    assert len(found) == 1 + (dtype == "float32" and WITH_MACHINE_CODE and has_wide_vectors())
    want = x.astype("complex128") @ w.T.astype("complex128")
    for bits in found:
        np.testing.assert_allclose(np.frombuffer(bits, dtype).reshape(want.shape), want, atol=np.finfo(dtype).eps * 4000)


def test_blocks_of_a_weight_cover_it_once():
    for columns, inner, item in ((517, 3000, 4), (4096, 25_088, 4), (17, 100_000, 8), (100_000, 20, 4)):
        blocks = blocks_of(3, columns, inner, item)
        assert [b[4] for b in blocks] == [0, *[b[5] for b in blocks[:-1]]]
        assert blocks[-1][5] == columns
        assert all((b[5] - b[4]) * inner * item <= products.BLOCK or b[5] - b[4] <= products.GRAIN for b in blocks)


@pytest.mark.parametrize(
    ("rows", "columns", "inner", "x", "w", "is_so"),
    [
        (4, 1000, 1000, (4000, 4), (4, 4000), True),
        (1, 1000, 1000, (4000, 4), (4, 4000), False),  # one product of a vector anyway
        (9, 1000, 1000, (4000, 4), (4, 4000), False),  # copying the weight pays
        (2, 100, 100, (400, 4), (4, 400), False),  # small enough for BLAS to copy nothing
        (4, 1000, 1000, (4000, 4), (4000, 4), False),  # not a weight's rows: each block would have short ones
        (4, 1000, 1000, (4, 16), (4, 4000), False),
        (4, 1000, 1000, (4000, 4), (4, 4), False),  # rows that overlap
    ],
)
def test_which_products_are_by_rows(rows, columns, inner, x, w, is_so):
    assert products.is_by_rows(rows, columns, inner, (0, *x), (0, *w), 4) == is_so


def test_vectors_are_cut_into_parts():
    for length in (1, 70_000, 1_000_001, 50_000_000):
        bounds = products.bounds_of(length)
        assert (bounds[0], bounds[-1]) == (0, length)
        assert list(bounds) == sorted(set(bounds))
    assert [len(products.bounds_of(n)) for n in (60_000, 70_000, 40_000_000)] == [2, 3, 5]


@pytest.mark.parametrize("with_machine_code", WAYS)
@pytest.mark.parametrize("dtype", spread_in_ci(["float32", "float64", "complex64", "complex128"], 3))
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_products_are_numpys_in_every_layout(sizes, dtype, with_machine_code, monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", with_machine_code)
    a, b = operands(*sizes, dtype)
    want = np.matmul(a.astype("complex128"), b.astype("complex128"))
    scale = max(np.abs(want).max(), sizes[2] ** 0.5)
    for x in [a, *layouts(a)[1:]]:
        for y in layouts(b) if x is a else layouts(b)[:2]:
            got = multiply(x, y)
            assert (got.dtype, got.shape) == (a.dtype, want.shape)
            assert got.flags.c_contiguous
            np.testing.assert_allclose(got, want, rtol=0, atol=scale * np.finfo(dtype).eps * 400)


@pytest.mark.parametrize("with_machine_code", WAYS)
@pytest.mark.parametrize("sizes", SIZES, ids=str)
def test_the_number_of_threads_does_not_matter(sizes, with_machine_code, monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", with_machine_code)
    a, b = operands(*sizes)
    found = []
    for count, limit in ((1, 2), (2, 2), (3, 2), (2, 1)):
        monkeypatch.setattr(SETTINGS, "threads", count)
        blas().set_threads(limit)
        found += [multiply(a, b) for _ in range(5)]
        blas().set_threads(2)
    assert {x.tobytes() for x in found} == {found[0].tobytes()}


def test_a_stack_by_one_matrix_and_other_shapes():
    draw = np.random.default_rng(0)
    for shapes in [
        ((9, 60, 70), (70, 80)),
        ((60, 70), (9, 70, 80)),
        ((2, 3, 60, 70), (3, 70, 80)),
        ((600, 700), (700,)),
        ((700,), (700, 800)),
    ]:
        a, b = (draw.normal(size=s) for s in shapes)
        np.testing.assert_allclose(multiply(a, b), np.matmul(a, b), rtol=1e-9, atol=1e-11)
    for a, b in [
        (np.arange(10_000).reshape(100, 100),) * 2,
        (draw.normal(size=(300, 200)).astype(">f8"), draw.normal(size=(200, 100)).astype(">f8")),
    ]:
        np.testing.assert_array_equal(multiply(a, b), np.matmul(a, b))


def test_a_matrix_by_its_own_transpose_is_symmetric():
    a = np.random.default_rng(0).normal(size=(400, 300))
    got = multiply(a, a.T)
    np.testing.assert_array_equal(got, got.T)
    np.testing.assert_allclose(got, a @ a.copy().T, rtol=1e-9, atol=1e-11)
    b = np.random.default_rng(1).normal(size=(400, 300))
    np.testing.assert_allclose(multiply(a, b.T), np.dot(a, b.T), rtol=1e-9, atol=1e-11)  # the same layouts


def test_a_matrix_by_its_own_transpose_is_divided_too(monkeypatch):
    shared = []
    monkeypatch.setattr(products, "run_all", lambda tasks: (shared.append(len(tasks)), workers.run_all(tasks)))
    for rows in (400, 401, 33):
        a = np.random.default_rng(0).normal(size=(rows, 2000))
        found = []
        for count in (1, 2, 3):
            monkeypatch.setattr(SETTINGS, "threads", count)
            found.append(multiply(a, a.T))
        np.testing.assert_array_equal(found[0], found[0].T)
        np.testing.assert_allclose(found[0], a @ a.copy().T, rtol=1e-9, atol=1e-10)
        assert {x.tobytes() for x in found} == {found[0].tobytes()}
    assert shared == [4] * 6


@pytest.mark.parametrize(
    ("subscripts", "shapes"),
    [
        ("ij,jk->ik", [(200, 300), (300, 100)]),
        ("ijk,kjl->il", [(40, 30, 50), (50, 30, 60)]),
        ("abc,cd,de->abe", [(20, 30, 100), (100, 80), (80, 90)]),
        ("ij,kj->ki", [(200, 300), (100, 300)]),
        ("i,i->", [(50_000,), (50_000,)]),
        ("bij,bjk->bik", [(4, 20, 30), (4, 30, 20)]),
        ("ij,ij->ij", [(20, 30), (20, 30)]),
    ],
)
def test_contractions_are_products_in_pieces(subscripts, shapes, monkeypatch):
    held = []
    monkeypatch.setattr(np, "dot", lambda a, b: held.append((a.shape, b.shape)) or np.matmul(a, b))
    draw = np.random.default_rng(0)
    arrays = [draw.normal(size=s) for s in shapes]
    got = mx.np.einsum(subscripts, *map(mx.np.array, arrays)).asnumpy()
    np.testing.assert_allclose(got, np.einsum(subscripts, *arrays), rtol=1e-9, atol=1e-9)
    assert all(products.is_small(*given) for given in held)


def test_blas_has_one_thread_within_a_product_and_its_own_outside():
    library = blas()
    assert library.get_threads() == 2
    with threads.HOLD:
        assert library.get_threads() == 1
        with threads.HOLD:
            assert library.get_threads() == 1
        assert library.get_threads() == 1
    assert library.get_threads() == 2


def test_blas_has_one_thread_within_a_factorization_of_small_matrices(monkeypatch):
    library, seen = blas(), []
    monkeypatch.setattr(np.linalg, "cholesky", lambda a: seen.append((len(a), library.get_threads())) or a)
    monkeypatch.setattr(lapack.LIBRARY, "linalg", lapack._LinearAlgebra())
    for size in (3, lapack.LARGEST, lapack.LARGEST + 1):
        nd.linalg.potrf(nd.eye(size)).wait_to_read()
    assert seen == [(3, 1), (lapack.LARGEST, 1), (lapack.LARGEST + 1, 2)]
    assert library.get_threads() == 2
    assert issubclass(lapack.LIBRARY.linalg.LinAlgError, ValueError)


def test_a_setting_that_somebody_changes_within_a_product_stays():
    library = blas()
    library.set_threads(2)
    with threads.HOLD:
        library.set_threads(3)
    assert library.get_threads() == 3
    library.set_threads(2)


@pytest.mark.parametrize("with_machine_code", WAYS)
def test_threads_that_multiply_at_once_give_blas_back_at_the_end(with_machine_code, monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", with_machine_code)
    a, b = operands(1, 128, 300, 128)
    want, wrong = multiply(a, b).tobytes(), []

    def work():
        wrong.extend(k for k in range(100) if multiply(a, b).tobytes() != want)

    own = [threading.Thread(target=work) for _ in range(4)]
    for t in own:
        t.start()
    for t in own:
        t.join()
    assert not wrong
    assert blas().get_threads() == 2


@pytest.mark.skipif(not WITH_MACHINE_CODE, reason="no machine code here")
def test_whoever_limits_blas_to_one_thread_has_one(monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", True)
    a, b = operands(1, 256, 256, 256)
    multiply(a, b)
    handoff._board[handoff.ALONE] = handoff._board[handoff.LEVEL] = 0
    before = HAND_OFFS.count
    multiply(a, b)
    assert HAND_OFFS.count == before + 1
    blas().set_threads(1)
    for _ in range(5):
        multiply(a, b)
    blas().set_threads(2)
    assert HAND_OFFS.count == before + 1


@pytest.mark.filterwarnings("ignore:This process:DeprecationWarning")  # forking a multi-threaded process is the point here
@pytest.mark.parametrize("with_machine_code", WAYS)
def test_a_forked_child_multiplies(with_machine_code, monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", with_machine_code)
    a, b = operands(1, 256, 300, 256)
    want = multiply(a, b).tobytes()
    with threads.HOLD:  # as if another thread multiplied
        child = os.fork()
        if not child:
            signal.alarm(60)  # nobody waits for it longer
            good = blas().get_threads() == 2 and all(multiply(a, b).tobytes() == want for _ in range(20)) and blas().get_threads() == 2
            os._exit(0 if good else 1)
    assert os.waitstatus_to_exitcode(os.waitpid(child, 0)[1]) == 0


@pytest.mark.skipif(not is_installed() or blas() is None, reason="needs machine code and a BLAS whose threads can be set")
def test_machine_code_of_another_thread_holds_nothing_in_a_forked_child():
    from twofold_numpy.jit.products import HOLD

    library, a = blas(), np.ones((64, 64), np.float32)
    before = library.get_threads()
    multiply(a, a)
    library.set_threads(1)
    HOLD[:] = [1, 1, 2]  # as if another thread, at its product, were about to read the number of threads

    def check():
        assert [library.get_threads(), *HOLD] == [2, 0, 0, 0]
        assert (multiply(a, a) == 64).all()

    try:
        in_child(check)
    finally:
        HOLD[:] = [0, 0, 0]
        library.set_threads(before)


def test_an_error_in_a_piece_gives_blas_back(monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", False)
    a, b = operands(1, 256, 300, 256)
    monkeypatch.setattr(products, "_multiply_part", lambda *parts: 1 / 0)
    with pytest.raises(ZeroDivisionError):
        multiply(a, b)
    assert blas().get_threads() == 2


def test_without_machine_code_pieces_are_shared_by_python(monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", False)
    shared = []
    monkeypatch.setattr(products, "run_all", lambda tasks: (shared.append(len(tasks)), workers.run_all(tasks)))
    multiply(*operands(1, 64, 784, 128))
    assert shared == [2]


class Net(gluon.HybridBlock):
    """Layers whose products are cut."""

    def __init__(self):
        super().__init__()
        self.first, self.second = gluon.nn.Dense(200, activation="relu", in_units=300), gluon.nn.Dense(100, in_units=200)

    def hybrid_forward(self, F, x):
        return self.second(self.first(x))


def gradients(hybrid, engine, count, monkeypatch):
    """The loss and the gradients of a step of `Net`."""
    monkeypatch.setattr(SETTINGS, "engine", engine)
    monkeypatch.setattr(SETTINGS, "threads", count)
    net = Net()
    net.initialize(mx.init.Zero())
    draw = np.random.default_rng(0)
    for p in net.collect_params().values():
        p.set_data(nd.array(draw.normal(size=p.shape)))
    if hybrid:
        net.hybridize()
    x = nd.array(draw.normal(size=(200, 300)))
    for _ in range(3):
        with mx.autograd.record():
            loss = net(x).square().sum()
        loss.backward()
    return [loss.asnumpy().tobytes(), *[p.grad().asnumpy().tobytes() for p in net.collect_params().values()]]


def test_every_mode_gives_the_same_products(monkeypatch):
    want = gradients(False, "naive", 1, monkeypatch)
    for hybrid in (False, True):
        for engine in ("naive", "window"):
            for count in (1, 2):
                assert gradients(hybrid, engine, count, monkeypatch) == want, (hybrid, engine, count)


@pytest.mark.skipif(not is_installed(), reason="llvmlite is not installed")
def test_the_compiler_is_loaded_when_a_program_has_many_products():
    program = """
import sys
from twofold import np
from twofold_numpy.products import PATIENCE
a = np.arange(250_000.0).reshape(500, 500) / 7
first = a @ a
first.wait_to_read()
print("llvmlite" in sys.modules)
for _ in range(PATIENCE):
    last = a @ a
    last.wait_to_read()
print("llvmlite" in sys.modules, bool((first == last).all()))
"""
    ran = subprocess.run(
        [sys.executable, "-c", program], capture_output=True, text=True, check=True, env={**os.environ, "TWOFOLD_JIT": "1"}
    )
    assert ran.stdout.splitlines() == ["False", f"{WITH_MACHINE_CODE} True"]


@pytest.mark.parametrize(
    "shapes", [((60, 70), (60, 70)), ((60, 70), (90, 70)), ((60, 1000), (1, 1000)), ((3, 60, 70), (3, 60, 70)), ((600, 700), (600,))]
)
@pytest.mark.parametrize("jit", WAYS)
def test_operands_that_do_not_fit_are_refused(shapes, jit, monkeypatch):
    monkeypatch.setattr(SETTINGS, "jit", jit)
    monkeypatch.setattr(products, "PATIENCE", 0)
    products._bound.clear()
    a, b = map(mx.np.ones, shapes)
    for product in (lambda: a @ b, lambda: mx.np.matmul(a, b), lambda: a.astype("float32") @ b.astype("float32")):
        with pytest.raises(mx.MXNetError, match="sizes"):
            product().wait_to_read()
    with pytest.raises(ValueError, match="inner sizes differ"):
        multiply(np.ones(shapes[0]), np.ones(shapes[1]))
