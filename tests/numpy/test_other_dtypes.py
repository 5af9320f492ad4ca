"""Arrays of text, records, dates and objects are NumPy's own, whatever names their dtype; and so are those with masks."""

from contextlib import nullcontext

import numpy
import pytest

import twofold as mx
from twofold import np
from twofold.errors import AutogradError, ParameterError, UnsupportedDType

TEXT, RECORD, DATE = numpy.dtype("U5"), numpy.dtype([("a", "i4"), ("b", "U3")]), numpy.dtype("M8[D]")
PROGRAMS = [
    "np.zeros(3, TEXT)",
    "np.zeros((2, 1), dtype=RECORD)",
    "np.ones(2, object)",
    "np.empty((2,), numpy.dtype(object))",
    "np.full(2, 'abc', TEXT)",
    "np.full(2, numpy.datetime64('2020-01-01'))",
    "np.full((2,), None)",
    "np.zeros_like(np.array(['a', 'b']))",
    "np.ones_like(np.zeros(2, TEXT))",
    "np.zeros_like(np.zeros((2, 2), DATE))",
    "np.zeros_like(['a'])",
    "np.zeros_like(np.ones(2), dtype=TEXT)",
    "np.full_like(np.array(['2020-01-01'], DATE), numpy.datetime64('2021-01-01'))",
    "np.full_like(np.array(['a']), 'b')",
    "np.ascontiguousarray(numpy.array(['a', 'b'])[::-1])",
    "np.eye(2, dtype=object)",
    "np.identity(2, dtype=numpy.dtype(object))",
    "np.tri(2, dtype=object)",
    "np.copy(np.array([None]))",
    "np.array(numpy.array(['a', 'b']), ndmin=3)",
    "np.array(numpy.arange(3, dtype='>i4'), ndmin=2)",
]


@pytest.mark.parametrize("where", [nullcontext, mx.cpu], ids=["anywhere", "on a device"])
@pytest.mark.parametrize("program", PROGRAMS)
def test_arrays_of_other_dtypes_are_numpys(program, where):
    names = {"TEXT": TEXT, "RECORD": RECORD, "DATE": DATE, "numpy": numpy}
    with where():
        found = eval(program, names | {"np": np})
    wanted = eval(program, names | {"np": numpy})
    assert type(found) is numpy.ndarray
    assert (found.dtype, found.shape, found.tolist()) == (wanted.dtype, wanted.shape, wanted.tolist())


@pytest.mark.parametrize("dtype", [">i4", TEXT, RECORD, DATE, object])
def test_array_copies_and_asarray_does_not(dtype):
    source = numpy.zeros(2, dtype)
    assert not numpy.shares_memory(np.array(source), source)
    assert np.array(source, copy=None) is np.asarray(source) is source


def test_a_list_cannot_be_taken_without_a_copy():
    for make in (np.array, numpy.array):
        with pytest.raises(ValueError, match="copy"):
            make(["a"], copy=False)


@pytest.mark.parametrize("make", [lambda: np.zeros(3, "nosuch"), lambda: np.ones(2).astype("nosuch"), lambda: mx.nd.zeros(3, dtype=TEXT)])
def test_unknown_dtypes_raise(make):
    with pytest.raises(TypeError, match=r"nosuch|unknown data type"):
        make()


def test_masks_are_not_lost():
    x, masked = np.array([1.0, 2.0, 3.0]), numpy.ma.array([1.0, 2.0, 3.0], mask=[False, True, False])
    assert float(np.sum(masked)) == 4.0
    assert float(np.mean(masked)) == 2.0
    for right in (
        np.exp(masked),
        np.add(masked, masked),
        masked + x,
        masked * x,
        x + masked,
        x % masked,
        x < masked,
        np.maximum(x, masked),
    ):
        assert right.mask.tolist() == [False, True, False]
    with pytest.raises(UnsupportedDType, match="mask"):
        x += masked
    assert x.tolist() == [1.0, 2.0, 3.0]


@pytest.mark.parametrize("way", ["reduce(x, out=o)", "accumulate(x, out=p)", "reduceat(x, [0, 2], out=q)"])
@pytest.mark.parametrize("dtype", ["bool", "uint8", "uint64", "int8", "float32"])
@pytest.mark.parametrize("name", ["subtract", "hypot", "add", "maximum"])
def test_reductions_have_the_dtype_of_what_they_are_written_to(name, dtype, way):
    found = []
    for xp in (np, numpy):
        names = {"x": xp.array([1, 0, 3, 2]).astype(dtype), "o": xp.zeros(()), "p": xp.zeros(4), "q": xp.zeros(2), "f": getattr(xp, name)}
        found.append(eval(f"f.{way}", names).tolist())
    assert found[0] == found[1]


def test_ufuncs_update_numpys_arrays_at_indices():
    records = numpy.zeros(3, dtype=[("total", "f8"), ("day", "M8[D]")])
    np.add.at(records["total"], np.array([0, 0, 2]), np.array([1.0, 2.0, 3.0]))
    np.add.at(records["day"], [1], numpy.timedelta64(4, "D"))
    np.negative.at(records["total"], np.array([2]))
    assert records["total"].tolist() == [3, 0, -3]
    assert records["day"].astype(int).tolist() == [0, 4, 0]
    x = np.ones(2)
    x.attach_grad()
    with mx.autograd.record(), pytest.raises(AutogradError, match="gradient"):
        np.add.at(records["total"], [0, 1], x)
    with pytest.raises(ParameterError, match="only arrays"):
        np.add.at([1, 2], [0], 1)


@pytest.mark.parametrize("dtype", ["float16", "float32", "float64", "int8", "uint8", "int64", "bool"])
@pytest.mark.parametrize("name", ["add", "multiply", "divide", "power", "maximum", "minimum", "arctan2", "hypot", "logical_and", "equal"])
def test_true_and_false_are_numbers_beside_arrays(name, dtype):
    given = numpy.array([2, 0, 1]).astype(dtype)
    with numpy.errstate(all="ignore"):
        for value in (True, False):
            for ours, theirs in (((np.array(given), value), (given, value)), ((value, np.array(given)), (value, given))):
                found, wanted = getattr(np, name)(*ours), getattr(numpy, name)(*theirs)
                assert found.dtype == wanted.dtype
                numpy.testing.assert_allclose(found.asnumpy(), wanted, rtol=1e-3 if wanted.dtype.itemsize == 2 else 1e-6)
    where = np.where(np.array(given) > 1, True, np.array(given))
    assert where.tolist() == numpy.where(given > 1, True, given).tolist()


@pytest.mark.parametrize("name", ["fmin", "fmax", "maximum", "copysign", "logaddexp", "heaviside", "add"])
@pytest.mark.parametrize("scalar", [numpy.uint8(200), numpy.int32(-2), numpy.float16(1.5), numpy.float32(2.5)])
def test_python_numbers_adopt_the_dtype_of_scalars_on_devices(fake_gpus, name, scalar):
    with fake_gpus[0]:
        for operands in ((scalar, 3), (3, scalar), (scalar, scalar)):
            found, want = getattr(np, name)(*operands), getattr(numpy, name)(*operands)
            assert found.dtype == want.dtype
            assert found.item() == pytest.approx(want.item(), rel=1e-3)


@pytest.mark.parametrize("dtype", [">f8", "longdouble"])
@pytest.mark.parametrize("options", [{}, {"sparse": True}, {"copy": False}, {"indexing": "ij"}])
def test_grids_have_the_dtype_of_their_vectors(dtype, options):
    x, y = numpy.arange(3).astype(dtype), numpy.arange(2).astype(dtype)
    for found, expected in zip(np.meshgrid(x, y, **options), numpy.meshgrid(x, y, **options), strict=True):
        assert (found.dtype, found.tolist()) == (expected.dtype, expected.tolist())


@pytest.mark.parametrize("name", ["conj", "modf", "frexp"])
def test_results_of_other_dtypes_are_written_to_out(name):
    x, out = numpy.array([1.5, -2.25], "longdouble"), numpy.zeros(2, "longdouble")
    expected = getattr(numpy, name)(x)
    getattr(np, name)(x, out)
    assert out.tolist() == numpy.asarray(expected[0] if isinstance(expected, tuple) else expected).tolist()


def test_results_of_other_dtypes_are_written_to_arrays_of_ours():
    x, out, theirs = numpy.array([1.5, -2.25], "longdouble"), np.zeros(2), numpy.zeros(2)
    numpy.spacing(x, theirs)
    assert np.spacing(x, out) is out
    assert out.tolist() == theirs.tolist()


@pytest.mark.parametrize("dtype", [">f8", "longdouble"])
@pytest.mark.parametrize(
    "text",
    [
        "diagonal(m)", "matrix_norm(m)", "matrix_power(m, 3)", "matrix_transpose(m)", "multi_dot([m, m, m])", "outer(v, v)",
        "tensordot(m, m)", "trace(m)", "vecdot(v, v)", "vector_norm(m, axis=1)", "matmul(m, m)", "norm(m, axis=0)",
    ],
)  # fmt: skip
def test_linear_algebra_of_other_dtypes_is_numpys(text, dtype):
    v = numpy.arange(1, 4).astype(dtype)
    found, expected = (eval(f"linalg.{text}", {"linalg": n.linalg, "m": numpy.outer(v, v) + v, "v": v}) for n in (np, numpy))
    assert (found.dtype, numpy.asarray(found).tolist()) == (expected.dtype, expected.tolist())
