"""The value type ``Device`` (MXNet's Context) and the per-thread default device. It knows no backend."""

import threading
from collections.abc import Callable, Iterable, Mapping
from itertools import count, pairwise
from types import FunctionType
from typing import Any, ClassVar

from .errors import DeviceError, FixedDevice, UnknownDevice
from .suggestions import did_you_mean

TYPE_CODES = {"cpu": 1, "gpu": 2, "cpu_pinned": 3, "cpu_shared": 5}
KIND_OF_CODE = {code: kind for kind, code in TYPE_CODES.items()}
#: What frees the memory that pools keep: `backend.loader` enters itself, and before it is loaded there are no pools.
TRIMMERS: list[Callable[["Device"], None]] = []

#: Has an entry once any thread has set a default device. Reading this list takes a tenth of the time of reading the thread's own stack.
ENTERED: list["Device"] = []


def _unknown_device(given: object, number: object, kind: object) -> UnknownDevice:
    """The error for a device of no known kind, or with a negative number."""
    todo = f"the kind is one of {', '.join(TYPE_CODES)}; numbers start at 0"
    if callable(given):
        name = getattr(given, "__name__", "cpu")
        return UnknownDevice("Context: no such device", f"the function {name}", f"call it: mx.{name}()")
    if kind not in TYPE_CODES:
        todo = "use 'gpu'" if kind == "cuda" else _written(str(kind)) or did_you_mean(str(kind), TYPE_CODES, todo)
    return UnknownDevice("Context: no such device", f"{given!r}, {number!r}", todo)


def _written(text: str) -> str:
    """What to write for a device that is given as text, as PyTorch has it, such as ``"cuda:0"``; empty for other text."""
    name, _, index = text.partition(":")
    return f"write mx.{name.replace('cuda', 'gpu')}({index})" if name in ("cuda", *TYPE_CODES) and (index or "0").isdecimal() else ""


class _Local(threading.local):
    stack: tuple["Device", ...] = ()


class _DeviceType(type):
    """The type of `Device`, for the attribute ``Context.default_ctx``."""

    @property
    def default_ctx(cls) -> "Device":
        """The default device of this thread."""
        return current_device()

    @default_ctx.setter
    def default_ctx(cls, device: "Device") -> None:
        set_default_device(device)


class _DefaultContext:
    """``Context._default_ctx``, whose ``value`` old scripts set."""

    @property
    def value(self) -> "Device":
        """The default device of this thread."""
        return current_device()

    @value.setter
    def value(self, device: "Device") -> None:
        set_default_device(device)


class Device(metaclass=_DeviceType):
    """A device: a kind (``"cpu"``, ``"gpu"``, ``"cpu_pinned"``, ``"cpu_shared"``) and a number.

    Devices of one kind and number are equal. The engine uses one object for all of them, see `interned`, and compares those by identity.
    As a context manager a device is the default device of this thread.

    Parameters
    ----------
    device_type
        The kind, its MXNet code, or another device.
    device_id
        Index of the device among those of its kind.

    Raises
    ------
    DeviceError
        If the kind is unknown or the index negative.
    """

    __slots__ = ("__dict__", "__weakref__", "_interned", "device_id", "device_type", "is_host", "serial")
    devtype2str: ClassVar[dict[int, str]] = KIND_OF_CODE
    devstr2type: ClassVar[dict[str, int]] = TYPE_CODES
    _local: ClassVar[_Local] = _Local()
    _default_ctx: ClassVar[_DefaultContext] = _DefaultContext()

    device_type: str
    device_id: int
    #: Whether the device uses host memory.
    is_host: bool
    #: Number of this device among those that the process has named.
    serial: int
    _interned: "Device"

    def __init__(self, device_type: "str | int | Device", device_id: int = 0) -> None:
        self._become(interned(device_type, device_id))

    def _become(self, own: "Device") -> None:
        for name in _OF_KIND:
            object.__setattr__(self, name, getattr(own, name))

    @property
    def device_typeid(self) -> int:
        """MXNet's code for the kind: 1 cpu, 2 gpu, 3 cpu_pinned, 5 cpu_shared."""
        return TYPE_CODES[self.device_type]

    def shares_memory_with(self, other: "Device") -> bool:
        """Whether arrays of another device can be used here without a copy: it is the same device, or both use host memory."""
        return self is other or (self.is_host and other.is_host)

    def empty_cache(self) -> None:
        """Free the memory that the device's pool keeps for later arrays."""
        for trim in TRIMMERS:
            trim(self)

    def __setattr__(self, name: str, value: Any) -> None:
        own = getattr(self, "_interned", CPU)  # a derived class may set the attributes in place of a call of our constructor
        if own is self:
            raise FixedDevice(f"Context: {name} cannot be set", repr(self), "arrays share this object: change a copy, mx.Context(ctx)")
        if name == "device_typeid":
            self._become(interned(value, own.device_id))
        elif name == "device_id":
            self._become(interned(own.device_type, value))
        elif name in _OF_KIND:
            raise FixedDevice(f"Context: {name} cannot be set", repr(self), "set device_typeid: 1 for a CPU, 2 for a GPU")
        else:
            object.__setattr__(self, name, value)

    def __eq__(self, other: object) -> bool:
        return self is other or (isinstance(other, Device) and self._interned is other._interned)

    def __hash__(self) -> int:
        return self.serial

    def __repr__(self) -> str:
        return f"{self.device_type}({self.device_id})"

    def __getstate__(self) -> dict[str, object]:
        return {**vars(self), "device_typeid": self.device_typeid, "device_id": self.device_id}

    def __setstate__(self, state: Mapping[str, Any]) -> None:
        Device.__init__(self, state["device_typeid"], state["device_id"])
        vars(self).update({name: value for name, value in state.items() if name not in ("device_typeid", "device_id", "_old_ctx")})

    def __reduce__(self) -> str | tuple[Any, ...]:
        return (Device, (self.device_type, self.device_id)) if self.__class__ is Device and not vars(self) else object.__reduce__(self)

    def __enter__(self) -> "Device":
        ENTERED[:] = [self._interned]
        self._local.stack = (*self._local.stack, self._interned)
        return self

    def __exit__(self, *exc: object) -> None:
        self._local.stack = self._local.stack[:-1]

    @property
    def _old_ctx(self) -> "Device | None":
        """The default device before the innermost ``with`` of this device in this thread; None outside of one."""
        outer = CPU, *self._local.stack
        return next((before for before, entered in reversed([*pairwise(outer)]) if entered is self._interned), None)


Device.__name__ = "Context"  # MXNet's name, which programs compare with the type's
#: What equal devices have in common.
_OF_KIND = "_interned", "device_id", "device_type", "is_host", "serial"
_INTERNED: dict[tuple[str, int], Device] = {}
_SERIALS = count()


def interned(kind: str | int | Device, number: int = 0) -> Device:
    """The object that stands for all equal devices.

    Raises
    ------
    UnknownDevice
        If the kind is unknown or the number negative.
    """
    if isinstance(kind, Device):
        return kind._interned
    name = KIND_OF_CODE.get(kind, str(kind)) if isinstance(kind, int) else kind
    if name not in TYPE_CODES or int(number) < 0:
        raise _unknown_device(kind, number, name)
    found = _INTERNED.get((name, int(number)))
    if found is None:
        new = object.__new__(Device)
        for slot, value in zip(_OF_KIND, (new, int(number), name, name != "gpu", next(_SERIALS)), strict=True):
            object.__setattr__(new, slot, value)
        found = _INTERNED.setdefault((name, int(number)), new)
    return found


CPU = interned("cpu")
#: What `current_device` reads, for code that cannot afford its frame: the ``stack`` is empty outside of ``with device:`` blocks.
DEFAULTS = Device._local


def current_device() -> Device:
    """The device of this thread's innermost ``with device:`` block, else cpu(0)."""
    stack = Device._local.stack
    return stack[-1] if stack else CPU


def chosen_device(ctx: "str | Device | None") -> Device:
    """The device that a function's argument ``ctx`` means; the default one for None.

    Raises
    ------
    UnknownDevice
        For a number, which is the second size of a shape more often than the kind of a device.
    """
    if isinstance(ctx, int):
        todo = "pass all sizes in one tuple, as in zeros((2, 3)); a context is mx.cpu() or mx.gpu(0)"
        raise UnknownDevice("ctx must be a context", repr(ctx), todo)
    return current_device() if ctx is None else interned(ctx)


def devices_of(ctx: "Device | Iterable[Device]", argument: str) -> list[Device]:
    """The devices that an argument means, which is one or several.

    Parameters
    ----------
    ctx
        The argument's value.
    argument
        Its name, for the error.

    Raises
    ------
    UnknownDevice
        If it is something else, such as text.
    """
    found: list[Device] = [ctx] if isinstance(ctx, (Device, str)) or not isinstance(ctx, Iterable) else list(ctx)
    for one in found:
        if isinstance(one, FunctionType):
            raise _unknown_device(one, 0, one)
        if not isinstance(one, Device):
            todo = (isinstance(one, str) and _written(one)) or "pass mx.cpu() or mx.gpu(0)"
            raise UnknownDevice(f"{argument} must be a context or a list of contexts", repr(one), todo)
    return [interned(one) for one in found]


def set_default_device(device: Device) -> None:
    """Set this thread's default device; inside of a ``with device:`` block until the block ends.

    Raises
    ------
    DeviceError
        If it is not a device.
    """
    if not isinstance(device, Device):
        raise DeviceError("the default context must be a Context", repr(device), "pass mx.cpu() or mx.gpu()")
    ENTERED[:] = [interned(device)]
    stack = (*Device._local.stack[:-1], *ENTERED)
    Device._local.stack = () if stack == (CPU,) else stack  # without a stack, arrays are made in fewer steps
