"""The names under which users find an operator, and how a front end's convention differs from NumPy's."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import NamedTuple


class Domain(NamedTuple):
    """The numbers that an operator takes as parameters.

    Attributes
    ----------
    text
        What they must be, for messages.
    holds
        Whether it takes some, given by name. Of an operator on arrays these are its run-time parameters, in their order.
    """

    text: str
    holds: Callable[..., bool]


@dataclass(frozen=True, eq=False)
class Front:
    """The facts about an operator that the front ends (``nd``, ``sym``, ``np``, ``npx``) use."""

    # -- names
    #: A method of arrays and symbols too: True under its registered name, or the method's name.
    method: bool | str = False
    #: Whether symbols have the method too.
    symbol_method: bool = True
    #: The function of ``mx.np`` and ``mx.sym.np`` that applies it, as a signature, ``"squeeze(a, axis=None)"``; see `opdef.numpy_rows`.
    row: str = ""
    #: The parameters that this function passes even at their defaults, as MXNet writes them to files.
    writes: str = ""
    #: Its names in ``np``, as a ufunc or as the function of its row.
    numpy_names: tuple[str, ...] = ()
    #: Its name in ``npx``, if no registered name begins with ``_npx_``.
    npx_name: str = ""
    #: For one of MXNet's many operators with the same formula: the formula and the operands (``pair``, ``broadcast``, ``scalar``,
    #: ``reversed``).
    variant: tuple[str, str] | None = None

    # -- calls
    #: The method that implements its Python operator is generated with a short path for small operands in host memory.
    short_path: bool = False
    #: Tuples of numbers that imperative calls pass as float32 arrays after the inputs, so that a schedule does not recompile.
    numbers: tuple[str, ...] = ()
    #: The numbers that it takes, if not all.
    domain: Domain | None = None
    #: The parameter that, if False, multiplies the result with the content of ``out``.
    starts_anew: str = ""

    # -- the LEGACY convention (``nd``, ``sym``); see `opdef.conventions`
    #: For operands of one dtype the result is NumPy's, even for integers: in their dtype, wrapped.
    wraps: bool = False
    #: Its arithmetic is not NumPy's: x % 0 is 0, and negative powers of integers are 0; `Symbolic.symbol` names the operator that has it.
    legacy_differs: bool = False
    #: All array inputs must have one dtype.
    alike: bool = False
    #: The first input must be floating-point.
    real: bool = False
    #: Its scalars are limits on elements, so they saturate where other scalars wrap.
    limits: bool = False
