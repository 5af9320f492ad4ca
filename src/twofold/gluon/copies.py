"""The arrays of a parameter, a copy on each of its devices, with their gradients."""

from collections.abc import Sequence

from .. import ndarray as nd
from ..device import CPU, Device, current_device
from ..errors import DeviceError
from ..imperative.cell import Value
from ..ndarray.array import NDArray

__all__ = ["RENEWALS", "Copies", "context_list"]


class RENEWALS:
    """How often arrays of some parameter were made anew, in ``count``: who remembers arrays of parameters compares it."""

    count = 0


class Copies:
    """Copies of an array on several devices.

    Parameters
    ----------
    data
        The array.
    contexts
        The devices.

    Attributes
    ----------
    arrays, grads
        One array for each device, and its gradient; None without gradients.
    places
        Device to the number of its copy.
    """

    def __init__(self, data: NDArray, contexts: Sequence[Device]) -> None:
        RENEWALS.count += 1
        self.contexts = list(contexts)
        self.arrays = [data.copyto(c) for c in self.contexts]
        self.grads: list[NDArray] | None = None
        self.places = {c: k for k, c in enumerate(self.contexts)}

    def attach(self, grad_req: str) -> None:
        """Want gradients in one way or another, or (``"null"``) none."""
        if grad_req == "null":
            self.grads = None
            for array in self.arrays:
                _detach_gradient(array)
            return
        if self.grads is None:
            self.grads = [nd.zeros(a.shape, ctx=a.context, dtype=a._dtype) for a in self.arrays]
        for array, grad in zip(self.arrays, self.grads, strict=True):
            array._attach(grad, grad_req)

    def place(self, ctx: Device | None, name: str) -> int:
        """The number of a device's copy; if it is None that of the only one, or of the current device.

        Raises
        ------
        DeviceError
            If there is none on that device; ``name`` is the parameter's.
        """
        if ctx is None:
            if len(self.arrays) == 1:
                return 0
            ctx = current_device()
        place = self.places.get(ctx)
        if place is None:
            place = self.places.get(Device("cpu" if ctx.is_host else "gpu", ctx.device_id))
        if place is None:
            raise DeviceError(
                f"Parameter '{name}' was not initialized on context {ctx}", f"it was only initialized on {self.contexts}", "use reset_ctx"
            )
        return place

    def mean(self) -> NDArray:
        """The mean over devices, on the CPU."""
        first, *others = [a.copyto(CPU) for a in self.arrays]
        for array in others:
            first = first + array
        return first / len(self.arrays) if others else first

    def cast(self, dtype: object) -> None:
        """Cast the arrays and gradients; gradients are to be attached again."""
        RENEWALS.count += 1
        self.arrays = [a.astype(dtype) for a in self.arrays]
        self.grads = None if self.grads is None else [g.astype(dtype) for g in self.grads]


def context_list(ctx: Device | Sequence[Device] | None) -> list[Device]:
    """Devices as a list: one, several, or the current one for None."""
    if ctx is None:
        return [current_device()]
    return [ctx] if isinstance(ctx, Device) else list(ctx)


def _detach_gradient(array: NDArray) -> None:
    """The array wants no gradient any more: neither it nor its content is a variable."""
    array._g = None
    v = array._v
    if v.__class__ is Value and v.rec is not None and v.rec.grad is not None:
        v.rec = None
