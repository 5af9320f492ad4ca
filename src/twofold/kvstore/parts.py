"""`divided`: how a tensor is divided among servers."""

from collections.abc import Sequence
from typing import NamedTuple
from zlib import crc32

import numpy as np

from ..errors import ShapeError
from .base import Key
from .messages import dtype_code


class TensorPart(NamedTuple):
    """A part of a tensor: its number, its server, and its rows, from ``start`` to ``stop``. A tensor with few rows is cut by elements."""

    shard: int
    server: int
    start: int
    stop: int


class DividedTensor(NamedTuple):
    """A key as a client knows it: its tensor's type, and the parts on servers."""

    key: int
    name: Key
    shape: tuple[int, ...]
    dtype: np.dtype
    code: int
    is_row_sparse: bool
    #: Elements of a row; 1 if the tensor is divided by elements.
    width: int
    parts: tuple[TensorPart, ...]

    def places(self, part: TensorPart, ids: np.ndarray) -> tuple[int, int]:
        """The begin and end of a part's rows among ascending row numbers."""
        if len(self.parts) == 1:  # all of them, also numbers that do not exist: the server refuses these
            return 0, ids.size
        first, last = np.searchsorted(ids, (part.start, part.stop)).tolist()
        return first, last


def divided(number: int, name: Key, value: np.ndarray, is_row_sparse: bool, servers: Sequence[int], bound: int) -> DividedTensor:
    """Divide a large tensor among all servers, by rows or by elements. A smaller tensor is on a single server.

    Parameters
    ----------
    number
        The number of the key.
    name
        The key.
    value
        The tensor, or one of its shape and data type.
    is_row_sparse
        Whether its rows must stay whole.
    servers
        The servers. Every worker passes the same ones.
    bound
        Number of elements from which a tensor is divided.

    Raises
    ------
    ShapeError
        If the tensor has no elements or no axes.

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
        parts = (TensorPart(0, servers[crc32(str(name).encode()) % count], 0, length),)
    else:
        ends = [length * k // count for k in range(count + 1)]
        parts = tuple([TensorPart(k, servers[k], ends[k], ends[k + 1]) for k in range(count)])
    return DividedTensor(number, name, value.shape, value.dtype, dtype_code(value.dtype), is_row_sparse, width, parts)
