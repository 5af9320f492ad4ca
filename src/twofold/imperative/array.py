"""The base of all array classes, independent of their calling convention: shape, device, conversion, waiting, gradients, pickling."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import repeat
from math import prod
from typing import TYPE_CHECKING, Any, ClassVar, Self, TypeVar

import numpy as np

from ..assembly import inlined
from ..backend.loader import backend_for, gpu_count
from ..device import CPU, Device, interned
from ..dtype import NAME_OF, NUMPY, dtype_name
from ..errors import AutogradError, DTypeError, InvalidValue, NotAnArray, ParameterError, ShapeError, WrongArgument
from ..extension_points import shown_in_notebooks
from ..graph.ir import Application
from ..opdef import Op
from ..ops import primitive_arithmetic, primitive_math, primitive_shape
from ..scheduler.queue import QUEUE
from ..scheduler.streams import run_on
from ..strictness import tolerate
from . import forks  # noqa: F401  (registers its handlers)
from .backward import assign, run_backward
from .cell import PINNED, PLAIN, AnyCell, Cell, Content, Value, content_of, is_view, wrap
from .guards import has_gradient, is_differentiated
from .invoke import Argument, content, data_of, full_content, host_of, invoke, type_of, warn_if_gradient_rounds
from .strided_view import view_shape
from .tape import TapeEntry, check_request, tls
from .trace import Trace, TracedEntry
from .transfer import written_out
from .views import CHANGEABLE, Viewable, changeable, view_of
from .window import flush_all, force
from .write import history_of, mark


class Array(Viewable):
    """The abstract base of `NDArray` and ``np.ndarray``."""

    __slots__ = ()
    #: Whether operators follow MXNet's ``nd`` convention.
    _legacy: ClassVar[bool]
    #: Of arrays of NumPy's kind: the class of those that are not elements.
    _ordinary: ClassVar[Any]
    #: Whether only some of the elements are stored.
    _is_sparse: ClassVar[bool] = False
    #: The class's `Indexer`.
    _indexer: ClassVar[Any]
    #: The class of other arrays like this one.
    _kind = property(type)
    _repr_html_ = shown_in_notebooks("array")

    if TYPE_CHECKING:  # operators and further methods are attached to the array classes from tables

        def __getattr__(self, name: str) -> Any: ...
        def __add__(self, other: object) -> Self: ...

        __radd__ = __iadd__ = __add__
        __sub__ = __rsub__ = __isub__ = __add__
        __mul__ = __rmul__ = __imul__ = __add__
        __truediv__ = __rtruediv__ = __itruediv__ = __add__
        __floordiv__ = __rfloordiv__ = __ifloordiv__ = __add__
        __mod__ = __rmod__ = __imod__ = __add__
        __pow__ = __rpow__ = __ipow__ = __add__
        __matmul__ = __rmatmul__ = __imatmul__ = __add__
        __and__ = __rand__ = __iand__ = __add__
        __or__ = __ror__ = __ior__ = __add__
        __xor__ = __rxor__ = __ixor__ = __add__
        __lshift__ = __rlshift__ = __ilshift__ = __add__
        __rshift__ = __rrshift__ = __irshift__ = __add__
        __lt__ = __le__ = __gt__ = __ge__ = __add__

        def __neg__(self) -> Self: ...

        __abs__ = __invert__ = __pos__ = __neg__

        def _applied(self, *args: object, **options: object) -> Self: ...

        argmax = argmin = argsort = clip = dot = max = mean = min = prod = repeat = round = sum = take = _applied

    def _rebind(self, v: Content) -> None:
        """Bind the result of a write; a variable stays a variable."""
        if self._held is None:  # a view
            self._content = v
            return
        grad = getattr(self, "_gradient", None)
        old = self._held
        if isinstance(tls.tape, Trace):
            tls.tape.wrote(self, old, v)
        if old.__class__ is Value and old is not v:
            b = old.sharing
            if b is PINNED or (b.__class__ is Value and old.pinned):  # a variable's content is an alias of the exported array
                v = written_out(old, v)
        if grad is None:
            # not a variable: operations recorded before an unrecorded write keep their gradient, through a leaf of the new content
            history = history_of(old) if old.__class__ is Value and old.entry is not None else None
            if history is not None and (v.__class__ is not Value or v.entry is None):
                v = v if v.__class__ is Value else Value(v)
                v.entry = history
            self._held = v
            return
        self._held = v
        if v.__class__ is Value and v.entry is not None:
            v.entry.grad = grad  # on this tape the array is an operation's result; on the next tape it is a variable again
        else:
            try:
                mark(self, grad, old)
            except (KeyboardInterrupt, MemoryError):
                mark(self, grad, old)  # the content is new already: without its mark, no backward would reach the array from now on
                raise

    @property
    def shape(self) -> tuple[int, ...]:
        """Sizes of the axes."""
        v = self._held
        if v is None:  # a view: without reading it
            return self._seen.shape if self._of is not None else view_shape(self._base.shape, self._chain)
        data = v.data if v.__class__ is Value else v
        # ready arrays of NumPy answer here, without a frame of `type_of`
        return data.shape if data.__class__ is PLAIN else type_of(v)[0]

    @property
    def ndim(self) -> int:
        """Number of axes."""
        return len(self.shape)

    @property
    def size(self) -> int:
        """Number of elements."""
        n = 1
        for k in self.shape:
            n *= k
        return n

    @property
    def _dtype(self) -> str:
        """Name of the dtype."""
        v = self._held
        if v is None:
            return self._base._dtype
        data = v.data if v.__class__ is Value else v
        return NAME_OF[data.dtype] if data.__class__ is PLAIN else type_of(v)[1]

    @property
    def __numpy_dtype__(self) -> np.dtype[Any]:
        """The dtype as NumPy's protocol of dtypes asks for it: an array can be given where a dtype is expected."""
        return NUMPY[self._dtype]

    @property
    def context(self) -> Device:
        """The device that the array is on."""
        v = self._held
        if v is None:
            v = content_of(self._base)
        return v.device if v.__class__ is Value else CPU

    ctx = device = context

    @inlined
    def asnumpy(self) -> np.ndarray:
        """A copy of the array as a NumPy array. Waits until it is computed."""
        # assigned first: `assembly` writes a fragment of several statements only into an assignment
        found = host_of(self)
        return np.array(found)

    def __array__(self, dtype: Any = None, copy: bool | None = None) -> np.ndarray:
        """NumPy's conversion protocol. Without a copy, the array's memory counts as exported from now on."""
        if copy or copy is None:
            return np.array(host_of(self), dtype=dtype)
        return np.array(run_on(self.context, backend_for(self.context).to_host, self._pinned()), dtype=dtype, copy=False)

    def asscalar(self) -> Any:
        """The element of an array of size 1, as a NumPy scalar.

        Raises
        ------
        ValueError
            If the size is not 1.
        """
        v = self._content
        if v.__class__ is PLAIN and v.size == 1:
            return v.reshape(-1)[0]
        if self.size != 1:
            raise WrongArgument("The current array is not a scalar", f"shape {self.shape}", "index it first, or reduce it, as mean() does")
        return host_of(self).reshape(-1)[0]

    def item(self, *index: int) -> Any:
        """An element as a Python scalar; without an index the array must have size 1."""
        if not index and prod(self.shape) != 1:
            what = "can only convert an array of size 1 to a Python scalar"
            raise WrongArgument(what, f"shape {self.shape}", "pass an index, or reduce it first, as mean() does")
        return host_of(self).item(*index)

    def tolist(self) -> Any:
        """Nested lists of Python scalars."""
        return host_of(self).tolist()

    def wait_to_read(self) -> None:
        """Wait until the array is computed.

        Raises
        ------
        MXNetError
            If computing it failed.
        """
        v = self._held
        if v is None:  # the array that the view shows a part of
            self._base.wait_to_read()
        elif v.__class__ is Value:
            if v.data is None and not isinstance(v.entry, TracedEntry):  # a trace computes nothing unless a value is read
                force(v)
            if v.device is not CPU:
                backend_for(v.device).synchronize(v.device)

    def wait_to_write(self) -> None:
        """Wait until nothing reads the array any more."""
        self.wait_to_read()
        v = self._content
        producer = v.producer if v.__class__ is Value else None  # read once: a thread that runs its window clears it
        if producer is not None:
            producer[0].finish()
            if not v.exclusive:  # ``producer`` names only the last reader; there may be others
                flush_all()
                QUEUE.settle()

    # gradients

    def attach_grad(self, grad_req: str = "write", stype: str | None = None) -> None:
        """Mark this array as a variable: `backward` stores its gradient in ``grad``.

        Parameters
        ----------
        grad_req
            ``"write"`` replaces the contents of ``grad``, ``"add"`` adds to it, ``"null"`` leaves it unchanged.
        stype
            Storage type of the gradient: dense if None. A ``"row_sparse"`` one holds the rows that backward has computed.

        Raises
        ------
        ParameterError
            For any other ``grad_req`` or ``stype``.
        """
        check_request(grad_req)
        warn_if_gradient_rounds(self._content, "attach_grad")
        if stype not in (None, "default"):
            self._attach(self._zeros_in(stype), grad_req)
            return
        zeros = full_content(0, self.shape, self._dtype, self.context)
        self._attach(wrap(self._kind, zeros), grad_req)

    def _zeros_in(self, stype: str) -> Cell:
        """Zeros of the array's shape and dtype, on its device, in a sparse storage type."""
        raise ParameterError("attach_grad: gradients of these arrays are dense", repr(stype), "leave stype out")

    def _attach(self, grad: Cell, grad_req: str) -> None:
        if is_view(self):
            self._of = None
            self._gradient = grad._variable(grad, grad_req)
            return
        self._gradient = grad._variable(grad, grad_req)
        mark(self, self._gradient)

    @property
    def grad(self) -> Self:
        """The gradient: the same array object always, overwritten by each backward pass; None if this array is not a variable."""
        # the type is that of variables: with None in it, a type checker would complain of each use of a gradient
        g = getattr(self, "_gradient", None)
        if g is None and is_view(self) and (g := self._request) is not None:  # a whole array under another convention
            grad = self._base.grad
            return grad if type(grad)._legacy == self._legacy else view_of(type(self), grad, ())
        found: Any = None if g is None else g.cell
        return found

    def detach(self) -> "Array":
        """A view that is not part of the recorded graph. It shares memory: writes to either array show in both."""
        return self._view(primitive_math.stop_gradient.bind())  # type: ignore[attr-defined]

    def backward(self, out_grad: "Array | None" = None, retain_graph: bool = False, train_mode: bool = True) -> None:
        """Compute the gradients of this array with respect to the variables it was computed from.

        Parameters
        ----------
        out_grad
            Head gradient, with this array's shape; ones if None.
        retain_graph
            Keep the recorded graph for another backward pass.
        train_mode
            Has no effect: the mode was determined when the operations were recorded.

        Raises
        ------
        AutogradError
            If the array was not recorded, or an earlier backward pass did not retain its graph.
        """
        backward([self], [out_grad], retain_graph)

    # exchange

    def __dlpack__(self, **options: Any) -> object:
        """A DLPack capsule; from now on the memory counts as exported."""
        to_dlpack = partial(backend_for(self.context).to_dlpack, **options)
        return run_on(self.context, to_dlpack, self._pinned())

    def _pinned(self) -> object:
        """The backend's array, for code outside the library. From now on its memory is written in place only."""
        if is_view(self):
            return self._exported()
        v = self._capture()
        data = data_of(v)
        flush_all()  # windows and tasks that read the memory, through any Value, do not expect writes from outside
        QUEUE.settle()
        if v.is_lent and (v.entry is None or isinstance(v.entry.node, Application)):  # a variable stays the Value that its tape knows
            data = backend_for(v.device).copy(data, v.device)
            v = self._content = Value(data, v.entry, None, v.device)
        v.pin()
        return data

    def __dlpack_device__(self) -> tuple[int, int]:
        """DLPack's (device type, device id)."""
        # kDLCPU and kDLCUDA of dlpack.h
        return (1, 0) if self.context.is_host else (2, self.context.device_id)

    def __reduce__(self) -> tuple[Callable[..., object], tuple[object, ...]]:
        marked = (True,) if self.ndim == 0 and (is_view(self) or getattr(self, "_key", None) is CHANGEABLE) else ()
        return _restore, (self._kind, self.asnumpy(), self._dtype, self.context, *marked)


def _restore(cls: type[AnyCell], array: np.ndarray, dtype: str, device: Device, is_changeable: bool = False) -> AnyCell:
    # a file may be from another machine, which had more GPUs
    device = CPU if device.device_type == "gpu" and device.device_id >= gpu_count() else interned(device)
    found: Any = from_host(cls, np.asarray(array).view(NUMPY[dtype]) if array.dtype != NUMPY[dtype] else array, device)
    return changeable(found) if is_changeable else found


def from_host(cls: type[AnyCell], array: np.ndarray, device: Device = CPU) -> AnyCell:
    """A new array with the contents of a NumPy array."""
    dtype_name(array.dtype)
    return wrap(cls, content(backend_for(device).from_host(array, device), device))


def adopted(cls: type[AnyCell], array: np.ndarray, device: Device = CPU) -> AnyCell:
    """`from_host` for a NumPy array that has no other owner: it is not copied if the device's arrays are NumPy's."""
    if device.is_host and array.__class__ is PLAIN and array.flags.c_contiguous:
        return wrap(cls, content(array, device))
    return from_host(cls, array, device)


def check_gradient(what: str, gradient: object, variable: object) -> None:
    """Raise unless an array can receive the gradient of another: both must have the same shape and dtype.

    Raises
    ------
    ShapeError, DTypeError
        Starting with ``what``.
    """
    if not isinstance(variable, Array) or not isinstance(gradient, Array):
        wrong = gradient if isinstance(variable, Array) else variable
        raise DTypeError(f"{what} needs arrays", type(wrong).__name__, "pass an array, and one of the same shape for its gradient")
    if gradient.shape != variable.shape:
        raise ShapeError(f"{what} has a different shape", f"{gradient.shape} for {variable.shape}", "pass an array of the variable's shape")
    if gradient._dtype != variable._dtype:
        raise DTypeError(
            f"{what} has a different dtype", f"{gradient._dtype} for {variable._dtype}", "pass an array of the variable's dtype"
        )


@inlined
def record_of(array: Any, what: str) -> TapeEntry:
    """The tape entry of an array that was computed from a variable, even if the array has integers or bools, which carry no gradient.

    Raises
    ------
    AutogradError
        If it was not computed from a variable while recording.
    """
    # a view's history is that of its root now, and reading the view is an operation on the root's tape
    v = array._read_recorded() if is_view(array) else array._held
    if v.__class__ is Value and v.entry is not None:
        if is_differentiated(v):
            return v.entry
        # integers or bools computed from a variable: MXNet takes them as heads
        if any(map(has_gradient, v.entry.inputs)):
            todo = "leave it out of the heads: its gradients are 0"
            tolerate(f"{what}: this array carries no gradient", f"dtype {v.entry.node.dtype}", todo, AutogradError)
            return v.entry
    raise AutogradError(
        f"{what}: this array is not part of a recorded graph",
        "an array not computed from one with attach_grad() inside autograd.record()",
        "compute it inside record(), from parameters of a block or arrays with attach_grad()",
    )


def backward(heads: Sequence[Array], head_grads: Sequence[Array | None] | None, retain_graph: bool = False) -> None:
    """Store the gradients of sum(heads · head_grads) in the variables' ``grad``.

    Raises
    ------
    AutogradError
        See `Array.backward`.
    ShapeError
        If a head gradient's shape differs from its head's.
    """
    grads: Sequence[Array | Cell | None] = [None] * len(heads) if head_grads is None else head_grads
    if len(grads) != len(heads):
        given = f"{len(heads)} and {len(grads)}"
        raise InvalidValue("backward: the numbers of heads and head_grads differ", given, "pass one (or None) for each head")
    if not heads:
        raise AutogradError("backward: there are no heads", "an empty list", "pass the arrays to differentiate")
    for h in heads:
        if not isinstance(h, Array):
            given = f"{type(h).__name__} {h!r:.60}"
            raise NotAnArray("backward: a head is not an array", given, "pass the array, without item(), asscalar() or float()")
        if h._is_sparse:
            heads, grads = stored_heads(heads, grads)
            break
    entries = list(map(record_of, heads, repeat("backward")))  # no frame of its own, unlike a comprehension
    if len(heads) > 1 or grads[0] is not None:
        grads = [None if g is None else _fitting_head(h, g) for h, g in zip(heads, grads, strict=True)]
    assign(run_backward(entries, grads, Cell, retain=retain_graph))


def stored_heads(heads: Sequence[Array], grads: Sequence[Cell | None]) -> tuple[Sequence[Array], Sequence[Cell | None]]:
    """Heads and head gradients. A sparse head is replaced by the array that it stores, and its head gradient likewise."""
    pairs = [h._stored_head(g) if h._is_sparse else (h, g) for h, g in zip(heads, grads, strict=True)]
    return [h for h, _ in pairs], [g for _, g in pairs]


def _fitting_head(head: Array, grad: object) -> Cell:
    """A head gradient in its head's shape and dtype."""
    if not isinstance(grad, Array):
        raise DTypeError("backward: a head gradient is not an array", type(grad).__name__, "pass an array, or None for ones")
    if grad.shape != head.shape:
        what, given = "backward: the head gradient's shape differs", f"{grad.shape} for {head.shape}"
        if grad.size != head.size:
            raise ShapeError(what, given, "pass one of the head's shape")
        tolerate(what, given, "pass one of the head's shape", ShapeError)
        flat: Cell = wrap(Cell, invoke(primitive_shape.reshape.bind(shape=head.shape), (grad,))[0])
    else:
        flat = grad
    if grad._dtype == head._dtype:
        return flat
    return wrap(Cell, invoke(primitive_arithmetic.astype.bind(dtype=head._dtype), (flat,))[0])


AnyArray = TypeVar("AnyArray", bound=Array)


def apply_op(op: Op, *args: Argument, cls: type[AnyArray], **params: object) -> AnyArray:
    """Apply an operator to arrays; the result is an array of the given class."""
    return wrap(cls, invoke(op.bind(cls._legacy, **params), args)[0])
