"""Updates in place of the rows that a row-sparse gradient stores."""

from collections.abc import Sequence
from functools import partial
from typing import Any

import numpy as np

from ..backend import sparse
from ..device import CPU
from ..errors import IndexingError, ShapeError
from ..opdef import BoundOp, Sparse
from ..ops import primitive_gather
from ..scheduler.observers import LISTENERS
from .array import Array, adopted
from .cell import HOST, Content, is_view, wrap
from .invoke import data_of, host_of, invoke
from .storage import CELLS, CLASSES, dense_array, ready_memory, sparse_array, store_array
from .write import change_inline, write


def updates_rows(bound_op: BoundOp, args: Sequence[Array]) -> bool:
    """Whether an update with these operands concerns the rows of its gradient only."""
    op = bound_op.op
    if not op.storage.lazy or not bound_op.params.get("lazy_update", True) or not isinstance(args[1], Array):
        return False
    return args[1].stype == "row_sparse" and (op.storage.lazy != "sparse" or args[0].stype == "row_sparse")


def update_rows(bound_op: BoundOp, args: Sequence[Array]) -> None:
    """Apply an update operator in place to the rows that its gradient stores: only these are read and written.

    Parameters
    ----------
    bound_op
        The operator: its operands are weight, gradient and states, its results the new weight and states.
    args
        The operands, then the scalars. The weight is dense or row-sparse, the gradient row-sparse.

    Raises
    ------
    ShapeError
        If the gradient has another shape than the weight, or its parts do not fit together.
    IndexingError
        If a row-sparse weight does not store a row of the gradient, or a row number is none.
    """
    grad = args[1]
    if grad.shape != args[0].shape:
        given = f"{grad.shape} for {args[0].shape}"
        raise ShapeError(f"{bound_op.op.spoken}: the gradient does not fit the weight", given, "pass one of its shape")
    _, numbers = grad._content.hosts()  # raises for parts that do not fit together
    if not numbers.size:
        return
    count = len(bound_op.op.inputs)
    values, stored = grad._content.sparse.parts
    if grad._content.repeats:
        values, stored = CELLS.structure(sparse.sorted_rows, values, stored)
        numbers = host_of(stored)
    # padded with copies of the last row, whose results are equal, so that gradients with different numbers of rows share programs
    numbers = sparse.padded(numbers)
    targets = [_stored_rows(a, numbers, is_state=k > 0) for k, a in enumerate((args[0], *args[2:count]))]
    operands = values, *[array for array, _ in targets]
    ready = [m for m in map(ready_memory, operands) if m is not None]
    if LISTENERS or len(ready) < len(operands):
        [padded] = CELLS.padded(values)
        weight, *states = [CELLS.take(array, adopted(CLASSES["default"], places, array.context), axis=0) for array, places in targets]
    else:  # only the update itself is an operation of arrays: as two more, gathering and writing back its rows take as long again
        padded, weight, *states = [adopted(CLASSES["default"], m) for m in _gathered(ready, [places for _, places in targets])]
    results = invoke(bound_op, [weight, padded, *states, *args[count:]])
    for place, new in zip((0, *bound_op.written), results, strict=True):
        _write_rows(*targets[max(place - 1, 0)], new)


def _gathered(memory: Sequence[np.ndarray], places: Sequence[np.ndarray]) -> list[np.ndarray]:
    """The first array padded, and of each other one the rows at its places."""
    values, *arrays = memory
    try:
        return [sparse.padded(values), *[a.take(at, axis=0) for a, at in zip(arrays, places, strict=True)]]
    except MemoryError as error:
        raise HOST.failure(error) from error


def update_stored(bound_op: BoundOp, args: Sequence[Any]) -> None:
    """Apply an update operator in place, where the weight or its gradient may be sparse."""
    if updates_rows(bound_op, args):
        update_rows(bound_op, args)
        return
    count = len(bound_op.op.inputs)
    results = invoke(bound_op, [*map(dense_array, args[:count]), *args[count:]])
    for place, new in zip((0, *bound_op.written), results, strict=True):
        store_array(bound_op.op.title, args[place], wrap(CLASSES["default"], new))


def _write_rows(array: Array, places: np.ndarray, rows: Content) -> None:
    """``array[places] = rows`` for existing places, which are not looked at."""
    root, chain = (array._base, array._chain) if is_view(array) else (array, ())
    if array.context is not CPU or not change_inline(root, chain, partial(sparse.put_rows, places=places, rows=data_of(rows))):
        rows_of = primitive_gather.index.bind(key=(0, *[None] * (len(array.shape) - 1)))
        write(root, chain, (rows_of, adopted(CLASSES["default"], places, array.context)), wrap(CLASSES["default"], rows))


def _stored_rows(array: Array, numbers: np.ndarray, *, is_state: bool) -> tuple[Array, np.ndarray]:
    """The dense array that holds an array's rows, and the places of some row numbers in it.

    A state stores every row from now on if one of these is missing: those that MXNet saved hold the rows updated so far.

    Raises
    ------
    IndexingError
        If a row of the weight is not stored.
    """
    if array.stype == "default":
        return array, numbers
    _, places = sparse.places(host_of(array._content.sparse.indices), numbers)
    if (places < 0).any():
        if is_state:
            every = adopted(CLASSES["default"], np.arange(array.shape[0]), array.context)
            array._rebind(sparse_array(Sparse("row_sparse", array.shape, dense_array(array), every), checked=True)._content)
            return array._content.sparse.values, numbers
        raise IndexingError("lazy update: a row of the weight is not stored", f"shape {array.shape}", "store every row of the gradient")
    return array._content.sparse.values, places
