"""Callables of operators: templates of `arithmetic`, specialised for an operator and for the classes of its operands."""

import operator
from typing import Any

import numpy as np

from ..assembly import Function, assembled
from ..imperative.cell import HOST, PLAIN
from ..imperative.element import NATIVE
from ..opdef import BoundOp, Op
from ..scheduler.observers import exchangeable
from .arithmetic import binary, binary_of_element, unary, unary_of_element


def specialise(
    op: Op,
    cls: type,
    operand: tuple[type, ...],
    *,
    legacy: bool,
    arity: int,
    reverse: bool = False,
    bound_op: BoundOp | None = None,
    general: Function | None = None,
    element: type | None = None,
    view_product: Function | None = None,
    roots: dict[float, Function] | None = None,
) -> Function:
    """The callable of a primitive for one array class.

    Parameters
    ----------
    op
        The primitive.
    cls
        The array class.
    operand
        Further classes of the other operand; for all others a binary callable returns NotImplemented.
    legacy
        The calling convention.
    arity, reverse
        1 or 2; ``reverse`` exchanges the operands of a binary callable: the first is then a number.
    bound_op
        The operator to apply where the plain path does not, if not the primitive itself.
    general
        Called with the given operands if no short path applies; `storage.applied` if None.
    element
        The class of NumPy's scalars, or None.
    view_product
        The general function of a matrix product of which an operand is a view.
    roots
        For ``**``: functions to call for some exponents of floats.
    """
    bound_op = bound_op or op.bind(legacy)
    names = {"operand": operand, "bound_op": bound_op, "typed": bound_op.typed, "fn": host_function(op), "general": general}
    known = {"legacy": legacy, "has_general": general is not None, "runs_now": op.simple and not legacy, "alone": op.execution.alone}
    if arity == 2:  # other rules are MXNet's, or compiled kernels round in their own way
        known |= {"reverse": reverse, "takes_numbers": op.ufunc is not None, "wraps": op.front.wraps}
        known["powers"] = op.python == "pow" and not legacy
        known["has_view_product"] = view_product is not None
        known["has_roots"] = roots is not None
        names |= {"view_product": view_product, "roots": roots}
    return method_of((unary, binary)[arity - 1], op, (cls, element), names, **known)


def of_elements(op: Op, cls: type, element: type, general: Function, reverse: bool = False) -> Function:
    """The method of a Python operator for single elements.

    Parameters
    ----------
    op
        The primitive, with the operator's name.
    cls, element
        The classes of arrays and elements.
    general, reverse
        As for `specialise`.
    """
    names = {"fn": getattr(operator, f"__{op.python}__"), "general": general}
    if len(op.inputs) == 1:
        return method_of(unary_of_element, op, (cls, element), names)
    return method_of(binary_of_element, op, (cls, element), names, reverse=reverse)


def method_of(template: Function, op: Op, classes: tuple[type, type | None], names: dict[str, Any], **known: bool) -> Function:
    """The function that a template gives for a primitive.

    Parameters
    ----------
    template
        The template, in which operands are ``self`` and ``other``.
    op
        The primitive.
    classes
        Those of arrays and elements, which are ``cls`` and ``element`` in the template.
    names
        Other names in the template. The profiler times ``fn`` and ``squared`` among them.
    **known
        Further known values.
    """
    cls, element = classes
    given = {**class_names(cls, element), **names}
    keeps_axes: bool = cls._legacy  # type: ignore[attr-defined]  # of `Array`
    known = {"legacy": keeps_axes, "elements": element is not None, "of_any_rank": element is None and not keeps_axes} | known
    # operators whose bits do not depend on the operands' addresses; for others NumPy has several loops
    known["exact"] = op.simple
    method = assembled(template, given, **known)
    method.__name__ = op.name
    timed = names["bound_op"].op if "bound_op" in names else op
    for function in ("fn", "squared"):
        if function in method.__globals__:
            exchangeable(method.__globals__, function, timed.names[0] if timed.names else op.name, nbytes)
    return method


def host_function(op: Op) -> Function:
    """The host library's function of a primitive: NumPy's ufunc itself, if it is element-wise."""
    found = getattr(np, op.name, None) if PLAIN is np.ndarray else None
    return found if isinstance(found, np.ufunc) and found.signature is None else getattr(HOST.xp, op.name)


def class_names(cls: type, element: type | None) -> dict[str, object]:
    """The names in templates that mean classes, by what they mean for the arrays of one front end."""
    # the call that classes have by default, past those of their own types, which would take a third of the time of a small operation
    makers = {"new_array": type.__call__.__get__(cls), "new_element": type.__call__.__get__(element or cls)}
    return {"cls": cls, "element": element, "native": frozenset() if element is None else NATIVE, **makers}


def nbytes(x: Any) -> int:
    """The bytes of an operand or result of generated code, for `exchangeable`."""
    return x.nbytes if x.__class__ is PLAIN else 0
