"""What operations on small arrays of ``mx.nd`` cost, as counts of Python frames, and that their values are NumPy's."""

import numpy
import pytest

import twofold as mx
from asv_benchmarks.timing import frames
from twofold import nd

from tests.statements import frames_of, run_in


def names(module):
    def make(values):
        return module.array(values, dtype="float32")

    arrays = {"x": numpy.arange(10) * 0.5, "y": numpy.ones(10), "A": numpy.arange(200).reshape(10, 20)}
    return {"nd": module, "H": numpy.ones(4)} | {name: make(a) for name, a in arrays.items()}


#: Statements that NumPy understands too, and how many Python functions each enters.
FRAMES = {
    "x[5]": 1, "x[1:9]": 1, "x + y": 1, "x * 2.0": 2, "-x": 1, "x += y": 1, "x[3] = 1.5": 1, "x[2:6] = 0.0": 1, "A[3] = x[0]": None,
    "x[3] += 1.0": 4, "x[1:4] *= 2.0": 4, "A[2] -= A[3]": 6, "A[2:4] += 1": 4, "float(x[5])": 4, "int(x[5])": 4, "list(x)": None,
    "x.sum(axis=0)": 3, "A.max(axis=0)": 3, "A.sum(axis=1)": 3, "A.mean(axis=1)": 3, "nd.dot(A.T, x)": None,
    "y = A.T": 2, "y = nd.maximum(x, y)": 2, "y = nd.minimum(x, 2.0)": 3, "y = nd.maximum(2.0, x)": None, "y = A.reshape((4, 50))": 1,
}  # fmt: skip
#: Arrays that are made, and what NumPy makes of the same values.
MADE = {
    "nd.array([1.0, 2.0])": ("numpy.array([1, 2], 'float32')", 2),
    "nd.array([[1, 2], [3, 4]], dtype='int32')": ("numpy.array([[1, 2], [3, 4]], 'int32')", 2),
    "nd.array(H)": ("numpy.ones(4, 'float32')", 2),
    "nd.array([1e300, -1e300])": ("numpy.array([numpy.inf, -numpy.inf], 'float32')", 2),
    "nd.array([2**40 + 1])": ("numpy.array([2.0**40], 'float32')", 2),
    "nd.zeros((2, 3))": ("numpy.zeros((2, 3), 'float32')", 2),
    "nd.ones((2, 3), dtype='float16')": ("numpy.ones((2, 3), 'float16')", 2),
    "nd.ones(3, dtype='bfloat16').astype('int8')": ("numpy.ones(3, 'int8')", None),
    "nd.arange(10)": ("numpy.arange(10, dtype='float32')", 2),
    "nd.arange(300, dtype='uint8')": ("numpy.arange(300).astype('uint8')", 2),
    "nd.arange(2, 10, 3)": ("numpy.arange(2, 10, 3).astype('float32')", None),
}  # fmt: skip


@pytest.mark.parametrize("text", [t for t, n in FRAMES.items() if n is not None])
def test_a_small_operation_enters_few_functions(text):
    assert frames_of(text, names(nd)) <= FRAMES[text]


@pytest.mark.parametrize("text", FRAMES)
def test_a_small_operation_gives_what_numpy_gives(text):
    own, theirs = names(nd), names(numpy)
    run_in(text, own, theirs)
    for name in "xyA":
        numpy.testing.assert_array_equal(own[name].asnumpy(), theirs[name])


@pytest.mark.parametrize("text", MADE)
def test_an_array_is_made_in_few_functions(text):
    expected, limit = MADE[text]
    code, env = compile(text, "<text>", "eval"), names(nd)
    made, expected = eval(code, env), eval(expected, {"numpy": numpy})
    assert made.dtype == expected.dtype
    numpy.testing.assert_array_equal(made.asnumpy(), expected)
    assert limit is None or frames(lambda: eval(code, env)) - 1 <= limit


def test_what_is_made_from_an_array_of_numpys_is_a_copy():
    host = numpy.ones(4, "float32")
    made = nd.array(host)
    made[:] = 2.0
    assert host.tolist() == [1] * 4


def test_arrays_are_made_on_the_current_device():
    with mx.cpu(1):
        made = [nd.array([1.0]), nd.zeros(3), nd.ones((2, 2)), nd.arange(3)]
    assert [a.context for a in made] == [mx.cpu(1)] * len(made)


def test_a_transposed_or_flattened_array_is_a_copy():
    x = nd.zeros((2, 3))
    for copy in (x.T, x.flatten(), x.expand_dims(0)):
        copy[:] = 1.0
    assert x.asnumpy().tolist() == [[0] * 3] * 2


def test_the_maximum_of_a_recorded_array_has_a_gradient():
    x = nd.array([1.0, 3.0])
    x.attach_grad()
    with mx.autograd.record():
        nd.maximum(x, 2.0).sum().backward()
    assert x.grad.asnumpy().tolist() == [0, 1]


def test_an_update_of_a_part_is_recorded():
    x = nd.ones(4)
    x.attach_grad()
    with mx.autograd.record():
        y = x * 2.0
        y[1:3] *= 3.0
        y.sum().backward()
    assert x.grad.asnumpy().tolist() == [2, 6, 6, 2]


def test_an_update_of_a_part_leaves_what_was_computed_before():
    x = nd.ones((300, 300))
    doubled = x * 2.0
    x[3] += 1.0
    assert doubled[3].asnumpy().tolist() == [2] * 300
    assert x[2:5, 0].asnumpy().tolist() == [1, 2, 1]


@pytest.mark.parametrize(("made", "match"), [("nd.zeros(-1)", "negative"), ("nd.ones('a')", "shape"), ("nd.array(['a'])", "array like")])
def test_what_cannot_be_made_raises_an_error_that_says_what_to_do(made, match):
    with pytest.raises((ValueError, TypeError), match=match):
        eval(made)
