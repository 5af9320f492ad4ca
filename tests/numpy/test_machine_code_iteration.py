"""Iterators over arrays in machine code."""

import gc
import os
import subprocess
import sys

import numpy
import pytest

from twofold import autograd
from twofold import np as tnp

from tests.statements import frames_of

pytestmark = pytest.mark.usefixtures("code")


@pytest.mark.parametrize("dtype", ["float64", "float32", "int8", "bool", "complex64", "bfloat16"])
def test_a_vector_gives_its_elements(dtype):
    x = tnp.array([3, 0, 1]).astype(dtype)
    for view in (x, x[::-1], x[1:], x[:0]):
        found = list(view)
        assert [(type(v), complex(v)) for v in found] == [(type(view[k]), complex(view[k])) for k in range(len(view))]
    assert [type(v) for v in tnp.ones(2)] == [numpy.float64] * 2


def test_rows_are_views():
    x = tnp.zeros((3, 2))
    for k, row in enumerate(x):
        row += k
    for k, row in enumerate(x.T):
        row[0] = 10 * (k + 1)
    assert x.tolist() == [[10.0, 20.0], [1.0, 1.0], [2.0, 2.0]]
    assert [row.shape for row in tnp.zeros((2, 0, 3))] == [(0, 3)] * 2
    assert next(iter(x)).base is x


def test_an_iterator_ends_once_and_keeps_its_array_until_then():
    x = tnp.arange(3.0)
    count = sys.getrefcount(x)
    going = iter(x)
    assert iter(going) is going
    assert (next(going), sys.getrefcount(x)) == (0.0, count + 1)
    assert list(going) == [1.0, 2.0]
    assert (next(going, None), next(going, None), sys.getrefcount(x)) == (None, None, count)
    with pytest.raises(StopIteration):
        next(going)
    before = sys.getrefcount(type(going))
    for _ in range(100):
        next(iter(x))
    gc.collect()
    assert (sys.getrefcount(type(going)), sys.getrefcount(x)) == (before, count)
    with pytest.raises(TypeError):
        type(going)()


def test_elements_are_those_of_the_moment():
    x = tnp.arange(4.0)
    seen = []
    for k, v in enumerate(x):
        seen.append(float(v))
        x[-1] = 9.0
        if k == 1:
            x += 1  # in place
        if k == 2:
            x[...] = tnp.ones(4)
    assert seen == [0.0, 1.0, 3.0, 1.0]
    rows = []
    for row in x.reshape(2, 2):
        rows.append(row.tolist())
        x *= 2
    assert rows == [[1.0, 1.0], [2.0, 18.0]]


def test_what_has_no_axes_is_refused():
    for x in (tnp.array(1.0), tnp.ones(3).sum(), tnp.zeros(())):
        with pytest.raises(TypeError, match="0-d"):
            iter(x)
    x = tnp.ones(1)
    going = iter(x)
    x.shape = ()
    with pytest.raises(TypeError):
        next(going)


def test_iteration_is_recorded_and_waits_for_what_is_pending():
    x = tnp.array([1.0, 2.0, 3.0])
    going = iter(x)
    assert next(going) == 1.0
    x.attach_grad()
    with autograd.record():
        total = sum(v * k for k, v in enumerate(going, 2))
        for row in tnp.stack([x, x]):
            total = total + row[0]
    total.backward()
    assert x.grad.tolist() == [2.0, 2.0, 3.0]
    assert [float(v) for v in tnp.ones(300) * 2 + 1] == [3.0] * 300


def test_iteration_enters_no_function_of_python():
    names = {"x": tnp.arange(5.0), "A": tnp.ones((3, 3))}
    assert frames_of("for v in x: pass", names) == frames_of("for v, w in zip(A, x): pass", names) == 0
    for module in (tnp, numpy):
        x = module.arange(5.0)
        assert [max(x), min(x), sum(x), sorted(x, reverse=True)] == [4.0, 0.0, 10.0, [4.0, 3.0, 2.0, 1.0, 0.0]]


OUTLIVED = """
import gc
from twofold import np
from twofold.numpy.machine_code import MACHINE_CODE
MACHINE_CODE.install()
root, rows = np.ones((9, 2)), []
going = iter(root[:])  # nothing else holds this view
held = [np.ones(2) for _ in range(64)]  # all freed arrays are in use
gc.collect()
gc.callbacks.append(lambda phase, info: [None for _ in going] if phase == "start" else None)
gc.set_threshold(1, 10, 10)
for row in going:
    rows.append(row)
gc.callbacks.clear()
gc.set_threshold(700, 10, 10)
seven = np.full((4, 2), 7.0)
others = [seven * 1 for _ in range(60)]
print([k for row in rows for k, x in enumerate(others) if x is row._under], len(rows) > 0)
"""


def test_a_row_outlives_its_iterator():
    """A finalizer that exhausts the iterator frees the array under the row that is being made."""
    found = subprocess.run([sys.executable, "-c", OUTLIVED], capture_output=True, text=True, env={**os.environ, "TWOFOLD_JIT": "1"})
    assert (found.stdout, found.stderr) == ("[] True\n", "")
