"""Measures the operations: NumPy's time and Twofold's, alternately in one process, at every size and in every way of running them."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from functools import partial
from typing import TYPE_CHECKING, Any

import numpy

import twofold as mx
from asv_benchmarks.cliffs.arrays import DIFFERENTIABLE, arrays
from asv_benchmarks.timing import medians
from twofold import np
from twofold.numpy_folding import face
from twofold.numpy_folding.array import FoldingArray

if TYPE_CHECKING:
    from asv_benchmarks.cliffs.operations import Operation

#: An operation on arrays costs so many seconds more than NumPy's at any size, by the way of running it.
FLOORS = {"eager": 0.4e-6, "recorded": 1.2e-6, "folded": 1.2e-6}
#: What is new costs so much for each line, once.
NEW = 0.8e-3
#: Folding arrays have at least so many elements; smaller ones are NumPy's own.
FOLDED_FROM = 100_000
#: An operation whose call takes longer, in seconds, is not measured at larger sizes.
LONGEST = 0.3
#: What is at most this many times as slow as NumPy, beyond the floor, is no cliff.
CLIFF = 1.2


@dataclass(frozen=True)
class Point:
    """An operation at a size in one way.

    Attributes
    ----------
    title, group, way, size
        What was measured; the way is ``eager``, ``recorded``, ``folded`` or ``first`` (the first call at that size, eager).
    numpy, own
        Seconds per call.
    floor
        Seconds that Twofold may take beyond NumPy's time at any size.
    failure
        What was raised, or how the result differs; empty if it is right.
    """

    title: str
    group: str
    way: str
    size: int
    numpy: float
    own: float
    floor: float
    failure: str = ""

    @property
    def ratio(self) -> float:
        """Twofold's time beyond the floor, relative to NumPy's."""
        return max(self.own - self.floor, 0.0) / self.numpy

    @property
    def is_cliff(self) -> bool:
        """Whether it is slower than it should be."""
        return bool(self.failure) or self.ratio > CLIFF


def function(operation: Operation, env: dict[str, Any]) -> Callable[[], Any]:
    """The operation as a function of no arguments; the names it assigns are its own."""
    text = operation.text
    if "return" not in text:
        text = f"return {text}" if not operation.changes or text.startswith("np.") else f"{text}\nreturn {text[0]}"
    names = _names(text)
    body = "\n".join("    " + line for line in text.splitlines())
    exec(f"def function({', '.join(f'{name}={name}' for name in names if name in env)}):\n{body}", env)
    return env.pop("function")


def _names(text: str) -> frozenset[str]:
    code = compile("def f():\n" + "\n".join("    " + line for line in text.splitlines()), "", "exec").co_consts[0]
    return frozenset(code.co_names) | frozenset(code.co_varnames)


def _settled(call: Callable[[], Any], wait: Callable[[Any], Any]) -> Callable[[], Any]:
    return lambda: wait(call())


def wait_for(result: Any) -> Any:
    """Wait until a result is computed, whoever computes it."""
    if isinstance(result, np.ndarray):
        result.wait_to_read()
    elif result.__class__ is FoldingArray:  # NumPy's arrays are instances too
        result.ready()
    elif result.__class__ is tuple:
        for part in result:
            wait_for(part)
    return result


def _value(result: Any) -> Any:
    if isinstance(result, tuple):
        return [_value(part) for part in result]
    return result.asnumpy() if isinstance(result, np.ndarray) else numpy.array(result)


def _difference(want: Any, got: Any) -> str:
    try:
        for a, b in zip(_pieces(want), _pieces(got), strict=True):
            numpy.testing.assert_allclose(b, a, rtol=1e-5 if a.dtype == "float32" else 1e-9, atol=1e-9 * float(numpy.abs(a).max(initial=1)))
    except AssertionError as error:
        return "differs: " + " ".join(str(error).split())[:200]
    return ""


def _pieces(result: Any) -> list[Any]:
    value = _value(result)
    return value if isinstance(value, list) else [value]


def _recorded(call: Callable[[], Any], calls: int) -> None:
    with mx.autograd.record():
        for _ in range(calls):
            call()


def _repeated(call: Callable[[], Any], calls: int) -> None:
    for _ in range(calls):
        call()


def prepared(operation: Operation, way: str, given: dict[str, Any], n: int) -> Callable[[], Any]:
    """The operation on Twofold's arrays of a way, made of NumPy's, as a function that waits for the result."""
    if way == "folded":
        module: Any = face.numpy
        made = {name: module.array(a) for name, a in given.items()}
    else:
        module = np
        made = {name: np.array(a) for name, a in given.items()}
        if way == "recorded" and not operation.changes:
            for name in made.keys() & DIFFERENTIABLE:
                made[name].attach_grad()
    return _settled(function(operation, {**made, "np": module, "n": n}), wait_for)


def _first(call: Callable[[], Any]) -> tuple[float, Any]:
    start = time.process_time()
    result = call()
    return time.process_time() - start, result


def points(operation: Operation, ways: Sequence[str], sizes: Sequence[int], box: float) -> Iterator[Point]:
    """Measure an operation at each size, until a call takes too long.

    Parameters
    ----------
    operation
        The operation.
    ways
        Some of the names of `FLOORS`.
    sizes
        Elements of its arrays, ascending.
    box
        Seconds for one point, about.
    """
    for n in sizes:
        if n > operation.largest:
            return
        calls = operation.operations(n)
        for way in ways:
            if way == "folded" and n < FOLDED_FROM:
                continue
            point = partial(Point, operation.title, operation.group, size=n)
            given = arrays(_names(operation.text), n)
            base = _settled(function(operation, {**{name: a.copy() for name, a in given.items()}, "np": numpy, "n": n}), wait_for)
            reference, want = _first(base)
            try:
                own = prepared(operation, way, given, n)
                taken, got = _first(own)
                failure = _difference(want, got)
                if way == "recorded":
                    _recorded(own, 1)
            except Exception as error:  # whatever it raises is a finding
                yield point(way, numpy=reference, own=float("inf"), floor=0.0, failure=f"raises {type(error).__name__}: {error}")
                continue
            if way == "eager":
                yield point("first", numpy=reference, own=taken, floor=NEW * (operation.text.count("\n") + 1), failure=failure)
            del want, got, given
            # not the first call's: one of several ms would leave one call to a scope of `record`, where operands enter the tape anew
            again = min(_first(call)[0] for call in (base, own, own))
            seconds = _alternating(base, own, way, again, box)
            yield point(way, numpy=seconds[0], own=seconds[1], floor=FLOORS[way] * calls + WAIT, failure=failure)
            if max(reference, *seconds) > LONGEST:
                return


def _alternating(base: Callable[[], Any], own: Callable[[], Any], way: str, guess: float, box: float) -> list[float]:
    calls = int(min(max(1e-4 / guess, 1), 100))
    repetitions = int(min(max(box / (2 * calls * guess), 3), 31))
    repeat = _recorded if way == "recorded" else _repeated
    found = medians([partial(_repeated, base, calls), partial(repeat, own, calls)], repetitions, 1)
    return [seconds / calls for seconds in found]


def _wait_seconds() -> float:
    x, y = np.zeros(3), numpy.zeros(3)
    base, own = medians([partial(wait_for, y), partial(wait_for, x)], 31, 200)
    return max(own - base, 0.0)


#: Seconds for waiting for an array that is ready.
WAIT = _wait_seconds()
