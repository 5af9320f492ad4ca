"""What raises in NumPy raises here: one of the library's errors derived from the same built-in class, or NumPy's own."""

import io
import pickle

import numpy
import pytest

import twofold.numpy as np
from twofold import nd
from twofold.config import SETTINGS
from twofold.errors import DTypeError, FormatError, MXNetError, NoSuchAxis, ParameterError, ShapeError

from tests.cases import each
from tests.numpy.expressions import variables
from tests.probe import is_pending

REFUSED = [
    "f + np.ones(5)",
    "f @ f",
    "f @ 2",
    "f.reshape(4, 4)",
    "f.reshape(-1, -1)",
    "f.transpose(0, 0)",
    "f.transpose(1)",
    "f.swapaxes(0, 5)",
    "f.squeeze(0)",
    "np.squeeze(f, 7)",
    "np.expand_dims(f, 9)",
    "np.broadcast_to(f, (3, 2))",
    "np.concatenate([])",
    "np.concatenate([f, f1])",
    "np.concatenate([f0, f0])",
    "np.stack([f, f1])",
    "np.split(f, 2, 1)",
    "np.array_split(f, 0)",
    "np.vsplit(f1, 1)",
    "np.moveaxis(f, [0, 1], [0])",
    "np.moveaxis(f, [0, 0], [0, 1])",
    "np.rot90(f, 1, (0, 0))",
    "np.sum(f, axis=2)",
    "np.sum(f, axis=(0, 0))",
    "np.max(none)",
    "np.argmax(none)",
    "np.max(f, where=mask)",
    "np.sum(i, initial=[1, 2])",
    "np.argmax(f, 0, out=np.zeros(3, 'f8'))",
    "np.take(f, [9])",
    "np.take(f, np.array([0.5]))",
    "np.take(f, 0, mode='somewhere')",
    "np.take_along_axis(f, np.array([0]), 0)",
    "np.take_along_axis(f, mask, 0)",
    "np.where(mask, f)",
    "np.sort(f, order='name')",
    "np.diag(cube)",
    "np.diff(f, -1)",
    "np.tensordot(f, f, 1)",
    "np.einsum('ij,jk', f, f)",
    "np.einsum('ij->k', f)",
    "np.dot(f, f)",
    "np.average(f, weights=[1.0])",
    "np.meshgrid(f1, f1, indexing='zz')",
    "f[5]",
    "f[0, 0, 0]",
    "f[..., ...]",
    "f[1.5]",
    "f['name']",
    "f[[5]]",
    "f[np.array([1.5])]",
    "f[[0, 1], [0, 1, 2]]",
    "f[np.array([True])]",
    "f1[f1[0]]",
    "len(f0)",
    "list(f0)",
    "hash(f)",
    "bool(f)",
    "float(f)",
    "int(f)",
    "range(f0)",
    "f1.item()",
    "(u + 1) + 300",
    "u - 300",
    "np.add(u, 300)",
    "i ** -1",
    "np.power(i, -1 - i).tolist()",
    "f & 1",
    "~f",
    "b - b",
    "-b",
    "f << 1",
    "f.astype('i4', casting='safe')",
    "np.add(f, f, out=np.zeros((2, 3), 'i8'))",
    "np.add(f, f, out=np.zeros(3))",
    "np.add(f, f, out=3)",
    "np.add(f)",
    "np.add(f, f, colour=1)",
    "np.exp(f, f, f)",
    "np.sum(f, out=np.zeros(3))",
    "np.zeros(-1)",
    "np.zeros('a')",
    "np.array([[1], [2, 3]])",
    "np.array([1, 2], copy=False)",
    "np.linalg.inv(f)",
    "np.nothing",
    "f.nothing",
]
WRITES = [
    "f += np.ones(5)",
    "f += np.ones((2, 2, 3))",
    "i += 1.5",
    "i /= 2",
    "u /= 300",
    "i **= -1",
    "u += 300",
    "b += 0.5",
    "h += i * 1.0",
    "f[0] = [1, 2]",
    "f[5] = 1",
    "f[mask] = [1, 2]",
    "f[[0, 1]] = np.ones((3, 3))",
    "u[0] = 300",
    "i[0] = numpy.nan",
    "f[0, 0] = 'a'",
    "f[:] = object()",
    "f @= f",
]


def refusal(text, run, np):
    with numpy.errstate(all="ignore"), pytest.raises(Exception) as caught:  # noqa: PT011  (its class is compared)
        run(text, {"np": np, "numpy": numpy} | variables(np))
    return caught.value


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("defer", [1 << 40, 1], ids=["inline", "deferred"])
@each("text, run", [(t, eval) for t in REFUSED] + [(t, exec) for t in WRITES])
def test_calls_that_numpy_rejects_are_rejected(monkeypatch, text, run, defer):
    monkeypatch.setattr(SETTINGS, "defer_elements", defer)
    theirs, ours = refusal(text, run, numpy), refusal(text, run, np)
    builtin = next(c for c in type(theirs).__mro__ if c.__module__ == "builtins")
    assert isinstance(ours, builtin), f"{ours!r}, in NumPy {theirs!r}"


UPDATES = [
    "i += 1.5",
    "i /= 2",
    "u /= 10",
    "u /= 300",
    "u += i",
    "b += 1",
    "b -= b",
    "f <<= 1",
    "u[:3] += 1.5",
    "i **= -1",
    "i += i * -0.5",
]


@pytest.mark.parametrize("text", UPDATES)
def test_an_invalid_update_raises_alike_at_any_size(text):
    errors = []
    for size in (6, SETTINGS.defer_elements):
        names = {k: np.ones(size, dtype) for k, dtype in (("i", "int64"), ("u", "uint8"), ("b", "bool"), ("f", "float32"))}
        with pytest.raises(MXNetError) as caught:
            exec(text, names)
        errors.append(caught.value)
    assert type(errors[0]) is type(errors[1])
    assert str(errors[0]) == str(errors[1])


def test_an_update_that_does_not_broadcast_raises_the_librarys_error():
    with pytest.raises(ShapeError, match="do not broadcast"):
        exec("a += b", {"a": np.ones(3), "b": np.ones(2)})


NEGATIVE_POWERS = (
    "i ** -1",
    "i ** -i",
    "i ** numpy.int64(-1)",
    "i ** np.array(-1)",
    "2 ** -i",
    "(i + 1) ** (-i - 1)",
    "np.power(i, -i)",
    "np.power(i, -i, out=i)",
    "np.power(i.astype('uint8'), -i)",
    "i.__ipow__(-i)",
    "i[::2] ** -i[::2]",
)


@pytest.mark.parametrize("size", [3, 200_000])
@pytest.mark.parametrize("text", NEGATIVE_POWERS)
def test_negative_integer_powers_raise_at_once(text, size):
    for xp in (numpy, np):
        i = xp.arange(1, size + 1)
        with pytest.raises(ValueError, match="negative integer powers"):
            eval(text, {"np": xp, "numpy": numpy, "i": i})


def test_a_line_that_has_given_powers_of_large_arrays_raises_for_a_negative_one():
    x = np.arange(1, 200_001)
    for base, exponent, wanted in ((x, 3, 8), (x, x % 3, 4), (2, x % 5, 4), (x, 2, 4)):
        for _ in range(3):
            assert (base**exponent)[1] == wanted
        with pytest.raises(ValueError, match="negative integer powers"):
            base ** (exponent - 5)


@pytest.mark.parametrize("size", [3, 200_000])
@pytest.mark.parametrize(
    "text",
    [
        "np.add(x, 1, out=out, where=mask)",
        "np.sqrt(x, out=out, where=x)",
        "np.add(x, 1, out=out, where=np.array(1))",
        "np.sum(x, where=mask)",
        "x.max(where=mask, initial=0)",
        "np.any(x, where=mask)",
        "np.mean(x, where=mask)",
    ],
)
def test_arrays_of_numbers_are_no_masks(text, size):
    for xp in (numpy, np):
        names = {"np": xp, "x": xp.ones(size), "out": xp.zeros(size), "mask": xp.ones(size, dtype="int32")}
        with pytest.raises(TypeError, match="Cannot cast"):
            eval(text, names)
        assert not names["out"].any()


def test_lists_of_numbers_are_masks():
    for xp in (numpy, np):
        assert xp.add(xp.ones(3), 1, out=xp.zeros(3), where=[2, 0, 1]).tolist() == [2, 0, 2]
        assert xp.sum(xp.ones(3), where=[2, 0, 1]) == 2


@pytest.mark.parametrize("power", ["i ** -i", "np.power(i, -i)", "2 ** -i", "b ** -i", "[1, 2] ** -i", "i.__ipow__(-i)", "np.power(u, -i)"])
def test_negative_integer_powers_raise_at_once_on_a_device(fake_gpus, power):
    i = np.array([1, 2], device=fake_gpus[0])
    with pytest.raises(ParameterError, match="negative integer powers"):
        eval(power, {"np": np, "i": i, "b": i > 0, "u": i.astype("uint8")})


def test_an_error_that_a_read_has_raised_is_not_raised_by_waitall(monkeypatch):
    monkeypatch.setattr(SETTINGS, "defer_elements", 1)
    factor = nd.linalg_potrf(nd.array([[-1.0]]))
    with pytest.raises(MXNetError, match="not positive definite"):
        factor.asnumpy()
    nd.waitall()
    assert factor is not None  # it lives, and so does the error


def test_float_powers_do_not_wait_for_the_device(fake_gpus):
    x, exponent = np.array([1.0, 2.0], device=fake_gpus[0]), -np.array([1, 2], device=fake_gpus[0])
    power = x**exponent
    assert is_pending(exponent)
    assert is_pending(power)


@pytest.mark.parametrize("mix", ["a + x", "a * x", "a < x", "np.add(a, x)", "a.__iadd__(x)"])
def test_arrays_of_both_front_ends_do_not_mix(mix):
    with pytest.raises(DTypeError, match="as_np_ndarray"):
        eval(mix, {"a": np.ones(2), "x": nd.ones(2), "np": np})


def test_a_shape_of_another_size_cannot_be_set():
    x = np.ones(4)
    with pytest.raises(ShapeError, match="the sizes do not match"):
        x.shape = (2, 3)
    assert x.shape == (4,)


def test_a_conversion_that_needs_a_copy_says_so():
    with pytest.raises(ParameterError, match="a copy is needed"):
        np.asarray(np.ones(3), dtype="int64", copy=False)


def test_an_error_names_what_failed():
    with pytest.raises(MXNetError, match=r"reshape: the sizes do not match: given 6 elements into \(4, 4\)"):
        np.ones(6).reshape(4, 4)


def test_a_ufunc_that_may_not_cast_its_operands_to_the_dtype_raises():
    for left, right, dtype in ((np.ones(3), 1, "i4"), (np.ones(3, "i4"), 1.5, "i4"), (np.ones(3, "i4"), 2, "bool")):
        host = left.asnumpy()
        with pytest.raises(TypeError):
            numpy.add(host, right, dtype=dtype)
        with pytest.raises(DTypeError, match="add"):
            np.add(left, right, dtype=dtype)
    assert np.add(np.ones(3), 1, dtype="i4", casting="unsafe").dtype == "int32"
    assert np.add(np.ones(3), 1, dtype="float32").dtype == "float32"
    assert np.add(np.ones(3, "u1"), 1, dtype="u1").tolist() == [2, 2, 2]


@pytest.mark.parametrize("elements", [3, 100_000])
def test_errors_name_python_numbers_by_their_class(elements):
    with pytest.raises(DTypeError, match="given float64, int;"):
        np.ones(elements) & 1
    with pytest.raises(DTypeError, match="given float16, float;"):
        np.ones(elements, "float16") << 2.5


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_a_name_that_no_archive_can_hold_is_refused_before_anything_is_written(save, tmp_path):
    with pytest.raises(ParameterError, match=r"savez.*: the name of an array contains half of a surrogate pair.*'a\\ud800'"):
        save(tmp_path / "a.npz", w=np.ones(2), **{"a\ud800": np.ones(3)})
    assert not list(tmp_path.iterdir())


@pytest.mark.parametrize("save", [np.savez, np.savez_compressed])
def test_arrays_of_an_archive_may_be_named_like_the_options_of_other_functions(save, tmp_path):
    named = {name: np.arange(3) + k for k, name in enumerate(("out", "device", "ctx", "dtype"))}
    save(tmp_path / "a.npz", np.ones(2), **named)
    found = np.load(tmp_path / "a.npz")
    assert {name: found[name].tolist() for name in found.files} == {name: a.tolist() for name, a in named.items()} | {"arr_0": [1, 1]}


def test_an_archive_with_a_name_that_is_not_text_is_damaged():
    file = io.BytesIO()
    np.savez(file, é=np.ones(2))
    with pytest.raises(FormatError, match=r"load: the name of an array in the archive is not UTF-8: given \\xff\\xff.npy"):
        np.load(io.BytesIO(file.getvalue().replace("\u00e9".encode(), b"\xff\xff")))


@each("name", ["sort", "flip"])
def test_an_axis_of_an_array_without_axes_is_refused_with_advice_that_can_be_followed(name):
    call = getattr(np, name)
    with pytest.raises(ShapeError, match=r"axis is out of range: given -1 for 0 dimensions; a 0-d array has none: reshape it to \(1,\)$"):
        call(np.array(3.0), -1)
    assert call(np.array(3.0).reshape(1), -1).shape == (1,)


@pytest.mark.parametrize("size", [3, 200_000])
@each(
    "text",
    [
        "x.sum(axis=2)",
        "x.sum(axis=(0, 2))",
        "np.mean(x, axis=-3)",
        "np.argsort(x, axis=2)",
        "np.sort(x, axis=2)",
        "np.concatenate([x, x], axis=2)",
        "np.stack([x, x], axis=5)",
        "np.cumsum(x, axis=2)",
        "np.roll(x, 1, axis=2)",
        "np.moveaxis(x, 0, 2)",
        "np.repeat(x, 2, axis=2)",
        "np.linalg.norm(x, axis=2)",
        "np.quantile(x, 0.5, axis=2)",
    ],
)
def test_an_axis_out_of_range_is_numpys_error(text, size):
    x = np.ones((2, size))
    with pytest.raises(numpy.exceptions.AxisError):  # which is a ValueError and an IndexError
        eval(text, {"np": np, "x": x})


@pytest.mark.parametrize("name", ["sum", "mean"])
def test_an_error_tells_the_axis_that_an_array_does_not_have(name):
    with pytest.raises(NoSuchAxis) as caught:
        getattr(np, name)(np.ones((2, 3)), axis=4)
    for error in (caught.value, pickle.loads(pickle.dumps(caught.value))):
        assert (error.axis, error.ndim) == (4, 2)
        assert str(error).removeprefix("mean: ") == "axis is out of range: given 4 for 2 dimensions; pass one from -2 to 1"


def test_joining_no_rows_is_refused_as_joining_no_arrays_is():
    with pytest.raises(ValueError, match="need at least one array to concatenate"):
        np.hstack(np.ones(0))


@each("text", ["np.ones((1, 2)).squeeze(1.0)", "np.squeeze(np.ones((1, 2)), 1.0)", "np.expand_dims(np.ones(2), 0.5)"])
def test_a_float_as_an_axis_is_called_no_integer(text):
    with pytest.raises(TypeError, match="'float' object cannot be interpreted as an integer"):
        eval(text, {"np": np})
