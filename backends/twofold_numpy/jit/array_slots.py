"""Slots of classes in machine code: Python's operators call these, without looking for a method in the class.

A descriptor of a C function for a slot puts this function into the slot of the class that it is made an attribute of, as those of built-in
classes do, if all methods of the slot have the same function. They call the methods of `array_methods`; see ``llvm/array_slots.ll``.
"""

import ctypes
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

BOTH = "ptr %a, ptr %b"


class Slot(NamedTuple):
    """A slot.

    Attributes
    ----------
    names
        The methods that it stands for.
    result, parameters
        LLVM's type of what its function returns, and the parameters.
    call
        The call of a method, the first one, or of a function that is given all of ``{methods}``.
    """

    names: tuple[str, ...]
    result: str
    parameters: str
    call: str

    def text(self, name: str, of_class: str | int, methods: Mapping[str, str]) -> str:
        """The text of its function; ``of_class`` is the place of the class, and ``methods`` are the names of its methods' functions."""
        given = [methods[method] for method in self.names]
        call = self.call.format(own=f"i64 {of_class}", methods=", ".join(f"ptr {method}" for method in given), method=given[0])
        return (
            f"define internal {self.result} {name}({self.parameters}) nounwind {{\n  %result = call {call}\n  ret {self.result} %result\n}}"
        )


def slots_of(arithmetic: tuple[str, ...], unary: tuple[str, ...], compared: tuple[str, ...]) -> Iterator[Slot]:
    """All slots; operators are given by the names of their methods without underscores."""
    for name in (*arithmetic, "matmul"):
        yield Slot((f"__{name}__", f"__r{name}__"), "ptr", BOTH, f"ptr @binary_slot({BOTH}, {{own}}, {{methods}})")
    power = f"{BOTH}, ptr %modulus"
    yield Slot(("__pow__", "__rpow__"), "ptr", power, f"ptr @power_slot({power}, {{own}}, {{methods}})")
    # `__iadd__` would also be a sequence's way to be extended, which is the last that Python asks: it may not refuse
    for name in (*(f"__i{name}__" for name in arithmetic if name != "add"), "__getitem__"):
        yield Slot((name,), "ptr", BOTH, f"ptr {{method}}({BOTH})")
    for name in unary:
        yield Slot((f"__{name}__",), "ptr", "ptr %a", "ptr {method}(ptr %a, ptr null)")
    comparison = f"{BOTH}, i32 %how"
    yield Slot(tuple(f"__{name}__" for name in compared), "ptr", comparison, f"ptr @compare_slot({comparison}, {{methods}})")
    yield Slot(("__setitem__",), "i32", f"{BOTH}, ptr %value", f"i32 @setitem_slot({BOTH}, ptr %value, {{methods}})")
    yield Slot(("__len__",), "i64", "ptr %a", "i64 @len_slot(ptr %a, {methods})")


class _Descriptor(ctypes.Structure):
    """The beginning of CPython's descriptors of slots: ``PyWrapperDescrObject``; the first field of what `base` points to is its name."""

    _fields_ = [*((name, ctypes.c_void_p) for name in ("type", "name", "qualified_name", "base", "wrapped"))]


_new_descriptor = ctypes.pythonapi.PyDescr_NewWrapper
_new_descriptor.restype, _new_descriptor.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p, ctypes.c_void_p]


def descriptor(cls: type, name: str, address: int) -> object | None:
    """A descriptor of a function for a slot, described like that of NumPy's arrays; None if that is not laid out as expected."""
    known = vars(np.ndarray)[name]
    described = _Descriptor.from_address(id(known) + object.__basicsize__)
    if described.type != id(np.ndarray) or not described.base:
        return None
    return _new_descriptor(cls, described.base, address)


#: Where a class has the function that takes its instances' place in the end: after its head, name and two sizes.
DEALLOC = 6 * ctypes.sizeof(ctypes.c_void_p)


def replace_dealloc(cls: type, slots: Sequence[str], address: int) -> None:
    """Have instances of a class freed by a function, which knows these slots and that of weak references, if they are as expected."""

    class Other:
        __slots__ = ()

    place, other, builtin = (ctypes.c_void_p.from_address(id(of) + DEALLOC) for of in (cls, Other, object))
    has_others = cls.__basicsize__ != object.__basicsize__ + (len(slots) + 1) * ctypes.sizeof(ctypes.c_void_p)
    if place.value == other.value != builtin.value and not has_others and cls.__weakrefoffset__ and not hasattr(cls, "__del__"):
        place.value = address


def keep(*things: object) -> None:
    """Keep what code refers to for ever: methods are called until the process ends, after modules have been cleared."""
    for thing in things:
        ctypes.pythonapi.Py_IncRef(ctypes.py_object(thing))


class _TypeSlot(ctypes.Structure):
    """CPython's ``PyType_Slot``."""

    _fields_ = [("slot", ctypes.c_int), ("function", ctypes.c_void_p)]


class _TypeSpec(ctypes.Structure):
    """CPython's ``PyType_Spec``."""

    _fields_ = [
        *(("name", ctypes.c_char_p), ("size", ctypes.c_int), ("item", ctypes.c_int), ("flags", ctypes.c_uint)),
        ("slots", ctypes.POINTER(_TypeSlot)),
    ]


_new_type = ctypes.pythonapi.PyType_FromSpec
_new_type.restype, _new_type.argtypes = ctypes.py_object, [ctypes.POINTER(_TypeSpec)]

#: Numbers of slots in CPython's limited API.
DEALLOCATE, DESCR_GET, ITER, NEXT = 52, 54, 62, 63
#: A class whose objects only C makes.
NOT_CALLED = 1 << 7


def made_class(name: str, size: int, slots: Mapping[int, int], flags: int = 0) -> Any:
    """A class with functions in slots, by their numbers."""
    made = (_TypeSlot * (len(slots) + 1))(*(_TypeSlot(*slot) for slot in slots.items()), _TypeSlot(0, None))
    spec = _TypeSpec(name.encode(), size, 0, flags, made)
    keep(spec, made)
    return _new_type(spec)


def iterator_class(following: int, freed: int) -> type:
    """The class of iterators, which hold an array and a number, by the functions that give the next element and free an iterator."""
    itself = ctypes.cast(ctypes.pythonapi.PyObject_SelfIter, ctypes.c_void_p).value or 0
    size = object.__basicsize__ + 2 * ctypes.sizeof(ctypes.c_void_p)
    return made_class("twofold.np.iterator", size, {DEALLOCATE: freed, ITER: itself, NEXT: following}, NOT_CALLED)
