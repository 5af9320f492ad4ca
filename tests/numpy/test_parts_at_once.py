"""Operations on parts with gaps of arrays that are too small to wait: NumPy reads the parts where they are, without frames or copies."""

import numpy
import pytest

import twofold.np as np
from asv_benchmarks.timing import frames

SIDE = 100
KEYS = {
    "inner": numpy.s_[1:-1, 1:-1],
    "columns": numpy.s_[:, 2:],
    "every other row": numpy.s_[::2],
    "backwards": numpy.s_[::-1, ::-1],
    "rows backwards": numpy.s_[::-1],
    "columns backwards": numpy.s_[:, ::-1],
    "transposed": numpy.s_[:, 1:],  # of the transposed array
}
DTYPES = ["float64", "float32", "int32", "uint8", "bool", "complex64"]
OPERATIONS = [
    "a + b", "b - a", "a * b", "b & a", "a < b", "b == a", "a + w", "w - a", "w < a", "a + 2", "2 - a", "a > 1", "a * 0.5", "a ** 2",
    "a ** 3", "b ** a", "~a", "abs(a)", "a + row", "row - a", "np.maximum(a, b)", "np.minimum(w, a)", "np.square(a)",
    "np.logical_not(a)", "np.add(a, b, out=o)",
]  # fmt: skip
#: These read a copy, whatever the layout, so that sums have the same bits as of an array in rows.
COPYING = [
    "a.sum()", "a.sum(0)", "a.sum(1, keepdims=True)", "a.max()", "a.min(0)", "a.mean()", "a.std()", "a.any()", "a.all(1)", "a.argmax()",
    "a.cumsum()", "np.linalg.norm(a)", "np.nonzero(a)", "np.sqrt(a)", "np.exp(a)", "np.clip(a, 0, 1)", "np.arctan2(a, b)", "np.isnan(a)",
]  # fmt: skip


def drawn(dtype, seed):
    x = numpy.random.default_rng(seed).normal(size=(SIDE, SIDE)) * 3
    return x.astype(dtype)


def outcome(text, names):
    try:
        found = eval(text, names)
    except Exception as error:
        return type(error)
    return [numpy.asarray(a) for a in (found if isinstance(found, tuple) else (found,))]


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("key", KEYS)
@pytest.mark.parametrize("dtype", DTYPES)
def test_operations_on_parts_are_numpys(dtype, key):
    x, y = drawn(dtype, 0), drawn(dtype, 1)
    given = {"a": x, "b": y, "w": drawn(dtype, 2), "row": drawn(dtype, 3)[0]}
    own = {name: np.array(a) for name, a in given.items()}
    for names in (given, own):
        for name in "ab":
            names[name] = (names[name].T if key == "transposed" else names[name])[KEYS[key]]
        a = names["a"]
        names["w"], names["row"] = names["w"][: a.shape[0], : a.shape[1]].copy(), names["row"][: a.shape[1]].copy()
    given["o"], own["o"] = numpy.zeros(given["a"].shape, dtype), np.zeros(given["a"].shape, dtype)
    for text in OPERATIONS:
        want, found = outcome(text, {"np": numpy, **given}), outcome(text, {"np": np, **own})
        if isinstance(want, type):
            assert isinstance(found, type), text
            continue
        for w, f in zip(want, found, strict=True):
            assert (w.dtype, w.shape) == (f.dtype, f.shape), text
            numpy.testing.assert_array_equal(f, w, err_msg=text)
    numpy.testing.assert_array_equal(own["a"].asnumpy(), given["a"])


@pytest.mark.parametrize("key", [k for k in KEYS if k != "transposed"])
@pytest.mark.parametrize("dtype", ["float64", "float32"])
def test_sums_of_parts_have_the_bits_of_their_copies(dtype, key):
    x, y = np.array(drawn(dtype, 0)), np.array(drawn(dtype, 1))
    a, b = x[KEYS[key]], y[KEYS[key]]
    parts, copies = {"np": np, "a": a, "b": b}, {"np": np, "a": a.copy(), "b": b.copy()}
    for text in COPYING:
        with numpy.errstate(all="ignore"):
            for found, want in zip(outcome(text, parts), outcome(text, copies), strict=True):
                numpy.testing.assert_array_equal(found, want, err_msg=text, strict=True)


@pytest.mark.parametrize(
    "text", ["u[2:, 1:-1] + u[:-2, 1:-1]", "v - u[1:-1, 1:-1]", "u[1:-1, 1:-1] * 4", "u[1:-1, 1:-1] ** 2", "-u[:, 1:]", "u[1:] - u[:-1]"]
)
def test_an_operator_on_parts_enters_one_function(text):
    names = {"u": np.array(drawn("float64", 0)), "v": np.array(drawn("float64", 1)[2:, 2:])}
    code = compile(text, "<text>", "eval")
    for _ in range(3):
        eval(code, names)
    assert frames(lambda: eval(code, names)) - 1 <= 1 + text.count("[")  # and one for each view, until these are machine code


def test_a_part_written_later_does_not_change_what_was_computed():
    u = np.array(drawn("float64", 0))
    want = u.asnumpy()
    found = u[1:-1, 1:-1] + u[2:, 2:]
    u[...] = 0
    numpy.testing.assert_array_equal(found.asnumpy(), want[1:-1, 1:-1] + want[2:, 2:])
    numpy.testing.assert_array_equal((u[1:-1, 1:-1] + 1).asnumpy(), 1)


@pytest.mark.parametrize("text", ["np.sqrt(v)", "np.log(v)", "v / 0", "v**0.5", "v ** (v * 0.5)", "v // 0", "v % 0"])
def test_parts_warn_of_floating_point_errors_as_numpys(text):
    for module in (numpy, np):
        x = module.array(-numpy.ones((SIDE, SIDE)))
        with pytest.warns(RuntimeWarning):
            eval(text, {"np": module, "v": x[:, 1:]})
