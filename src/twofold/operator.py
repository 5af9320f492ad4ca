"""``mx.operator``: operators written by users in Python on arrays (``CustomOp``), registered by name."""

from collections.abc import Callable, Sequence
from typing import Any

import numpy as np

from . import ndarray, symbol
from .backend.loader import backend_for
from .device import Device, current_device
from .dtype import NUMPY, dtype_name
from .errors import OperatorError, ParameterError
from .graph.build import G
from .graph.ir import Node
from .imperative.cell import Value, wrap
from .imperative.handle import Handle, user_code
from .imperative.invoke import content, data_of
from .imperative.record import tls
from .imperative.scope import Scope
from .imperative.user_code import call
from .ndarray.array import NDArray
from .symbol.inference_rules import SPECIAL
from .symbol.known import Known
from .symbol.naming import AttrScope, NameManager
from .symbol.node import VARIABLE, Head, SymbolNode
from .symbol.replay import EXPANDERS, Replay
from .symbol.symbol import Symbol

__all__ = ["CustomOp", "CustomOpProp", "get_all_registered_operators", "register"]

REGISTERED: dict[str, type["CustomOpProp"]] = {}


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
        """The computation for operands of these shapes and types."""
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
    """One call of a custom operator: a `CustomOp` with the training flag of the call and its auxiliary states."""

    def __init__(self, prop: CustomOpProp, types: Any, device: Device, operands: int, training: bool) -> None:
        super().__init__(f"Custom({type(prop).__name__})")
        self._types, self._device, self._operands, self._training = types, device, operands, training
        shapes, dtypes = [t[0] for t in types["in"]], [NUMPY[t[1]].type for t in types["in"]]
        with user_code(f"{self.label}: create_operator"):
            self._op = prop.create_operator(device, [list(s) for s in shapes], dtypes)

    def _cells(self, arrays: Sequence[Any]) -> list[NDArray]:
        return [wrap(NDArray, Value(a, device=self._device)) for a in arrays]

    def _empty(self, types: Any) -> list[NDArray]:
        return [wrap(NDArray, content(_zeros(self._device, *t), self._device)) for t in types]

    def _forward(self, arrays: list[Any]) -> list[Any]:
        cells = self._cells(arrays)
        operands, states = cells[: self._operands], [c.copy() for c in cells[self._operands :]]
        results = self._empty(self._types["out"])
        with Scope(False, self._training):
            self._op.forward(self._training, ["write"] * len(results), operands, results, states)
        return [data_of(c._v) for c in (*results, *states)]

    def _backward(self, arrays: list[Any]) -> list[Any]:
        count = len(self._types["out"])
        total = count + len(self._types["aux"])
        cells = self._cells(arrays)
        heads, inside, outs = cells[:count], cells[total : len(cells) - total], cells[len(cells) - total :]
        operands, states = inside[: self._operands], outs[count:]
        grads = self._empty(self._types["in"])
        with Scope(False, self._training):
            self._op.backward(["write"] * len(grads), heads, operands, outs[:count], grads, states)
        zeros = self._empty(self._types["aux"])
        return [data_of(c._v) for c in (*grads, *zeros)]


def _zeros(device: Device, shape: tuple[int, ...], dtype: str) -> Any:
    backend = backend_for(device)
    return backend.copy(backend.constant(0, shape, dtype), device)


def inferred_types(prop: CustomOpProp, shapes: list[Any], dtypes: list[str]) -> dict[str, list[tuple[tuple[int, ...], str]]]:
    """(shape, dtype) of operands, results and auxiliary states, as the property infers them."""
    with user_code(f"Custom({type(prop).__name__}): infer_shape or infer_type"):
        got_shapes = prop.infer_shape([list(s) for s in shapes])
        got_types = prop.infer_type([NUMPY[d].type for d in dtypes])
    names = ("in", "out", "aux")
    out: dict[str, list[tuple[tuple[int, ...], str]]] = {}
    for k, name in enumerate(names):
        of_shape = got_shapes[k] if len(got_shapes) > k else ()
        of_type = got_types[k] if len(got_types) > k else ()
        out[name] = [(tuple(s), dtype_name(np.dtype(t))) for s, t in zip(of_shape, of_type, strict=False)]
    return out


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
    names = [*prop.list_arguments(), *prop.list_auxiliary_states()]
    operands = [*data, *[arrays[n] for n in names[len(data) :] if n in arrays]]
    if len(operands) != len(names):
        raise ParameterError(f"Custom({op_type}): number of arrays", f"{len(operands)}", f"give {', '.join(names)}")
    count = len(prop.list_arguments())
    types = inferred_types(prop, [a.shape for a in operands[:count]], [a._dtype for a in operands[:count]])
    device = operands[0].context
    handle = CustomHandle(prop, types, device, count, tls.training)
    out = call(handle, operands, [*types["out"], *types["aux"]], NDArray)
    for state, new in zip(operands[count:], out[len(types["out"]) :], strict=True):
        state[:] = new
    visible = out[: len(types["out"])]
    return visible[0] if len(visible) == 1 else visible


def symbolic_custom(*data: Any, op_type: str, name: str | None = None, attr: Any = None, **parameters: Any) -> Symbol:
    """``mx.sym.Custom``: a registered operator as a node; its computation is made once for each executor.

    Parameters
    ----------
    *data
        Symbols in the order that the property lists; or by keyword; variables are made for those left out.
    op_type, name, attr
        Name under which it was registered; name and attributes of the node.
    **parameters
        Given to the property class as strings.

    Raises
    ------
    ParameterError
        If the operator has auxiliary states, which symbols of custom operators do not.
    """
    by_name = {k: v for k, v in parameters.items() if isinstance(v, Symbol)}
    given = {k: str(v) for k, v in parameters.items() if k not in by_name}
    prop = prop_of(op_type, given)
    if prop.list_auxiliary_states():
        what = f"Custom({op_type}): auxiliary states in a symbol"
        raise ParameterError(what, ", ".join(prop.list_auxiliary_states()), "make them arguments, or call nd.Custom")
    label = NameManager.current.get(name, "custom")
    arguments = prop.list_arguments()
    symbols = dict(zip(arguments, data, strict=False)) | by_name
    heads = [symbols[a].heads[0] if a in symbols else Head(SymbolNode(VARIABLE, f"{label}_{a}", {}), 0) for a in arguments]
    attrs = {**AttrScope.current.get(attr), "op_type": op_type, **given}
    node = SymbolNode(CUSTOM, label, attrs, heads, outputs=len(prop.list_outputs()))
    return Symbol([Head(node, k) for k in range(node.outputs)])


def _node_prop(node: SymbolNode) -> CustomOpProp:
    attrs = {k: v for k, v in node.attrs.items() if not k.startswith("__") and k != "op_type"}
    return prop_of(node.attrs["op_type"], attrs)


def _infer(node: SymbolNode, inputs: Sequence[Known], outputs: Sequence[Known]) -> None:
    """Learn from the property: shapes of all operands once the first is known (as MXNet asks it), then those of the results."""
    prop = _node_prop(node)
    if inputs[0].shape is None or None in inputs[0].shape:
        return
    with user_code(f"Custom({type(prop).__name__}): infer_shape"):
        got = prop.infer_shape([list(k.shape) if k.is_shaped else [] for k in inputs])  # type: ignore[arg-type]
    for k, (known, shape) in enumerate(zip((*inputs, *outputs), (*got[0], *got[1]), strict=True)):
        known.learn_shape(tuple(shape), f"array {k}")
    kinds = prop.infer_type([NUMPY[k.dtype or inputs[0].dtype or "float32"].type for k in inputs])
    for known, kind in zip((*inputs, *outputs), (*kinds[0], *kinds[1]), strict=True):
        known.dtype = known.dtype or dtype_name(np.dtype(kind))


def _replay(replay: Replay, node: SymbolNode, arrays: Sequence[Node]) -> Sequence[Node]:
    prop = _node_prop(node)
    types = inferred_types(prop, [a.shape for a in arrays], [a.dtype for a in arrays])
    handle = CustomHandle(prop, types, replay.device or current_device(), len(arrays), replay.training)
    got = G.bound_forward(*arrays, handle=handle, types=tuple(types["out"]), label=handle.label)
    return got if isinstance(got, tuple) else (got,)


CUSTOM = "Custom"
custom.__name__ = custom.__qualname__ = symbolic_custom.__name__ = symbolic_custom.__qualname__ = CUSTOM
# nothing can be registered before this module is loaded
SPECIAL[CUSTOM] = _infer
EXPANDERS[CUSTOM] = _replay
ndarray.Custom = custom  # type: ignore[attr-defined]
symbol.Custom = symbolic_custom  # type: ignore[attr-defined]
