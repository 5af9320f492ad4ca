"""The table of ONNX's operators that are read: each is one function named as the operator, in a file of `operators`."""

import inspect
from collections.abc import Callable, Mapping
from functools import partial
from typing import NamedTuple, TypeAlias

from ...errors import FormatError
from .values import Graph

Rule: TypeAlias = Callable[..., object]


class OpReader(NamedTuple):
    """How an operator of ONNX is read.

    Attributes
    ----------
    function
        ``(graph, *inputs, *, <attributes>)``: inputs are `values.Tensor`, None for omitted ones; it returns a symbol for each result
        (or a NumPy array, if that is constant).
    inputs
        Names of the inputs. An attribute of such a name is taken for a constant input: older versions of ONNX have it so.
    attributes
        Names of the attributes.
    variadic
        Whether it takes any number of inputs.
    """

    function: Rule
    inputs: tuple[str, ...]
    attributes: frozenset[str]
    variadic: bool


#: ONNX's operators by name.
OP_READERS: dict[str, OpReader] = {}


def reads(function: Rule, passed_on: frozenset[str] = frozenset()) -> Rule:
    """Enter the function that reads the operator of its name; a name that Python has taken ends with an underscore."""
    kinds = inspect.Parameter
    given = list(inspect.signature(function).parameters.values())[1:]
    inputs = tuple(p.name for p in given if p.kind is kinds.POSITIONAL_OR_KEYWORD)
    # `_called` refuses what is not listed here, so a misspelt attribute is never ignored
    attributes = passed_on | frozenset(p.name for p in given if p.kind is kinds.KEYWORD_ONLY)
    variadic = any(p.kind is kinds.VAR_POSITIONAL for p in given)
    OP_READERS[function.__name__.rstrip("_")] = OpReader(function, inputs, attributes, variadic)
    return function


def reads_like(other: Rule) -> Callable[[Rule], Rule]:
    """As `reads`, for a function that passes the attributes of another operator on to that one's function."""
    return partial(reads, passed_on=OP_READERS[other.__name__].attributes)


def reads_rows(rows: Mapping[str, str], rule: Callable[[str], Rule], *inputs: str, variadic: bool = False) -> None:
    """Enter operators that differ in the function that they apply only: each row is an operator's name and that of its function."""
    for name, function in rows.items():
        OP_READERS[name] = OpReader(rule(function), inputs, frozenset(), variadic)


def unsupported(graph: Graph, what: str, given: object = None, todo: str | None = None) -> FormatError:
    """The error for a computation that the operators of this package lack; it names the node."""
    return FormatError(f"{graph.place}: {what}", given, todo or "convert the model so that it does without")
