"""``mx.operator``: operators written by users in Python on arrays (``CustomOp``), registered by name."""

from collections.abc import Callable, Sequence
from functools import partial
from itertools import chain
from typing import Any, NamedTuple

import numpy as np

from . import ndarray, symbol
from .device import Device
from .dtype import MXNET_CODES, NUMPY, dtype_name
from .errors import OperatorError, ParameterError
from .graph.build import G
from .graph.ir import Node
from .imperative.cell import Value, wrap
from .imperative.handle import Handle, user_code
from .imperative.record import tls
from .imperative.scope import Scope
from .imperative.user_code import arrays_of, call, zeros_of
from .ndarray.array import NDArray
from .symbol.inference_rules import SPECIAL
from .symbol.known import Known
from .symbol.naming import AttrScope, NameManager
from .symbol.node import SPECIAL_NODES, VARIABLE, Head, Special, SymbolNode
from .symbol.replay import EXPANDERS, Replay
from .symbol.symbol import Symbol

__all__ = ["CustomOp", "CustomOpProp", "get_all_registered_operators", "register"]

REGISTERED: dict[str, type["CustomOpProp"]] = {}
#: (shape, dtype) of operands (``in``), results (``out``) and auxiliary states (``aux``).
Types = dict[str, list[tuple[tuple[int, ...], str]]]


class CustomOp:
    """An operator's computation. Subclasses write `forward` and `backward` on arrays."""

    def forward(self, is_train: bool, req: list[str], in_data: list[NDArray], out_data: list[NDArray], aux: list[NDArray]) -> None:
        """Compute results into ``out_data`` with `assign`.

        Parameters
        ----------
        is_train
            Whether in training mode.
        req
            How to assign each result: ``"write"``, ``"add"``, ``"null"``.
        in_data, out_data, aux
            Operands, results to fill, auxiliary states to change.
        """
        raise OperatorError(f"{type(self).__name__}: forward is not written", None, "override forward()")

    def backward(
        self,
        req: list[str],
        out_grad: list[NDArray],
        in_data: list[NDArray],
        out_data: list[NDArray],
        in_grad: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        """Compute gradients of the operands into ``in_grad`` with `assign`."""
        raise OperatorError(f"{type(self).__name__}: backward is not written", None, "override backward()")

    def assign(self, dst: NDArray, req: str, src: Any) -> None:
        """Write ``src`` into ``dst`` as ``req`` says."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst += src
        elif req != "null":
            raise ParameterError("assign: unknown req", repr(req), "use 'null', 'write', 'inplace' or 'add'")


class CustomOpProp:
    """What a custom operator looks like from outside: arguments, results, shapes, types.

    Parameters
    ----------
    need_top_grad
        Whether the gradient reads the head gradient (False for losses).
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def list_arguments(self) -> list[str]:
        """Names of the operands."""
        return ["data"]

    def list_outputs(self) -> list[str]:
        """Names of the results."""
        return ["output"]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the auxiliary states."""
        return []

    def infer_shape(self, in_shape: list[Any]) -> tuple[Any, ...]:
        """Shapes of (operands, results, auxiliary states) from those of the operands; all like the first by default."""
        return in_shape, (in_shape[0],) * len(self.list_outputs()), ()

    def infer_type(self, in_type: list[Any]) -> tuple[Any, ...]:
        """Types of (operands, results, auxiliary states); all like the first by default."""
        return in_type, [in_type[0]] * len(self.list_outputs()), [in_type[0]] * len(self.list_auxiliary_states())

    def declare_backward_dependency(self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]) -> list[int]:
        """Which of the given numbers backward reads; all by default."""
        return [*(out_grad if self.need_top_grad_ else ()), *in_data, *out_data]

    def create_operator(self, ctx: Device, in_shapes: list[Any], in_dtypes: list[Any]) -> CustomOp:
        """The computation for operands of these shapes and dtypes, the latter as MXNet's codes: 0 for float32, 1 for float64 and so on."""
        return CustomOp()


def register(reg_name: str) -> Callable[[type[CustomOpProp]], type[CustomOpProp]]:
    """Decorator that registers a `CustomOpProp` under the ``op_type`` with which ``Custom`` finds it."""

    def enter(prop: type[CustomOpProp]) -> type[CustomOpProp]:
        REGISTERED[reg_name] = prop
        return prop

    return enter


def get_all_registered_operators() -> list[str]:
    """Names of the custom operators registered so far."""
    return sorted(REGISTERED)


def prop_of(op_type: str, parameters: dict[str, Any]) -> CustomOpProp:
    """An instance of a registered property class; parameters reach it as strings, as in MXNet.

    Raises
    ------
    OperatorError
        If nothing is registered under the name.
    """
    if op_type not in REGISTERED:
        raise OperatorError("Custom: no operator of that op_type", repr(op_type), f"register it first; there are {sorted(REGISTERED)}")
    make: Any = REGISTERED[op_type]  # each class takes parameters of its own
    with user_code(f"Custom({op_type}): making its property class"):
        return make(**{k: str(v) for k, v in parameters.items()})


class CustomHandle(Handle):
    """One call of a custom operator, or all those of an executor: its `CustomOp`, made for the first operands, and its states.

    Parameters
    ----------
    op_type, prop
        The operator's name, and what it looks like from outside.
    training
        Whether it runs in training mode.
    device
        Where its arrays live.
    states
        The arrays of its auxiliary states, which the user's code reads and writes itself, forward and backward.
    """

    def __init__(self, op_type: str, prop: CustomOpProp, training: bool, device: Device, states: Sequence[NDArray]) -> None:
        super().__init__(f"Custom({op_type})")
        self._prop, self._training, self._device, self._states = prop, training, device, list(states)
        self._types: Types = {}
        self._op: CustomOp | None = None

    def prepare(self, types: Types) -> CustomOp:
        """The computation for operands of these types."""
        if self._op is None:
            self._types = types
            shapes, dtypes = [list(t[0]) for t in types["in"]], [MXNET_CODES[t[1]] for t in types["in"]]
            with user_code(f"{self.label}: create_operator"):
                self._op = self._prop.create_operator(self._device, shapes, dtypes)
        return self._op

    def _cells(self, arrays: Sequence[Any]) -> list[NDArray]:
        return [wrap(NDArray, Value(a, device=self._device)) for a in arrays]

    def _empty(self, types: Any) -> list[NDArray]:
        return [zeros_of(NDArray, shape, dtype, self._device) for shape, dtype in types]

    def _forward(self, arrays: list[Any]) -> list[Any]:
        operands = self._cells(arrays)
        op = self._op or self.prepare(inferred_types(self.label, self._prop, [(c.shape, c._dtype) for c in operands]))
        results = self._empty(self._types["out"])
        with Scope(False, self._training):
            op.forward(self._training, ["write"] * len(results), operands, results, self._states)
        return arrays_of(f"{self.label}: forward", results, self._types["out"], self._device)

    def _backward(self, arrays: list[Any]) -> list[Any]:
        cells, count = self._cells(arrays), len(self._types["out"])
        heads, operands, results = cells[:count], cells[count : len(cells) - count], cells[len(cells) - count :]
        grads = self._empty(self._types["in"])
        assert self._op is not None  # forward has made it
        with Scope(False, self._training):
            self._op.backward(["write"] * len(grads), heads, operands, results, grads, self._states)
        return arrays_of(f"{self.label}: backward", grads, self._types["in"], self._device)


def inferred_types(label: str, prop: CustomOpProp, given: Sequence[tuple[tuple[int, ...], str]]) -> Types:
    """(shape, dtype) of operands, results and auxiliary states, as the property infers them from those of the operands.

    Raises
    ------
    MXNetError
        If it raises, or does not give one shape and one type for each.
    """
    shapes = _asked(label, prop, "infer_shape", [list(shape) for shape, _ in given])
    kinds = _asked(label, prop, "infer_type", [NUMPY[dtype].type for _, dtype in given])
    pairs = [list(zip(*both, strict=True)) for both in zip(shapes, kinds, strict=True)]
    return dict(zip(("in", "out", "aux"), pairs, strict=True))


class Names(NamedTuple):
    """The arrays of a custom operator by name, as its property lists them."""

    arguments: list[str]
    outputs: list[str]
    states: list[str]

    @property
    def operands(self) -> list[str]:
        """Arguments, then states."""
        return [*self.arguments, *self.states]


def names_of(label: str, prop: CustomOpProp) -> Names:
    """What the property lists.

    Raises
    ------
    MXNetError
        If it raises.
    """
    found = []
    for method in ("list_arguments", "list_outputs", "list_auxiliary_states"):
        with user_code(f"{label}: {method}"):
            found.append(list(getattr(prop, method)()))
    return Names(*found)


def _asked(label: str, prop: CustomOpProp, method: str, given: list[Any]) -> list[list[Any]]:
    """What ``infer_shape`` or ``infer_type`` says of operands, results and states: one entry for each."""
    names = names_of(label, prop)
    with user_code(f"{label}: {method}"):
        found = [[_entry(method, e) for e in part] for part in getattr(prop, method)(given)]
    found += [[]] * (3 - len(found))
    counts = [len(part) for part in found]
    if counts != [len(n) for n in names]:
        what = f"{label}: {method} must return one entry for each argument, output and auxiliary state"
        raise ParameterError(what, f"{counts[0]}, {counts[1]}, {counts[2]} entries", f"the lists are {', '.join(map(str, names))}")
    return found


def _entry(method: str, entry: Any) -> Any:
    return tuple(int(n) for n in entry) if method == "infer_shape" else dtype_name(np.dtype(entry))


def custom(*data: Any, op_type: str, **parameters: Any) -> Any:
    """``mx.nd.Custom``: call a registered operator on arrays, auxiliary states last.

    Parameters
    ----------
    *data
        Operands, then auxiliary states, in the order that the property lists; or by keyword under their names.
    op_type
        Name under which it was registered.
    **parameters
        Given to the property class as strings.
    """
    arrays = {k: v for k, v in parameters.items() if isinstance(v, NDArray)}
    prop = prop_of(op_type, {k: v for k, v in parameters.items() if k not in arrays})
    listed = names_of(f"Custom({op_type})", prop)
    names, count = listed.operands, len(listed.arguments)
    operands = [*data, *[arrays[n] for n in names[len(data) :] if n in arrays]]
    if len(operands) != len(names):
        raise ParameterError(f"Custom({op_type}): number of arrays", f"{len(operands)}", f"give {', '.join(names)}")
    handle = CustomHandle(op_type, prop, tls.training, operands[0].context, operands[count:])
    types = inferred_types(handle.label, prop, [(a.shape, a._dtype) for a in operands[:count]])
    handle.prepare(types)
    out = call(handle, operands[:count], types["out"], NDArray)
    return out[0] if len(out) == 1 else out


def symbolic_custom(*data: Any, op_type: str, name: str | None = None, attr: Any = None, **parameters: Any) -> Symbol:
    """``mx.sym.Custom``: a registered operator as a node; its computation is made once for each executor.

    Parameters
    ----------
    *data
        Symbols of the arguments, then of the auxiliary states (variables), in the order that the property lists; or by keyword.
        Variables are made for those left out.
    op_type, name, attr
        Name under which it was registered; name and attributes of the node.
    **parameters
        Given to the property class as strings.
    """
    by_name = {k: v for k, v in parameters.items() if isinstance(v, Symbol)}
    given = {k: str(v) for k, v in parameters.items() if k not in by_name}
    prop = prop_of(op_type, given)
    label = NameManager.current.get(name, "custom")
    listed = names_of(f"Custom({op_type})", prop)
    names = listed.operands
    symbols = dict(zip(names, data, strict=False)) | by_name
    strange = [n for n in symbols if n not in names]
    if strange or len(data) > len(names):
        raise ParameterError(
            f"Custom({op_type}): no such argument", ", ".join(strange) or f"{len(data)} symbols", f"give {', '.join(names)}"
        )
    attrs = {**AttrScope.current.get(attr), "op_type": op_type, **given}
    heads = [symbols[n].heads[0] if n in symbols else Head(SymbolNode(VARIABLE, f"{label}_{n}", attrs), 0) for n in names]
    node = SymbolNode(CUSTOM, label, attrs, heads, outputs=len(listed.outputs))
    node.check()
    return Symbol([Head(node, k) for k in range(node.outputs)])


def _output_names(node: SymbolNode) -> list[str]:
    """What the property calls the results; none while the operator is not registered."""
    op_type = node.attrs["op_type"]
    return names_of(f"Custom({op_type})", _node_prop(node)).outputs if op_type in REGISTERED else []


def _node_prop(node: SymbolNode) -> CustomOpProp:
    attrs = {k: v for k, v in node.attrs.items() if not k.startswith("__") and k != "op_type"}
    return prop_of(node.attrs["op_type"], attrs)


def _check(node: SymbolNode) -> int:
    """The number of outputs of a node that has an operator's type and, where that is registered, its inputs."""
    op_type = node.attrs.get("op_type")
    if op_type is None:
        raise ParameterError("Custom: Required parameter op_type is not presented", None, "give it")
    if op_type not in REGISTERED:
        return node.outputs
    listed = names_of(f"Custom({op_type})", _node_prop(node))
    names = listed.operands
    if len(node.inputs) != len(names):
        raise ParameterError(f"Custom({op_type}): number of inputs", f"{len(node.inputs)}", f"give {', '.join(names)}")
    for k in _states(node):
        if not node.inputs[k].node.is_variable:
            what = f"Custom({op_type}): an auxiliary state must be a variable"
            raise ParameterError(what, f"{names[k]} is an output of {node.inputs[k].node.name}", "give a variable")
    return len(listed.outputs)


def _states(node: SymbolNode) -> range:
    """Positions of the inputs that are states; none while the operator is not registered."""
    count, op_type = len(node.inputs), node.attrs.get("op_type")
    states = names_of(f"Custom({op_type})", _node_prop(node)).states if op_type in REGISTERED else []
    return range(count - len(states), count)


def _infer(node: SymbolNode, inputs: Sequence[Known], outputs: Sequence[Known]) -> None:
    """Learn from the property: types and shapes of all arrays once those of the first are known (as MXNet asks it)."""
    prop, label, count = _node_prop(node), f"Custom({node.attrs['op_type']})", _states(node).start
    operands, arrays = inputs[:count], [*inputs[:count], *outputs, *inputs[count:]]
    first = operands[0]
    if first.dtype is not None or first.is_shaped:
        kinds = _asked(label, prop, "infer_type", [NUMPY[k.dtype or first.dtype or "float32"].type for k in operands])
        for known, kind in zip(arrays, chain(*kinds), strict=True):
            known.dtype = known.dtype or kind
    if first.is_shaped:
        shapes = _asked(label, prop, "infer_shape", [list(k.sizes) if k.is_shaped else [] for k in operands])
        for k, (known, shape) in enumerate(zip(arrays, chain(*shapes), strict=True)):
            known.learn_shape(shape, f"array {k}")


def _replay(replay: Replay, node: SymbolNode, arrays: Sequence[Node]) -> Sequence[Node]:
    prop, first_state = _node_prop(node), _states(node).start
    op_type, operands = node.attrs["op_type"], arrays[:first_state]
    label = f"Custom({op_type})"
    types = inferred_types(label, prop, [(a.shape, a.dtype) for a in operands])
    handle = replay.user_object(partial(CustomHandle, op_type, prop, replay.training), [h.node for h in node.inputs[first_state:]])
    got = G.user_forward(handle, *operands, types=tuple(types["out"]), needs=("in", "out"), label=label)
    return got if isinstance(got, tuple) else (got,)


CUSTOM = "Custom"
custom.__name__ = custom.__qualname__ = symbolic_custom.__name__ = symbolic_custom.__qualname__ = CUSTOM
# nothing can be registered before this module is loaded
SPECIAL[CUSTOM] = _infer
SPECIAL_NODES[CUSTOM] = Special(_check, _states, _output_names)
EXPANDERS[CUSTOM] = _replay
ndarray.Custom = custom  # type: ignore[attr-defined]
symbol.Custom = symbolic_custom  # type: ignore[attr-defined]
