"""Operators that users write in Python on arrays: `CustomOp`, `CustomOpProp`, their registry, and ``mx.nd.Custom``, which calls them."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, NamedTuple

import numpy as np

from ..device import Device
from ..dtype import MXNET_CODES, NUMPY, dtype_name
from ..errors import AutogradError, DTypeError, OperatorError, ParameterError, WrongArgument
from ..imperative.cell import Value, wrap
from ..imperative.scope import Scope
from ..imperative.tape import tls
from ..imperative.user_code import arrays_of, call, zeros_of
from ..imperative.user_function import UserFunction, user_code
from ..suggestions import did_you_mean
from .array import NDArray
from .types import ArrayLike

__all__ = ["Custom", "CustomOp", "CustomOpProp", "register"]

REGISTERED: dict[str, type["CustomOpProp"]] = {}
#: (shape, dtype) of the operands (``in``), results (``out``) and auxiliary states (``aux``).
Types = dict[str, list[tuple[tuple[int, ...], str]]]


class CustomOp:
    """The computation of an operator. Subclasses define `forward` and `backward` on arrays, which are called with these keywords."""

    def forward(self, is_train: bool, req: list[str], in_data: list[NDArray], out_data: list[NDArray], aux: list[NDArray]) -> None:
        """Compute the results and store them in ``out_data`` with `assign`.

        Parameters
        ----------
        is_train
            Whether in training mode.
        req
            How to assign each result: ``"write"``, ``"add"`` or ``"null"``.
        in_data, out_data, aux
            Operands, results to fill in, and auxiliary states, which may be updated.
        """

    def backward(
        self,
        req: list[str],
        out_grad: list[NDArray],
        in_data: list[NDArray],
        out_data: list[NDArray],
        in_grad: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        """Compute the gradients of the operands and store them in ``in_grad`` with `assign`."""

    def assign(self, dst: NDArray, req: str, src: ArrayLike) -> None:
        """Write ``src`` into ``dst`` as ``req`` demands."""
        if req in ("write", "inplace"):
            dst[:] = src
        elif req == "add":
            dst += src
        elif req != "null":
            raise ParameterError("assign: unknown req", repr(req), "use 'null', 'write', 'inplace' or 'add'")


class CustomOpProp:
    """The interface of a custom operator: its arguments, results, shapes and types.

    Parameters
    ----------
    need_top_grad
        Whether backward reads the head gradients (False for losses).
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

    def infer_shape(self, in_shape: list[list[int]]) -> tuple[Sequence[Sequence[int]], ...]:
        """Shapes of (operands, results, auxiliary states), given those of the operands. By default all equal the first."""
        return in_shape, (in_shape[0],) * len(self.list_outputs()), ()

    def infer_type(self, in_type: list[type]) -> tuple[Sequence[type], ...]:
        """Types of (operands, results, auxiliary states), given those of the operands. By default all equal the first."""
        return in_type, [in_type[0]] * len(self.list_outputs()), [in_type[0]] * len(self.list_auxiliary_states())

    def infer_storage_type(self, in_stype: list[str]) -> tuple[Sequence[str], ...]:
        """Storage types of (operands, results, auxiliary states), given those of the operands: all ``"default"`` by default.

        Raises
        ------
        StorageError
            If an operand is sparse and the operator does not define this method.
        """
        _dense_only(type(self).__name__, {"in_stype": in_stype})
        return in_stype, ["default"] * len(self.list_outputs()), ["default"] * len(self.list_auxiliary_states())

    def infer_storage_type_backward(
        self, ograd_stype: list[str], in_stype: list[str], out_stype: list[str], igrad_stype: list[str], aux_stype: list[str]
    ) -> tuple[Sequence[str], ...]:
        """Storage types of (head gradients, operands, results, gradients, auxiliary states) in backward: all ``"default"`` by default.

        Raises
        ------
        StorageError
            If one is sparse and the operator does not define this method.
        """
        given = {"ograd_stype": ograd_stype, "in_stype": in_stype, "out_stype": out_stype, "igrad_stype": igrad_stype}
        _dense_only(type(self).__name__, {**given, "aux_stype": aux_stype})
        return tuple(["default"] * len(stypes) for stypes in (*given.values(), aux_stype))

    def declare_backward_dependency(self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]) -> list[int]:
        """The arrays that backward reads, by the numbers given here; all of them by default.

        An operand or result that is left out is not saved for backward; reading it there raises an error.
        """
        return [*(out_grad if self.need_top_grad_ else ()), *in_data, *out_data]

    def create_operator(self, ctx: Device, in_shapes: list[list[int]], in_dtypes: list[int]) -> CustomOp:
        """The computation for operands of these shapes and dtypes. Dtypes are MXNet's type codes (0 is float32)."""
        return CustomOp()


class StorageError(ParameterError, AssertionError):
    """A sparse array was given to a custom operator that computes with dense ones, for which MXNet raises AssertionError."""


def _dense_only(operator: str, given: Mapping[str, Sequence[str]]) -> None:
    for name, stypes in given.items():
        for place, stype in enumerate(stypes):
            if stype not in ("default", "undefined"):
                what = f"{operator}: Default infer_storage_type implementation doesn't allow non default stypes"
                raise StorageError(what, f"{stype!r} for {name}[{place}]", "define infer_storage_type and infer_storage_type_backward")


def register(reg_name: str) -> Callable[[type[CustomOpProp]], type[CustomOpProp]]:
    """Class decorator that registers a `CustomOpProp` as the ``op_type`` of ``Custom``.

    Parameters
    ----------
    reg_name
        The name to use as ``op_type``.
    """

    def enter(prop: type[CustomOpProp]) -> type[CustomOpProp]:
        REGISTERED[reg_name] = prop
        return prop

    return enter


def create_prop(op_type: str, parameters: Mapping[str, object]) -> CustomOpProp:
    """An instance of a registered property class. As in MXNet it receives its parameters as strings.

    Raises
    ------
    OperatorError
        If nothing is registered under the name.
    WrongArgument
        If the name is empty.
    """
    op_type = str(op_type)
    if not op_type:
        raise WrongArgument("Custom: Required argument op_type is missing", None, "pass the name that the operator is registered under")
    if op_type not in REGISTERED:
        todo = did_you_mean(op_type, REGISTERED, f"write @mx.operator.register({op_type!r}) above its CustomOpProp, before it is called")
        raise OperatorError("Custom: op_type is not registered", repr(op_type), todo)
    make: Any = REGISTERED[op_type]  # each class has parameters of its own
    with user_code(f"Custom({op_type}): creating its CustomOpProp"):
        return make(**{k: str(v) for k, v in parameters.items()})


class Undeclared(NDArray):
    """Takes the place of an array that `CustomOpProp.declare_backward_dependency` left out: it has no content, and reading it raises."""

    __slots__ = ("label",)

    def __init__(self, label: str) -> None:
        self.label = label

    @property
    def _held(self) -> Any:
        raise AutogradError(
            f"{self.label}: backward reads an array that was not kept", None, "return its number from declare_backward_dependency"
        )


class CustomHandle(UserFunction):
    """One call of a custom operator, or all calls of an executor in one mode: its `CustomOp` and its states.

    Parameters
    ----------
    op_type, prop
        The operator's name and interface.
    training
        Whether it runs in training mode.
    needs
        Positions, among operands and then results, of the arrays that backward reads.
    types
        The types of all arrays.
    device
        The device of its arrays.
    states
        The arrays of its auxiliary states, which the user's forward and backward read and write themselves.
    """

    def __init__(
        self,
        op_type: str,
        prop: CustomOpProp,
        training: bool,
        needs: Sequence[int],
        types: Types,
        device: Device,
        states: Sequence[NDArray],
    ) -> None:
        super().__init__(f"Custom({op_type})")
        self._prop, self._training, self._needs, self._types = prop, training, needs, types
        self._device, self._states = device, list(states)
        #: The user's object, once it is created.
        self._made: list[CustomOp] = []

    def share(self, other: "CustomHandle") -> None:
        """Call the object of another handle, for the same node in another mode: it may keep values of its own."""
        self._made = other._made

    def prepare(self) -> None:
        """Create the computation, unless there is one."""
        if not self._made:
            operands = self._types["in"]
            shapes, dtypes = [list(shape) for shape, _ in operands], [MXNET_CODES[dtype] for _, dtype in operands]
            with user_code(f"{self.label}: create_operator"):
                made = self._prop.create_operator(self._device, shapes, dtypes)
            if made is None:
                raise DTypeError(f"{self.label}: create_operator returned None", None, "return an instance of your CustomOp")
            self._made.append(made)

    # users' functions get arrays over the program's memory, off the tape: the gradient is `_backward`'s
    def _cells(self, arrays: Sequence[object]) -> list[NDArray]:
        return [wrap(NDArray, Value(a, device=self._device)) for a in arrays]

    def _empty(self, types: Any) -> list[NDArray]:
        return [zeros_of(NDArray, shape, dtype, self._device) for shape, dtype in types]

    def _defined(self, op: CustomOp, name: str) -> Callable[..., None]:
        """A method of the operator, which must not be the base class's: that does nothing, and the arrays would hold anything."""
        method: Callable[..., None] = getattr(op, name)
        if getattr(method, "__func__", None) is vars(CustomOp)[name]:
            raise OperatorError(f"{self.label}: {type(op).__name__} does not define {name}", None, f"override {name}()")
        return method

    def _forward(self, arrays: list[Any]) -> list[Any]:
        operands = self._cells(arrays)
        self.prepare()
        (op,) = self._made
        results = self._empty(self._types["out"])
        with Scope(False, self._training):
            # by name, as MXNet calls them: their order is the operator's own
            self._defined(op, "forward")(
                is_train=self._training, req=["write"] * len(results), in_data=operands, out_data=results, aux=self._states
            )
        return arrays_of(f"{self.label}: forward", results, self._types["out"], self._device)

    def _backward(self, arrays: list[Any]) -> list[Any]:
        count, width = len(self._types["out"]), len(self._types["in"])
        cells = self._cells(arrays)
        kept = dict(zip(self._needs, cells[count:], strict=True))
        # by position among operands and then results; reading an undeclared one raises an error
        saved = [kept[k] if k in kept else Undeclared(self.label) for k in range(width + count)]
        grads = self._empty(self._types["in"])
        (op,) = self._made  # created by forward
        # always "write": the caller adds the gradients to the arrays' content
        with Scope(False, self._training):
            self._defined(op, "backward")(
                req=["write"] * len(grads),
                out_grad=cells[:count],
                in_data=saved[:width],
                out_data=saved[width:],
                in_grad=grads,
                aux=self._states,
            )
        return arrays_of(f"{self.label}: backward", grads, self._types["in"], self._device)


def infer_types(label: str, prop: CustomOpProp, given: Sequence[tuple[tuple[int, ...], str]]) -> Types:
    """(shape, dtype) of operands, results and auxiliary states, inferred by the property from those of the operands.

    Raises
    ------
    MXNetError
        If the property raises, or does not return one shape and one type for each.
    """
    shapes = infer(label, prop, "infer_shape", [list(shape) for shape, _ in given])
    kinds = infer(label, prop, "infer_type", [NUMPY[dtype].type for _, dtype in given])
    return paired(shapes, kinds)


def paired(shapes: list[list[Any]], kinds: list[list[Any]]) -> Types:
    """(shape, dtype) of operands, results and auxiliary states."""
    pairs = [list(zip(*both, strict=True)) for both in zip(shapes, kinds, strict=True)]
    return dict(zip(("in", "out", "aux"), pairs, strict=True))


class Names(NamedTuple):
    """The names of a custom operator's arrays, as its property lists them."""

    arguments: list[str]
    outputs: list[str]
    states: list[str]

    @property
    def operands(self) -> list[str]:
        """Arguments, then states."""
        return [*self.arguments, *self.states]


def names_of(label: str, prop: CustomOpProp) -> Names:
    """The names that the property lists.

    Raises
    ------
    MXNetError
        If the property raises.
    """
    found = []
    for method in ("list_arguments", "list_outputs", "list_auxiliary_states"):
        with user_code(f"{label}: {method}"):
            found.append(list(getattr(prop, method)()))
    return Names(*found)


def backward_needs(label: str, prop: CustomOpProp, names: Names) -> tuple[int, ...]:
    """Positions, among operands and then results, of the arrays that the property declares as dependencies of backward.

    Raises
    ------
    ParameterError
        If it declares a number that it was not given.
    """
    heads, width = len(names.outputs), len(names.arguments)
    total = heads + width + heads  # head gradients, operands, results: MXNet's order
    numbers = list(range(total))
    with user_code(f"{label}: declare_backward_dependency"):
        declared = prop.declare_backward_dependency(numbers[:heads], numbers[heads : heads + width], numbers[heads + width :])
        found = {int(number) for number in declared}
    if not found <= set(numbers):
        raise ParameterError(f"{label}: declare_backward_dependency returned unknown numbers", str(declared), "return numbers it was given")
    return tuple(sorted(number - heads for number in found if number >= heads))  # head gradients are passed anyway


def infer(label: str, prop: CustomOpProp, method: str, given: list[Any]) -> list[list[Any]]:
    """The entries for operands, results and states that ``infer_shape`` or ``infer_type`` returns."""
    names = names_of(label, prop)
    with user_code(f"{label}: {method}"):
        found = [[_entry(method, e) for e in part] for part in getattr(prop, method)(given)]
    found += [[]] * (3 - len(found))  # MXNet's programs omit the argument if there are no auxiliary states
    counts = [len(part) for part in found]
    if counts != [len(n) for n in names]:
        what = f"{label}: {method} must return one entry for each argument, output and auxiliary state"
        raise ParameterError(what, f"{counts[0]}, {counts[1]}, {counts[2]} entries", f"the lists are {', '.join(map(str, names))}")
    return found


def _entry(method: str, entry: Any) -> tuple[int, ...] | str:
    return tuple(int(n) for n in entry) if method == "infer_shape" else dtype_name(np.dtype(entry))


def Custom(*data: NDArray, op_type: str = "", name: str | None = None, **parameters: object) -> NDArray | list[NDArray]:
    """Call a registered custom operator on arrays.

    Parameters
    ----------
    *data
        Operands, then auxiliary states, in the order that the property lists; or by keyword under their names.
    op_type
        The name it was registered under; required.
    name
        The name of the node in a graph, as for every operator; arrays have none, and the property class does not get it.
    **parameters
        Passed to the property class as strings.
    """
    arrays = {k: v for k, v in parameters.items() if isinstance(v, NDArray)}
    prop = create_prop(op_type, {k: v for k, v in parameters.items() if k not in arrays})
    label = f"Custom({op_type})"
    listed = names_of(label, prop)
    names, count = listed.operands, len(listed.arguments)
    operands = [*data, *[arrays[n] for n in names[len(data) :] if n in arrays]]
    if len(operands) != len(names):
        raise ParameterError(f"{label}: number of arrays", f"{len(operands)}", f"pass {', '.join(names)}")
    needs = backward_needs(label, prop, listed)
    types = infer_types(label, prop, [(a.shape, a._dtype) for a in operands[:count]])
    handle = CustomHandle(op_type, prop, tls.training, needs, types, operands[0].context, operands[count:])
    handle.prepare()
    out = call(handle, operands[:count], types["out"], NDArray, needs)
    return out[0] if len(out) == 1 else out
