"""`vmap`: a function of one example as a function of a batch."""

from collections.abc import Sequence
from functools import wraps
from typing import Literal, TypeAlias

import numpy as np

from ..errors import ParameterError, ShapeError
from ..graph.batch import Batch
from ..graph.build import G
from ..graph.ir import Node, leaf, leaves_of
from ..imperative.array import Array
from ..imperative.cell import wrap
from ..imperative.trace import Trace
from ..numpy import array as numpy_array
from ..numpy.array import ndarray
from .pytree import Structure, Tree, count_of, flatten, shown, unflatten
from .traced_calls import Function, called, cell_value, operator_of, run, with_numbers

#: An axis, None for an argument that all examples share, or a pytree of these.
Axes: TypeAlias = Tree
DRAWS = {"error": None, "same": False, "different": True}


def vmap(
    fun: Function,
    in_axes: Axes = 0,
    out_axes: Axes = 0,
    *,
    axis_size: int | None = None,
    randomness: Literal["error", "same", "different"] = "error",
) -> Function:
    """A function of batches that computes a function of one example for every example, as one program without a loop.

    Parameters
    ----------
    fun
        Takes and returns pytrees of arrays. It is called once, with arrays of one example's shape that have no values: it cannot branch on
        them. It may transform functions, and draw random numbers.
    in_axes
        The axis of the arguments that numbers the examples; None for arguments that all examples share. A tuple has one item for each
        argument, each an axis, None, or a pytree of these that begins like the argument. Keyword arguments have axis 0.
    out_axes
        The axis of the results that numbers the examples, in the same way; None for a result that does not depend on the example.
    axis_size
        Number of examples; needed only if no argument has an axis.
    randomness
        ``"different"`` draws random numbers for every example, ``"same"`` the same ones for all, ``"error"`` raises.

    Returns
    -------
    callable
        Takes the arguments of ``fun`` with the additional axis.

    Raises
    ------
    ShapeError
        If arrays have no such axis, or axes of different sizes.
    ParameterError
        If ``in_axes`` or ``out_axes`` do not fit, or random numbers are drawn with ``"error"``.
    AutogradError
        If ``fun`` asks for a value, or writes to an array from outside.

    Examples
    --------
    >>> import twofold as mx
    >>> np = mx.np
    >>> mx.func.vmap(np.dot)(np.array([[1.0, 2.0], [3.0, 4.0]]), np.array([[1.0, 1.0], [0.0, 1.0]])).tolist()
    [3.0, 4.0]
    >>> per_sample = mx.func.vmap(mx.func.grad(lambda w, x: (w * x).sum() ** 2), in_axes=(None, 0))
    >>> per_sample(np.array([1.0, 1.0]), np.array([[1.0, 0.0], [2.0, 1.0]])).tolist()
    [[2.0, 0.0], [12.0, 6.0]]
    """
    if randomness not in DRAWS:
        raise ParameterError("vmap: unknown randomness", repr(randomness), f"use {', '.join(DRAWS)}")

    @wraps(fun)
    def batched(*args: Tree, **options: Tree) -> Tree:
        leaves, structure = flatten((args, options))
        given = tuple(in_axes) if isinstance(in_axes, (tuple, list)) else (in_axes,) * len(args)
        if len(given) != len(args):
            raise ParameterError(
                "vmap: in_axes has another length than the arguments", f"{len(given)} for {len(args)}", "pass one for each"
            )
        axes = [*_spread("in_axes", given, flatten(args)[1]), *[0] * len(flatten(options)[0])]
        leaves = [numpy_array(v) if isinstance(v, np.ndarray) else v for v in leaves]
        mapped = [k for k, axis in enumerate(axes) if axis is not None]
        at = {k: _axis(axis, leaves[k]) for k, axis in enumerate(axes) if axis is not None}
        size = _size({leaves[k].shape[axis] for k, axis in at.items()}, axis_size)
        trace = Trace("vmap", runs="once" if randomness == "same" else "again")
        values = [cell_value(leaves[k]) for k in mapped]
        for k, v in zip(mapped, values, strict=True):
            shape, dtype = v.type
            example = (*shape[: at[k]], *shape[at[k] + 1 :])
            leaves[k] = wrap(leaves[k]._kind, trace.argument(None, example, dtype, v.device))
        inner, inner_options = unflatten(structure, leaves)
        kind = leaves[mapped[0]]._kind if mapped else ndarray
        del leaves
        (result,) = called(trace, fun, list(inner), inner_options)
        result = with_numbers(result, kind)
        ends = [a for a, n in zip(_spread("out_axes", out_axes, result.structure), result.nodes, strict=True) if n is not None]

        examples = trace.inputs[: len(mapped)]
        inputs = [leaf(("batch", k), *v.type, n.tracked) for k, (v, n) in enumerate(zip(values, examples, strict=True))]

        def make() -> list[Node]:
            # the batch comes first inside
            first: dict[Node, Node] = {e: G.moveaxis(i, at[k], 0) for e, i, k in zip(examples, inputs, mapped, strict=True)}
            found = Batch(size, DRAWS[randomness]).of(result.arrays, first)
            return [_placed(*pair, examples) for pair in zip(result.arrays, found, ends, strict=True)]

        key = ("vmap", size, randomness, *at.values(), "to", *ends, *result.arrays, *examples)
        bound_op = operator_of(key, [*inputs, *trace.inputs[len(mapped) :]], make)
        return result.tree(run(bound_op, [*values, *trace.operands[len(mapped) :]]))

    return batched


def _spread(what: str, axes: Axes, structure: Structure) -> list[int | None]:
    """One axis for each leaf of a structure, from a tree that begins like it.

    Raises
    ------
    ParameterError
        If it does not.
    """
    if axes is None or isinstance(axes, int):
        return [axes] * count_of(structure)
    parts = [axes[key] for key in sorted(axes)] if isinstance(axes, dict) else list(axes)
    if structure is None or isinstance(structure, str) or len(parts) != len(structure[2]):
        raise ParameterError(f"vmap: {what} does not begin like the arrays", f"{axes} for {shown(structure)}", "nest it in the same way")
    return [axis for part, below in zip(parts, structure[2], strict=True) for axis in _spread(what, part, below)]


def _axis(axis: int, value: object) -> int:
    """An axis of an argument, counted from the front.

    Raises
    ------
    ShapeError
        If it has no such axis.
    """
    shape = value.shape if isinstance(value, Array) else ()
    if not -len(shape) <= axis < len(shape):
        raise ShapeError("vmap: an argument has no such axis", f"axis {axis} of {shape}", "pass None in in_axes for what examples share")
    return axis % len(shape)


def _size(sizes: set[int], given: int | None) -> int:
    """Number of examples.

    Raises
    ------
    ShapeError
        If it is unknown or ambiguous.
    """
    found = sizes | ({given} if given is not None else set())
    if len(found) != 1:
        what = ", ".join(map(str, sorted(found))) or "no axis"
        raise ShapeError(
            "vmap: the arguments do not have one number of examples", what, "pass arrays with an axis of one size, or axis_size"
        )
    return found.pop()


def _placed(example: Node, batch: Node, axis: int | None, inputs: Sequence[Node]) -> Node:
    """A result with the examples on an axis.

    Raises
    ------
    ParameterError
        For None, if the result depends on the example.
    """
    if axis is not None:
        return G.moveaxis(batch, 0, axis)
    if set(leaves_of([example])).intersection(inputs):
        raise ParameterError("vmap: a result with None in out_axes depends on the example", f"shape {example.shape}", "pass an axis")
    return example
