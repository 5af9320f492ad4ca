"""Generated callables of the commonest operators: short paths for plain, recorded and deferred operands in known structures, else `invoke`.

There is one template per arity. What a callable uses (the function, the class, the bound operator) is looked up once, when it is
generated, and while contents are plain it reads no mode flag. `HOST.quick` runs a function with floating-point warnings off, in a context
that cannot be entered twice, by another thread or by a finalizer. In that case the general path takes over, as it does for operands that
do not broadcast. Results without axes, which NumPy returns as scalars, become elements (`element`) where a class has them.
"""

import operator
from collections.abc import Callable
from typing import Any

import numpy as np

from ..config import SETTINGS
from ..device import CPU
from ..dtype import COMPLEX, NAME_OF, NUMPY
from ..opdef.spec import BoundOp, Op
from ..scheduler.observers import exchangeable
from .array import GAPS
from .cell import HOST, PLAIN, Value, wrap
from .deferral import join, now
from .dispatch import IS_SMALL
from .element import NATIVE
from .generated_text import complete
from .invoke import invoke
from .recording import LITERAL_ENTRIES, save_for_backward
from .scalars import FLOAT_LEAVES, INTEGER_LEAVES
from .storage import STORAGE
from .tape import TapeEntry, tls

_BINARY = """
def {name}(self, other):
    {a of self}
    kind = other.__class__
    if kind is cls or kind is view:
        {b of other}
        if a.__class__ is plain:
            if b.__class__ is plain and {check}:
                try:
                    v = {both}
                    {result}
                except recoverable:
                    pass
        elif a.__class__ is Value and b.__class__ is Value:
            tape = tls.tape
            ra = a.entry
            rb = b.entry
            if tape is not None and ((ra is not None and ra.node.tracked) or (rb is not None and rb.node.tracked)):
                if ra is not None and rb is not None and ra.tape is tape and rb.tape is tape:
                    node = typed.get((ra.node, rb.node))
                    if {recordable} \\
                            and a.data is not None and b.data is not None and a.device is cpu and b.device is cpu:
                        try:
                            out = run(fn, a.data, b.data)
                        except recoverable:
                            return {general}
                        if out.__class__ is not plain:
                            out = array(out)
                        tape.whole = False
                        entry = TapeEntry(node, (ra, rb), (), tape)
                        r = cls()
                        r._content = v = Value(out, entry)
                        if node.cache.saves:
                            save(entry, (a, b), (out,), tape)
                            if node.cache.read:
                                v.sharing = tape.ref
                        return r
            elif {two}(v := join(typed, (a, b))) is not None:
                r = cls()
                r._content = v
                return r
    elif kind is float or kind is int:
        if a.__class__ is plain{floats}:
            try:
                v = {with_number}
                {result}
            except recoverable:
                pass
        elif a.__class__ is Value:
            tape = tls.tape
            ra = a.entry
            if (tape is None or ra is None or not ra.node.tracked){pending}:
                if {number}(v := join(typed, ({joined}))) is not None:
                    r = cls()
                    r._content = v
                    return r
            elif tape is not None and ra is not None and ra.tape is tape and a.data is not None and a.device is cpu{numbers}:
                n = tape.leaves
                {leaf}
                node = typed.get(({nodes}))
                if {recordable}:
                    try:
                        out = {recorded}
                    except recoverable:
                        return {general}
                    if out.__class__ is not plain:
                        out = array(out)
                    {counted}
                    tape.whole = False
                    entry = TapeEntry(node, ({entries}), (), tape)
                    r = cls()
                    r._content = v = Value(out, entry)
                    if node.cache.saves:
                        save(entry, ({kept}), (out,), tape)
                        if node.cache.read:
                            v.sharing = tape.ref
                    return r
    elif kind is element:
        if a.__class__ is plain:
            try:
                v = {single}
                {array}
            except recoverable:
                pass
    elif not isinstance(other, operand):
        return {otherwise}
    if self.__class__ is view and a.__class__ is Value:  # reading it once more might be recorded once more
        self = wrap(cls, a)
    if kind is view and b.__class__ is Value:
        other = wrap(cls, b)
    try:
        return {general}
    except StorageError:
        return {stored}
"""

_UNARY = """
def {name}(self):
    {a of self}
    if a.__class__ is plain and {check}:
        try:
            v = {one}
            {result}
        except recoverable:
            pass
    elif a.__class__ is Value:
        tape = tls.tape
        ra = a.entry
        if tape is None or ra is None or not ra.node.tracked:
            if {alone}(v := join(typed, (a,))) is not None:
                r = cls()
                r._content = v
                return r
        elif ra.tape is tape and a.data is not None and a.device is cpu:
            node = typed.get((ra.node,))
            if {recordable}:
                try:
                    out = run(fn, a.data)
                except recoverable:
                    return {general}
                if out.__class__ is not plain:
                    out = array(out)
                tape.whole = False
                entry = TapeEntry(node, (ra,), (), tape)
                r = cls()
                r._content = v = Value(out, entry)
                if node.cache.saves:
                    save(entry, (a,), (out,), tape)
                    if node.cache.read:
                        v.sharing = tape.ref
                return r
    if self.__class__ is view and a.__class__ is Value:
        self = wrap(cls, a)
    try:
        return {general}
    except StorageError:
        return {stored}
"""

#: A number's node on the tape, as by `scalar_entry`, and the record of a literal.
_NUMBER = """rb = None
                if kind is float:
                    lb = float_leaves[n]
                elif (rb := literals.get(other)) is None:
                    lb = integer_leaves[n]
                else:
                    lb = rb.node"""
_COUNTED = "tape.leaves, rb = n + 1, TapeEntry(lb, (), (other,), tape)"

#: The operators of single elements: Python's own on NumPy's scalars, which is faster than any ufunc.
_ELEMENT = (
    """
def {name}(self):
    try:
        v = fn(self._raw)
    except recoverable:
        return general(self)
    {scalar}
    return general(self)
""",
    """
def {name}(self, other):
    kind = other.__class__
    if kind is element:
        b = other._raw
    elif kind is float or kind is int:
        b = other
    elif kind is cls or kind is view:
        {b of other}
        if b.__class__ is not plain:
            return general(self, other)
    else:
        return general(self, other)
    try:
        v = {call}
    except recoverable:
        return general(self, other)
    {scalar}
    {array}
    return general(self, other)
""",
)
#: What NumPy raises where the general path raises an error that says what to do, or finds a way.
RECOVERABLE = (RuntimeError, ValueError, TypeError, MemoryError)


def specialise(
    op: Op,
    cls: type,
    view: type,
    operand: tuple[type, ...],
    *,
    legacy: bool,
    arity: int,
    reverse: bool = False,
    bound_op: BoundOp | None = None,
    general: Callable[..., Any] | None = None,
    element: type | None = None,
) -> Callable[..., Any]:
    """The callable of a primitive for one array class.

    Parameters
    ----------
    op
        The primitive.
    cls, view
        The array class and the class of its views.
    operand
        What else the other operand may be; for anything else a binary callable returns NotImplemented.
    legacy
        The calling convention.
    arity, reverse
        1 or 2; with ``reverse`` the operands of a binary operator are exchanged: the first is then a number.
    bound_op
        What is applied where the plain path does not hold, if not the primitive itself.
    general
        Called with the operands as they were given if no short path applies; `invoke` if None.
    element
        The class of NumPy's scalars, or None.
    """
    bound_op = bound_op or op.bind(legacy)
    template, parts = (_UNARY, _unary_parts(op, legacy)) if arity == 1 else (_BINARY, _binary_parts(op, legacy, reverse))
    given = "self" if arity == 1 else "self, other"
    if general is None:
        operands = "self," if arity == 1 else _pair("self", "other", reverse)
        parts |= {"general": f"wrap(cls, invoke(bound_op, ({operands}))[0])", "otherwise": "NotImplemented"}
        parts["stored"] = f"by_storage(bound_op, ({operands}))[0]"
    else:
        parts |= dict.fromkeys(("general", "otherwise", "stored"), f"general({given})")
    names: dict[str, Any] = {
        "operand": operand, "invoke": invoke, "bound_op": bound_op, "now": now, "join": _never_joins if op.execution.alone else join,
        "TapeEntry": TapeEntry, "Value": Value, "save": save_for_backward, "cpu": CPU, "float_leaves": FLOAT_LEAVES,
        "integer_leaves": INTEGER_LEAVES, "literals": LITERAL_ENTRIES,
        "typed": bound_op.typed, "to_scalar": HOST.scalar, "name_of": NAME_OF, "run": HOST.quick, **STORAGE,
        "fn": host_function(op), "array": np.asarray, "wrap": wrap, "general": general, "bools": NUMPY["bool"], "squares": SQUARED,
    }  # fmt: skip
    if "squared" in parts.get("with_number", ""):
        names["squared"] = np.square
    return method_of(template, op, (cls, view, element), names, recordable=_RECORDABLE, **parts)


#: Dtypes whose squares differ between the operator, ``x ** 2``, and the function `power`: bools give int8 in NumPy, not int64, and complex
#: numbers are multiplied, in a fifth of the time.
SQUARED = frozenset({"bool", *COMPLEX})
_IS_FLOAT = "a.dtype.kind == 'f'"
#: Whether a structure has been recorded before, in a form for which the short path suffices.
_RECORDABLE = f"node is not None and node.cache is not None and node.cache.fast and {IS_SMALL.format('node')}"
#: Runs an operation on ready contents at once if it does not pay to wait (see `deferral.now`).
_NOW = "({} and (v := now(fn, ({}))) is not None) or "


def _runs_now(op: Op, legacy: bool) -> bool:
    """Whether ready operands may be computed at once: elsewhere rules are MXNet's, or compiled kernels round in their own way."""
    return not legacy and op.simple


def _call(operands: str, legacy: bool) -> str:
    """NumPy's function of C-contiguous arrays, hence such an array itself; of 0-d ones a scalar."""
    return f"run(fn, {operands})" if legacy else f"fn({operands})"


def _unary_parts(op: Op, legacy: bool) -> dict[str, str]:
    """What differs between the operators with one operand."""
    return {
        "check": _IS_FLOAT if legacy else "True",
        "one": _call("a", legacy),
        "alone": _NOW.format("a.device is cpu", "a.data,") if _runs_now(op, legacy) else "",
    }


def _binary_parts(op: Op, legacy: bool, reverse: bool) -> dict[str, str]:
    """What differs between the operators with two operands."""
    number = "to_scalar(other, name_of[a.dtype])" if legacy else "other"
    floats, pending, with_number = f" and {_IS_FLOAT}" if legacy else "", "", _call(_pair("a", number, reverse), legacy)
    numbers, recorded = "", f"run(fn, {_pair('a.data', 'to_scalar(other, ra.node.dtype)', reverse)})"
    if op.python == "pow" and not legacy:
        floats, pending = " and (a.dtype is not bools or other != 2)", " and (other != 2 or a.type[1] not in squares)"
        numbers = " and kind is float"  # programs know better ways for integers
        if not reverse:  # NumPy's operator squares, too, with the bits of the power
            with_number = f"squared(a) if other == 2 and (kind is int or {_IS_FLOAT}) else {with_number}"
            numbers, recorded = " and (kind is float or other == 2)", f"run(squared, a.data) if kind is int else {recorded}"
    if op.ufunc is None:  # the matrix product takes no numbers
        floats = " and False"
    now = _NOW if _runs_now(op, legacy) else ""
    return {
        "check": _check(op) if legacy else "True",
        "floats": floats,
        "pending": pending,
        "both": _call("a, b", legacy),
        "with_number": with_number,
        "single": _call(_pair("a", "other._raw", reverse), legacy),
        "numbers": numbers,
        # MXNet's float arrays take integers as floats; in NumPy's promotion they are of another kind
        "leaf": "lb = float_leaves[n]" if legacy else _NUMBER,
        "counted": _COUNTED if legacy else f"if rb is None:\n                        {_COUNTED}",
        "nodes": _pair("ra.node", "lb", reverse),
        "entries": _pair("ra", "rb", reverse),
        "joined": _pair("a", "float(other)" if legacy else "other", reverse),
        "recorded": recorded,
        "kept": _pair("a", "float(other)" if legacy else "other", reverse),
        "two": now.format("a.device is cpu and b.device is cpu", "a.data, b.data"),
        "number": now.format("a.device is cpu", _pair("a.data", "other", reverse)),
    }


def of_elements(op: Op, cls: type, view: type, element: type, general: Callable[..., Any], reverse: bool = False) -> Callable[..., Any]:
    """The method of a Python operator for single elements.

    Parameters
    ----------
    op
        The primitive, with the operator's name.
    cls, view, element
        The classes of arrays, views and elements.
    general, reverse
        As for `specialise`.
    """
    fn = getattr(operator, f"__{op.python}__")
    call = f"fn({_pair('self._raw', 'b', reverse)})"
    return method_of(_ELEMENT[len(op.inputs) - 1], op, (cls, view, element), {"fn": fn, "general": general}, call=call)


def method_of(template: str, op: Op, classes: tuple[type, type, type | None], names: dict[str, Any], **parts: str) -> Callable[..., Any]:
    """The function of a template that applies a primitive.

    Parameters
    ----------
    template
        The text of a function called ``{name}``, in which operands are ``self`` and ``other`` (see `generated_text`).
    op
        The primitive.
    classes
        Those of arrays, their views, and elements, which are ``cls``, ``view`` and ``element`` in the text.
    names
        What else the text names. ``fn`` and ``squared`` are timed while the profiler listens.
    **parts
        Texts for its places.
    """
    cls, view, element = classes
    env: dict[str, Any] = {
        "__name__": __name__, "plain": PLAIN, "cls": cls, "view": view, "element": element, "native": native(element),
        "tls": tls, "settings": SETTINGS, "gaps": GAPS, "contiguous": np.ascontiguousarray, "recoverable": RECOVERABLE, **names,
    }  # fmt: skip
    found: dict[str, Callable[..., Any]] = {}
    has_no_elements = element is None and not cls._legacy  # type: ignore[attr-defined]  # of `Array`
    exec(complete(template, _is_exact(op), has_no_elements).format(name=op.name, **parts), env, found)
    (method,) = found.values()
    applied = names["bound_op"].op if "bound_op" in names else op
    for function in ("fn", "squared"):
        if function in names:
            exchangeable(env, function, applied.names[0] if applied.names else op.name, nbytes)
    return method


def _is_exact(op: Op) -> bool:
    """Whether an operator has the same bits wherever the elements lie; NumPy has several loops for the others."""
    return op.simple and op.python is not None


def _never_joins(typed: Any, values: Any) -> None:
    """In place of `join`: the general path decides."""


def host_function(op: Op) -> Callable[..., Any]:
    """The host library's function of a primitive: NumPy's ufunc itself, if it is element-wise."""
    found = getattr(np, op.name, None) if PLAIN is np.ndarray else None
    return found if isinstance(found, np.ufunc) and found.signature is None else getattr(HOST.xp, op.name)


def native(element: type | None) -> frozenset[type]:
    """The classes of NumPy's scalars that a class of elements holds."""
    return frozenset() if element is None else NATIVE


def nbytes(x: Any) -> int:
    """The bytes of an operand or result of generated code, for `exchangeable`."""
    return x.nbytes if x.__class__ is PLAIN else 0


def _pair(array: str, number: str, reverse: bool) -> str:
    return f"{number}, {array}" if reverse else f"{array}, {number}"


def _check(op: Op) -> str:
    """A test for whether NumPy's result equals the LEGACY one: equal dtypes, and floats if integers would give another result."""
    same = "a.dtype is b.dtype"
    return same if op.front.wraps else f"{same} and {_IS_FLOAT}"
