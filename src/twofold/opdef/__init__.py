"""What an operator is and how it is declared, found and shown; knows no array library.

Here are the names with which operators are declared and read; front ends and conventions have modules of their own.
"""

from .declare import elementwise, numpy_op, of_ufunc, op, primitive
from .facets.execution import WHOLE, Execution
from .facets.front import Domain
from .facets.storage_types import STORAGE_TYPES, Sparse, stype_of
from .facets.symbolic import Quantizes
from .inputs import ALWAYS, Bias, Index, Input, SequenceLength
from .params import Axis, Count, DType, Floats, Integers, Layers, Param, Scalar, Shape, Static, Training
from .partial_shapes import (
    agreed,
    along_axis,
    expected_shape,
    first_known,
    joined,
    permuted,
    product_of,
    reshaped,
    size_at,
    with_size,
    without_axis,
)
from .registry import NAMES, OPS, find, primitives
from .rules import Rule
from .samples import Draw, Sample, samples_of
from .shapes import (
    broadcast_shapes,
    checked_index,
    distinct_axes,
    filled_shape,
    integers,
    moved_axes,
    normalized_axes,
    normalized_axis,
    order_of_axes,
    reduced_shape,
    reshape_codes,
    sliced_shape,
    swapped_axes,
    window_size,
)
from .spec import BoundOp, Op, unregistered
from .vocabulary import Derived, Operand
