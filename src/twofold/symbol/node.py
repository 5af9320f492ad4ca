"""The untyped graph behind symbols: nodes with names and attribute strings, and its traversals.

Nothing here depends on shapes or devices. A node keeps its written form (the operator's registered name, attribute strings, subgraphs,
unknown keys) as well as its meaning (the operator, parsed parameters), so that files are preserved.
"""

from abc import ABC, abstractmethod
from collections.abc import Callable, Iterable, Mapping, Sequence
from operator import itemgetter
from typing import Any, NamedTuple, Protocol, TypeVar

from ..device import Device
from ..errors import OperatorError, ParameterError
from ..formats.symbol_upgrade import HIDDEN_KEYS
from ..graph.ir import Node, post_order
from ..ndarray.array import NDArray
from ..opdef import NAMES, BoundOp, Op
from .arguments import argument_names
from .partial_types import PartialType

T = TypeVar("T")

VARIABLE = "null"

#: Attributes that MXNet spells ``__name__`` in files and shows under both spellings.
HIDDEN = frozenset(HIDDEN_KEYS)


class Head(NamedTuple):
    """One output of a node."""

    node: "SymbolNode"
    place: int


class UserCode(NamedTuple):
    """A user's object that nodes call (see `executor.function.UserObject`), with the variables that are its states."""

    leaf: Node
    make: Callable[[Device, Sequence[NDArray]], object]
    states: tuple["SymbolNode", ...]


class Replaying(Protocol):
    """The replay of a graph's nodes as typed nodes, as a `SpecialNode` sees it; see `replay.Replay`."""

    training: bool
    keys: list[Node]
    objects: list[UserCode]

    def user_object(self, make: Callable[[Device, Sequence[NDArray]], object], states: Sequence["SymbolNode"]) -> Node:
        """The leaf of a new user's object."""
        ...

    def inside(self, heads: Sequence[Head], given: Sequence[Node]) -> "tuple[list[Node], list[Node], list[SymbolNode]]":
        """A sub-graph for typed arguments: its outputs, leaves for its random keys, and the states that it would change."""
        ...


class Composition(Protocol):
    """The members of a symbol that functions on whole graphs use. The class is defined in a higher module."""

    heads: tuple[Head, ...]

    def list_arguments(self) -> list[str]:
        """Names of the arguments."""
        ...

    def list_inputs(self) -> list[str]:
        """Names of all variables."""
        ...


class SpecialNode(ABC):
    """The behavior of nodes whose operator is not a function of arrays: control flow, gradients, custom operators."""

    @abstractmethod
    def check(self, node: "SymbolNode") -> int:
        """The number of a node's outputs.

        Raises
        ------
        ParameterError
            If its attributes, inputs and subgraphs do not match.
        """

    def written(self, node: "SymbolNode") -> Iterable[int]:
        """Positions of the inputs that executing a node updates."""
        return ()

    def output_names(self, node: "SymbolNode") -> Sequence[str]:
        """Names of the outputs, in order, if the file gives them."""
        return ()

    def input_names(self, node: "SymbolNode") -> Sequence[str]:
        """Names of the inputs, in order, if the node gives them."""
        return ()

    @abstractmethod
    def infer(self, node: "SymbolNode", inputs: Sequence[PartialType], outputs: Sequence[PartialType]) -> None:
        """Infer shapes and dtypes around a node, in both directions."""

    @abstractmethod
    def replay(self, replay: Replaying, node: "SymbolNode", arrays: Sequence[Node]) -> Sequence[Node]:
        """The outputs of a node as typed nodes."""


#: The special nodes by registered name; each is entered where it is defined.
SPECIAL_NODES: dict[str, SpecialNode] = {}


class SymbolNode:
    """A variable, or an operator applied to outputs of other nodes. Only its attributes may change.

    Parameters
    ----------
    op_name
        The registered name of its operator, ``"null"`` for a variable.
    name
        Name of the node.
    attrs
        Parameters of the operator and attributes of the node, as strings.
    inputs
        The outputs that it reads.
    subgraphs
        Bodies of control flow, each as its outputs.
    extra
        A file's entries about the node under keys that MXNet does not know, and ``control_deps``.
    outputs
        Number of outputs, for an operator that is not registered here.
    """

    __slots__ = ("attrs", "derived", "extra", "inputs", "name", "op", "op_name", "outputs", "subgraphs")

    def __init__(
        self,
        op_name: str,
        name: str,
        attrs: Mapping[str, str],
        inputs: Sequence[Head] = (),
        subgraphs: tuple[tuple[Head, ...], ...] = (),
        extra: Mapping[str, Any] | None = None,
        outputs: int = 1,
    ) -> None:
        self.op_name, self.name, self.attrs, self.inputs, self.subgraphs = op_name, name, dict(attrs), tuple(inputs), subgraphs
        # None also for operators that are not registered here: a file that contains them can still be read, shown and saved.
        self.op: Op | None = None if op_name == VARIABLE else NAMES.get(op_name)
        self.extra = dict(extra or {})
        self.outputs = 1 if op_name == VARIABLE else outputs
        #: What follows from the attributes, once it was asked for: results of `bind` by training mode and replaced parameters, and the
        #: property of a custom operator. Cleared when attributes change.
        self.derived: dict[object, Any] = {}

    def set_attrs(self, attrs: Mapping[str, str]) -> None:
        """Add or replace attributes."""
        self.attrs |= attrs  # never replaced: other symbols hold this node and must see the change
        self.derived.clear()

    @property
    def special(self) -> SpecialNode | None:
        """Its special behavior, if its operator is not a function of arrays; custom operators may be registered after it is created."""
        # looked up each time: importing this file must not import `loops` and `custom`, which enter themselves
        return SPECIAL_NODES.get(self.op_name) if self.op is None else None

    @property
    def is_variable(self) -> bool:
        """Whether it is an input of the graph."""
        return self.op_name == VARIABLE

    @property
    def is_eager(self) -> bool:
        """Whether the shapes of its outputs depend on values of its inputs."""
        return self.op is not None and self.op.is_eager

    @property
    def operator(self) -> Op:
        """The operator.

        Raises
        ------
        OperatorError
            If none is registered under its name.
        """
        if self.op is None:
            raise OperatorError(f"symbol: node {self.name!r} uses an operator that does not exist here", self.op_name, "register it first")
        return self.op

    def bind(self, training: bool = False, **replaced: object) -> BoundOp:
        """The operator with this node's structural parameters, under the LEGACY convention.

        Parameters
        ----------
        training
            The training flag, for operators that have one.
        **replaced
            Parameters that replace the node's own.

        Raises
        ------
        ParameterError
            If the node's attributes do not match the operator.
        """
        # parsed once for each mode: inference visits a node many times, and each visit needs it
        key = training, tuple(replaced.items())
        found: BoundOp | None = self.derived.get(key)
        if found is None:
            op = self.operator
            given = self._structural() | dict.fromkeys(op.training, training) | replaced
            if op.storage.stored_as and op.storage.stored_as not in replaced:  # typed graphs have dense arrays only; see `bind_stored`
                given[op.storage.stored_as] = "default"
            found = self.derived[key] = op.bind(True, **given)
        return found

    def bind_stored(self, training: bool = False) -> BoundOp:
        """As `bind`, for operands of any storage type: with the storage type that the operator must give its result."""
        name = self.operator.storage.stored_as
        return self.bind(training, **{name: self._told_to_store()}) if name else self.bind(training)

    def _told_to_store(self) -> str | None:
        op = self.operator
        return op.bind(True, **self._structural()).params[op.storage.stored_as]

    def _structural(self) -> dict[str, object]:
        op = self.operator
        return {k: v for k, v in operator_params(op, self.attrs, len(self.inputs)).items() if k not in op.scalars}

    def storage_type(self) -> str:
        """The storage type that the operator must give its result."""
        if self.op is None or not self.op.storage.stored_as:
            return "default"
        return self._told_to_store() or "default"

    def check(self) -> None:
        """Raise a `ParameterError` unless the attributes match the operator; unregistered operators are not checked."""
        if self.op is not None:
            bound_op = self.bind()
            params = bound_op.params
            self.storage_type()
            # positions that a parameter counts, beyond the arrays that there are
            if callable(self.op.mutates) and max(bound_op.mutated, default=-1) >= len(self.inputs):
                given = f"{len(self.inputs)} arrays for {bound_op}"
                raise ParameterError(f"{self.op.spoken}: the number of arrays is wrong", given, "pass the arrays of each weight")
            scalars = self.scalars
            if self.op.front.domain is not None:
                self.op.check_domain({**params, **dict(zip(self.op.scalars, scalars, strict=True))})
        elif self.special is not None:
            self.outputs = self.special.check(self)

    @property
    def scalars(self) -> list[float | None]:
        """Values of the run-time parameters, in order."""
        op, out = self.operator, []
        for name in op.scalars:
            param = op.params[name]
            if name not in self.attrs and param.required:
                raise ParameterError(f"{op.spoken}: Required parameter {name} is not presented", None, f"pass {name}=…")
            out.append(param.value(self.attrs[name], op.spoken) if name in self.attrs else param.default)
        return out

    @property
    def input_names(self) -> list[str]:
        """The operator's names of the arrays in `inputs`."""
        return argument_names(self.operator, self.attrs, len(self.inputs))

    def operands(self, values: Sequence[T]) -> list[T | None]:
        """One value per array input of the operator, in its order, None for omitted ones."""
        op = self.operator
        if op.variadic:
            return list(values)
        given = dict(zip(self.input_names, values, strict=True))
        return [given.get(i.name) for i in op.arrays]

    @property
    def written(self) -> frozenset[int]:
        """Positions in `inputs` of the states that the operator updates."""
        if self.op is None:
            return frozenset() if self.special is None else frozenset(self.special.written(self))
        states, mutates = self.op.auxiliary, self.op.mutates
        if not states and not mutates:
            return frozenset()
        written = self.places_written(self.bind()) if mutates else ()
        return frozenset([*written, *[k for k, name in enumerate(self.input_names) if name in states]])

    def places_written(self, bound_op: BoundOp) -> tuple[int, ...]:
        """Positions in `inputs` of the states whose new values the operator returns."""
        if callable(bound_op.op.mutates):
            return bound_op.mutated
        names = self.input_names
        return tuple(names.index(name) for name in bound_op.mutated)

    @property
    def visible(self) -> int:
        """The number of outputs that others may read."""
        return self.outputs if self.op is None else self.bind().visible

    @property
    def count(self) -> int:
        """The number of outputs, including hidden ones (new values of its states are not outputs of a symbol)."""
        if self.op is None:
            return self.outputs
        bound_op = self.bind()
        return bound_op.count - len(bound_op.mutated)

    @property
    def workspaces(self) -> int:
        """How many outputs more MXNet counts: memory that its operator works in."""
        unread = 0 if self.op is None else self.op.symbolic.workspaces
        if isinstance(unread, int):
            return unread
        name, default, value = unread
        return int(self.attrs.get(name, default) == value)

    def output_name(self, index: int) -> str:
        """Name of an output: the variable's own, ``<name>_output`` or ``<name>_<the operator's name of it>``."""
        if self.is_variable:
            return self.name
        special = self.special
        # MXNet's rule, which files and programs rely on: a number only where several outputs are visible
        names = self.op.symbolic.output_names if self.op is not None else special.output_names(self) if special is not None else ()
        if index < len(names):
            return f"{self.name}_{names[index]}"
        # memory that an operator always works in has a name of its own there, or its outputs have
        numbered = self.visible > 1 or (self.workspaces and self.op is not None and not isinstance(self.op.symbolic.workspaces, int))
        return f"{self.name}_output{index}" if numbered else f"{self.name}_output"

    def shown_attrs(self) -> dict[str, str]:
        """The attributes with MXNet's hidden ones under both spellings."""
        both = {key[2:-2]: value for key, value in self.attrs.items() if key[2:-2] in HIDDEN and key == f"__{key[2:-2]}__"}
        return {**self.attrs, **both}

    def __repr__(self) -> str:
        return f"<{self.op_name} {self.name}>"


def operator_params(op: Op, attrs: Mapping[str, str], inputs: int) -> dict[str, object]:
    """The attributes of a node that are parameters of its operator, including the number of inputs if the operator has that parameter."""
    params: dict[str, object] = {k: v for k, v in attrs.items() if not (k.startswith("__") and k.endswith("__"))}
    counted = op.count_param  # MXNet's files give the number of inputs as a parameter, such as num_args
    if counted is not None and counted in op.params:
        params.setdefault(counted, inputs)
    elif counted is not None:
        params.pop(counted, None)
    if "ctx" not in op.params and not op.arrays:
        params.pop("ctx", None)  # MXNet's operators without inputs have this attribute; the executor decides where results are made
    return params if op.params else {}


def attrs_as_text(attr: Mapping[str, object] | None) -> dict[str, str]:
    """The attributes of an operator's node: values that are not strings by their `str`."""
    return {key: str(value) for key, value in (attr or {}).items()}


def checked_attrs(attr: Mapping[str, str] | None) -> Mapping[str, str]:
    """The attributes of a variable, checked to be strings."""
    for key, value in (attr or {}).items():
        if not isinstance(value, str):
            raise ParameterError("Set Attr only accepts string values", f"{key}={value!r}", "pass the value as a string")
    return attr or {}


def hidden(attrs: Mapping[str, str]) -> dict[str, str]:
    """The attributes, with those that MXNet hides spelled ``__name__``."""
    return {f"__{k}__" if k in HIDDEN else k: v for k, v in attrs.items()}


def names_of_inputs(node: SymbolNode) -> list[str]:
    """A node's names of its input arrays, in order; numbers if nothing names them."""
    named = node.special.input_names(node) if node.special is not None else node.input_names if node.op is not None else ()
    return [*named] or [f"arg{k}" for k in range(len(node.inputs))]


def topological(heads: Iterable[Head]) -> list[SymbolNode]:
    """The nodes that heads depend on, inputs before users, each once, in MXNet's order."""
    # iterative: unrolled recurrent networks are deeper than Python's stack
    return post_order(map(_NODE, heads), lambda n: [*map(_NODE, n.inputs)])


#: The node of a head, without a frame.
_NODE = itemgetter(0)


def variables(order: Iterable[SymbolNode]) -> tuple[list[SymbolNode], list[SymbolNode]]:
    """(arguments, auxiliary states) among nodes: a variable that a node writes is a state."""
    order = list(order)
    states = {n.inputs[k].node for n in order for k in n.written}
    found = [n for n in order if n.is_variable]
    return [n for n in found if n not in states], [n for n in found if n in states]
