"""Slots of classes in machine code: what operators of Python call, and what frees arrays."""

import gc
import operator
import subprocess
import sys
import weakref

import numpy
import pytest

from twofold import np as tnp
from twofold.numpy.array import ndarray

pytestmark = pytest.mark.usefixtures("code")

BINARY = ("add", "sub", "mul", "truediv", "floordiv", "mod", "pow", "and_", "or_", "xor", "matmul")
COMPARED = ("lt", "le", "eq", "ne", "gt", "ge")


class Silent:
    """An operand that arrays do not know, and that knows nothing of them."""

    __array_ufunc__ = None


class Answering(Silent):
    """One that answers if it is asked."""

    def __getattr__(self, name):
        raise AttributeError(name)

    def __radd__(self, other):
        return "reflected", type(other)

    def __lt__(self, other):
        return "less"

    def __gt__(self, other):
        return "greater"


class Derived(ndarray):
    """A class with operators of its own."""

    def __add__(self, other):
        return "own sum"

    def __rsub__(self, other):
        return "own difference"


def of(cls, values):
    """An array of a class."""
    made, plain = object.__new__(cls), tnp.array(values)
    made._held, made._gradient = plain._held, None
    return made


def test_operators_are_slots():
    assert isinstance(vars(ndarray)["__add__"], type(int.__add__))
    assert "slot wrapper" in repr(ndarray.__getitem__)


@pytest.mark.parametrize("name", BINARY)
def test_an_operand_that_nobody_knows_is_refused_as_before(name, code):
    run, x = getattr(operator, name), tnp.arange(4) + 1
    found = []
    for place in (code.plain, code.timed, code.plain):
        place()
        for a, b in ((x, Silent()), (Silent(), x)):
            with pytest.raises(TypeError) as caught:
                run(a, b)
            found.append(str(caught.value))
    assert found[:2] == found[2:4]
    assert "unsupported operand" in found[0]


@pytest.mark.parametrize("name", ["iadd", "isub", "imul", "ior"])
def test_text_is_refused_in_place_too(name):
    with pytest.raises(TypeError, match=r"unsupported operand|non-int"):
        getattr(operator, name)(tnp.arange(4), "text")


def test_the_other_operand_is_asked():
    x = tnp.arange(3.0)
    assert x + Answering() == ("reflected", ndarray)
    assert (x > Answering()) == "less"
    assert (Answering() > x) == "greater"


def test_a_derived_class_goes_first_with_what_it_defines():
    x, derived = tnp.arange(3.0), of(Derived, [1.0, 2.0, 3.0])
    assert derived + x == "own sum"
    assert x - derived == "own difference"
    numpy.testing.assert_array_equal((x + derived).asnumpy(), [1, 3, 5])
    numpy.testing.assert_array_equal((derived - x).asnumpy(), [1, 1, 1])
    assert len(derived) == 3
    assert derived[1] == 2.0


def test_methods_are_called_by_their_names_too():
    x, y = tnp.arange(3.0) + 1, tnp.arange(3.0)
    numpy.testing.assert_array_equal(x.__rsub__(y).asnumpy(), [-1, -1, -1])
    numpy.testing.assert_array_equal(ndarray.__sub__(x, y).asnumpy(), [1, 1, 1])
    numpy.testing.assert_array_equal(x.__rpow__(2.0).asnumpy(), [2, 4, 8])
    assert x.__add__(Silent()) is NotImplemented
    assert x.__len__() == 3
    with pytest.raises(TypeError, match="requires a"):
        ndarray.__add__(3, x)
    with pytest.raises(TypeError, match=r"pow\(\)|unsupported operand"):
        pow(x, 2, 5)


def test_elements_cannot_be_deleted():
    x = tnp.arange(3.0)
    with pytest.raises(AttributeError, match="__delitem__"):
        del x[0]


@pytest.mark.parametrize("name", COMPARED)
def test_comparisons_with_numbers_on_either_side(name):
    run, x = getattr(operator, name), numpy.arange(4.0)
    for a, b in ((x, 2.0), (2.0, x), (x, x[::-1])):
        mine = [tnp.array(v) if isinstance(v, numpy.ndarray) else v for v in (a, b)]
        numpy.testing.assert_array_equal(run(*mine).asnumpy(), run(a, b))


def test_arrays_are_freed_with_what_they_hold():
    told = []
    x = tnp.arange(3.0) + 1
    content, view = x._held, x[1:]
    references = sys.getrefcount(content)
    known = [weakref.ref(x, lambda _: told.append("array")), weakref.ref(view, lambda _: told.append("view"))]
    del x
    assert told == []  # the view has it
    del view
    assert told == ["view", "array"]
    assert [k() for k in known] == [None, None]
    assert sys.getrefcount(content) < references
    assert not gc.is_tracked(content)


def test_memory_that_is_used_again_is_empty():
    for _ in range(100):
        x = tnp.ones(3)
        x.attach_grad()
        del x
        assert (tnp.ones(3) + 1).grad is None


CHAIN = """
from twofold import np
from twofold.numpy.machine_code import MACHINE_CODE

MACHINE_CODE.install()
x = np.zeros(10)
for _ in range(200_000):
    x = x[:]
del x
print("freed")
"""


def test_a_long_chain_of_views_is_freed():
    found = subprocess.run([sys.executable, "-c", CHAIN], capture_output=True, text=True, timeout=120, env={"TWOFOLD_JIT": "1"})
    assert (found.returncode, found.stdout) == (0, "freed\n"), found.stderr


def test_arrays_of_derived_classes_are_freed():
    told = []

    class Named(ndarray):
        pass

    x = of(Named, [1.0])
    x.name = [x]  # a cycle
    weakref.finalize(x, told.append, "freed")
    del x
    gc.collect()
    assert told == ["freed"]
