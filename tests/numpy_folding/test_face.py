"""The module that a script sees as ``numpy``: NumPy's own objects, makers of large arrays that fold, NumPy's streams of random numbers."""

import copy
import io
import pickle
import threading

import numpy as real
import pytest

import twofold as mx
from twofold.numpy.array import ndarray as TwofoldArray
from twofold.numpy_folding import allocation, explain
from twofold.numpy_folding.array import FoldingArray
from twofold.numpy_folding.face import numpy as np
from twofold.numpy_folding.makers import CONVERSIONS, DRAWS, NAMES

from tests.devices import fake_gpus

N = 70_000
LARGE_ONE = real.ones(N)
OWN = {*NAMES, *CONVERSIONS, "array", "meshgrid", "mgrid", "random"}


def test_every_other_name_is_numpys_own_object():
    for name in set(dir(real)) - OWN:
        if not name.startswith("__"):
            assert getattr(np, name) is getattr(real, name), name
    assert set(dir(np)) == set(dir(real))
    for name in set(dir(real.random)) - {*DRAWS, "shuffle", "Generator", "RandomState", "default_rng"}:
        if not name.startswith("__"):
            assert getattr(np.random, name) is getattr(real.random, name), name
    with pytest.raises(AttributeError, match=r"numpy.*has no attribute 'nothing'"):
        np.nothing  # noqa: B018


LARGE = {
    "zeros": lambda n: n.zeros(N), "ones": lambda n: n.ones((N, 1), dtype="f4"), "full": lambda n: n.full(N, 3),
    "arange": lambda n: n.arange(N), "linspace": lambda n: n.linspace(0, 1, N), "eye": lambda n: n.eye(300),
    "array": lambda n: n.array([1] * N),
    "asarray": lambda n: n.asarray([1.0] * N), "fromiter": lambda n: n.fromiter(range(N), int), "logspace": lambda n: n.logspace(0, 1, N),
    "tri": lambda n: n.tri(300), "indices": lambda n: n.indices((300, 300)), "loadtxt": lambda n: n.loadtxt(io.StringIO("1\n" * N)),
    "array of an array": lambda n: n.array(real.arange(N)), "a meshgrid": lambda n: n.meshgrid(real.arange(300), real.arange(300))[1],
    "rand": lambda n: n.random.seed(1) or n.random.rand(N), "randint": lambda n: n.random.seed(1) or n.random.randint(0, 9, N),
    "choice": lambda n: n.random.seed(1) or n.random.choice(5, N), "permutation": lambda n: n.random.seed(1) or n.random.permutation(N),
    "a generator": lambda n: n.random.default_rng(3).random(N), "a legacy generator": lambda n: n.random.RandomState(3).randn(N),
    "a generator of a generator": lambda n: n.random.default_rng(n.random.default_rng(3)).normal(size=N),
    "a spawned generator": lambda n: n.random.default_rng(3).spawn(1)[0].integers(0, 9, N),
}  # fmt: skip


@pytest.mark.parametrize("what", LARGE)
def test_large_arrays_fold_and_have_numpys_content(what):
    found, expected = LARGE[what](np), LARGE[what](real)
    assert type(found) is FoldingArray
    assert (found.dtype, found.shape, found.strides) == (expected.dtype, expected.shape, expected.strides)
    assert found.tobytes() == expected.tobytes()


class Subclass(real.ndarray):
    """A subclass of NumPy's arrays."""


NUMPYS = {
    "small": lambda n: n.zeros(10), "objects": lambda n: n.zeros(N, object), "complex": lambda n: n.zeros(N, complex),
    "records": lambda n: n.zeros(N, [("a", int)]), "dates": lambda n: n.zeros(N, "M8[s]"), "text": lambda n: n.array(["a"] * N),
    "a small draw": lambda n: n.random.default_rng(1).random(3), "a subclass": lambda n: n.asanyarray(real.zeros(N).view(Subclass)),
    "a masked array": lambda n: n.ma.zeros(N), "a buffer": lambda n: n.frombuffer(bytes(8 * N)),
}  # fmt: skip


@pytest.mark.parametrize("what", NUMPYS)
def test_everything_else_stays_numpys(what):
    found, expected = NUMPYS[what](np), NUMPYS[what](real)
    assert type(found) is type(expected)
    assert found.dtype == expected.dtype


def test_numpys_own_large_array_is_not_taken_over():
    x = real.arange(float(N))
    assert np.asarray(x) is x
    assert np.ascontiguousarray(x) is x
    view = np.asarray(x, order="C")
    view[0] = 7.0
    assert x[0] == 7.0
    copied = np.array(x)
    copied[1] = 9.0
    assert x[1] == 1.0
    shared = np.array(x, copy=None)
    shared[2] = 5.0
    assert x[2] == 5.0


def test_generators_are_numpys_classes():
    assert isinstance(np.random.default_rng(1), real.random.Generator)
    assert isinstance(np.random.RandomState(1), real.random.RandomState)
    with pytest.raises(ValueError, match="a must be greater than 0"):
        np.random.choice(0, 3)


def test_on_a_gpu_makers_give_twofolds_arrays_of_any_size():
    with fake_gpus(1), mx.gpu(0):
        for x in (
            np.zeros(3),
            np.array([1.0, 2.0]),
            np.random.default_rng(1).random(4),
            np.arange(3),
            np.asarray([1, 2]),
            np.array(real.ones(N)),
        ):
            assert type(x) is TwofoldArray
            assert x.context == mx.gpu(0)
        assert np.asarray(x) is x
        assert float(np.exp(np.zeros(3)).sum()) == 3.0
    assert type(np.zeros(3)) is real.ndarray


def test_explain_says_which_lines_fold_and_why_others_do_not():
    x = np.zeros(N)
    y = x * 2.0 + 1.0
    real.modf(y)
    piece = x[:3]
    x - 1.0
    found = {entry.line: entry for entry in explain.lines() if entry.file == __file__}
    first = min(line for line, entry in found.items() if entry.folded)
    assert found[first].folded == 2
    assert found[first].joined > 0
    assert found[first + 1].reasons == {"modf does not fold": 1}
    assert found[first + 3].reasons == {"a NumPy array looks at an operand's memory": 1}
    assert f"test_face.py:{first}: 2 folded" in explain.text().splitlines()
    assert len(piece) == 3


WORK = {
    "x = np.ones(N)": "1 made",
    "np.zeros(N, complex)": "at once: arrays of complex128 do not fold (1)",
    "np.random.rand(N)": "1 made",
    "x.sum(); np.sum(x)": "at once: sum does not fold (2)",
    "np.sort(x)": "at once: sort does not fold (1)",
    "x.sort()": "at once: sort does not fold (1)",
    "x[np.argsort(x)]": "at once: argsort does not fold (1), an array as index (1)",
    "x[x > 0.0]": "1 folded; at once: an array as index (1)",
    "x[x > 2.0]": "1 folded; at once: an array as index (1)",
    "x[x > 3.0] = 0.0": "1 folded; at once: written by index (1)",
    "x[:] = 1.0": "at once: written by index (1)",
    "np.add.reduce(x)": "at once: add.reduce does not fold (1)",
    "x @ x": "at once: matmul does not fold (1)",
    "with np.errstate(all='ignore'): x ** 3": "1 folded",
    "np.full(N, 2) ** 3": "1 made; at once: ** does not fold (1)",
    "np.clip(x, a_min=0, a_max=1)": "at once: out=, where= or other options (1)",
    "x.copy(); x.tolist()": "at once: copy does not fold (1), tolist does not fold (1)",
    "x.astype(int)": "at once: these dtypes or operands (1)",
    "x.reshape(7, -1).T.reshape(-1)": "at once: copied, as no view has that shape (1)",
    "1.0 in x": "at once: in does not fold (1)",
    "memoryview(x)": "at once: memory handed to compiled code or a library (1)",
    "x[3]; x[3:5]; x.T; np.shape(x); x.reshape(2, -1); x[5:]": None,
    "x[3] = 1.0; x[2:4] = 0.0; x[-1:] = 2.0": None,
}


def test_explain_shows_every_line_where_large_arrays_work():
    exec(compile("\n".join(WORK), "program.py", "exec"), {"np": np, "N": N})
    found = {entry.line: str(entry).partition(": ")[2] for entry in explain.lines() if entry.file == "program.py"}
    assert {code: found.get(line) for line, code in enumerate(WORK, 1)} == WORK


def test_threads_share_arrays():

    x, errors = np.arange(float(N)), []

    def work(k):
        try:
            for _ in range(20):
                y = x * k + 1.0
                piece = x[k : k + 5].copy()
                z = y - 1.0
                assert z[7] == 7.0 * k
                assert piece[0] == k
                y += z * 1.0
                assert y[7] == 14.0 * k + 1.0
        except BaseException as error:
            errors.append(error)

    threads = [threading.Thread(target=work, args=(k,)) for k in range(1, 5)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert errors == []


def test_freed_memory_is_kept_where_the_c_library_is_glibc():
    assert allocation.keep_freed_memory() in (True, False)


@pytest.mark.ci
def test_libraries_work_on_the_memory_itself():
    linear_model = pytest.importorskip("sklearn.linear_model")
    x = np.arange(2.0 * N).reshape(N, 2)
    x[:, 1] = 1.0
    y = x[:, 0] * 3.0 + 2.0
    model = linear_model.LinearRegression(fit_intercept=False).fit(x, y)
    assert real.allclose(model.coef_, [3.0, 2.0])
    stats = pytest.importorskip("scipy.stats")
    assert stats.describe(y).nobs == N


@pytest.mark.parametrize("draw", ["rand", "randn", "tomaxint"])
def test_legacy_draws_that_call_others_give_numpys_numbers(draw):
    found = getattr(np.random.RandomState(4), draw)(N)
    assert found.tobytes() == getattr(real.random.RandomState(4), draw)(N).tobytes()


@pytest.mark.parametrize("make", [lambda module: module.default_rng(3), lambda module: module.RandomState(3)], ids=["new", "legacy"])
def test_copies_of_generators_are_generators(make):
    g = make(np.random)
    g.standard_normal()  # the legacy generator keeps a second number
    copied, unpickled = copy.deepcopy(g), pickle.loads(pickle.dumps(g))
    assert type(copied) is type(g)
    for h in (copied, unpickled):
        assert isinstance(h, type(g))
    same = make(real.random)
    assert isinstance(same, type(g))
    assert issubclass(type(same), type(g))
    same.standard_normal()
    expected = same.standard_normal(N).tobytes()
    assert [h.standard_normal(N).tobytes() for h in (copied, unpickled, g)] == [expected] * 3


def test_default_rng_gives_a_generator_back():
    for g in (np.random.default_rng(3), real.random.default_rng(3)):
        assert np.random.default_rng(g) is g
    assert type(np.random.default_rng(3).random(N)) is FoldingArray
