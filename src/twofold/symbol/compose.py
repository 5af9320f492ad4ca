"""Creates nodes: variables, groups, and operators applied to symbols, with automatic names, variables and attributes."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Protocol

import numpy as np

from ..dtype import MXNET_CODES, DTypeLike, dtype_name
from ..errors import ParameterError, WrongArgument
from ..imperative.array import Array
from ..opdef import Op
from ..opdef.params import DTYPE
from ..strictness import tolerate
from .arguments import argument_inputs, initializer_of
from .naming import AttrScope, NameManager
from .node import VARIABLE, Head, SymbolNode, attrs_as_text, checked_attrs, hidden
from .storage_types import CODES
from .symbol import Symbol

#: Functions that change each new node of an operator, by its registered name. Automatic mixed precision enters its casts here.
REWRITES: dict[str, Callable[[SymbolNode], SymbolNode]] = {}


class NotASymbol(ParameterError, TypeError, AssertionError):
    """An input is not a symbol (MXNet raises an AssertionError)."""


class Dumpable(Protocol):
    """An initializer, as seen by lower packages."""

    def dumps(self) -> str:
        """Its configuration as JSON text."""
        ...


def spelling(value: object) -> str:
    """A parameter's value as MXNet's attribute string."""
    if isinstance(value, str):
        return value
    return dtype_name(value) if isinstance(value, (type, np.dtype)) else str(_plain(value))


def _plain(value: object) -> object:
    """NumPy's numbers as Python's numbers, whose ``repr`` does not name a type."""
    if isinstance(value, (list, tuple)):
        return type(value)(_plain(v) for v in value)
    return value.item() if isinstance(value, np.generic) else value


def variable(
    name: str,
    attr: Mapping[str, str] | None = None,
    shape: Sequence[int] | int | None = None,
    lr_mult: float | None = None,
    wd_mult: float | None = None,
    dtype: DTypeLike | None = None,
    init: "str | Dumpable | None" = None,
    stype: str | None = None,
    **kwargs: object,
) -> Symbol:
    """An input of a graph, by name.

    Parameters
    ----------
    name
        Its name.
    attr
        Other attributes, strings by name.
    shape, dtype
        Its shape (0 for an unknown size) and dtype, if they are not to be inferred.
    lr_mult, wd_mult
        Multipliers of the learning rate and of weight decay.
    init
        Its initializer: an object with ``dumps()``, or the resulting text.
    stype
        Its storage type: ``"default"``, ``"row_sparse"`` or ``"csr"``.
    **kwargs
        Other attributes, of the form ``__name__``.

    Raises
    ------
    ParameterError
        If the name or an attribute is not a string, or an attribute's name does not have that form.
    """
    if not isinstance(name, str):
        raise WrongArgument("Expect a string for variable `name`", repr(name), "pass the variable's name first")
    attrs = AttrScope.current.get(checked_attrs(attr))
    known = {
        "__shape__": None if shape is None else spelling(shape),
        "__lr_mult__": None if lr_mult is None else spelling(lr_mult),
        "__wd_mult__": None if wd_mult is None else spelling(wd_mult),
        # MXNet's files hold the dtype's number, not its name.
        "__dtype__": None if dtype is None else str(MXNET_CODES[dtype_name(dtype)]),
        "__init__": init if init is None or isinstance(init, str) else init.dumps(),
        "__storage_type__": None if stype is None else CODES[stype],
    }
    for key, value in kwargs.items():
        if not (key.startswith("__") and key.endswith("__")):
            message = f"Attribute name={key} is not supported"
            raise ParameterError(message, f"{key}={value!r}", "start and end its name with two underscores: __yourattr__")
        known[key] = str(value)
    attrs |= {k: v for k, v in known.items() if v is not None}
    return Symbol([Head(SymbolNode(VARIABLE, name, hidden(attrs)), 0)])


def group(symbols: Iterable[Symbol]) -> Symbol:
    """Combine the outputs of several symbols in one symbol.

    Parameters
    ----------
    symbols
        The symbols, in the order of their outputs.

    Raises
    ------
    ParameterError
        If it is not a list of at least one symbol.
    """
    symbols = [] if isinstance(symbols, Symbol) else list(symbols)
    if not symbols or not all(isinstance(s, Symbol) for s in symbols):
        given = ", ".join(type(s).__name__ for s in symbols) or "nothing"
        raise WrongArgument("Expected a list of symbols as input", given, "pass at least one symbol, in a list")
    return Symbol([h for s in symbols for h in s.heads])


def apply_op(
    op: Op,
    hint: str,
    arrays: Sequence[Symbol | None],
    params: Mapping[str, object],
    name: str | None = None,
    attr: Mapping[str, str] | None = None,
    subgraphs: tuple[tuple[Head, ...], ...] = (),
) -> Symbol:
    """Apply an operator to symbols.

    Parameters
    ----------
    op, hint
        The operator, and the prefix of its automatic names.
    arrays
        Symbols in the order of the operator's inputs; for None a variable ``<name>_<input>`` is created.
    params
        Parameters of the operator, attributes, and, for a variadic operator, more symbols by name.
    name, attr
        Name and attributes of the node; they override those of the enclosing scopes.
    subgraphs
        Bodies of control flow.

    Raises
    ------
    ParameterError
        If a parameter is unknown, missing or of the wrong kind, or an input is not a single output of a symbol.
    """
    # a variadic operator's symbols may be given by name: MXNet takes them in the order of the call
    by_name = {k: v for k, v in params.items() if isinstance(v, Symbol)}
    if by_name and not op.variadic:
        raise ParameterError(
            f"{op.spoken}: Cannot find argument", ", ".join(by_name), f"Possible Arguments: {', '.join(i.name for i in op.inputs)}"
        )
    attrs = _attributes(op, {k: v for k, v in params.items() if k not in by_name}, attrs_as_text(attr))
    label: str = NameManager.current.get(name, hint)  # before the inputs: the variables created for them are named after the node
    given = [*arrays, *by_name.values()] if op.variadic else list(arrays)
    inputs = _variadic(op, attrs, given) if op.variadic else _named(op, attrs, given)
    if op.count_param is not None:
        # like MXNet, which counts the given symbols, not the variables that are created for others
        attrs.setdefault(op.count_param, str(len(given)))
    heads = [_input_head(op, label, argument, symbol, attrs) for argument, symbol in inputs]
    node = SymbolNode(op.title, label, attrs, heads, subgraphs)
    node.check()  # at the call, not at binding: the traceback then shows the line that composed it
    if op.title in REWRITES:
        node = REWRITES[op.title](node)
    return Symbol([Head(node, k) for k in range(node.visible)])


def _attributes(op: Op, given: Mapping[str, object], attr: Mapping[str, str]) -> dict[str, str]:
    """All attribute strings of a node, checked: parameters of the operator, hidden attributes, names of the form ``__name__``."""
    dtype = given.get("dtype", "")
    # as everywhere in NumPy, an array stands for its dtype, and None for float64 unless the operator gives it a meaning
    if isinstance(dtype, Array) or (dtype is None and "dtype" in op.params and op.params["dtype"].kind is DTYPE):
        given = {**given, "dtype": dtype_name(dtype)}
    spelt = {k: spelling(v) for k, v in given.items()}
    attrs = hidden({**AttrScope.current.get(attr), **spelt})
    # The training flag belongs to a run, so it is no attribute of a node.
    params = [p for p in op.params if p not in op.training]
    for key in attrs:
        own = key in params or key == op.count_param or (key.startswith("__") and key.endswith("__"))
        own = own or (key == "ctx" and not op.arrays)  # see `operator_params`
        if not own and key in spelt and op.ignores_unknown:
            tolerate(f"{op.spoken}: there is no parameter", key, "omit it")  # it remains an attribute of the node
        elif not own and key not in spelt and not op.ignores_unknown:  # of `attr` or an `AttrScope`
            raise ParameterError(f"{op.spoken}: Cannot find argument", key, f"an attribute of a node is named __{key}__")
        elif not own and not op.ignores_unknown:
            raise op.no_parameter(key)
    for key in attrs:
        if key in params:
            # Parsed only for the error that a wrong value raises: the node keeps the text.
            op.params[key].value(attrs[key], op.spoken)
    return attrs


def _single(op: Op, argument: str, symbol: object) -> Symbol | None:
    if symbol is None:
        return None
    if not isinstance(symbol, Symbol):
        what = f"{op.spoken}: Argument {argument} must be Symbol instances"
        raise NotASymbol(what, type(symbol).__name__, "pass symbols; arrays go to the function of this name in mx.nd")
    if len(symbol.heads) != 1:
        raise ParameterError(
            f"{op.spoken}: Argument {argument} is a tuple, single value is required", symbol.list_outputs(), "pick one output"
        )
    return symbol


def _named(op: Op, attrs: Mapping[str, str], arrays: Sequence[Symbol | None]) -> list[tuple[str, Symbol | None]]:
    names = [i.name for i in argument_inputs(op, attrs)]
    given = [a for a in arrays if a is not None]
    if len(given) == len(names) and all(a is not None for a in arrays[: len(given)]):  # like MXNet, which counts only the inputs given
        return [(name, _single(op, name, symbol)) for name, symbol in zip(names, given, strict=True)]
    expected, out, omitted = {*names}, [], ""
    for place, symbol in zip(op.arrays, arrays, strict=True):
        _single(op, place.name, symbol)
        if place.name in expected:
            out.append((place.name, symbol))
        elif symbol is None:
            omitted = omitted or (place.name if place.present is None else "")
        elif place.present is not None:
            raise ParameterError(
                f"{op.spoken}: these parameters allow no input {place.name}", symbol.name, "omit it, or set the parameter that enables it"
            )
        elif omitted:
            # a node stores its inputs without names, as MXNet's files do: their number determines which optional inputs are given
            raise ParameterError(
                f"{op.spoken}: a symbol cannot have the input {place.name} without {omitted}", symbol.name, f"pass {omitted} too"
            )
        else:
            out.append((place.name, symbol))
    return out


def _variadic(op: Op, attrs: Mapping[str, str], arrays: Sequence[Symbol | None]) -> list[tuple[str, Symbol | None]]:
    fixed = [i.name for i in argument_inputs(op, attrs)]
    # The caller may name a larger number of inputs than there are symbols: variables are created for the others.
    count = max(len(arrays), int(attrs.get(op.count_param or "", 0)))
    names = [*fixed, *(f"arg{k}" for k in range(count - len(fixed)))]
    padded = [*arrays, *[None] * (len(names) - len(arrays))]
    return [(n, _single(op, n, s)) for n, s in zip(names, padded, strict=True)]


def _input_head(op: Op, name: str, argument: str, symbol: Symbol | None, attrs: Mapping[str, str]) -> Head:
    """The given output, or a new variable, which gets the node's attributes as in MXNet."""
    head = Head(SymbolNode(VARIABLE, f"{name}_{argument}", attrs), 0) if symbol is None else symbol.heads[0]
    initializer = initializer_of(op, argument)
    if initializer is not None and head.node.is_variable:
        # A variable that the caller has made gets the initializer too, unless it has one of its own.
        head.node.attrs.setdefault("__init__", initializer)
    return head
