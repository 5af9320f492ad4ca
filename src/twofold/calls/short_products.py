"""Templates of short calls that multiply and add: norms, products of vectors and matrices, sums of products."""

# pyright: reportPossiblyUnboundVariable=false, reportOptionalMemberAccess=false
# Fragments share variables with their callers, and tests that hold in a caller hold in them: a checker sees neither.

import numpy as np

from ..assembly import FREE, Function
from ..dtype import NUMPY
from ..imperative.cell import PLAIN
from ..imperative.guards import is_small
from ..scheduler.observers import LISTENERS
from ..signal_handlers import unless_signalled
from .contents import BFLOAT16, cls, content, contiguous, is_numpys, packed, return_result, return_small
from .short import MACHINE_CODE, REFUSED, device_is_chosen, general, is_alone, memory, numpys, ready_parts

#: `contracted`: the sum of products by subscripts of several of NumPy's arrays.
contract: Function = FREE

SINGLE_AND_DOUBLE = (NUMPY["float64"], NUMPY["float32"])
#: One look-up each, where `np.add.reduce` takes three.
square, total, square_root, outer_product = np.square, np.add.reduce, np.sqrt, np.multiply.outer
magnitude, largest = np.absolute, np.maximum.reduce
#: The classes of names of norms.
NORMS = frozenset({int, float, str})
INFINITY = float("inf")


def norm(x, ord=None, axis=None, *more, **options):
    """Norms of all elements or along one axis, with the bits of their operators."""
    kind = x.__class__
    if (axis is None or axis.__class__ is int) and (ord is None or ord.__class__ in NORMS) and is_alone(more, options):
        v = x
        if kind is cls:
            v = content(x)
            v = packed(x, v)
        elif not is_numpys(x, kind) or device_is_chosen():
            return general(x, ord, axis)
        if v.__class__ is PLAIN and v.dtype in SINGLE_AND_DOUBLE and (axis is None or v.ndim):
            is_of_vectors = axis is not None or v.ndim == 1
            try:
                # not `np.linalg.norm`, which rounds some differently
                if ord is None or (ord == 2 if is_of_vectors else ord == "fro" and v.ndim == 2):
                    if axis is not None:
                        v = square_root(total(square(v), axis))
                    elif is_small(v):
                        v = v.ravel()
                        v = square_root(v.dot(v))
                    else:
                        return general(x, ord, axis)
                elif is_of_vectors and ord == 1:
                    v = total(magnitude(v), axis)
                elif is_of_vectors and ord == INFINITY:
                    v = largest(magnitude(v), axis)
                else:
                    return general(x, ord, axis)
                return_result(v)
            except unless_signalled(REFUSED):
                pass
    return general(x, ord, axis, *more, **options)


def dot(a, b, *more, **options):
    """Products of vectors and matrices. Those of views, which may be transposed, and of large arrays are the operator's."""
    if is_alone(more, options):
        kind = a.__class__
        other = b.__class__
        if kind is not cls or other is not cls:
            ready = ready_parts((a, b))
            if ready is not None:
                try:
                    v = numpys(*ready)
                    return_result(v)
                except unless_signalled(REFUSED):
                    pass
            return general(a, b)
        if MACHINE_CODE:
            return a.dot(b)
        v = memory(a, kind)
        w = memory(b, other)
        if v.__class__ is PLAIN and w.__class__ is PLAIN and 0 < v.ndim < 3 and 0 < w.ndim < 3:
            if v.dtype is BFLOAT16 or w.dtype is BFLOAT16:
                return a @ b
            if a._held is None or b._held is None:
                if v.ndim == 2 or w.ndim == 2:  # a matrix may be transposed
                    return a @ b
                v = content(a)
                w = content(b)
                if v.__class__ is not PLAIN or w.__class__ is not PLAIN:
                    return a @ b
            try:
                v = numpys(v, w)
                return_result(v)
            except unless_signalled(REFUSED):
                pass
    return general(a, b, *more, **options)


def outer(x, y, *more, **options):
    """All products of the elements of two vectors."""
    if is_alone(more, options):
        kind = x.__class__
        other = y.__class__
        if kind is cls and other is cls:
            a = content(x)
            b = content(y)
            if a.__class__ is PLAIN and b.__class__ is PLAIN and a.ndim == 1 == b.ndim:
                try:
                    v = outer_product(a, b)
                except unless_signalled(REFUSED):
                    return general(x, y)
                return_small(v)
    return general(x, y, *more, **options)


def contracted(subscripts, /, *arrays, **options):
    """Sums of products of several arrays by Einstein's convention."""
    if not options and not LISTENERS and subscripts.__class__ is str and len(arrays) > 1:
        ready = ready_parts(arrays)
        if ready is not None:
            try:
                v = contract(subscripts, ready)
                if v.__class__ is PLAIN and v.ndim:
                    v = contiguous(v)
                    return_small(v)
                return_result(v)
            except unless_signalled(REFUSED):
                pass
    return general(subscripts, *arrays, **options)
