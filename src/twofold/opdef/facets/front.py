"""Under which names users find an operator, and where a front end's convention differs from NumPy's."""

from dataclasses import dataclass


@dataclass(frozen=True, eq=False)
class Front:
    """What the front ends (``nd``, ``sym``, ``np``, ``npx``) know of an operator."""

    # -- names
    #: A method of arrays and symbols too: True under its registered name, or the method's name.
    method: bool | str = False
    #: Whether symbols have the method too.
    symbol_method: bool = True
    #: The function of ``mx.np`` and ``mx.sym.np`` that applies it, as a signature, ``"squeeze(a, axis=None)"``; see `opdef.numpy_rows`.
    row: str = ""
    #: The parameters that this function passes even at their defaults, as MXNet writes them to files.
    writes: str = ""
    #: Names under which ``np`` has it: as a ufunc, or as the function of its row.
    numpy_names: tuple[str, ...] = ()
    #: The name under which ``npx`` has it, if no registered name begins with ``_npx_``.
    npx_name: str = ""
    #: Of MXNet's many operators of one formula: which formula, and on what (``pair``, ``broadcast``, ``scalar``, ``reversed``).
    variant: tuple[str, str] | None = None

    # -- calls
    #: The method that implements its Python operator is generated with a short path for small operands in host memory.
    short_path: bool = False
    #: Tuples of numbers that imperative calls pass as float32 arrays after the inputs, so that a schedule does not recompile.
    numbers: tuple[str, ...] = ()
    #: A parameter which if False means that the result is multiplied with what ``out`` contains.
    starts_anew: str = ""

    # -- the LEGACY convention (``nd``, ``sym``); see `opdef.conventions`
    #: For operands of one dtype NumPy's result is also that convention's, even for integers: in their dtype, wrapped.
    wraps: bool = False
    #: Its arithmetic is not NumPy's: x % 0 is 0, and negative powers of integers are 0; `Symbolic.symbol` names the operator that has it.
    legacy_differs: bool = False
    #: All array inputs must have one dtype.
    alike: bool = False
    #: The first input must be floating-point.
    real: bool = False
    #: Its scalars are limits on elements, so they saturate where other scalars wrap.
    limits: bool = False
