"""Methods of small arrays in machine code: operators, indexing and calls of ufuncs, without a frame of Python.

A method looks into the slots of its arrays, calls NumPy through Python's C API on what they hold, and puts the result into a new array.
Where a slot holds anything but NumPy's array it calls the function that it replaces. The code is in ``llvm/array_….ll``.
"""

import ctypes
import sys
from collections.abc import Mapping, Sequence
from inspect import getattr_static, signature
from typing import Any, NamedTuple

import numpy as np

from twofold.backend.host_code import ArrayClasses, Methods

from .array_products import called_functions, product_words, products_text
from .array_slots import DESCR_GET, Slot, descriptor, iterator_class, keep, made_class, replace_dealloc, slots_of
from .callables import METH_FASTCALL, Definition
from .compiler import Code, Compiler, compiler
from .llvm_text import DTYPE, FIELDS, PACKED, llvm_text

#: Calling conventions: ``f(self, operand)``, ``f(self, null)``, and names of keywords after positional arguments.
METH_O, METH_NOARGS, METH_KEYWORDS = 0x8, 0x4, 0x2
#: Operators and their functions in the C API, ``PyNumber_…``; ``ROUNDED`` may give other bits where elements are not adjacent in memory.
ARITHMETIC = {"add": "Add", "sub": "Subtract", "mul": "Multiply", "truediv": "TrueDivide", "floordiv": "FloorDivide", "mod": "Remainder"}
ARITHMETIC |= {"and": "And", "or": "Or", "xor": "Xor"}
UNARY = {"neg": "Negative", "abs": "Absolute", "invert": "Invert"}
ROUNDED = frozenset({"floordiv", "mod"})
#: Comparisons and their numbers in the C API.
COMPARED = {"lt": 0, "le": 1, "eq": 2, "ne": 3, "gt": 4, "ge": 5}
#: The functions that NumPy's scalars call if there is an array on their right.
UFUNCS = (np.add, np.subtract, np.multiply, np.true_divide)
#: Errors after which the replaced function is called; those that NumPy raises before it writes.
UNWRITTEN = (TypeError, ValueError, IndexError, OverflowError)
REFUSED = (*UNWRITTEN, RuntimeError, MemoryError)
#: Reductions that NumPy computes by functions of Python: their errors are not told from those of signal handlers.
IN_PYTHON = frozenset({"mean", "std", "var"})
#: The most elements that NumPy writes without letting other threads run: these could not see the write (`concurrent_writes`).
LOCKED = 500
#: The largest product of two operands' sizes whose matrix product is NumPy's: those of large ones are cut into pieces.
SMALL = 1 << 20
#: The most numbers of lists that NumPy is given to write; longer ones take so long that the way to it does not matter.
FEW_NUMBERS = 64
#: The characters of dtypes that arrays are cast to.
LETTERS = "?bBhHiIlLefdFD"
#: What is known of an array without its elements.
NAMES = ("shape", "size", "ndim", "dtype")
#: Freed arrays whose memory is used again, and how many that hold each other are freed one inside the other.
KEPT, DEEPEST = 32, 50
#: The classes of NumPy's scalars that are looked for first.
COMMON = (np.float64, np.int64, np.bool_, np.float32)


class UnlikeLayout(Exception):
    """Objects are not laid out as the C API says."""


class Method(NamedTuple):
    """A method: its calling convention and parameters, and the call of its function, in which ``{python}`` is the function replaced."""

    convention: int
    parameters: str
    call: str


PAIR, FEW = "ptr %self, ptr %other", "ptr %self, ptr %arguments, i64 %count"
ANY = f"{FEW}, ptr %names"


def _operators() -> dict[str, Method]:
    """The operators of arrays and of single elements."""
    made = {}
    for name, function in ARITHMETIC.items():
        for mark, reflected in (("", 0), ("r", 1)):
            call = f"@binary({PAIR}, ptr @PyNumber_{function}, i64 {{python}}, i1 {reflected}, i1 {int(name in ROUNDED)})"
            made[f"__{mark}{name}__"] = Method(METH_O, PAIR, call)
    for name, k in COMPARED.items():
        made[f"__{name}__"] = Method(METH_O, PAIR, f"@binary({PAIR}, ptr @compared_{k}, i64 {{python}}, i1 0, i1 0)")
    for name, function in UNARY.items():
        made[f"__{name}__"] = Method(METH_NOARGS, PAIR, f"@unary(ptr %self, ptr @PyNumber_{function}, i64 {{python}})")
    return made


OPERATORS = _operators()
OF_ARRAYS = OPERATORS | {
    **{f"__i{n}__": Method(METH_O, PAIR, f"@in_place({PAIR}, ptr @PyNumber_InPlace{f}, i64 {{python}})") for n, f in ARITHMETIC.items()},
    **{f"__{name}__": Method(METH_O, PAIR, f"@{name}({PAIR}, i64 {{python}})") for name in ("pow", "matmul", "getitem")},
    # a slot is that of both methods, or of none
    **{f"__{name}__": Method(METH_O, PAIR, f"@by_python(i64 {{python}}, {PAIR}, i64 2)") for name in ("rpow", "rmatmul")},
    "__setitem__": Method(METH_FASTCALL, FEW, f"@setitem({FEW}, i64 {{python}})"),
    "__array_ufunc__": Method(METH_FASTCALL | METH_KEYWORDS, ANY, f"@array_ufunc({ANY}, i64 {{python}})"),
    **{n: Method(METH_FASTCALL | METH_KEYWORDS, ANY, f"@{n}({ANY}, i64 {{python}})") for n in ("copy", "astype", "dot")},
    "__len__": Method(METH_NOARGS, PAIR, "@len(ptr %self, i64 {python})"),
    "__iter__": Method(METH_NOARGS, PAIR, "@iterated(ptr %self, i64 {python})"),
    "T": Method(METH_NOARGS, PAIR, "@transposed(ptr %self, i64 {python})"),
    **{name: Method(METH_NOARGS, PAIR, f"@attribute(ptr %self, i64 {{python}}, i64 {{{name.upper()}_NAME}})") for name in NAMES},
    **{
        name: Method(METH_FASTCALL | METH_KEYWORDS, ANY, f"@reshaped({ANY}, i64 {{python}}, i64 {{{name.upper()}}}, i64 {most})")
        for name, most in (("reshape", 7), ("ravel", 0))
    },
}
#: Of single elements: what hides the ufuncs of arrays from NumPy's scalars, which then leave an operator to the element.
HIDDEN = "__array_ufunc__"
OF_ELEMENTS = OPERATORS | {HIDDEN: Method(0, "ptr %self, ptr %object, ptr %class", "@hidden()")}
#: Functions that are no methods: what frees arrays, what gives an iterator's next element, and what frees it.
OTHERS = ("dealloc", "iterator_next", "iterator_freed")
SLOTS = tuple(slots_of(tuple(ARITHMETIC), tuple(UNARY), tuple(COMPARED)))
#: Of all ufuncs; the function that it replaces is in a slot of the ufunc.
OF_UFUNCS = {"__call__": Method(METH_FASTCALL | METH_KEYWORDS, ANY, f"@ufunc_call({ANY})")}


def array_methods(classes: ArrayClasses) -> Methods:
    """Methods that may take the place of functions.

    None if LLVM does not support this processor, threads run without the GIL, or objects are not laid out as the C API says.
    """
    own = None if not getattr(sys, "_is_gil_enabled", lambda: True)() else compiler()
    try:
        return {} if own is None else _made(own, classes)
    except UnlikeLayout:
        return {}


def _made(own: Compiler, classes: ArrayClasses) -> Methods:
    head, objects = own.machine.head, _objects(classes)
    scalars = [*COMMON, *(kind for kind in sorted(classes.scalars, key=repr) if kind not in COMMON)]
    reductions = [*classes.reductions.values()]
    # what the code knows, in this order
    ufuncs = len(objects)
    reduced = ufuncs + len(UFUNCS)
    replaced = reduced + len(reductions)
    methods = _methods(classes, reduced)
    functions = [_function(cls, name) for cls, name in methods]
    given = [*objects.values(), *UFUNCS, *reductions, *functions, *scalars]
    called = called_functions(head)
    words: dict[str, str | int] = {name: k for k, name in enumerate(objects)}
    words |= {"UFUNCS": ufuncs, "UFUNCS_END": reduced, "SCALARS": len(given) - len(scalars), "SCALARS_END": len(given)}
    words |= {"SINGLE": len(given) - len(scalars) + COMMON.index(np.float32), "COUNT": len(given) + len(called)}
    words |= {name: k for k, name in enumerate(called, len(given))} | product_words(called)
    for cls, slots in classes.slots.items():
        words |= _slots(cls, slots)
    words |= {"KEPT": KEPT, "DEEPEST": DEEPEST, "FEW": FEW_NUMBERS}
    words |= {"GETITEM": replaced + [*methods].index((classes.array, "__getitem__")), "ITERATED": head, "NUMBER": head + 8}
    words["WEAK"] = classes.array.__weakrefoffset__
    words["CLEARED"] = "\n".join(
        f"  call void @clear(ptr %x, i64 {place})" for place in _slots(classes.array, classes.slots[classes.array]).values()
    )
    words |= {"GAPS": classes.gaps, "LOCKED": LOCKED, "SMALL": SMALL, "CONTIGUOUS": PACKED}
    # `DATA` is a slot of values
    words |= {"ELEMENTS" if name == "data" else name.upper(): head + offset for name, offset in FIELDS.items()}
    words |= {"CLASS": head - 8, "SIZE": head, "KIND": head + DTYPE, "LETTER": head + DTYPE + 1, "ORDER": head + DTYPE + 2}
    words |= _places(items := (object(), object()), {"ITEMS": items[0]})
    words |= _places(part := slice(object(), object(), object()), {"START": part.start, "STOP": part.stop, "STEP": part.step})
    slots = _slots_of_classes(classes, methods)
    code = own.built(_text(words, methods, slots, replaced), inlines=True)
    keep(code, code.library, given)
    told = [*map(id, given), *called.values()]
    *addresses, dealloc, following, freed = _addresses(code, told, len(methods) + len(slots) + len(OTHERS))
    iterator = iterator_class(following, freed)
    keep(iterator)
    told[[*objects].index("ITERATOR")] = id(iterator)
    _addresses(code, told, len(addresses) + len(OTHERS))  # now the code knows the class, too
    replace_dealloc(classes.array, [*classes.slots[classes.array]], dealloc)
    of_methods, of_slots = addresses[: len(methods)], addresses[len(methods) :]
    made = {
        (cls, name): _descriptor(cls, name, method.convention, address, function) if method.convention else _hiding(address)
        for ((cls, name), method), address, function in zip(methods.items(), of_methods, functions, strict=True)
    }
    for (cls, _, slot), address in zip(slots, of_slots, strict=True):
        found = {(cls, name): descriptor(cls, name, address) for name in slot.names}
        made |= {} if None in found.values() else found
    return made


def _slots_of_classes(classes: ArrayClasses, methods: Mapping[tuple[type, str], Method]) -> list[tuple[type, str, Slot]]:
    """The slots all of whose methods there are, with their classes and the words for these."""
    named = (classes.array, "ARRAY"), (classes.element, "ELEMENT")
    return [(cls, word, slot) for cls, word in named for slot in SLOTS if all((cls, name) in methods for name in slot.names)]


def _objects(classes: ArrayClasses) -> dict[str, object]:
    """Single objects that the code knows, by the words for their places."""
    return {
        "PLAIN": np.ndarray,
        "ARRAY": classes.array,
        "ELEMENT": classes.element,
        "VALUE": classes.value,
        "HOST": classes.host,
        "NONE": None,
        "NOT_IMPLEMENTED": NotImplemented,
        "DELETE": sys.intern("__delitem__"),
        "ELLIPSIS": ...,
        "FLOAT": float,
        "INT": int,
        "SLICE": slice,
        "TUPLE": tuple,
        "LIST": list,
        "INDEX": np.int64,
        "ZERO": 0,
        "ONE": 1,
        "TWO": 2,
        "AXIS": sys.intern("axis"),
        "COPIED": np.ndarray.copy,
        "CAST": np.ndarray.astype,
        "DOT": np.ndarray.dot,
        "TRANSPOSE": np.ndarray.transpose,
        "RESHAPE": np.ndarray.reshape,
        "RAVEL": np.ndarray.ravel,
        "REVERSED": classes.axes_reversed,
        "RESHAPED": classes.reshaped,
        "CHANGEABLE": classes.changeable,
        **{f"{name.upper()}_NAME": sys.intern(name) for name in NAMES},
        "DEVICES": classes.entered,
        "ITERATOR": None,
        "STR": str,
        "COMPLEX64": np.complex64,
        "COMPLEX128": np.complex128,
        "REFUSED": REFUSED,
        "UNWRITTEN": UNWRITTEN,
        "ATTRIBUTE_ERROR": AttributeError,
    }


def _methods(classes: ArrayClasses, reduced: int) -> dict[tuple[type, str], Method]:
    """All methods by class and name. NumPy's functions for reductions are at places from ``reduced`` on."""
    kinds = (classes.array, OF_ARRAYS), (classes.element, OF_ELEMENTS), (classes.ufunc, OF_UFUNCS)
    methods = {(cls, name): method for cls, own in kinds for name, method in own.items() if name in vars(cls)}
    for k, name in enumerate(classes.reductions, reduced):
        if name not in IN_PYTHON:
            methods[classes.array, name] = Method(METH_FASTCALL | METH_KEYWORDS, ANY, f"@reduction({ANY}, i64 {{python}}, i64 {k})")
    return methods


def _text(
    words: Mapping[str, str | int], methods: Mapping[tuple[type, str], Method], slots: Sequence[tuple[type, str, Slot]], first: int
) -> str:
    """The module; ``first`` is the place of the first method's function among the objects that the code knows."""
    lines, told = [], []
    for k, method in enumerate(methods.values()):
        call = method.call.format(python=first + k, **words)
        lines.append(
            f"define internal ptr @method_{k}({method.parameters}) nounwind {{\n  %result = call ptr {call}\n  ret ptr %result\n}}"
        )
        told.append(f"  %method.{k} = getelementptr ptr, ptr %methods, i64 {k}\n  store ptr @method_{k}, ptr %method.{k}")
    functions = {key: f"@method_{k}" for k, key in enumerate(methods)}
    for k, (cls, word, slot) in enumerate(slots, len(methods)):
        lines.append(slot.text(f"@slot_{k}", words[word], {name: functions[cls, name] for name in slot.names}))
        told.append(f"  %method.{k} = getelementptr ptr, ptr %methods, i64 {k}\n  store ptr @slot_{k}, ptr %method.{k}")
    for k, name in enumerate(OTHERS, len(methods) + len(slots)):
        told.append(f"  %other.{k} = getelementptr ptr, ptr %methods, i64 {k}\n  store ptr @{name}, ptr %other.{k}")
    for k in COMPARED.values():
        compared = f"%result = call ptr @PyObject_RichCompare(ptr %a, ptr %b, i32 {k})"
        lines.append(f"define internal ptr @compared_{k}(ptr %a, ptr %b) nounwind {{\n  {compared}\n  ret ptr %result\n}}")
    declared = [f"declare ptr @PyNumber_{way}{name}(ptr, ptr)" for way in ("", "InPlace") for name in ARITHMETIC.values()]
    declared += [f"declare ptr @PyNumber_{name}(ptr)" for name in UNARY.values()]
    letters = "\n    ".join(f"i8 {ord(letter)}, label %known" for letter in LETTERS)
    texts = {"LETTERS": letters, "TOLD": "\n".join(told), "DECLARED": "\n".join(declared)}
    parts = ("objects", "products", "operators", "views", "items", "iteration", "calls", "slots")
    return "\n".join((*(llvm_text(f"array_{part}", **words, **texts) for part in parts), *products_text(words), *lines))


def _slots(cls: type, slots: Mapping[str, Any]) -> dict[str, int]:
    """Where an object's slots are, by their names in upper case."""
    thing = object.__new__(cls)
    marks = {name.strip("_").upper(): object() for name in slots}
    for slot, mark in zip(slots.values(), marks.values(), strict=True):
        slot.__set__(thing, mark)
    found = _places(thing, marks)
    for slot in slots.values():
        slot.__delete__(thing)
    return found


def _places(thing: object, held: Mapping[str, object]) -> dict[str, int]:
    """Where an object holds others, by their names: found in its memory."""
    size = ctypes.sizeof(ctypes.c_void_p)
    at = {ctypes.c_void_p.from_address(id(thing) + k).value: k for k in range(0, object.__sizeof__(thing), size)}
    try:
        return {name: at[id(value)] for name, value in held.items()}
    except KeyError:
        raise UnlikeLayout(type(thing)) from None


def _addresses(code: Code, given: Sequence[int], count: int) -> list[int]:
    """The addresses of the methods, after their code has been told the objects and functions that it refers to."""
    run = ctypes.PYFUNCTYPE(None, ctypes.c_void_p, ctypes.c_void_p)(code.address)
    objects, found = (ctypes.c_void_p * len(given))(*given), (ctypes.c_void_p * count)()
    run(objects, found)
    return [address or 0 for address in found]


_new_method = ctypes.pythonapi.PyDescr_NewMethod
_new_method.restype, _new_method.argtypes = ctypes.py_object, [ctypes.py_object, ctypes.c_void_p]


def _parameters(function: Any) -> str:
    """A function's parameters as `inspect` reads them in docstrings: without types, and with defaults that are written as literals."""
    known, plain = signature(function), []
    for p in known.parameters.values():
        is_literal = p.default in (p.empty, None, True, False) or isinstance(p.default, str)
        plain.append(p.replace(annotation=p.empty, default=p.default if is_literal else None))
    return str(known.replace(parameters=plain, return_annotation=known.empty))


def _function(cls: type, name: str) -> Any:
    """The function that a method replaces."""
    found = getattr_static(cls, name)
    return found.fget if isinstance(found, property) else found


def _descriptor(cls: type, name: str, convention: int, address: int, function: Any) -> object:
    """A method of a class, with the signature and docstring of the function that it replaces; or a property that calls it."""
    doc = f"{name}(${_parameters(function)[1:]}\n--\n\n{function.__doc__ or ''}"  # the dollar marks the bound parameter
    definition = Definition(name.encode(), address, convention, doc.encode())
    keep(definition)
    method, replaced = _new_method(cls, ctypes.addressof(definition)), getattr_static(cls, name)
    return property(method, replaced.fset, replaced.fdel, replaced.__doc__) if isinstance(replaced, property) else method


def _hiding(address: int) -> object:
    """A descriptor that raises `AttributeError`: in Python that takes longer than to add two numbers."""
    return made_class("twofold.Hidden", object.__basicsize__, {DESCR_GET: address})()
