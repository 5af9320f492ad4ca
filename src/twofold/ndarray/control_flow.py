"""``mx.nd.contrib.foreach``, ``while_loop``, ``cond``: Python loops over arrays, run immediately and recorded like any code."""

from collections.abc import Callable, Iterator, Sequence
from typing import Any, TypeAlias, TypeVar

from ..errors import InvalidValue, ParameterError, ShapeError
from ..imperative.array import apply_op
from ..ops import primitive_shape
from .array import NDArray

__all__ = ["cond", "foreach", "while_loop"]

T = TypeVar("T")
#: How items are nested: None for a single one, else a list of structures.
Structure: TypeAlias = "list[Structure] | None"


def flatten(nested: object, kind: type[T], refuse: Callable[[str], Exception]) -> tuple[list[T], Structure]:
    """The items in nested lists, in order, and the structure to nest other items in the same way (None for a single item).

    Parameters
    ----------
    nested
        An item, or lists of lists of items.
    kind
        The items' class.
    refuse
        Makes the exception for anything else, given its type's name.
    """
    if isinstance(nested, kind):
        return [nested], None
    if not isinstance(nested, (list, tuple)):
        raise refuse(type(nested).__name__)
    parts = [flatten(part, kind, refuse) for part in nested]
    return [item for items, _ in parts for item in items], [form for _, form in parts]


def nest(items: Sequence[T], form: Structure) -> Any:
    """Nest items in a structure returned by `flatten`."""
    return _nest(iter(items), form)


def _nest(items: Iterator[T], form: Structure) -> Any:
    return next(items) if form is None else [_nest(items, inner) for inner in form]


def _flatten(nested: object) -> tuple[list[NDArray], Structure]:
    what = "control flow: expected an NDArray or (nested) lists of them"
    return flatten(nested, NDArray, lambda given: InvalidValue(what, given, "pass or return NDArrays"))


def pair_of(result: object, what: str) -> tuple[Any, Any]:
    """Unpack the pair that a loop body returned.

    Raises
    ------
    ParameterError
        If it is not a pair.
    """
    if not isinstance(result, (list, tuple)) or len(result) != 2:
        count = f"{len(result)} of them" if isinstance(result, (list, tuple)) else type(result).__name__
        raise ParameterError(f"{what} must return a pair, outputs and new states", count, "return both; use [] for none")
    return result[0], result[1]


def step_limit(max_iterations: object) -> int:
    """``max_iterations`` as an integer; a fraction is dropped, as in MXNet.

    Raises
    ------
    ParameterError
        If it is no number.
    """
    try:
        return int(max_iterations)  # type: ignore[call-overload]
    except (TypeError, ValueError):
        raise ParameterError("while_loop: max_iterations must be an integer", repr(max_iterations), "pass the bound") from None


def _stack(rows: Sequence[NDArray]) -> NDArray:
    return apply_op(primitive_shape.concat, *[r.reshape((1, *r.shape)) for r in rows], cls=NDArray, axis=0)


def foreach(body: Callable[[Any, Any], tuple[Any, Any]], data: Any, init_states: Any) -> tuple[Any, Any]:
    """Run ``body(slice, states) -> (output, states)`` over axis 0 of the data.

    Parameters
    ----------
    body
        Called with a slice of each array of ``data`` and the states. Outputs and states may be nested lists of arrays.
    data
        An array of shape (steps, …), or nested lists of such arrays.
    init_states
        The initial states: an array or nested lists.

    Returns
    -------
    tuple
        The outputs, each stacked to (steps, …), and the final states.
    """
    # the nesting is taken apart once; each step nests its slices again for the body
    arrays, form = _flatten(data)
    _flatten(init_states)  # raises for what is no array
    if not arrays:
        raise ParameterError("foreach: no data to loop over", repr(data), "pass at least one array")
    if not len(arrays[0]):
        raise ParameterError("foreach: there is no step", f"data of shape {arrays[0].shape}", "pass arrays of at least one row")
    states, rows, out_form = init_states, [], None
    for t in range(len(arrays[0])):
        outputs, states = pair_of(body(nest([a[t] for a in arrays], form), states), "foreach: the body")
        flat, out_form = _flatten(outputs)
        rows.append(flat)
    # rows of steps become columns of outputs
    stacked = [_stack(column) for column in zip(*rows, strict=True)]
    return nest(stacked, out_form), states


def while_loop(
    cond: Callable[..., Any], func: Callable[..., tuple[Any, Any]], loop_vars: Any, max_iterations: int | None = None
) -> tuple[Any, Any]:
    """Run ``func(*loop_vars) -> (output, new loop_vars)`` while ``cond(*loop_vars)`` is true.

    Parameters
    ----------
    cond, func
        Called with the loop variables.
    loop_vars
        An array or a list of arrays.
    max_iterations
        Upper bound on the number of steps.

    Returns
    -------
    tuple
        The outputs, each of shape (max_iterations, …) and padded with zeros after the last step, and the final loop variables. If
        no step runs, the list of outputs is empty.

    Raises
    ------
    ParameterError
        If ``max_iterations`` or the loop variables are missing.
    ShapeError
        If the number of loop variables changes.
    """
    if max_iterations is None:
        raise ParameterError("while_loop: max_iterations should be specified", None, "pass an upper bound on the number of steps")
    limit = step_limit(max_iterations)
    single = isinstance(loop_vars, NDArray)
    variables = [loop_vars] if single else list(loop_vars)
    if not variables:
        raise ParameterError("while_loop: loop_vars should contain at least one element", None, "pass the loop variables")
    rows, form = [], None
    while len(rows) < limit and bool(cond(*variables)):
        outputs, new = pair_of(func(*variables), "while_loop: func")
        flat, form = _flatten([] if outputs is None else outputs)
        new = _flatten(new)[0]
        if len(new) != len(variables):
            raise ShapeError(
                "while_loop: func must return as many loop variables as it takes", f"{len(new)} for {len(variables)}", "return them all"
            )
        rows.append(flat)
        variables = new
    # MXNet's outputs have ``max_iterations`` rows, so that their shape does not depend on values
    padded = [_pad(_stack(column), limit) for column in zip(*rows, strict=True)]
    return (nest(padded, form) if rows else []), (variables[0] if single else variables)


def _pad(stacked: NDArray, length: int) -> NDArray:
    width = ((0, length - len(stacked)), *[(0, 0)] * (stacked.ndim - 1))
    return stacked if len(stacked) == length else apply_op(primitive_shape.pad, stacked, cls=NDArray, width=width, value=0.0)


def cond(pred: NDArray, then_func: Callable[[], Any], else_func: Callable[[], Any]) -> Any:
    """``then_func()`` if the single element of ``pred`` is non-zero, else ``else_func()``."""
    return then_func() if bool(pred) else else_func()
