"""Read-only views of the memory of an array with arbitrary steps, with gradients: what `as_strided` and diagonals show."""

from collections.abc import Callable, Sequence

import numpy as np

from ..imperative.array import adopted
from ..imperative.cell import is_view
from ..ndarray.types import ArrayLike
from ..ops import primitive_shape
from .array import ndarray
from .creation import broadcast_view, operand, read_only


def strided(owner: ndarray, first: int, sizes: Sequence[int], jumps: Sequence[int]) -> ndarray:
    """A read-only view of the elements that a grid selects in the memory of an array that is no view, from one of them on."""
    if 0 in sizes:
        return read_only(adopted(ndarray, np.empty(sizes, owner.dtype), owner.context))
    reach = [(n - 1) * abs(jump) for n, jump in zip(sizes, jumps, strict=True)]
    start = first + sum([(n - 1) * min(jump, 0) for n, jump in zip(sizes, jumps, strict=True)])
    rest = sum(reach)
    view = owner.reshape(-1)[start : start + rest + 1]
    # the largest steps first, so that windows overlap as little as the grid does: each axis has windows that hold all axes after it
    order = sorted([k for k, r in enumerate(reach) if r], key=lambda k: -reach[k])
    for k in order:
        rest -= reach[k]
        view = view._view(primitive_shape.unfold.bind(kernel=(rest + 1,), stride=(abs(jumps[k]),), dilate=(1,)))
    view = view[tuple([slice(None, None, 1 if jumps[k] > 0 else -1) for k in order])]
    view = view.transpose([*[order.index(k) for k in sorted(order)], len(order)])
    return broadcast_view(view.reshape([n if r else 1 for n, r in zip(sizes, reach, strict=True)]), tuple(sizes))


def view_as(function: Callable[..., np.ndarray]) -> Callable[..., ndarray]:
    """A NumPy function that returns a view of its first argument, wrapped for our arrays, with gradients; the view is read-only."""

    def call(a: ArrayLike, *args: object, **options: object) -> ndarray:
        x = operand(a)
        owner, layout = (x._base.as_np_ndarray(), x._strided) if is_view(x) else (x, None)
        # NumPy says where the elements are: in memory with a byte for each, which is neither read nor written
        memory = np.empty(owner.size, np.int8)
        if layout is None:
            place = memory.reshape(x.shape)
        else:
            place = np.lib.stride_tricks.as_strided(memory[layout.offset :], layout.shape, layout.strides)
        seen = function(place, *args, **options)
        return strided(owner, seen.ctypes.data - memory.ctypes.data, seen.shape, seen.strides)

    return call
