"""Functions of ``mx.sym`` that are not generated: filled symbols, ranges, splitting, histograms; reading files."""

from collections.abc import Mapping, Sequence
from typing import Any

from ..dtype import DTypeLike
from ..errors import DTypeError, FormatError, ParameterError
from ..formats.files import read_file
from ..opdef import Op
from ..ops import counting, creation, joining, reshaping
from .compose import apply_op
from .serialization import from_json
from .symbol import Symbol

Shape = int | Sequence[int]


def applied(op: Op, arrays: Sequence[Symbol], params: dict[str, Any], hint: str = "") -> Symbol:
    """An operator applied to symbols; ``name`` and ``attr`` among the parameters are those of the node, and ``out=None`` has no effect."""
    if params.get("out", params) is None:
        del params["out"]
    name, attr = params.pop("name", None), params.pop("attr", None)
    return apply_op(op, hint or op.title, arrays, params, name, attr)


def zeros(shape: Shape, dtype: DTypeLike | None = None, **kwargs: object) -> Symbol:
    """Zeros of a shape (a size of 0 is inferred from use) and dtype (float32 if None).

    Parameters
    ----------
    shape
        The sizes; 0 for one that is inferred.
    dtype
        float32 if None.
    **kwargs
        ``name`` and ``attr`` of the node.
    """
    return _filled(creation.zeros, shape, dtype, kwargs)


def ones(shape: Shape, dtype: DTypeLike | None = None, **kwargs: object) -> Symbol:
    """Ones of a shape (a size of 0 is inferred from use) and dtype (float32 if None).

    Parameters
    ----------
    shape
        The sizes; 0 for one that is inferred.
    dtype
        float32 if None.
    **kwargs
        ``name`` and ``attr`` of the node.
    """
    return _filled(creation.ones, shape, dtype, kwargs)


def full(shape: Shape, val: float, dtype: DTypeLike | None = None, **kwargs: object) -> Symbol:
    """A value repeated in a shape and dtype (float32 if None).

    Parameters
    ----------
    shape, dtype, **kwargs
        As for `zeros`.
    val
        The number.
    """
    return _filled(creation.full_value, shape, dtype, {"value": float(val), **kwargs})


def _filled(op: Op, shape: Shape, dtype: DTypeLike | None, options: Mapping[str, object]) -> Symbol:
    return applied(op, (), {"shape": shape, "dtype": "float32" if dtype is None else dtype, **options})


def arange(
    start: float,
    stop: float | None = None,
    step: float = 1.0,
    repeat: int = 1,
    infer_range: bool = False,
    name: str | None = None,
    dtype: DTypeLike | None = None,
) -> Symbol:
    """Evenly spaced values in [start, stop), or in [0, start) with a single number, each ``repeat`` times.

    Parameters
    ----------
    start, stop, step
        The range.
    repeat
        Number of times each value is repeated.
    infer_range
        Whether to infer the length from use.
    name
        Name of the node.
    dtype
        float32 if None.
    """
    params = {"start": start, "stop": stop, "step": step, "repeat": repeat, "infer_range": infer_range}
    return applied(creation.arange, (), {**params, "dtype": "float32" if dtype is None else dtype, "name": name})


def linspace(start: float, stop: float, num: int, endpoint: bool = True, name: str | None = None, dtype: DTypeLike | None = None) -> Symbol:
    """``num`` evenly spaced values from ``start`` to ``stop``, inclusive if ``endpoint``.

    Parameters
    ----------
    start, stop
        First and last value.
    num
        Number of values.
    endpoint
        Whether ``stop`` is among them.
    name
        Name of the node.
    dtype
        float32 if None.
    """
    params = {"start": start, "stop": stop, "num": num, "endpoint": endpoint}
    return applied(creation.linspace, (), {**params, "dtype": "float32" if dtype is None else dtype, "name": name})


def eye(N: int, M: int = 0, k: int = 0, dtype: DTypeLike | None = None, **kwargs: object) -> Symbol:
    """A matrix (N, M), square if ``M`` is 0, with ones on diagonal ``k`` and zeros elsewhere.

    Parameters
    ----------
    N, M
        Numbers of rows and columns.
    k
        The diagonal: 0 for the main one, positive above it, negative below it.
    dtype, **kwargs
        As for `zeros`.
    """
    return applied(creation.eye, (), {"dtype": "float32" if dtype is None else dtype, "N": N, "M": M, "k": k, **kwargs})


def split_v2(ary: Symbol, indices_or_sections: int | Sequence[int], axis: int = 0, squeeze_axis: bool = False) -> Symbol:
    """An array split along an axis, into equal parts or at indices.

    Parameters
    ----------
    ary
        The array.
    indices_or_sections
        The number of parts, or the indices at which to split.
    axis, squeeze_axis
        The axis, and whether to remove it from parts, in which it must then have size 1.

    Raises
    ------
    ParameterError
        If ``indices_or_sections`` is neither a number nor a sequence.
    """
    if isinstance(indices_or_sections, int):
        where: dict[str, object] = {"indices": [], "sections": indices_or_sections}
    elif isinstance(indices_or_sections, (list, tuple)):
        where = {"indices": [0, *indices_or_sections], "sections": 0}  # the operator's indices are the starts of the parts
    else:
        raise ParameterError(
            "split_v2: indices_or_sections must either int or tuple of ints", repr(indices_or_sections), "pass one of them"
        )
    return apply_op(joining.split_v2, joining.split_v2.title, (ary,), {**where, "axis": axis, "squeeze_axis": squeeze_axis})


def histogram(a: Symbol, bins: int | Symbol = 10, range: tuple[float, float] | None = None, **kwargs: object) -> Symbol:
    """Number of values in each bin, and the bins' edges.

    Parameters
    ----------
    a
        The values.
    bins
        Edges, or the number of equal bins within ``range``.
    range
        Lowest and highest edge.

    Raises
    ------
    ParameterError
        If a number of bins is given without a range, which cannot be computed without values.
    """
    if isinstance(bins, Symbol):
        return apply_op(counting.histogram, counting.histogram.title, (a, bins), kwargs)
    if range is None:
        raise ParameterError("histogram: null range is not supported in symbol mode", f"bins={bins}", "pass the range")
    return apply_op(counting.histogram, counting.histogram.title, (a, None), {"bin_cnt": bins, "range": range, **kwargs})


def load(fname: str) -> Symbol:
    """Read a symbol from a file (a path, or a URL such as ``s3://…``) written by MXNet 1.x or `Symbol.save`.

    Parameters
    ----------
    fname
        Path or URL of the file.

    Raises
    ------
    MissingFileError, FileAccessError
        If it cannot be read.
    FormatError
        If it is not a symbol, or a node does not match its operator; the message names the node.
    """
    data = read_file(fname)
    try:
        return Symbol(from_json(data))
    except FormatError as error:
        raise error.at_path(fname) from error.__cause__


def load_json(json_str: str) -> Symbol:
    """Read a symbol from JSON text.

    Parameters
    ----------
    json_str
        The text, as `Symbol.tojson` gives it.

    Raises
    ------
    FormatError
        If it is not a symbol.
    DTypeError
        If it is not text.
    """
    if not isinstance(json_str, (str, bytes)):
        raise DTypeError("load_json: the argument is required to be string", type(json_str).__name__, "pass the text of a JSON file")
    return Symbol(from_json(json_str))


# array methods of these names have ``inplace``, which has no meaning for symbols


def expand_dims(self: Symbol, axis: int, inplace: bool = False, **kwargs: object) -> Symbol:
    """The symbol with a new axis of size 1 at position ``axis``; ``inplace`` concerns arrays only."""
    return applied(reshaping.expand_dims, (self,), {"axis": axis, **kwargs})


def flatten(self: Symbol, inplace: bool = False, **kwargs: object) -> Symbol:
    """The symbol in two dimensions, (first size, product of the others); ``inplace`` concerns arrays only."""
    return applied(reshaping.flatten, (self,), kwargs, "flatten")


def squeeze(self: Symbol, axis: int | Sequence[int] | None = None, inplace: bool = False, **kwargs: object) -> Symbol:
    """The symbol without axes of size 1 (the given ones, or all); ``inplace`` concerns arrays only."""
    return applied(reshaping.squeeze, (self,), kwargs if axis is None else {"axis": axis, **kwargs})
