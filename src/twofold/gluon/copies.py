"""The arrays of a parameter, one copy per device, and their gradients."""

import os
from collections.abc import Sequence
from threading import RLock
from typing import Any

from .. import ndarray as nd
from ..device import CPU, Device, current_device, devices_of, interned
from ..errors import DeviceError, MXNetError
from ..imperative.cell import Value
from ..imperative.scope import Scope
from ..imperative.views import owner_of
from ..ndarray.array import NDArray
from ..ndarray.sparse_array import retained, with_every_row
from ..ndarray.types import DTypeLike


class INITIALIZING:
    """``lock`` is held while a parameter is initialized: of threads that run a new network at once, one does it.

    A fork does not wait for it, since an initializer may run anything. A child has a new one: there the parameter is not initialized yet.
    """

    lock = RLock()

    @classmethod
    def renew(cls) -> None:
        """In a child: the thread that holds the lock may not exist there."""
        cls.lock = RLock()


os.register_at_fork(after_in_child=INITIALIZING.renew)


class RENEWALS:
    """``count`` rises whenever a parameter's arrays or gradients are replaced. Caches of these compare it to detect stale entries.

    One count for all parameters: a cache of a thousand arrays is checked by one comparison per call, and replacing is rare.
    """

    count = 0


class Copies:
    """Copies of an array on several devices.

    Parameters
    ----------
    data
        The array.
    contexts
        The devices.
    stype, grad_stype
        The storage types of the copies and of their gradients. Row-sparse copies store every row.
    grad_req
        What `attach` is called with; None to leave that to the caller.

    Attributes
    ----------
    arrays, grads
        One array per device, and their gradients; None without gradients.
    is_numpy
        Whether users see arrays of ``mx.np``: these own the memory, and the copies and gradients are views of them.
    places
        Device to the index of its copy; None means the only copy.
    dense_places
        The same if the copies are dense; empty if not.
    """

    def __init__(
        self,
        data: NDArray,
        contexts: Sequence[Device],
        stype: str = "default",
        grad_stype: str = "default",
        is_numpy: bool = False,
        grad_req: str | None = None,
    ) -> None:
        RENEWALS.count += 1
        self.is_numpy = is_numpy
        self.contexts = list(contexts)
        self.stype, self.grad_stype = stype, grad_stype
        data = data.tostype("default") if data.stype != "default" else data
        # Copies even on the same device: the caller's array must not change with the weight.
        self.arrays: list[NDArray] = [
            self._owned(data.copyto(c)) if stype == "default" else with_every_row(data.copyto(c)) for c in self.contexts
        ]
        self.grads: list[NDArray] | None = None
        self._grad_req = "null"
        self.places: dict[Device | None, int] = {c: k for k, c in enumerate(self.contexts)}
        # with one copy, None is not ambiguous
        if len(self.arrays) == 1:
            self.places[None] = 0
        self.dense_places = self.places if stype == "default" else {}
        if grad_req is not None:
            self.attach(grad_req)

    @classmethod
    def lent(cls, array: NDArray) -> "Copies":
        """An array in place of copies, without a copy of it (see `twofold.func.functional_call`)."""
        RENEWALS.count += 1
        found = cls.__new__(cls)
        found.contexts, found.arrays, found.grads = [array.context], [array], None
        found.stype, found.grad_stype, found.is_numpy = "default", "default", False
        found.places = found.dense_places = {array.context: 0, None: 0}
        return found

    def __setstate__(self, state: dict[str, Any]) -> None:
        # copied and unpickled arrays are no variables, and own their memory
        vars(self).update(state)
        self.arrays = [self._owned(a) for a in self.arrays]
        if self.grads is not None:
            self.grads = [self._owned(g) for g in self.grads]
            self.attach(state.get("_grad_req", "write"))  # older pickles have none

    def _owned(self, array: NDArray) -> NDArray:
        """A new array, as a view of one of ``mx.np`` if users see such."""
        return array._into_numpy().as_nd_ndarray() if self.is_numpy and array.stype == "default" else array

    def attach(self, grad_req: str) -> None:
        """Allocate gradients and mark the arrays as variables, or undo both if ``grad_req`` is ``"null"``."""
        RENEWALS.count += 1
        self._grad_req = grad_req
        if grad_req == "null":
            self.grads = None
            for array in self.arrays:
                _detach_gradient(array)
            return
        if self.grads is None:
            self.grads = [self._owned(nd.zeros(a.shape, ctx=a.context, dtype=a._dtype, stype=self.grad_stype)) for a in self.arrays]
        for array, grad in zip(self.arrays, self.grads, strict=True):
            owner_of(array)._attach(owner_of(grad), grad_req)

    def rows_on(self, ctx: Device, numbers: NDArray, name: str) -> NDArray:
        """Rows of a device's row-sparse copy; ``name`` is the parameter's, for messages."""
        array: Any = self.arrays[self.place(ctx, name)]
        return retained(array, numbers.as_in_context(array.context))

    def zero_gradients(self) -> None:
        """Set the gradients to 0; row-sparse gradients then store no rows."""
        for grad in self.grads or ():
            if self.grad_stype == "default":
                grad[...] = 0
            else:
                # the array object stays and gets another content: the trainer and the user hold it
                grad._rebind(nd.zeros(grad.shape, ctx=grad.context, dtype=grad._dtype, stype=self.grad_stype)._content)

    def dense_place(self, ctx: Device | None, name: str) -> int:
        """`place`, of dense copies.

        Raises
        ------
        MXNetError
            If they are row-sparse.
        """
        if self.stype != "default":
            what = f"Cannot return a copy of Parameter '{name}' on ctx {ctx} via data() because its storage type is {self.stype}"
            raise MXNetError(what, None, "Please use row_sparse_data() instead")
        return self.place(ctx, name)

    def place(self, ctx: Device | None, name: str) -> int:
        """The index of a device's copy; for None that of the only copy, or of the current device.

        Raises
        ------
        DeviceError
            If there is no copy on that device. ``name`` is the parameter's, for the message.
        """
        if ctx is None and None not in self.places:
            ctx = current_device()
        place = self.places.get(ctx)
        if place is None and ctx is not None:  # pinned and shared host memory count as the CPU
            place = self.places.get(interned("cpu" if ctx.is_host else "gpu", ctx.device_id))
        if place is None:
            raise DeviceError(
                f"Parameter '{name}' was not initialized on context {ctx}, but only on {self.contexts}",
                None,
                "copy the inputs with as_in_context, or move the parameters with reset_ctx",
            )
        return place

    def mean(self) -> NDArray:
        """The mean over devices, on the CPU, unrecorded."""
        with Scope(False, None):
            first, *others = [a.copyto(CPU) for a in self.arrays]
            for array in others:
                first = first + array
            return first / len(self.arrays) if others else first

    def cast(self, dtype: DTypeLike) -> None:
        """Cast the arrays and gradients. The caller must attach the gradients again."""
        RENEWALS.count += 1
        self.arrays = [self._owned(a.astype(dtype)) for a in self.arrays]
        self.grads = None if self.grads is None else [self._owned(g.astype(dtype)) for g in self.grads]


def rows_of(data: object, like: NDArray) -> NDArray:
    """An array's elements as a row-sparse array that stores every row, with the device and dtype of another one."""
    return with_every_row(nd.array(data, like.context, like._dtype).tostype("default"))


def context_list(ctx: Device | Sequence[Device] | None) -> list[Device]:
    """The given device or devices as a list; the current device for None."""
    if ctx is None:
        return [current_device()]
    return devices_of(ctx, "ctx")


def _detach_gradient(array: NDArray) -> None:
    """Undo ``attach_grad``: neither the array nor its content is a variable any more."""
    array = owner_of(array)
    array._gradient = None
    if array._is_sparse:
        array = array._content.sparse.values
        array._gradient = None
    # The tape marks the content, not the array object, so that content shared with views is recorded alike.
    v = array._content
    if v.__class__ is Value and v.entry is not None and v.entry.grad is not None:
        v.entry = None
