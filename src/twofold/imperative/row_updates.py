"""Updates in place of the rows that a row-sparse gradient stores."""

from collections.abc import Sequence
from functools import partial
from typing import Any, cast

import numpy as np

from ..backend import sparse
from ..errors import IndexingError
from ..opdef import BoundOp, Sparse
from ..ops import primitive_gather
from ..scheduler.observers import LISTENERS
from .array import Array, adopted
from .cell import Cell, is_view, wrap
from .invoke import data_of, host_of, invoke
from .storage import CELLS, CLASSES, dense_array, ready_memory, sparse_array, store_array
from .write import Chain, change_inline, write

#: The places of rows, with their numbers as the operand that follows.
ROWS = primitive_gather.index.bind(key=(0,))


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
    """
    grad = args[1]
    _, found = grad._content.hosts()  # raises for parts that do not fit together
    if not found.size:
        return
    count = len(bound_op.op.inputs)
    parts = grad._content.sparse.parts
    if grad._content.repeats:
        parts = CELLS.structure(sparse.sorted_rows, *parts)
    # padded with copies of the last row, whose results are equal, so that gradients with different numbers of rows share programs
    memory = [ready_memory(a) for a in (args[0], *parts, *args[2:count])]
    if all(m is not None for m in memory) and not LISTENERS:
        _update_memory(bound_op, args, cast("list[np.ndarray]", memory))
        return
    values, numbers = CELLS.padded(*parts)
    places = [None if k == 1 else _stored_rows(a, numbers, is_state=k > 1) for k, a in enumerate(args[:count])]
    rows = [values if at is None else CELLS.take(*at, axis=0) for at in places]
    results = invoke(bound_op, [*rows, *args[count:]])
    for place, new in zip((0, *bound_op.written), results, strict=True):
        array, chosen = cast("tuple[Array, Array]", places[place])
        _write_rows(array, chosen, wrap(CLASSES["default"], new))


def _update_memory(bound_op: BoundOp, args: Sequence[Array], memory: Sequence[np.ndarray]) -> None:
    """`update_rows`, given NumPy's arrays of the weight, the gradient's values and row numbers, and the states.

    Only the update itself is an operation of arrays: as two more, gathering and writing back its rows take as long again.
    """
    weight, values, numbers, *states = memory
    places = sparse.padded(numbers)
    rows = [weight.take(places, axis=0), sparse.padded(values), *[state.take(places, axis=0) for state in states]]
    results = invoke(bound_op, [*[adopted(CLASSES["default"], r) for r in rows], *args[len(rows) :]])
    for place, new in zip((0, *bound_op.written), results, strict=True):
        change = partial(sparse.put_rows, places=places, rows=data_of(new))
        if not change_inline(*_root_and_chain(args[place]), change):
            _write_rows(args[place], adopted(CLASSES["default"], places), wrap(CLASSES["default"], new))


def update_stored(bound_op: BoundOp, args: Sequence[Any]) -> None:
    """Apply an update operator in place, where the weight or its gradient may be sparse."""
    if updates_rows(bound_op, args):
        update_rows(bound_op, args)
        return
    count = len(bound_op.op.inputs)
    results = invoke(bound_op, [*map(dense_array, args[:count]), *args[count:]])
    for place, new in zip((0, *bound_op.written), results, strict=True):
        store_array(bound_op.op.title, args[place], wrap(CLASSES["default"], new))


def _write_rows(array: Array, numbers: Array, rows: Array) -> None:
    """``array[numbers] = rows`` for numbers of existing rows, which are not looked at."""
    write(*_root_and_chain(array), (ROWS, numbers), rows)


def _root_and_chain(array: Array) -> tuple[Cell, Chain]:
    return (array._base, array._chain) if is_view(array) else (array, ())


def _stored_rows(array: Array, numbers: Array, *, is_state: bool) -> tuple[Array, Array]:
    """The dense array that holds an array's rows, and the places of some row numbers in it.

    A state stores every row from now on if one of these is missing: those that MXNet saved hold the rows updated so far.

    Raises
    ------
    IndexingError
        If a row of the weight is not stored.
    """
    if array.stype == "default":
        return array, numbers
    _, places = CELLS.places(array._content.sparse.indices, numbers)
    if (host_of(places) < 0).any():
        if is_state:
            every = adopted(CLASSES["default"], np.arange(array.shape[0]), array.context)
            array._rebind(sparse_array(Sparse("row_sparse", array.shape, dense_array(array), every), checked=True)._content)
            return array._content.sparse.values, numbers
        raise IndexingError("lazy update: a row of the weight is not stored", f"shape {array.shape}", "store every row of the gradient")
    return array._content.sparse.values, places
