"""Private functions of ``rnn.rnn_cell`` and ``gluon.rnn.rnn_cell`` that cells of libraries call."""

from collections.abc import Mapping, Sequence
from typing import Any

from .. import symbol as sym
from ..errors import InvalidValue
from ..gluon.rnn.sequences import mask
from ..gluon.signatures import Functions, Operand, functions_for
from ..ndarray.array import NDArray
from ..rnn.sequences import steps_of
from ..symbol.symbol import Symbol

__all__: list[str] = []

#: A cell of either kind, one of its states, and a sequence of steps: an array or symbol with a time axis, or a list.
Cell = Any
State = Any
Steps = Any
Cells = Sequence[Cell]


def _cells_begin_state(cells: Cells, **kwargs: object) -> list[State]:
    """The initial states of all cells."""
    return [state for cell in cells for state in cell.begin_state(**kwargs)]


def _cells_state_info(cells: Cells, batch_size: int | None = None) -> list[Mapping[str, object]]:
    """The descriptions of the states of all cells; those of Gluon have a batch size."""
    return [info for cell in cells for info in (cell.state_info if batch_size is None else cell.state_info(batch_size))]


def _cells_state_shape(cells: Cells) -> list[tuple[int, ...]]:
    """The shapes of the states of all cells."""
    return [shape for cell in cells for shape in cell.state_shape]


def _cells_unpack_weights(cells: Cells, args: Mapping[str, NDArray]) -> Mapping[str, NDArray]:
    """Split the joined weights of all cells by gate."""
    for cell in cells:
        args = cell.unpack_weights(args)
    return args


def _cells_pack_weights(cells: Cells, args: Mapping[str, NDArray]) -> Mapping[str, NDArray]:
    """Join the weights of all cells again."""
    for cell in cells:
        args = cell.pack_weights(args)
    return args


def _normalize_sequence(
    length: int, inputs: Steps, layout: str, merge: bool | None, in_layout: str | None = None
) -> tuple[Symbol | list[Symbol], int]:
    """A sequence of symbols as a list of steps (False), as one symbol (True) or as it is (None), and its time axis.

    Raises
    ------
    AssertionError
        If there is no sequence, or a list has another length.
    """
    # `given` is the axis of time as it comes, `axis` as it is wanted
    axis, given = layout.find("T"), (layout if in_layout is None else in_layout).find("T")
    if isinstance(inputs, Symbol):
        if merge is False:
            return list(steps_of(length, inputs, layout if in_layout is None else in_layout)), axis
    else:
        assert inputs is not None, "unroll(inputs=None) is not supported: pass a symbol, or a list of one for each step"
        assert length is None or len(inputs) == length, f"{len(inputs)} steps for length={length}"
        if merge is not True:
            return list(inputs), axis
        # operators of these names, as MXNet's graphs have
        inputs, given = sym.concat(*(sym.expand_dims(step, axis=axis) for step in inputs), dim=axis), axis
    return (inputs if given == axis else sym.swapaxes(inputs, dim1=axis, dim2=given)), axis


def _get_begin_state(cell: Cell, F: Functions, begin_state: Sequence[State] | None, inputs: Steps, batch_size: int) -> Sequence[State]:
    """The given initial states of a Gluon cell, or zeros on the device of its inputs."""
    if begin_state is not None:
        return begin_state
    # the device of an array decides, where there is one
    first = inputs[0] if isinstance(inputs, (list, tuple)) else inputs
    if isinstance(first, Symbol):
        return cell.begin_state(func=F.zeros, batch_size=batch_size)
    with first.context:
        return cell.begin_state(func=F.zeros, batch_size=batch_size)


def _mask_sequence_variable_length(
    F: Functions, data: Steps, length: int, valid_length: Operand | None, time_axis: int, merge: bool
) -> Steps:
    """Set the steps beyond the length of each sequence to 0; returns one value, or a list of steps."""
    if valid_length is None:
        raise InvalidValue("_mask_sequence_variable_length: there are no lengths", None, "pass valid_length")
    return mask(F, data, length, "TNC" if time_axis == 0 else "NTC", valid_length, is_merged=merge)


def _reverse_sequences(sequences: Sequence[Operand], unroll_step: int, valid_length: Operand | None = None) -> Steps:
    """The steps of sequences in reverse order, where what is beyond a length stays in place."""
    if valid_length is None:
        return list(reversed(sequences))
    F = functions_for(sequences[0])
    whole = F.SequenceReverse(F.stack(*sequences, axis=0), sequence_length=valid_length, use_sequence_length=True)
    steps = F.split(whole, num_outputs=unroll_step, axis=0, squeeze_axis=True)
    # a single step comes as an array, whose items are its rows
    return [steps] if unroll_step == 1 else list(steps)


def _as_list(obj: object) -> Sequence[object]:
    """A list or tuple as it is, anything else in a list."""
    return obj if isinstance(obj, (list, tuple)) else [obj]
