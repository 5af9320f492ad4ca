"""``mx.sym.Custom``: a custom operator as a node. Its `CustomOp` is created once per executor."""

from collections.abc import Iterable, Mapping, Sequence
from itertools import chain

from ..device import Device
from ..dtype import NUMPY
from ..errors import ParameterError
from ..graph.build import G
from ..graph.ir import Node
from ..ndarray.array import NDArray
from ..ndarray.custom import (
    REGISTERED,
    CustomHandle,
    CustomOpProp,
    Names,
    Types,
    backward_needs,
    create_prop,
    infer,
    infer_types,
    names_of,
    paired,
)
from .naming import AttrScope, NameManager
from .node import SPECIAL_NODES, VARIABLE, Head, Replaying, SpecialNode, SymbolNode
from .partial_types import PartialType
from .symbol import Symbol

__all__ = ["Custom"]

#: Where a node keeps what its property was asked last, the types of operands, and its answer, those of all arrays.
_ASKED = "asked"


def Custom(
    *data: Symbol, op_type: str = "", name: str | None = None, attr: Mapping[str, str] | None = None, **parameters: object
) -> Symbol:
    """A node that calls a registered custom operator.

    Parameters
    ----------
    *data
        Symbols of the arguments, then of the auxiliary states (variables), in the order that the property lists; or by keyword.
        Variables are created for those left out.
    op_type
        The name it was registered under; required.
    name, attr
        Name and attributes of the node.
    **parameters
        Passed to the property class as strings.
    """
    by_name = {k: v for k, v in parameters.items() if isinstance(v, Symbol)}
    given = {k: str(v) for k, v in parameters.items() if k not in by_name}
    prop = create_prop(op_type, given)
    label = NameManager.current.get(name, "custom")
    listed = names_of(f"Custom({op_type})", prop)
    names = listed.operands
    symbols = dict(zip(names, data, strict=False)) | by_name
    unknown = [n for n in symbols if n not in names]
    if unknown or len(data) > len(names):
        raise ParameterError(
            f"Custom({op_type}): no such argument", ", ".join(unknown) or f"{len(data)} symbols", f"pass {', '.join(names)}"
        )
    attrs = {**AttrScope.current.get(attr), "op_type": op_type, **given}
    heads = [symbols[n].heads[0] if n in symbols else Head(SymbolNode(VARIABLE, f"{label}_{n}", attrs), 0) for n in names]
    node = SymbolNode(CUSTOM, label, attrs, heads, outputs=len(listed.outputs))
    node.derived |= {CustomOpProp: prop, Names: listed}
    node.check()
    return Symbol([Head(node, k) for k in range(node.outputs)])


def _prop_of(node: SymbolNode) -> CustomOpProp:
    """The property of a node, the same each time, as in MXNet: it may be slow to make, and may keep what one method finds for another."""
    found: CustomOpProp | None = node.derived.get(CustomOpProp)
    if found is None:
        attrs = {k: v for k, v in node.attrs.items() if not k.startswith("__") and k != "op_type"}
        found = node.derived[CustomOpProp] = create_prop(node.attrs["op_type"], attrs)
    return found


def _names_of(node: SymbolNode) -> Names:
    """The names that the property of a node lists."""
    found: Names | None = node.derived.get(Names)
    if found is None:
        found = node.derived[Names] = names_of(f"Custom({node.attrs['op_type']})", _prop_of(node))
    return found


def _types_of(node: SymbolNode, label: str, given: list[tuple[tuple[int, ...], str]]) -> Types:
    """The types of a node's arrays for those of its operands.

    The property is not asked again for what it was asked last, as MXNet asks once for each executor. After any other question it is: it
    may keep what it found for `create_operator`.
    """
    asked: tuple[object, Types] | None = node.derived.get(_ASKED)
    if asked is None or asked[0] != given:
        asked = node.derived[_ASKED] = given, infer_types(label, _prop_of(node), given)
    return asked[1]


def _states(node: SymbolNode) -> range:
    """Positions of the inputs that are states; none while the operator is not registered."""
    # looked up on each call: the operator may be registered after the file with the node has been loaded
    count = len(node.inputs)
    states = _names_of(node).states if node.attrs.get("op_type") in REGISTERED else []
    return range(count - len(states), count)


class _Custom(SpecialNode):
    """Nodes of registered operators; a file may be loaded, and saved again, before its operators are registered."""

    def check(self, node: SymbolNode) -> int:
        """Check a node's ``op_type`` and, if the type is registered, its inputs; return the number of outputs."""
        op_type = node.attrs.get("op_type")
        if op_type is None:
            raise ParameterError("Custom: Required parameter op_type is not presented", None, "pass it")
        if op_type not in REGISTERED:
            return node.outputs
        listed = _names_of(node)
        names = listed.operands
        if len(node.inputs) != len(names):
            raise ParameterError(f"Custom({op_type}): number of inputs", f"{len(node.inputs)}", f"pass {', '.join(names)}")
        for k in _states(node):
            if not node.inputs[k].node.is_variable:
                what = f"Custom({op_type}): an auxiliary state must be a variable"
                raise ParameterError(f"{what}: {names[k]} is an output of {node.inputs[k].node.name}", None, "pass a variable")
        return len(listed.outputs)

    def written(self, node: SymbolNode) -> Iterable[int]:
        """Positions of the states."""
        return _states(node)

    def output_names(self, node: SymbolNode) -> Sequence[str]:
        """The names of the results, from the property; empty while the operator is not registered."""
        return _names_of(node).outputs if node.attrs["op_type"] in REGISTERED else ()

    def input_names(self, node: SymbolNode) -> Sequence[str]:
        """The names of the operands, from the property; empty while the operator is not registered."""
        return _names_of(node).operands if node.attrs["op_type"] in REGISTERED else ()

    def infer(self, node: SymbolNode, inputs: Sequence[PartialType], outputs: Sequence[PartialType]) -> None:
        """Types and shapes of all arrays, from the property. As in MXNet, it is called once the first operand is known."""
        prop, label, count = _prop_of(node), f"Custom({node.attrs['op_type']})", _states(node).start
        operands, arrays = inputs[:count], [*inputs[:count], *outputs, *inputs[count:]]
        first, shapes = operands[0], None
        node.derived.pop(_ASKED, None)
        given = [(k.shape, k.dtype or first.dtype or "float32") for k in operands]
        if first.is_shaped:
            # To the user's method an unknown shape is an empty list, as in MXNet.
            shapes = infer(label, prop, "infer_shape", [list(k.sizes) if k.is_shaped else [] for k in operands])
            for k, (known, shape) in enumerate(zip(arrays, chain(*shapes), strict=True)):
                known.learn_shape(shape, f"array {k}")
        # asked once, as in MXNet, though a node is visited until nothing changes
        if (first.dtype is not None or first.is_shaped) and any(k.dtype is None for k in arrays):
            kinds = infer(label, prop, "infer_type", [NUMPY[dtype].type for _, dtype in given])
            for known, kind in zip(arrays, chain(*kinds), strict=True):
                known.dtype = known.dtype or kind
            if shapes is not None:
                node.derived[_ASKED] = given, paired(shapes, kinds)

    def replay(self, replay: Replaying, node: SymbolNode, arrays: Sequence[Node]) -> Sequence[Node]:
        """A call of user code, on an object that each executor creates."""
        prop, first_state = _prop_of(node), _states(node).start
        op_type, operands = node.attrs["op_type"], arrays[:first_state]
        label = f"Custom({op_type})"
        given = [(a.shape, a.dtype) for a in operands]
        types = _types_of(node, label, given)
        needs = backward_needs(label, prop, _names_of(node))

        # an object of the user may keep values from forward to backward: two executors must not share it
        def create(device: Device, states: Sequence[NDArray]) -> CustomHandle:
            # asked again if the last question was another: the property may keep its answer for `create_operator`
            return CustomHandle(op_type, prop, replay.training, needs, _types_of(node, label, given), device, states)

        handle = replay.user_object(create, [h.node for h in node.inputs[first_state:]])
        results = G.user_forward(handle, *operands, types=tuple(types["out"]), needs=needs, label=label)
        return results if isinstance(results, tuple) else (results,)


CUSTOM = "Custom"
SPECIAL_NODES[CUSTOM] = _Custom()
