"""`divided`: which server has which part of a tensor."""

from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np

from ..errors import ShapeError
from .base import Key
from .messages import dtype_code

__all__ = ["Part", "Tensor", "divided"]


class Part(NamedTuple):
    """A part of a tensor: its number, its server, and the rows, or elements of a tensor with few rows, that it has."""

    shard: int
    server: int
    start: int
    stop: int


class Tensor(NamedTuple):
    """What a client knows of a key."""

    key: int
    name: Key
    shape: tuple[int, ...]
    dtype: np.dtype
    code: int
    is_row_sparse: bool
    #: Elements of a row, or 1 if the tensor is divided by elements.
    width: int
    parts: tuple[Part, ...]


def divided(number: int, name: Key, value: np.ndarray, is_row_sparse: bool, servers: Sequence[int], bound: int) -> Tensor:
    """Divide a tensor: a large one among all servers, by rows or by elements; a smaller one is on a single server.

    Parameters
    ----------
    number
        Which of the keys it is.
    name
        The key.
    value
        The tensor, or one of its shape and data type.
    is_row_sparse
        Whether its rows must stay whole.
    servers
        The servers; every worker passes the same ones.
    bound
        Number of elements from which it is divided among all.

    Raises
    ------
    ShapeError
        If it has no elements or no axes.

    Examples
    --------
    >>> import numpy as np
    >>> from twofold.kvstore.parts import divided
    >>> [(p.server, p.start, p.stop) for p in divided(0, "w", np.zeros((5, 100)), False, [2, 3], 100).parts]
    [(2, 0, 2), (3, 2, 5)]
    """
    if not value.size or not value.ndim:
        raise ShapeError(f"init of key {name!r}: a key needs elements", f"shape {value.shape}", "pass an array with at least one")
    count = len(servers)
    by_rows = is_row_sparse or value.shape[0] >= count
    width = value.size // value.shape[0] if by_rows else 1
    length = value.size // width
    if value.size < bound or length < count:
        parts = (Part(0, servers[crc32(str(name).encode()) % count], 0, length),)
    else:
        ends = [length * k // count for k in range(count + 1)]
        parts = tuple([Part(k, servers[k], ends[k], ends[k + 1]) for k in range(count)])
    return Tensor(number, name, value.shape, value.dtype, dtype_code(value.dtype), is_row_sparse, width, parts)
