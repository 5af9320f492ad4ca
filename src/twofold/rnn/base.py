"""`BaseRNNCell`: one step of a recurrent network as symbols, its unrolling over sequences, and its weights by gate."""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, ClassVar, TypeVar

from .. import ndarray as nd
from .. import symbol as sym
from ..errors import InvalidValue, UnboundArgumentError, Undefined
from ..extension_points import shown_as_text
from ..gluon.rnn.gates import Activation
from ..ndarray.array import NDArray
from ..symbol import Variable
from ..symbol.symbol import Symbol
from .sequences import Inputs, arranged, steps_of

#: Arrays by name.
Arrays = dict[str, NDArray]
#: States of a cell; those of a `BidirectionalCell` after `unroll` are two lists.
States = list[Any]
StateInfo = dict[str, Any]
Outputs = Symbol | list[Symbol]
#: The result of `BaseRNNCell.unroll`: the outputs and the final states.
Unrolled = tuple[Outputs, Sequence[Any]]
T = TypeVar("T")


class RNNParams:
    """The variables of one or more cells, by name.

    Parameters
    ----------
    prefix
        Prefix of the variables' names.

    Examples
    --------
    >>> import twofold as mx
    >>> params = mx.rnn.RNNParams("encoder_")
    >>> params.get("i2h_weight") is params.get("i2h_weight")
    True
    >>> params.get("i2h_weight").name
    'encoder_i2h_weight'
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable of a name, created on first use.

        Parameters
        ----------
        name
            Its name, without the prefix.
        **kwargs
            Arguments of `twofold.sym.Variable` for a new variable, such as ``init`` or ``shape``.
        """
        full = self._prefix + name
        if full not in self._params:
            self._params[full] = Variable(full, **kwargs)
        return self._params[full]


class BaseRNNCell:
    """Base class of cells. Called with the input and states of a step, a cell returns the output and the next states, as symbols.

    Subclasses define `__call__` and `state_info`.

    Parameters
    ----------
    prefix
        Prefix of the names of nodes and parameters.
    params
        The container of the cell's variables; cells with the same container share their weights. New ones if None.
    """

    #: What to do instead of calling a cell that has no single steps; None if it has.
    _stepless: ClassVar[str | None] = None
    #: Suffixes of the gates' names, in the order of their weights in the packed ones; empty if there are no weights.
    _gate_names: Sequence[str] = ()

    def __init__(self, prefix: str = "", params: RNNParams | None = None) -> None:
        self._own_params = params is None
        self._prefix = prefix
        self._params = RNNParams(prefix) if params is None else params
        self._modified = False
        self.reset()

    __repr__ = shown_as_text("cell")

    def reset(self) -> None:
        """Restart the numbering of steps and states in the names of nodes, before another sequence."""
        self._init_counter = -1
        self._counter = -1
        for cell in self._children():
            cell.reset()

    def _children(self) -> Sequence["BaseRNNCell"]:
        """The cells that this one is made of."""
        return ()

    def _next_step(self) -> str:
        """Count a step, and return the prefix of its nodes' names."""
        self._counter += 1
        return f"{self._prefix}t{self._counter}_"

    def __call__(self, inputs: Symbol, states: Sequence[Symbol]) -> tuple[Symbol, Sequence[Symbol]]:
        """One step.

        Parameters
        ----------
        inputs
            The input (n, c).
        states
            The states, one symbol for each of `state_info`.

        Returns
        -------
        tuple
            The output and the list of next states.
        """
        raise Undefined(f"{type(self).__name__} cannot be called", None, "define __call__ in the subclass")

    @property
    def params(self) -> RNNParams:
        """The variables of the cell."""
        return self._params

    @property
    def state_info(self) -> list[StateInfo]:
        """Shape, with 0 for the batch axis, and layout of each state."""
        raise Undefined(f"{type(self).__name__} does not define state_info", None, "define it in the subclass")

    @property
    def state_shape(self) -> list[tuple[int, ...]]:
        """The shape of each state, with 0 for the batch axis."""
        return [info["shape"] for info in self.state_info]

    def _check_unmodified(self) -> None:
        """Raise if the cell is inside a modifier, which changes how its states start."""
        if self._modified:
            raise InvalidValue(
                "After applying modifier cells (e.g. DropoutCell) the base cell cannot be called directly",
                type(self).__name__,
                "call the modifier cell instead",
            )

    def begin_state(self, func: Callable[..., Symbol] = sym.zeros, **kwargs: object) -> States:
        """The initial states.

        Parameters
        ----------
        func
            The function that creates a state: `twofold.sym.zeros`, `twofold.sym.Variable` for states that are inputs, ….
        **kwargs
            Its other arguments, such as ``dtype``.

        Raises
        ------
        ParameterError
            If the cell is inside a modifier.
        """
        self._check_unmodified()
        states = []
        for info in self.state_info:
            self._init_counter += 1
            # the 0 in the shape is the batch axis, which inference fills in
            states.append(func(name=f"{self._prefix}begin_state_{self._init_counter}", **{**kwargs, **info}))
        return states

    def unpack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Split packed weights into those of each gate.

        Parameters
        ----------
        args
            Arrays by name, such as a module's parameters. Those of other layers are returned unchanged.

        Returns
        -------
        dict
            A new dict, with copies for the cell's weights: ``lstm_i2h_weight`` (4h, c) becomes ``lstm_i2h_i_weight`` (h, c) ….

        Raises
        ------
        KeyError
            If an array of the cell is missing.
        """
        found = dict(args)
        for group in ("i2h", "h2h") if self._gate_names else ():
            packed = {kind: taken(found, f"{self._prefix}{group}_{kind}") for kind in ("weight", "bias")}
            for k, gate in enumerate(self._gate_names):
                for kind, array in packed.items():
                    # the packed weights have the gates' rows one after another
                    size = array.shape[0] // len(self._gate_names)
                    found[f"{self._prefix}{group}{gate}_{kind}"] = array[k * size : (k + 1) * size].copy()
        return found

    def pack_weights(self, args: Mapping[str, NDArray]) -> Arrays:
        """Join the weights of each gate, as `unpack_weights` returns them, into packed ones.

        Parameters
        ----------
        args
            Arrays by name. Those of other layers are returned unchanged.

        Raises
        ------
        KeyError
            If an array of the cell is missing.
        """
        found = dict(args)
        for group in ("i2h", "h2h") if self._gate_names else ():
            for kind in ("weight", "bias"):
                parts = [taken(found, f"{self._prefix}{group}{gate}_{kind}") for gate in self._gate_names]
                found[f"{self._prefix}{group}_{kind}"] = nd.concat(*parts, dim=0)
        return found

    def unroll(
        self,
        length: int,
        inputs: Inputs | None,
        begin_state: Sequence[Symbol] | None = None,
        layout: str = "NTC",
        merge_outputs: bool | None = None,
    ) -> Unrolled:
        """Run the cell over a sequence.

        Parameters
        ----------
        length
            Number of steps.
        inputs
            A symbol with a time axis, or a list of one symbol (n, c) per step.
        begin_state
            The initial states; `begin_state` of the cell if None.
        layout
            Order of the axes: ``"NTC"`` or ``"TNC"``.
        merge_outputs
            Whether to return the outputs as one symbol with a time axis, or as a list of steps. If None, as the cell makes them.

        Returns
        -------
        tuple
            Outputs and final states.

        Raises
        ------
        ParameterError
            If there are no inputs, or a list has another length.
        """
        self.reset()
        return self._unroll(length, inputs, begin_state, layout, merge_outputs)

    def _unroll(self, length: int, inputs: Inputs | None, begin_state: Any, layout: str, merge_outputs: bool | None) -> Unrolled:
        """`unroll` after the reset. Cells that see the whole sequence at once, such as fused ones, override it."""
        steps = steps_of(length, inputs, layout)
        states = self.begin_state() if begin_state is None else begin_state
        outputs = []
        for step in steps:
            output, states = self(step, states)
            outputs.append(output)
        return arranged(length, outputs, layout, merge_outputs), states

    def _get_activation(self, inputs: Symbol, activation: Activation, **kwargs: Any) -> Symbol:
        """Apply an activation, given by its name or as a function; cells of users call it too."""
        if not isinstance(activation, str):
            return activation(inputs, **kwargs)
        kwargs["act_type"] = activation  # any name: the operator checks it
        return sym.Activation(inputs, **kwargs)


def taken(arrays: dict[str, T], name: str) -> T:
    """Remove an array from a dict and return it.

    Raises
    ------
    KeyError
        If it is missing.
    """
    if name not in arrays:
        raise missing_array(name, arrays)
    return arrays.pop(name)


def missing_array(name: str, arrays: Mapping[str, object]) -> UnboundArgumentError:
    """The error for a cell's array that is missing among the given ones."""
    given = f"{', '.join(sorted(arrays)):.200}" or "no arrays"
    return UnboundArgumentError(f"the cell's array {name} is missing", given, "pass all arrays of the cell, under its prefix")
