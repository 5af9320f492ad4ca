"""``gluon.utils``: splitting batches over devices, clipping gradients by their global norm, and files named by URLs."""

from collections.abc import Sequence
from itertools import pairwise
from typing import Any, TypeVar

import numpy as np

from .. import ndarray as nd
from ..device import Device, devices_of
from ..errors import DTypeError, InvalidValue, ParameterError
from ..formats.downloads import check_sha1, download
from ..formats.replacing import replace_file
from ..imperative.array import Array
from ..ndarray.array import NDArray
from ..origin import warn
from .hooks import HookHandle
from .numpy_arrays import as_active_class, through_legacy

__all__ = [
    "HookHandle",
    "check_sha1",
    "clip_global_norm",
    "download",
    "replace_file",
    "shape_is_known",
    "split_and_load",
    "split_data",
]

Data = TypeVar("Data", bound=Array | np.ndarray)


def split_data(data: Data, num_slice: int, batch_axis: int = 0, even_split: bool = True) -> list[Data]:
    """Split a batch into slices along an axis.

    Parameters
    ----------
    data
        An array of this library or of NumPy.
    num_slice
        The number of slices.
    batch_axis
        The axis.
    even_split
        Whether all slices must have the same size; otherwise the first ones may be larger by one.

    Returns
    -------
    list
        The slices.

    Raises
    ------
    ParameterError
        If an even split is required and not possible.

    Examples
    --------
    >>> import twofold as mx
    >>> [part.shape for part in mx.gluon.utils.split_data(mx.nd.ones((7, 2)), 3, even_split=False)]
    [(3, 2), (2, 2), (2, 2)]
    """
    size = data.shape[batch_axis]
    if even_split and size % num_slice:
        raise ParameterError(
            f"data with shape {data.shape} cannot be evenly split into {num_slice} slices along axis {batch_axis}",
            None,
            f"use a batch size that's multiple of {num_slice} or set even_split=False to allow uneven partitioning of data",
        )
    if num_slice == 1:
        return [data]
    width, remainder = divmod(size, num_slice)
    ends = [width * k + min(k, remainder) for k in range(num_slice + 1)]
    return [_slice(data, batch_axis, begin, end) for begin, end in pairwise(ends)]


def _slice(data: Any, axis: int, begin: int, end: int) -> Any:
    return data[begin:end] if axis == 0 else data[(slice(None),) * axis + (slice(begin, end),)]


def split_and_load(data: object, ctx_list: Device | Sequence[Device], batch_axis: int = 0, even_split: bool = True) -> list[Array]:
    """Split a batch into slices, one on each device.

    Parameters
    ----------
    data
        An array, or anything that `twofold.nd.array` accepts.
    ctx_list
        The devices, or one.
    batch_axis, even_split
        See `split_data`.
    """
    devices = devices_of(ctx_list, "ctx_list")
    array = data if isinstance(data, Array) else as_active_class(nd.array(data, ctx=devices[0]))
    if len(devices) == 1:
        return [array.as_in_context(devices[0])]
    parts = split_data(array, len(devices), batch_axis, even_split)
    return [part.as_in_context(ctx) for part, ctx in zip(parts, devices, strict=True)]


@through_legacy
def clip_global_norm(arrays: Sequence[NDArray], max_norm: float, check_isfinite: bool = True) -> np.floating | NDArray:
    """Scale arrays in place so that their joint 2-norm is at most ``max_norm``.

    Parameters
    ----------
    arrays
        The arrays, such as gradients, on any devices.
    max_norm
        The bound.
    check_isfinite
        Whether to warn if the norm is not finite. If false, the call does not wait for the computation.

    Returns
    -------
    np.float32 or NDArray
        The norm before scaling, np.float64 for arrays of that dtype; an array of shape (1,) if ``check_isfinite`` is false.

    Notes
    -----
    Pascanu, Mikolov and Bengio, On the difficulty of training recurrent neural networks, ICML 2013, algorithm 1. As in MXNet,
    1e-8 is added to the norm.

    Examples
    --------
    >>> import twofold as mx
    >>> gradients = [mx.nd.array([3]), mx.nd.array([4])]
    >>> mx.gluon.utils.clip_global_norm(gradients, max_norm=1).item()
    5.0
    >>> [round(gradient.asscalar().item(), 3) for gradient in gradients]
    [0.6, 0.8]
    """
    if isinstance(arrays, Array) or not all(isinstance(array, Array) for array in arrays):
        todo = "pass [x], or the gradients of all parameters: [p.grad() for p in params.values() if p.grad_req != 'null']"
        raise DTypeError("clip_global_norm: not a list of arrays", type(arrays).__name__, todo)
    if not arrays:
        raise InvalidValue("clip_global_norm: there are no arrays", None, "pass at least one")
    device = arrays[0].context
    sums = [part.as_in_context(device) for part in _squares(arrays)]
    # in double precision if any array is
    exact = "float64" if any(part._dtype == "float64" for part in sums) else "float32"
    norm = nd.add_n(*[part.astype(exact, copy=False) for part in sums]).sqrt()
    if not check_isfinite:
        # The scale stays an array: reading it would wait for the backward pass.
        scale = nd.minimum(max_norm / (norm + 1e-8), 1.0)
        scales = {(d, device): scale.astype(d).as_in_context(device) for d, device in {(a._dtype, a.context) for a in arrays}}
        for array in arrays:
            array *= scales[array._dtype, array.context]
        return norm
    value = norm.asscalar()
    if not np.isfinite(value):
        warn("nan or inf is detected. Clipping results will be undefined.")
    scale = max_norm / (float(value) + 1e-8)
    # NaN too, as without the check: what has no norm cannot be clipped, and all weights tell so after the next step
    if not scale >= 1.0:
        for array in arrays:
            array *= scale
    return value


def _squares(arrays: Sequence[NDArray]) -> list[NDArray]:
    """Sums of squares, of shape (1,): one for the dense arrays of each device, which one program reads once, and for each other array."""
    dense: dict[Device, list[NDArray]] = {}
    found = []
    for array in arrays:
        if array._is_sparse or array._dtype == "float64":
            found.append((array * array).sum())
        else:
            dense.setdefault(array.context, []).append(array)
    return [*found, *[nd.multi_sum_sq(*group).sum() for group in dense.values()]]


def shape_is_known(shape: Sequence[int] | None) -> bool:
    """Whether all sizes of a shape are known, that is, positive.

    Parameters
    ----------
    shape
        The sizes, 0 or -1 for unknown ones; or None.
    """
    return shape is not None and len(shape) > 0 and all(n > 0 for n in np.atleast_1d(shape))
