"""``mx.nd.CachedOp``: a symbol as a function of arrays by position."""

from collections.abc import Sequence
from typing import Any

from ..errors import DTypeError, ParameterError
from ..imperative.array import Array
from ..ndarray.array import NDArray
from ..symbol.compilation import compile
from ..symbol.symbol import Symbol


class CachedOp:
    """A symbol as a function of arrays; see `twofold.compile`, which takes them by name.

    Parameters
    ----------
    sym
        The symbol.
    flags
        Pairs of names and values, such as ``("static_alloc", True)``, that tell MXNet how to use memory. They change no result, and
        programs here are always planned.

    Examples
    --------
    >>> import twofold as mx
    >>> double = mx.nd.CachedOp(mx.sym.Variable("x") * 2)
    >>> double(mx.nd.array([1, 2])).asnumpy().tolist()
    [2.0, 4.0]
    """

    def __init__(self, sym: Symbol, flags: Sequence[tuple[str, Any]] = ()) -> None:
        self.flags = tuple(flags)
        #: Whether the symbol is of MXNet's dialect of NumPy.
        self.is_np_sym = sym._is_numpy
        self._names = sym.list_inputs()
        self._compiled = compile(sym)

    def __call__(self, *args: NDArray, out: Any = None, default_ctx: Any = None) -> Any:
        """Compute the outputs: one array, or a list of several.

        Parameters
        ----------
        *args
            Arrays in the order of ``list_inputs``.
        out
            An array, or a list of them, to write the outputs into.
        default_ctx
            The device of a symbol without inputs.

        Raises
        ------
        ParameterError
            If the number of arrays is wrong.
        DTypeError
            If an argument is not an array.
        """
        if len(args) != len(self._names):
            raise ParameterError("CachedOp: wrong number of arrays", str(len(args)), f"pass {', '.join(self._names)}")
        wrong = [type(x).__name__ for x in args if not isinstance(x, Array)]
        if wrong:
            raise DTypeError("CachedOp: the arguments must be NDArrays", ", ".join(wrong), "create them with mx.nd.array")
        if default_ctx is None:
            results = self._compiled(**dict(zip(self._names, args, strict=True)))
        else:
            with default_ctx:
                results = self._compiled(**dict(zip(self._names, args, strict=True)))
        if out is None:
            return results
        pairs = zip(out, results, strict=True) if isinstance(results, list) else [(out, results)]
        for target, result in pairs:
            target[:] = result
        return out
