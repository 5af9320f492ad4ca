"""``twofold.np.random``: NumPy's own generators, which draw on the host; results are arrays on the current device.

A seed gives the same numbers as in NumPy. ``mx.random.seed`` applies only to the samplers of ``nd``, ``sym`` and ``npx``, and to draws in
functions that a transform traces and runs again (see `traced_draws`).
"""

from collections.abc import Callable
from functools import wraps
from typing import Any

import numpy as np

from ..calls.host_calls import first_by_position
from ..errors import OperatorError
from ..imperative.array import Array
from ..imperative.trace import is_followed, runs_again
from ..named_out import naming_out
from ..ndarray.types import DeviceLike
from ..opdef.frontend import named
from ..suggestions import did_you_mean, missing_name
from .array import ndarray
from .attributes import attribute
from .fallback import by_numpy, within_device
from .short_calls import short_draw
from .traced_draws import OF_STATE, traced_draw

#: Methods that write to their first argument.
IN_PLACE = frozenset({"shuffle"})
#: Methods that take NumPy's scalars for numbers, but not arrays without axes, which totals are here.
OF_NUMBERS = frozenset({"multivariate_normal", "permutation"})
#: What NumPy and libraries ask of a bit generator, beside its methods.
OF_BIT_GENERATORS = frozenset({"capsule", "lock", "seed_seq", "state"})


class _Draws:
    """A generator that wraps NumPy's: the methods are NumPy's, with Twofold arrays as arguments and results.

    Libraries take it for NumPy's (``random_state=np.random.RandomState(0)``): it says that it is one, and it can be the bit generator of
    another, which ``numpy.random.default_rng(generator)`` makes. Both draw from one stream.
    """

    def __init__(self, numpys: Any) -> None:
        self._numpys = numpys

    @property
    def __class__(self) -> Any:  # pyright: ignore[reportIncompatibleMethodOverride]  # it is never assigned
        return type(self._numpys)

    def __getattr__(self, name: str) -> Any:
        if name == "_numpys":  # not initialized
            raise AttributeError(name)
        if name.startswith("_") or hasattr(self._numpys, name):
            found = getattr(self._numpys, name)
        elif name in OF_BIT_GENERATORS:
            return getattr(self._numpys._bit_generator, name)
        else:
            todo = did_you_mean(name, dir(self._numpys), "see dir(np.random)")
            raise OperatorError(f"{type(self).__name__} has no attribute {name!r}", None, todo)
        if not callable(found):
            return found
        made = vars(self)[name] = drawing(found, name)  # later look-ups find it
        return made

    def __setattr__(self, name: str, value: object) -> None:
        # NumPy's have no others, unlike classes derived from them, and one that is only kept would change no stream
        if name != "_numpys" and type(self) in (Generator, RandomState):
            raise AttributeError(f"{type(self).__name__!r} object has no attribute {name!r} that can be set")
        super().__setattr__(name, value)

    # without this, copies and pickles would be made of the functions that `__getattr__` keeps
    def __reduce__(self) -> tuple[Any, ...]:
        return _again, (type(self),), {"_numpys": self._numpys}

    def __setstate__(self, state: dict[str, Any]) -> None:
        vars(self).update(state)

    def __repr__(self) -> str:
        return f"twofold.np.random.{self._numpys!r}"


def _again(cls: type[_Draws]) -> _Draws:
    """A generator without its state. By ``object.__reduce__``, pickle would find that its class is not the one that it says."""
    return cls.__new__(cls)


class Generator(_Draws):
    """NumPy's ``Generator`` over a bit generator."""

    def __init__(self, bit_generator: np.random.BitGenerator) -> None:
        super().__init__(np.random.Generator(bit_generator))

    def spawn(self, n_children: int) -> "list[Generator]":
        """Independent generators."""
        return [Generator(g.bit_generator) for g in self._numpys.spawn(n_children)]


class RandomState(_Draws):
    """NumPy's ``RandomState`` with a seed."""

    def __init__(self, seed: Any = None) -> None:
        super().__init__(np.random.RandomState(seed))


def default_rng(seed: Any = None) -> Generator:
    """A generator with NumPy's default stream for a seed."""
    seed = seed.tolist() if isinstance(seed, Array) else seed._numpys if type(seed) is RandomState else seed
    return seed if isinstance(seed, Generator) else Generator(np.random.default_rng(seed).bit_generator)


def drawing(function: Any, name: str) -> Callable[..., Any]:
    """A sampling function with our arrays as arguments and results; ``device`` (or ``ctx``) selects the device of the results."""
    with_out = naming_out(function)

    @named(name, f"As NumPy's ``{name}``, from its stream; the result is on ``device``, else the current one.\n\n{function.__doc__}")
    def draw(*args: object, device: DeviceLike = None, ctx: DeviceLike = None, **options: object) -> Any:
        if name in IN_PLACE:
            args = first_by_position(args, options)
            # a list or NumPy array is shuffled itself, not a copy of it
            if not args or not isinstance(args[0], Array):
                return function(*args, **options)
        if args and isinstance(args[-1], ndarray):
            args, options = with_out(args, options)
        if name not in OF_STATE and runs_again():
            with within_device(device, ctx):
                return traced_draw(function, args, options, is_written=name in IN_PLACE)
        out = options.get("out")
        if isinstance(out, ndarray):  # without it NumPy has no number of samples to draw
            # NumPy fills memory, so columns of an array that is in column-major order
            host = np.empty(out.shape, out.dtype, order="F" if out.flags.fnc else "C")
            by_numpy(function, args, options | {"out": host})
            out[...] = host
            return out
        with within_device(device, ctx):
            return by_numpy(function, args, options, writes=0 if name in IN_PLACE else None)

    made = short_draw(draw, function, writes=name in IN_PLACE)
    return _given_numbers(made) if name in OF_NUMBERS else made


def _given_numbers(draw: Callable[..., Any]) -> Callable[..., Any]:
    """A sampling function that is given numbers in place of arrays without axes."""

    def number_of(value: Any) -> Any:
        return value.item() if isinstance(value, Array) and not value.ndim and not is_followed(value) else value

    @wraps(draw)
    def call(*args: object, **options: object) -> Any:
        return draw(*map(number_of, args), **{key: number_of(value) for key, value in options.items()})

    return call


def __getattr__(name: str) -> Any:
    if not hasattr(np.random, name):
        raise missing_name(__name__, name, dir(np.random), "random")
    found = getattr(np.random, name)
    if name.startswith("_") or isinstance(found, type) or not callable(found):
        return attribute(np.random, name)
    made = globals()[name] = drawing(found, name)  # later look-ups find it
    return made
