"""A NumPy backend that tracks every live array it allocates: the true peak memory of a run."""

import math
from collections.abc import Callable, Sequence
from functools import partial
from weakref import finalize

import numpy as np

from twofold.backend.kernel import Array, ArrayType, Call, OperandType, Params
from twofold.backend.ledger import Ledger
from twofold.device import Device
from twofold.dtype import NUMPY
from twofold_numpy.adapter import NumpyBackend


class _Buffer(bytearray):
    """The memory of one array, freed with the last array that views it."""

    __slots__ = ("__weakref__",)


class AccountingBackend(NumpyBackend):
    """The NumPy backend with a `Ledger` of its live arrays."""

    name = "numpy, counting"

    def __init__(self) -> None:
        super().__init__()
        self.ledger = Ledger()

    def empty(self, shape: tuple[int, ...], dtype: str) -> np.ndarray:
        """A new array whose bytes are counted until it dies."""
        nbytes = math.prod(shape) * NUMPY[dtype].itemsize
        buffer = _Buffer(max(nbytes, 1))
        self.ledger.add(nbytes)
        finalize(buffer, self.ledger.free, nbytes)
        return np.ndarray(shape, NUMPY[dtype], buffer)

    def allocator(self, shape: tuple[int, ...], dtype: str) -> Callable[[], np.ndarray]:
        """`empty` with its arguments already bound."""
        return partial(self.empty, shape, dtype)

    def _counted(self, array: Array) -> np.ndarray:
        source = np.asarray(array)
        out = self.empty(source.shape, self.type_of(source).dtype)
        out[...] = source
        return out

    def from_host(self, array: np.ndarray, device: Device) -> np.ndarray:
        """A counted copy."""
        return self._counted(array)

    def copy(self, array: np.ndarray, device: Device) -> np.ndarray:
        """A counted copy."""
        return self._counted(array)

    def call(self, op: str, params: Params, inputs: Sequence[OperandType], *outputs: ArrayType) -> Call:
        """NumPy's call, writing into counted memory; results that NumPy allocates itself are copied."""
        call = super().call(op, params, inputs, *outputs)
        if call.into:
            return call._replace(fresh=None)
        if op in ("reshape", "permute_dims", "broadcast_to", "slice", "unfold"):
            return call
        return Call(f"{{_counted}}({call.text})", {**call.names, "_counted": self._counted})
