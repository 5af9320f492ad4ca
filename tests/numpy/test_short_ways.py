"""Functions that call NumPy's on small arrays: what they write to, what they copy, and what they take."""

import tracemalloc

import numpy
import pytest

from twofold import np
from twofold.errors import ParameterError


def test_quotients_and_remainders_in_one():
    x = numpy.array([0.3, -1.7, 2.5, 40.0])
    for got, wanted in zip(np.divmod(np.array(x), 0.7), numpy.divmod(x, 0.7), strict=True):
        assert type(got) is np.ndarray
        assert got.tolist() == wanted.tolist()


@pytest.mark.parametrize("order", ["C", "F"])
def test_products_with_arrays_of_numpys(order):
    a = numpy.array(numpy.arange(12.0).reshape(3, 4) / 7, order=order)
    x = numpy.arange(8.0) / 3
    for got, wanted in [
        (np.dot(a, np.array(x)[:4]), a.dot(x[:4])),
        (np.dot(np.array(x)[::2], a.T), x[::2].dot(a.T)),
        (np.dot(a, a.T), a.dot(a.T)),
    ]:
        assert type(got) is np.ndarray
        numpy.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-15)


def test_shuffles_write_to_the_array():
    x, base, numbers = np.arange(10), np.arange(12), numpy.random.RandomState(3)
    view = base[2:]
    wanted, part = numpy.arange(10), numpy.arange(12)[2:]
    numbers.shuffle(wanted)
    numbers.shuffle(part)
    assert np.random.seed(3) is None
    assert np.random.shuffle(x) is None
    np.random.shuffle(view)
    assert x.tolist() == wanted.tolist()
    assert base.tolist() == [0, 1, *part.tolist()]


def test_a_vector_on_the_diagonal_is_a_list():
    assert np.diag([1, 2], 1).tolist() == numpy.diag([1, 2], 1).tolist()
    assert np.diag([1.5, True]).dtype == "float64"
    with pytest.raises(ParameterError, match="must be an int"):
        np.diag([1.0], "k")


def test_bytes_are_copied_and_can_be_written():
    memory = numpy.arange(3.0).tobytes()
    x = np.frombuffer(memory)
    x[0] = 7
    assert x.tolist() == [7, 1, 2]
    assert numpy.frombuffer(memory).tolist() == [0, 1, 2]


def test_arrangements_of_memory_take_no_more_memory_than_they_need():
    x = np.arange(3000.0)
    tracemalloc.start()
    try:
        windows = np.lib.stride_tricks.as_strided(x, (1000, 1000), (16, 8))
        assert tracemalloc.get_traced_memory()[1] < 1.5 * windows.nbytes
    finally:
        tracemalloc.stop()
    assert windows[999].tolist() == list(range(1998, 2998))
    with pytest.raises(ValueError, match="outside the array"):
        np.lib.stride_tricks.as_strided(x, (1000, 1000), (24, 8))


def test_arrays_that_are_written_may_be_named():
    numbers, wanted, x, y = numpy.random.RandomState(1), numpy.arange(8), np.arange(8), np.zeros((2, 2))
    numbers.shuffle(wanted)
    np.random.RandomState(1).shuffle(x=x)
    assert x.tolist() == wanted.tolist()
    np.put_along_axis(arr=y, indices=np.array([[0], [1]]), values=3.0, axis=1)
    assert y.tolist() == [[3, 0], [0, 3]]
    with pytest.raises(TypeError, match="argument"):
        np.random.shuffle()


def test_generators_have_no_attributes_that_would_change_nothing():
    with pytest.raises(AttributeError, match="'Generator' object has no attribute 'state'"):
        np.random.default_rng(0).state = {}

    class Named(np.random.RandomState):
        def __init__(self, name):
            super().__init__(0)
            self.name = name

    assert Named("x").name == "x"


def test_memory_orders_that_are_none_and_orders_without_a_copy():
    x = np.arange(6.0).reshape(2, 3).T
    with pytest.raises(ValueError, match="order"):
        np.asarray(x, order="X")
    with pytest.raises(ParameterError, match="would be a copy"):
        np.asarray(x, order="C", copy=False)
    assert np.asarray(x, order="f") is x
    assert np.require(x, requirements="F", like=None) is x


@pytest.mark.parametrize("size", [3, 100_000])
def test_draws_with_an_argument_too_many_are_refused(size):
    x, generator = np.arange(float(size)), np.random.default_rng(0)
    for draw in (lambda: np.random.permutation(5, x), lambda: generator.permutation(5, 0, x), lambda: generator.random(3, float, None, x)):
        with pytest.raises(TypeError, match="argument"):
            draw()
    out = np.zeros(3)
    assert generator.random(3, float, out) is out
    assert out.all()


def memory_of(x):
    """The NumPy array that holds the elements of a result, wherever it is computed."""
    return x.asnumpy() if isinstance(x, np.ndarray) else numpy.asarray(x)


def same(got, wanted):
    """Whether a result has NumPy's elements, dtype and shape; of several results, each."""
    if isinstance(wanted, (list, tuple)):
        return len(got) == len(wanted) and all(map(same, got, wanted))
    a, b = memory_of(got), numpy.asarray(wanted)
    return a.dtype == b.dtype and a.shape == b.shape and a.tobytes() == b.tobytes()


def changed(m, name, *args):
    """What a method or function that writes to its first argument has made of it."""
    x = m.array([5.0, 3.0, 9.0, 1.0])
    assert (m.copyto(x, *args) if name == "copyto" else getattr(x, name)(*args)) is None
    return x


@pytest.mark.parametrize(
    ("name", "args"),
    [
        ("put", ([0, -1], [7, 8])),
        ("put", ([1], 2.5)),
        ("put", ([9], 1.5, "wrap")),
        ("partition", (2,)),
        ("partition", ([0, 3],)),
        ("copyto", (1,)),
        ("copyto", (2.5,)),
        ("copyto", (True,)),
    ],
)
def test_methods_and_functions_that_write_to_an_array(name, args):
    assert same(changed(np, name, *args), changed(numpy, name, *args))


@pytest.mark.parametrize("number", [1.5, 2j, 300, -1])
def test_numbers_that_do_not_fit_are_not_copied_to_an_array(number):
    x = np.array([1, 2], dtype="uint8")
    with pytest.raises((TypeError, OverflowError)):
        np.copyto(x, number)
    assert x.tolist() == [1, 2]


@pytest.mark.parametrize("dtype", [None, float, "float32", "int8", bool, complex])
@pytest.mark.parametrize("value", [1, 2.5, True, 10**20, [1, 2], [[1.5], [2.5]]], ids=str)
def test_arrays_of_numbers_and_lists_have_a_given_dtype(value, dtype):
    for name in ("array", "asarray", "asanyarray"):
        try:
            wanted = getattr(numpy, name)(value, dtype)
        except OverflowError:
            with pytest.raises((OverflowError, ParameterError)):
                getattr(np, name)(value, dtype)
            continue
        with numpy.errstate(invalid="ignore"):
            assert same(getattr(np, name)(value, dtype), wanted), name


def test_an_array_that_has_the_dtype_is_returned_itself_and_a_copy_is_one():
    x = np.array([[1.0, 2.0], [3.0, 4.0]])
    view = x[0]
    assert np.asarray(x, dtype=float) is x
    assert np.asanyarray(x) is x
    assert np.asarray(view, dtype="float64") is view
    assert x.astype(float, copy=False) is x
    copies = [np.array(x, dtype=float), np.array(x, copy=True), np.asarray(x, dtype="float32")]
    x[0, 0] = 9
    assert [y[0, 0].item() for y in copies] == [1, 1, 1]


SEVERAL = {
    "modf": lambda m, x, i: m.modf(x),
    "frexp": lambda m, x, i: m.frexp(x.T),
    "divmod": lambda m, x, i: m.divmod(7.0, x),
    "unravel_index": lambda m, x, i: m.unravel_index(i, (3, 4)),
    "diag_indices": lambda m, x, i: m.diag_indices(3),
    "ix_": lambda m, x, i: m.ix_(i, [True, False, True]),
    "trim_zeros": lambda m, x, i: m.trim_zeros(m.array([0.0, 1.0, 0.0, 2.0, 0.0])),
    "r_": lambda m, x, i: [m.r_[i, 0.5, [1, 2]], m.r_[0:1:3j], m.r_["0,2", [1, 2], [3, 4]], m.c_[i, i]],
    "grids": lambda m, x, i: [m.mgrid[0:3, 0:2], m.mgrid[0:2], *m.ogrid[0:3, 0:2]],
    "lists": lambda m, x, i: [m.full((2, 2), 1), m.full([2], [3, 4]), m.tile(x, (1, 2)), m.broadcast_to([1, 2], (2, 2))],
    "lstsq": lambda m, x, i: m.linalg.lstsq(x.T, m.array([1, 2, 3]), rcond=None),
    "diagonals": lambda m, x, i: [m.linalg.diagonal(x), m.diagonal(m.ones((2, 3, 4)) * m.arange(4), 1, 1, 2), m.linalg.trace(x)],
    "moved": lambda m, x, i: [m.repeat(x, [1, 0, 2], axis=1), m.delete(x, [1], axis=1), m.pad(x, 1, mode="reflect")],
    "parts": lambda m, x, i: [m.array([1 + 2j, 3j]).imag, m.array([1 + 2j, 3j]).real, x.imag, x.T.imag],
    "methods": lambda m, x, i: [m.reshape(x, -1, order="F"), m.ravel(x, "F"), m.swapaxes(x, axis1=0, axis2=1), m.reshape([1, 2], (2, 1))],
    "axes": lambda m, x, i: [m.squeeze(x[None], axis=0), m.squeeze(x[:, None, :1]), m.transpose(x, axes=(1, 0)), m.transpose([[1, 2]])],
    "joined": lambda m, x, i: [m.concatenate((i, [1.5])), m.hstack(((1, 2), i)), m.stack((i, [True, False])), m.array([i, [1.5, 2]])],
    "reversed": lambda m, x, i: [m.flip(x), m.flip(x, [0]), m.flip(x, (0, -1)), m.fliplr(x), m.flipud(x), m.flip(m.array(3))],
    "vectors": lambda m, x, i: [m.vecdot(x, x), m.vecdot(i, i), m.vecdot(x, x, axis=0), m.vecdot(i, x[:, :2], dtype="float32")],
    "inner": lambda m, x, i: [m.inner(i, i), m.inner(m.eye(3), m.eye(3)[:2])],
}


@pytest.mark.parametrize("form", SEVERAL)
def test_several_results_are_numpys(form):
    results = [SEVERAL[form](m, m.array([[3.5, 1.25, 2.0], [6.0, 5.0, 4.75]]), m.array([2, 1])) for m in (np, numpy)]
    assert same(*results)


def test_axes_of_functions_are_one_argument():
    x = np.ones((2, 3))
    for call in (lambda: np.transpose(x, 0, 1), lambda: np.reshape(x, 3, 2), lambda: np.squeeze(x[None], 0, 1), lambda: np.swapaxes(x, 0)):
        with pytest.raises((TypeError, ValueError)):
            call()


def test_a_result_that_numpy_returns_as_a_view_is_a_copy():
    rows = np.array([0, 1])
    found, _ = np.ix_(rows, rows)
    found[0, 0] = 5
    assert rows.tolist() == [0, 1]


def test_one_result_may_be_an_argument():
    x, y = np.array([1.5, 2.5]), np.zeros(2)
    fractions, wholes = np.modf(x, x, y)
    assert fractions is x
    assert wholes is y
    assert (x.tolist(), y.tolist()) == ([0.5, 0.5], [1, 2])


@pytest.mark.parametrize("where", [True, False, "mask"])
def test_results_are_written_where_a_mask_is_true(where):
    def written(m):
        x, y = m.array([1.0, 2.0, 3.0]), m.array([0.0, 1.0, 2.0])
        out = m.full((2, 3), -1.0)
        with m.errstate(divide="ignore"):
            assert m.divide(x, y, out=out, where=y != 0 if where == "mask" else where) is out
            m.log(y, out=out[1], where=y > 0)
        return out

    assert same(written(np), written(numpy))


@pytest.mark.parametrize("dtype", ["float32", "float64"])
@pytest.mark.parametrize("ord", [None, 1, 2, 2.0, numpy.inf, -numpy.inf, 3, "fro", "nuc"])
def test_norms_are_numpys_along_one_axis_and_of_all_elements(ord, dtype):
    for shape in [(7,), (3, 4), (2, 3, 4), (0,), ()]:
        a = (numpy.arange(numpy.prod(shape)).reshape(shape) - 3).astype(dtype)
        for axis in (None, 0, -1, (0, 1)):
            try:
                wanted = numpy.linalg.norm(a, ord, axis)
            except (ValueError, TypeError, IndexError):
                with pytest.raises((ValueError, TypeError)):
                    np.linalg.norm(np.array(a), ord, axis)
                continue
            got = np.linalg.norm(np.array(a), ord, axis)
            assert (got.dtype, got.shape) == (wanted.dtype, wanted.shape)
            numpy.testing.assert_allclose(got.asnumpy(), wanted, rtol=1e-5)


def test_functions_of_linear_algebra_are_wrapped_once():
    assert np.linalg.matrix_rank is np.linalg.matrix_rank
    assert np.linalg.cross is np.linalg.cross


def test_views_of_views_show_what_is_written_later():
    def seen(m):
        x = m.arange(24.0).reshape(2, 3, 4)
        moved, part = x.transpose(1, 0, 2), x[1].transpose(1, 0)
        rest = moved[1:].transpose(2, 0, 1)
        single = x[:, :1].squeeze(1)
        x[...] = 5
        part[0] = 7
        return [moved, part, rest, single, x, moved.swapaxes(0, 2)]

    assert same(seen(np), seen(numpy))


def test_elements_in_row_major_order_follow_the_array():
    def seen(m):
        x = m.array([[3.0, 1.0, 2.0], [6.0, 5.0, 4.0]])
        flat = x.flat
        x[0, 0] = 9
        flat[1:3] = [7, 8]
        return [x, flat[0], flat[-1], flat[[2, 3]], next(flat), next(flat), list(flat)]

    assert same(seen(np), seen(numpy))


@pytest.mark.parametrize("options", [{}, {"dtype": "uint8"}, {"dtype": "uint8", "count": 2, "offset": 1}, {"dtype": ">i2"}], ids=str)
def test_elements_in_bytes_are_numpys(options):
    memory = numpy.arange(3.0).tobytes()
    assert same(np.frombuffer(memory, **options), numpy.frombuffer(memory, **options))


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("exponent", [0.5, -1, -1.0])
@pytest.mark.parametrize("dtype", ["float16", "float32", "float64"])
@pytest.mark.parametrize("count", [1, 30_000])
def test_powers_take_roots_and_inverses(dtype, exponent, count):
    x = numpy.tile(numpy.array([4.0, -numpy.inf, -0.0, 9.0, numpy.nan, 2.0, 7.1], dtype), count)
    a = np.array(x)
    for power in (lambda x: x**exponent, lambda x: x[::-1] ** exponent, lambda x: (x + 0.0) ** exponent):
        found, want = power(a).asnumpy(), power(x)
        assert found.dtype == want.dtype
        numpy.testing.assert_array_equal(found, want)
        numpy.testing.assert_array_equal(numpy.signbit(found), numpy.signbit(want))
