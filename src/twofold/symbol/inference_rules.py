"""One step of inference at one node: its operator's rules for shapes and dtypes, forward and backward."""

from collections.abc import Sequence
from itertools import zip_longest

from ..dtype import HALVES
from ..errors import MXNetError
from ..graph.ir import leaf
from ..numpy_extension import is_np_shape
from ..opdef import Input
from .application import apply_node
from .node import SymbolNode
from .partial_types import PartialShape, PartialType


def infer_node(node: SymbolNode, inputs: Sequence[PartialType], outputs: Sequence[PartialType], probing: bool) -> bool:
    """Infer types of the values around a node.

    Parameters
    ----------
    node, inputs, outputs
        The node, and the known types of its inputs and outputs, which are updated.
    probing
        Whether to try trial sizes for unknown ones.

    Returns
    -------
    bool
        Whether nothing more can be inferred at the node.

    Raises
    ------
    ShapeError, DTypeError
        If what is known is contradictory.
    """
    if node.special is not None:
        node.special.infer(node, inputs, outputs)
        # its subgraphs may determine more once more is known around the node
        return all(k.is_shaped and k.dtype is not None for k in (*inputs, *outputs))
    infer_dtypes(node, inputs, outputs)
    _complete(node, inputs, outputs)
    if node.is_eager:
        return False  # the rest depends on values, known only when the graph runs
    if not node.inputs:
        _open_sizes(node, outputs)
    _unify(node, inputs, outputs)
    # the operator's own rule determines all shapes and dtypes, and raises the errors of a run: it is applied as soon as possible
    if all(k.is_shaped for k in inputs) and (node.inputs or outputs[0].is_shaped):
        return _learn_types(node, inputs, outputs)
    if probing and node.inputs and all(k.shape is not None for k in inputs):
        _probe(node, inputs, outputs)
    return False


# dtypes


def infer_dtypes(node: SymbolNode, inputs: Sequence[PartialType], outputs: Sequence[PartialType]) -> None:
    """Unify dtypes at a node: all arrays except indices have the same; so do outputs unless the operator or a parameter determines theirs.

    Raises
    ------
    DTypeError
        If operands of an element-wise operator differ.
    """
    op, names = node.operator, node.input_names
    facts = op.inputs if op.variadic else [i for i in op.inputs if i.name in names]
    shared = [k for k, fact in zip_longest(inputs, facts) if k is not None and (fact is None or not fact.own_dtype)]
    _own_dtypes(node, inputs, facts)
    if op.symbolic.assumed_rule is not None:
        # where all inputs must agree, a known one (a parameter cast to float16, say) takes precedence over the default
        agreed = next((k.dtype for k in inputs if k.dtype is not None), None) if op.front.alike else None
        for known, dtype in zip(inputs, op.symbolic.assumed_rule(names, **node.bind().params), strict=True):
            known.dtype = known.dtype or agreed or dtype
    declared = _declared(node, inputs, outputs)[0] if outputs else None
    follows = declared is None and op.result in ("promote", "first", "tail", "ufunc", "float", "bool") and op.elementwise
    # parameters that stay float32 beside 16-bit data do not tell the dtype of the data
    wide = [k for k, fact in zip(inputs, facts, strict=False) if fact.wide]
    common = next((k.dtype for k in shared if k.dtype is not None and (k.dtype != "float32" or k not in wide)), None)
    if common is None and declared is None and op.result != "index" and outputs:
        common = outputs[0].dtype
    for known, name in zip(inputs, names, strict=True):
        if known in shared and known not in wide and (op.elementwise or known.dtype is None):
            known.learn_dtype(common, f"input {name}")
    for k, (known, own) in enumerate(zip(outputs, _declared(node, inputs, outputs), strict=False)):
        if follows:
            known.learn_dtype(common, f"output {k}")
        # MXNet's default: float32
        known.dtype = known.dtype or own or ("float32" if op.result == "index" or not inputs else common)


def _own_dtypes(node: SymbolNode, inputs: Sequence[PartialType], facts: Sequence[Input]) -> None:
    """Inputs whose dtype a parameter names, and those that stay float32 beside 16-bit data."""
    for known, fact in zip(inputs, facts, strict=False):
        if fact.dtype_param is not None:
            known.dtype = known.dtype or node.bind().params[fact.dtype_param]
        elif fact.wide:
            data = inputs[0].dtype
            known.dtype = known.dtype or ("float32" if data in HALVES else data)


def _declared(node: SymbolNode, inputs: Sequence[PartialType], outputs: Sequence[PartialType]) -> Sequence[str | None]:
    """The dtypes of the results that the operator or a parameter declares; None for results with the operands' dtype."""
    op, params = node.operator, node.bind().params
    if op.symbolic.dtype_rule is not None:
        return op.symbolic.dtype_rule(node.operands([k.dtype for k in inputs]), **params)
    return [params.get("dtype")] * len(outputs)


# shapes


def _complete(node: SymbolNode, inputs: Sequence[PartialType], outputs: Sequence[PartialType]) -> None:
    """Apply the operator's own rules for the shapes of its inputs and results."""
    op = node.operator
    if op.symbolic.infer_rule is None:
        return
    shapes = node.operands([k.shape for k in inputs])
    completed, results = op.symbolic.completed(shapes, [k.shape for k in outputs], node.bind().params)
    names = node.input_names if op.variadic else [i.name for i in op.arrays]
    found = dict(zip(names, completed, strict=False))
    for known, name in zip(inputs, node.input_names, strict=True):
        shape = found.get(name)
        known.learn_shape(None if shape is None else tuple(shape), f"input {name}")
    for k, (known, shape) in enumerate(zip(outputs, results, strict=False)):
        known.learn_shape(None if shape is None else tuple(shape), f"output {k}")


def _open_sizes(node: SymbolNode, outputs: Sequence[PartialType]) -> None:
    """An operator without inputs: its ``shape`` parameter, in which 0 and -1 are inferred from the readers of the result."""
    shape = node.bind().params.get("shape")
    if shape is not None and is_open(node):
        outputs[0].learn_shape(tuple(None if n < _least_size() else n for n in shape) or None, "the result")
    elif not outputs[0].is_shaped:
        _learn_types(node, (), outputs)


def is_open(node: SymbolNode) -> bool:
    """Whether sizes of a node without inputs are inferred from its users."""
    # sizes of NumPy's operators are given; under `npx.set_np` 0 is a size like any other and () a scalar's shape, else they are unknown
    shape = None if node.inputs or node.operator.numpy else node.bind().params.get("shape")
    return shape is not None and (any(n < _least_size() for n in shape) or (shape == () and not is_np_shape()))


def _least_size() -> int:
    """The least number that is a size in the parameter ``shape`` of an operator without inputs. Smaller ones are unknown sizes."""
    return 0 if is_np_shape() else 1


def same_shaped(node: SymbolNode) -> list[int] | None:
    """Positions of the inputs that have the result's shape; None if the operator broadcasts or changes the shape."""
    op = node.operator
    if isinstance(op.symbolic.keeps_shape, tuple):
        return [node.input_names.index(name) for name in op.symbolic.keeps_shape]
    if op.symbolic.keeps_shape:
        return [0]
    return list(range(len(node.inputs))) if op.elementwise and not broadcasts(node) else None


def broadcasts(node: SymbolNode) -> bool:
    """Whether the operator is one scalar function of inputs whose shapes may differ."""
    op = node.operator
    return op.elementwise and len(node.inputs) > 1 and not op.symbolic.equal_shapes and not op.symbolic.keeps_shape


def _unify(node: SymbolNode, inputs: Sequence[PartialType], outputs: Sequence[PartialType]) -> None:
    if broadcasts(node):
        outputs[0].learn_shape(broadcast_unknown([k.shape for k in inputs]), "the result")
    places = same_shaped(node)
    if not places:
        return
    shape: PartialShape = outputs[0].shape
    for k in places:
        inputs[k].learn_shape(shape, f"input {node.input_names[k]}")
        shape = inputs[k].shape
    outputs[0].learn_shape(shape, "the result")
    # a second pass: an input visited early has not yet learned from later inputs and the result
    for k in places:
        inputs[k].learn_shape(outputs[0].shape, f"input {node.input_names[k]}")


def broadcast_unknown(shapes: Sequence[PartialShape]) -> PartialShape:
    """The common shape of broadcast operands; a size is unknown if that of an operand is."""
    if any(s is None for s in shapes):
        return None
    rank = max(len(s or ()) for s in shapes)
    columns = zip(*[(1,) * (rank - len(s or ())) + (s or ()) for s in shapes], strict=True)
    # Sizes that do not match raise no error here: the typed application reports them, once all sizes are known.
    return tuple(None if None in sizes else max(n or 0 for n in sizes) for sizes in columns)


def _learn_types(node: SymbolNode, inputs: Sequence[PartialType], outputs: Sequence[PartialType]) -> bool:
    """Learn all types from the typed application. Returns whether nothing more can be learned."""
    result = outputs[0].shape if is_open(node) else None
    shapes = [k.shape for k in inputs]
    dtypes = [k.dtype or "float32" for k in inputs]
    exact = all(k.dtype is not None for k in inputs)  # float32 replaces unknown dtypes: the inferred shapes are valid, the dtypes are not
    for k, (known, (shape, dtype)) in enumerate(zip(outputs, _types(node, shapes, dtypes, result), strict=False)):
        known.learn_shape(shape, f"output {k}")
        if exact:
            known.dtype = dtype
    return exact


def _types(
    node: SymbolNode, shapes: Sequence[PartialShape], dtypes: Sequence[str], result: PartialShape = None
) -> list[tuple[tuple[int, ...], str]]:
    """(shape, dtype) of each output of the typed application; ``result`` is the shape where the node itself leaves it open."""
    arrays = [leaf(("in", k), shape, dtype) for k, (shape, dtype) in enumerate(zip(shapes, dtypes, strict=True))]  # type: ignore[arg-type]
    bound_op = node.bind() if result is None else node.bind(shape=result)
    key = leaf(("in", "key"), (6,), "uint64") if bound_op.draws else None
    return [(p.shape, p.dtype) for p in apply_node(node, bound_op, arrays, key)]


# probing

#: Stand-in sizes: every unknown size gets its own row. The last column detects clipping and rounding to even sizes; operators may
#: refuse it. The second column is in the opposite order, so that the smaller of two sizes is not mistaken for the first one.
_PROBES = [(24, 228, 840, 1), (36, 204, 1260, 3), (84, 156, 2100, 5), (144, 132, 3300, 7), (180, 60, 3900, 9), (216, 48, 4620, 11)]


def _probe(node: SymbolNode, inputs: Sequence[PartialType], outputs: Sequence[PartialType]) -> None:
    """Type the operator with stand-ins for unknown sizes: an output's size that never changes is known, one that follows is the same."""
    places = [(i, d) for i, known in enumerate(inputs) for d, n in enumerate(known.shape or ()) if n is None]
    if len(places) > len(_PROBES):  # two unknowns would share a row, and pass for the same size
        return
    found = _results(node, inputs, dict(zip(places, _PROBES, strict=False)))
    rows = dict(zip(places, _PROBES, strict=False))
    if found is None:  # sizes that must agree
        # All unknown sizes get the same row, so an output's size no longer shows which of them it follows.
        found, rows = _results(node, inputs, dict.fromkeys(places, _PROBES[0])), {}
    for out, trials in zip(outputs, found or (), strict=False):
        if len({len(t) for t in trials}) == 1:
            _learn_probed(inputs, out, list(zip(*trials, strict=True)), rows)


Place = tuple[int, int]


def _results(node: SymbolNode, inputs: Sequence[PartialType], rows: dict[Place, tuple[int, ...]]) -> list[list[tuple[int, ...]]] | None:
    """For each output its shape in each trial; None if the operator refuses the sizes."""
    dtypes = [k.dtype or "float32" for k in inputs]
    trials = []
    for t in range(len(_PROBES[0])):
        shapes = [tuple(rows[i, d][t] if n is None else n for d, n in enumerate(k.shape or ())) for i, k in enumerate(inputs)]
        try:
            trials.append([shape for shape, _ in _types(node, shapes, dtypes)])
        except MXNetError:
            if t < len(_PROBES[0]) - 1:  # all but the last column divide by small factors, as splits and strides need
                return None
    return [list(shapes) for shapes in zip(*trials, strict=True)]


def _learn_probed(
    inputs: Sequence[PartialType], out: PartialType, sizes: list[tuple[int, ...]], rows: dict[Place, tuple[int, ...]]
) -> None:
    claimed: list[int | None] = [trial[0] if len(set(trial)) == 1 else None for trial in sizes]
    out.learn_shape(tuple(claimed), "the result")
    assert out.shape is not None
    shape = list(out.shape)
    for axis, trial in enumerate(sizes):
        for (i, d), row in rows.items():
            known = list(inputs[i].shape or ())
            # The output's size follows this unknown size in every trial, so both are the same: facts about one hold for the other.
            if row[: len(trial)] == trial and known[d] != shape[axis]:
                known[d] = shape[axis] = known[d] or shape[axis]
                inputs[i].shape = tuple(known)
    out.shape = tuple(shape)
