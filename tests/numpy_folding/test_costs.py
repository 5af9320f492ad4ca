"""What folding costs beside NumPy, in Python calls and arrays: counts, which do not vary."""

import builtins
import operator
import pickle
import sys
from types import ModuleType

import numpy as real
import pytest

from twofold.numpy_folding import blocks, importing, leaving, sites
from twofold.numpy_folding.array import FoldingArray
from twofold.numpy_folding.face import numpy as np

N = 300_000


def ramp():
    x = np.arange(float(N))
    assert type(x) is FoldingArray
    return x


def calls(function, *arguments):
    """How many Python functions the last of some calls of a function calls; the first one makes its site."""
    found = []
    for args in arguments:
        found.clear()
        sys.setprofile(lambda frame, event, _: found.append(frame.f_code.co_name) if event == "call" else None)
        try:
            function(*args)
        finally:
            sys.setprofile(None)
    return len(found)


def test_an_array_is_handed_over_in_few_calls():
    args = ramp(), operator, "is_"
    assert calls(leaving.given, args, args) <= 8
    held = leaving.given(*args)
    assert calls(leaving.given, args, args) <= 9
    assert held is leaving.given(*args)


def test_a_single_operation_is_computed_in_few_calls():
    x = ramp()
    assert calls(lambda y: y.ready(), [x * 2.0], [x * 3.0]) <= 24


@pytest.mark.filterwarnings("ignore:Setting the shape:DeprecationWarning")  # from NumPy 2.5 on
def test_the_array_that_others_hold_is_given_again_until_it_differs():
    x = ramp()
    held = leaving.given(x)
    assert type(held) is real.ndarray
    assert leaving.given(x) is held
    assert leaving.given(x[:]) is not held
    held.shape = 300, 1000  # a library's own affair
    assert leaving.given(x).shape == (N,)
    again = leaving.given(x)
    x.flags.writeable = False
    with pytest.raises(ValueError, match="read-only"):
        leaving.given(x)[3] = 1.0
    assert leaving.given(x) is not again
    x.flags.writeable = True
    leaving.given(x)[3] = 7.0
    assert x[3] == held[0, 3] == 7.0


def test_the_array_that_others_hold_has_the_content_of_now():
    x = ramp()
    held = leaving.given(x)
    x += 1.0
    assert leaving.given(x) is held
    assert held[3] == 4.0
    del held
    y = x * 2.0
    x += y
    assert leaving.given(x)[3] == 12.0


@pytest.fixture
def scratch(monkeypatch):
    """For each chain in blocks, how many arrays it needs besides its operands and results."""
    monkeypatch.setattr(sites, "HOT", 1 << 60)
    found, compute = [], blocks.Blockwise.run
    monkeypatch.setattr(blocks.Blockwise, "run", lambda self: found.append(len(self.scratch)) or compute(self))
    return found


#: Programs, with the scratch that they need.
PROGRAMS = {
    "one after another": (lambda x, y: [(1.3 * x - y) ** 2 + 1.0], 0),
    "both halves": (lambda x, y: [(x * 2.0 + y) * (y - x * 3.0)], 1),
    "twice the same": (lambda x, y: [(x + y) * (x + y) + x], 1),
    "squared by itself": (lambda x, y: (lambda s: [s * s - x])(x + y), 0),
    "read again later": (lambda x, y: (lambda s: [(s * 2.0 - s) * s])(x - y), 1),
    "several results": (lambda x, y: (lambda s: [s + 1.0, s - 1.0, s * s])(x - y), 0),
    "a result that is read": (lambda x, y: (lambda s: [s, s * 2.0 + s])(x - y), 0),
    "other dtypes": (lambda x, y: [(x * 2.0 > y) & (y + 1.0 < x), (x > y).astype("f4") * 2.0], 2),
    "no ufunc": (lambda x, y: [np.where(x - y > 0.0, x * 2.0, y * 3.0).clip(1.0, 2.0) + x], 3),
}


@pytest.mark.parametrize("block", [1 << 12, blocks.BLOCK])
@pytest.mark.parametrize("name", PROGRAMS)
def test_values_take_the_memory_of_those_that_nothing_reads_later(monkeypatch, scratch, name, block):
    monkeypatch.setattr(blocks, "BLOCK", block)
    program, most = PROGRAMS[name]
    values = real.random.default_rng(0).standard_normal((2, N))
    found = program(np.array(values[0]), np.array(values[1]))
    for f, e in zip(found, program(*values), strict=True):
        assert real.asarray(f).tobytes() == e.tobytes()
    assert scratch
    assert max(scratch) <= most, scratch


def test_numpys_own_imports_ask_for_the_face_once(monkeypatch):
    monkeypatch.setattr(builtins, "__import__", builtins.__import__)
    monkeypatch.setattr(importing, "_installed", [])
    asked, face = [], ModuleType("numpy")
    importing.install(importing.Importers(packages=(__name__,)), lambda: asked.append(1) or face)
    own = {"__name__": __name__}
    for _ in range(3):
        assert builtins.__import__("numpy", own) is face
    pickle.dumps(real.ones(3))
    importing.uninstall()
    assert asked == [1]
