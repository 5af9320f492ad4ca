"""Injects failures at the seam between the core and an adapter: every call that a program makes there is counted, and one can fail.

A kernel that fails to launch, a primitive that raises, a failed allocation, a copy that never completes: all pass through here.
"""

import sys
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from pathlib import Path
from typing import Any, NamedTuple

import pytest

from twofold.backend.kernel import ELEMENTWISE, Call
from twofold.backend.loader import backend_for
from twofold.ndarray.array import NDArray
from twofold_fake.adapter import FakeBackend, function_of
from twofold_numpy import adapter as numpy_adapter
from twofold_numpy.memory import POOL
from twofold_numpy.namespace import NumpyNamespace

#: Members of a namespace that compute nothing.
FACTS = ("dtype_of", "by_ufunc", "is_by_reference")
#: Methods whose generated functions call NumPy directly.
DIRECT = ("__add__", "__sub__", "__mul__", "__truediv__", "__neg__")


class Passed(NamedTuple):
    """One call, and the line of the program that made it."""

    what: str
    line: int


class Seam:
    """Counts the calls and makes one of them fail.

    Attributes
    ----------
    passed
        The calls in order.
    program
        The file whose lines are reported.
    """

    def __init__(self, program: str) -> None:
        self.passed: list[Passed] = []
        self.program = program
        self._at, self._error, self._lasting = 0, ArithmeticError, False

    def reset(self, at: int = 0, error: type[Exception] = ArithmeticError, lasting: bool = False) -> None:
        """Restart the count; call number ``at`` fails (0: none does), and with ``lasting`` so do all later ones."""
        self.passed, self._at, self._error, self._lasting = [], at, error, lasting

    def checked(self, what: str, function: Callable[..., Any]) -> Callable[..., Any]:
        """The function, wrapped as one of the calls."""

        def run(*args: Any, **params: Any) -> Any:
            self._pass(what)
            return function(*args, **params)

        return run

    def _pass(self, what: str) -> None:
        self.passed.append(Passed(what, self._line()))
        number = len(self.passed)
        if self._at and (number == self._at or (self._lasting and number > self._at)):
            raise self._error(f"on purpose, at {what}")

    def _line(self) -> int:
        frame = sys._getframe(2)
        while frame.f_back is not None and frame.f_code.co_filename != self.program:
            frame = frame.f_back
        return frame.f_lineno


class _Memory:
    """Where the fake adapter allocates memory."""

    def __init__(self, empty: Callable[..., Any]) -> None:
        self.empty = empty


@contextmanager
def seam_of(devices: list[Any], program: Path) -> Iterator[Seam]:
    """The seam to the adapters of some devices, installed while the block runs: whatever is compiled meanwhile goes through it."""
    seam = Seam(str(program))
    with pytest.MonkeyPatch.context() as patch:
        for backend in {backend_for(d) for d in devices}:
            _tap(patch, backend, seam)
        patch.setattr(POOL, "empty", seam.checked("memory", POOL.empty))
        patch.setattr(numpy_adapter, "_copied", seam.checked("copy", numpy_adapter._copied))
        for method in DIRECT:
            names = getattr(NDArray, method).__globals__
            patch.setitem(names, "fn", seam.checked(f"direct {method}", names["fn"]))
        yield seam


def _tap(patch: pytest.MonkeyPatch, backend: Any, seam: Seam) -> None:
    call, compile_, allocator = backend.call, backend.compile, backend.allocator

    def called(op: str, params: Any, inputs: Any, *outputs: Any) -> Call:
        found = call(op, params, inputs, *outputs)
        if op in VIEWS:
            return found
        operands = ", ".join([f"{{{k}}}" for k in range(len(inputs))] + ["{out}"] * found.into)
        run = seam.checked(op, _filled(function_of(found, len(inputs)), found.into))
        return Call(f"{{run}}({operands})", {"run": run}, into=found.into)

    def compiled(program: Any) -> Callable[..., None]:
        seam.checked("compile", lambda: None)()
        return seam.checked(f"kernel {program.name}", compile_(program))

    patch.setattr(backend, "call", called)
    patch.setattr(backend, "compile", compiled)
    patch.setattr(backend, "allocator", lambda shape, dtype: seam.checked("scratch", allocator(shape, dtype)))
    patch.setattr(backend, "_xp", _namespace(backend.xp, seam))
    if isinstance(backend, FakeBackend) and backend.memory is not None:
        patch.setattr(backend, "memory", _Memory(seam.checked("memory", backend.memory.empty)))


VIEWS = ("reshape", "permute_dims", "broadcast_to", "slice", "unfold")


def _filled(run: Callable[..., Any], into: bool) -> Callable[..., Any]:
    """A call's function with the operands that the program passes: a result's memory only where the call writes into it."""
    return run if into else lambda *arrays: run(*arrays, None)


def _namespace(xp: Any, seam: Seam) -> Any:
    own = [name for name in dir(NumpyNamespace) if not name.startswith("_") and name not in FACTS + VIEWS]
    own += [name for name, declared in ELEMENTWISE.items() if declared.ufunc is not None]
    members = {name: staticmethod(seam.checked(f"xp.{name}", getattr(xp, name))) for name in own}
    return type("CheckedNamespace", (type(xp),), members)()
