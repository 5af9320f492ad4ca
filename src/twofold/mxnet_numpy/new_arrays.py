"""Functions that create arrays from parameters: float32 unless a dtype is given."""

import math
from abc import abstractmethod
from typing import Any

import numpy as np

from ..calls.row_functions import only_c
from ..dtype import DTypeLike as GivenDType
from ..errors import NotSupported, ZeroStep
from ..ndarray.types import DeviceLike, DTypeLike
from ..opdef.numpy_rows import sizes
from ..ops import creation as shared
from ..ops import mxnet_numpy_creation as ops
from .front import Array, without_none
from .row_functions import Functions


def _dtype(dtype: DTypeLike) -> DTypeLike:
    return "float32" if dtype is None else dtype


class Creation(Functions[Array]):
    """Functions that create arrays."""

    def full(
        self, shape: Any, fill_value: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None, device: Any = None
    ) -> Array:
        """One value in a shape; an array is broadcast to it. The dtype of a bool is bool, of other numbers float32."""
        only_c("full", order)
        if isinstance(fill_value, np.ndarray) and not fill_value.ndim and not self.is_array(fill_value):
            fill_value = fill_value.item()
        if self.number(fill_value) is None:
            found = self.broadcast_to(self.operand(fill_value), shape)
            return found if dtype is None else self._cast(found, dtype)
        kind = "bool" if dtype is None and isinstance(fill_value, (bool, np.bool_)) else _dtype(dtype)
        return self.created(shared.full_value, ctx or device, out, shape=sizes(shape), value=fill_value, dtype=kind)

    @abstractmethod
    def _cast(self, x: Array, dtype: GivenDType) -> Array:
        """The elements in a dtype."""

    def zeros_like(self, a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None, device: Any = None) -> Any:
        """Zeros with an array's shape, and its dtype unless another is given."""
        return self.full_like(a, 0, dtype, order, ctx, out, device)

    def ones_like(self, a: Any, dtype: Any = None, order: str = "C", ctx: Any = None, out: Any = None, device: Any = None) -> Any:
        """Ones with an array's shape, and its dtype unless another is given."""
        return self.full_like(a, 1, dtype, order, ctx, out, device)

    def empty_like(self, prototype: Any, dtype: Any = None, order: str = "C", subok: bool = False, shape: Any = None) -> Any:
        """Zeros with an array's shape and dtype, unless others are given. ``subok`` has no effect."""
        only_c("empty_like", order)
        if shape is not None:
            return self.zeros(shape, dtype)
        return self.full_like(prototype, 0, dtype)

    def arange(
        self, start: float, stop: float | None = None, step: float | None = 1, dtype: Any = None, ctx: Any = None, device: Any = None
    ) -> Array:
        """``start, start + step, …`` below ``stop``; a single number is the end."""
        first, last = (0, start) if stop is None else (start, stop)
        step = 1 if step is None else step
        if step == 0:
            raise ZeroStep("arange: the step is 0", f"step={step}", "pass another step")
        return self.created(ops.npi_arange, ctx or device, start=first, stop=last, step=step, dtype=_dtype(dtype))

    def linspace(
        self,
        start: float,
        stop: float,
        num: int = 50,
        endpoint: bool = True,
        retstep: bool = False,
        dtype: DTypeLike = None,
        axis: int = 0,
        ctx: DeviceLike = None,
        device: DeviceLike = None,
    ) -> Array | tuple[Array, float]:
        """``num`` evenly spaced values from ``start`` to ``stop``; with ``retstep`` the distance too."""
        if axis != 0 or self.number(start) is None or self.number(stop) is None:
            raise NotSupported("linspace: start and stop must be numbers, and axis 0", f"axis={axis}", "pass numbers")
        params = {"start": start, "stop": stop, "num": num, "endpoint": endpoint, **without_none(dtype=dtype)}
        found = self.created(shared.linspace, ctx or device, **params)
        parts = num - 1 if endpoint else num
        return (found, (stop - start) / parts if parts else math.nan) if retstep else found

    def logspace(
        self,
        start: float,
        stop: float,
        num: int = 50,
        endpoint: bool = True,
        base: float = 10.0,
        dtype: DTypeLike = None,
        axis: int = 0,
        ctx: DeviceLike = None,
        device: DeviceLike = None,
    ) -> Array:
        """``num`` powers of a base, whose exponents are evenly spaced from ``start`` to ``stop``."""
        if axis != 0:
            raise NotSupported("logspace: axis must be 0", f"axis={axis}", "leave axis out")
        params = {"start": start, "stop": stop, "num": num, "endpoint": endpoint, "base": base, **without_none(dtype=dtype)}
        return self.created(ops.npi_logspace, ctx or device, **params)

    def identity(self, n: int, dtype: DTypeLike = None, ctx: DeviceLike = None, device: DeviceLike = None) -> Array:
        """The identity matrix (n, n)."""
        return self.created(ops.npi_identity, ctx or device, shape=(n, n), dtype=_dtype(dtype))
