"""Checkpoints of models with recurrent cells: their weights are stored by gate, so that fused and other cells read the same files."""

from collections.abc import Callable, Mapping, Sequence
from os import PathLike
from typing import Any

from ..checkpoint import load_checkpoint, save_checkpoint
from ..ndarray.array import NDArray
from ..origin import warn
from ..symbol import Variable
from ..symbol.symbol import Symbol
from .base import Arrays, BaseRNNCell, Outputs
from .sequences import Inputs

Cells = BaseRNNCell | Sequence[BaseRNNCell]
Prefix = str | PathLike[str]
Params = Mapping[str, NDArray]


def _listed(cells: Cells) -> Sequence[BaseRNNCell]:
    return [cells] if isinstance(cells, BaseRNNCell) else cells


def rnn_unroll(
    cell: BaseRNNCell,
    length: int,
    inputs: Inputs | None = None,
    begin_state: Sequence[Symbol] | None = None,
    input_prefix: str = "",
    layout: str = "NTC",
) -> tuple[Outputs, Sequence[Any]]:
    """Run a cell over a sequence. Deprecated; call `BaseRNNCell.unroll`.

    Parameters
    ----------
    cell
        The cell.
    length, begin_state, layout
        See `BaseRNNCell.unroll`.
    inputs
        See `BaseRNNCell.unroll`; variables ``t0_data``, ``t1_data`` … if None.
    input_prefix
        Prefix of these variables' names.
    """
    warn("rnn_unroll is deprecated; call cell.unroll()")
    if inputs is None:
        inputs = [Variable(f"{input_prefix}t{k}_data") for k in range(length)]
    return cell.unroll(length, inputs, begin_state, layout)


def save_rnn_checkpoint(cells: Cells, prefix: Prefix, epoch: int, symbol: Symbol | None, arg_params: Params, aux_params: Params) -> None:
    """Write a checkpoint with the weights of each gate; see `twofold.model.save_checkpoint`.

    Parameters
    ----------
    cells
        The model's cells: one or a list.
    prefix, epoch, symbol, arg_params, aux_params
        See `twofold.model.save_checkpoint`.

    Raises
    ------
    KeyError
        If an array of a cell is missing.
    """
    for cell in _listed(cells):
        arg_params = cell.unpack_weights(arg_params)
    save_checkpoint(prefix, epoch, symbol, arg_params, aux_params)


def load_rnn_checkpoint(cells: Cells, prefix: Prefix, epoch: int) -> tuple[Symbol, Arrays, Arrays]:
    """Read a checkpoint of `save_rnn_checkpoint`; see `twofold.model.load_checkpoint`.

    Parameters
    ----------
    cells
        The cells to pack the weights for, one or a list. They need not be those that the checkpoint was saved with, but of equal
        shapes and names: such as a `FusedRNNCell` and its `FusedRNNCell.unfuse`.
    prefix, epoch
        See `twofold.model.load_checkpoint`.

    Returns
    -------
    tuple
        (symbol, parameters, auxiliary states).
    """
    symbol, arg_params, aux_params = load_checkpoint(prefix, epoch)
    for cell in _listed(cells):
        arg_params = cell.pack_weights(arg_params)
    return symbol, arg_params, aux_params


def do_rnn_checkpoint(cells: Cells, prefix: Prefix, period: int = 1) -> Callable[..., None]:
    """An epoch-end callback that calls `save_rnn_checkpoint`.

    Parameters
    ----------
    cells, prefix
        See `save_rnn_checkpoint`.
    period
        Number of epochs between saves.
    """
    period = max(1, int(period))

    def at_epoch_end(epoch: int, sym: Symbol, arg: Params, aux: Params) -> None:
        if (epoch + 1) % period == 0:
            save_rnn_checkpoint(cells, prefix, epoch + 1, sym, arg, aux)

    return at_epoch_end
