"""Operators and indexing of `ndarray` in machine code, for programs that compute with small arrays in loops.

To load a compiler takes as long as some hundred thousand operations. So the functions of `calls.arithmetic` and `calls.items` serve first,
and the commonest of them count their calls; after `CALLS` of these the adapter's methods take their place (`HostCode.array_methods`).
"""

import threading
from collections.abc import Callable
from functools import wraps
from itertools import repeat
from typing import Any

import numpy as np

from ..backend.host_code import ArrayClasses, Methods
from ..calls import short
from ..device import CPU, ENTERED
from ..imperative.cell import HOST, Value
from ..imperative.element import NATIVE
from ..imperative.views import AXES_REVERSED, CHANGEABLE, GAPS, RESHAPED
from ..scheduler.observers import exchange
from ..signal_handlers import unless_signalled
from . import indexing, methods, operators  # noqa: F401  (attach what is replaced)
from .array import ndarray, ndarrayElement
from .short_calls import SHORTER
from .ufuncs import call_by, ufunc

#: Counted calls before the methods are made: those in Python have then taken as much more time as it takes to load the methods.
CALLS = 60_000
#: The methods that count.
COUNTED = ("__getitem__", "__add__", "__sub__", "__mul__", "__truediv__", "__rmul__", "__iadd__", "__imul__", "__matmul__")
#: The slots that methods look into, by class.
SLOTS: dict[type, tuple[str, ...]] = {
    ndarray: ("_held", "_gradient", "_base", "_key", "_of", "_seen", "_steps", "_under"),
    Value: ("data", "entry", "device", "producer", "sharing", "writers"),
    ufunc: ("_numpys", "_operands", "_by_python"),
}


class MachineCode:
    """The methods that take the functions' place.

    Parameters
    ----------
    make
        The adapter's function that makes them.
    """

    def __init__(self, make: Callable[[ArrayClasses], Methods]) -> None:
        self._make = make
        #: Taken by the thread that makes the methods, and kept: they are made once.
        self._making = threading.Lock()
        self._tick = repeat(None, CALLS).__next__
        #: What the package has attached: a method of another origin is the program's, and stays.
        self._attached: Methods = {(cls, name): value for cls in (ndarray, ndarrayElement) for name, value in vars(cls).items()}
        #: The functions that count, those that have been replaced, the methods that replace them, and that of ufuncs.
        self._counting: Methods = {}
        self._functions: Methods = {}
        self._methods: Methods = {}
        self._call: object = None

    def count(self) -> None:
        """Have functions count their calls."""
        self._counting = {(ndarray, name): self._counted(vars(ndarray)[name]) for name in COUNTED}
        _exchange(self._attached, self._counting)

    def _counted(self, function: Any) -> Callable[[Any, Any], Any]:
        tick, install = self._tick, self.install

        @wraps(function)
        def counted(self: Any, other: Any) -> Any:
            try:
                tick()
            except StopIteration:
                install()
            return function(self, other)

        return counted

    def install(self) -> None:
        """Put the methods in the functions' place, or at least an end to the counting. Other threads go on with the functions meanwhile."""
        if not self._making.acquire(blocking=False):
            return
        try:
            _exchange(self._counting, self._attached)
        except BaseException:  # an interrupt: a later call tries again
            self._making.release()
            raise
        try:
            made = self._make(classes())
        except unless_signalled(Exception):  # LLVM has failed, or cannot be loaded
            made = {}
        self._call = made.pop((ufunc, "__call__"), None)
        self._methods = made
        self._functions = {key: self._attached[key] for key in made if key in self._attached}
        exchange(self)

    def timed(self) -> None:
        """Put the functions back: these call what tells listeners of operations."""
        short.MACHINE_CODE.clear()
        _exchange(self._methods, self._functions)
        call_by(None)

    def plain(self) -> None:
        """Put the methods in place again."""
        _exchange(self._functions, self._methods)
        call_by(self._call)
        short.MACHINE_CODE[:] = [self] if self._methods else []


def _exchange(old: Methods, new: Methods) -> None:
    """Put methods in the place of others, where these still are."""
    for (cls, name), method in new.items():
        if vars(cls).get(name) is old.get((cls, name)):
            setattr(cls, name, method)


def classes() -> ArrayClasses:
    """What the methods have to know."""
    slots = {cls: {name: getattr(cls, name) for name in names} for cls, names in SLOTS.items()}
    keys = AXES_REVERSED, RESHAPED, CHANGEABLE
    return ArrayClasses(ndarray, ndarrayElement, Value, ufunc, slots, _reductions(), NATIVE, *keys, GAPS, CPU, ENTERED)


def _reductions() -> dict[str, Callable[..., Any]]:
    """NumPy's functions for methods such as ``sum``."""
    shapes = {name: SHORTER.get(method) for name, method in vars(np.ndarray).items() if name in vars(ndarray)}
    return {name: shape[2]["reduce"] for name, shape in shapes.items() if shape is not None and shape[0] is short.reduction}


def begin() -> "MachineCode | None":
    """Count calls from now on; None if the adapter has no machine code."""
    make = HOST.target.host_code.array_methods()
    if make is None:
        return None
    code = MachineCode(make)
    code.count()
    return code


#: That of this process.
MACHINE_CODE = begin()
