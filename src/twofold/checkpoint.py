"""Checkpoints in MXNet's format: the symbol in ``prefix-symbol.json``, the parameters in ``prefix-NNNN.params``."""

from __future__ import annotations

import logging
from collections.abc import Mapping
from os import PathLike, fspath
from typing import TYPE_CHECKING, Any, NamedTuple

from .errors import FormatError
from .formats.checksums import checksum_beside, warn_if_changed
from .formats.files import write_file
from .launcher_notes import LAST_CHECKPOINT, notes_folder
from .ndarray.array import NDArray
from .ndarray.saving import load, save

if TYPE_CHECKING:
    from .metric.base import EvalMetric
    from .symbol.symbol import Symbol

__all__ = ["BatchEndParam", "load_checkpoint", "load_params", "note_checkpoint", "save_checkpoint"]

Prefix = str | PathLike[str]
Parameters = dict[str, NDArray]


class BatchEndParam(NamedTuple):
    """The argument of batch-end callbacks.

    Attributes
    ----------
    epoch, nbatch
        The epoch, and the batch within it, from 0.
    eval_metric
        The metric over the epoch so far, if any.
    locals
        The local variables of the training loop.
    """

    epoch: int
    nbatch: int
    eval_metric: EvalMetric | None
    locals: dict[str, Any]


def save_checkpoint(
    prefix: Prefix,
    epoch: int,
    symbol: Symbol | None,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    remove_amp_cast: bool = True,
) -> None:
    """Write the symbol and the parameters of a model, and beside a local file of parameters its checksum, ``.prefix-NNNN.params.sha256``.

    Parameters
    ----------
    prefix
        Prefix of the file names, which may include a folder.
    epoch
        Epoch number in the name of the parameter file.
    symbol
        The symbol; None to write the parameters only.
    arg_params, aux_params
        Dicts from name to array: parameters, and auxiliary states such as moving means.
    remove_amp_cast
        Whether to remove the casts inserted for mixed precision.

    Raises
    ------
    FileAccessError
        If a file cannot be written. An existing file is left unchanged.
    """
    if symbol is not None:
        symbol.save(f"{fspath(prefix)}-symbol.json", remove_amp_cast=remove_amp_cast)
    arrays = {f"arg:{name}": array for name, array in arg_params.items()}
    arrays |= {f"aux:{name}": array for name, array in aux_params.items()}
    path = _params_path(prefix, epoch)
    with checksum_beside(path):
        save(path, arrays)
    note_checkpoint(path)
    logging.info('Saved checkpoint to "%s"', path)


def note_checkpoint(path: str) -> None:
    """Tell the launcher of a cluster the name of the last checkpoint, which it prints if the cluster fails.

    Parameters
    ----------
    path
        The name of the complete checkpoint.
    """
    folder = notes_folder()
    if folder is not None:
        write_file(folder / LAST_CHECKPOINT, [path.encode()])


def load_checkpoint(prefix: Prefix, epoch: int) -> tuple[Symbol, Parameters, Parameters]:
    """Read a checkpoint written by `save_checkpoint` or MXNet. A warning says if the parameters are not those that were written.

    Parameters
    ----------
    prefix, epoch
        See `save_checkpoint`.

    Returns
    -------
    tuple
        (symbol, parameters, auxiliary states).

    Raises
    ------
    MissingFileError
        If a file is missing.
    FormatError
        If a file is damaged.
    """
    from .symbol import load as load_symbol  # here, as stores, whose programs may have no symbols, note their checkpoints by this module

    return load_symbol(f"{fspath(prefix)}-symbol.json"), *load_params(prefix, epoch)


def load_params(prefix: Prefix, epoch: int) -> tuple[Parameters, Parameters]:
    """Read the parameters and auxiliary states of a checkpoint, as two dicts.

    Parameters
    ----------
    prefix, epoch
        See `save_checkpoint`.

    Raises
    ------
    MissingFileError
        If the file is missing.
    FormatError
        If it is damaged, or not the parameters of a checkpoint.
    """
    path = _params_path(prefix, epoch)
    warn_if_changed(path)
    arrays = load(path)
    if not arrays:
        logging.warning("Params file '%s' is empty", path)
        return {}, {}
    found: dict[str, Parameters] = {"arg": {}, "aux": {}}
    names = arrays if isinstance(arrays, dict) else {}
    for name, array in names.items():
        kind, _, own = name.partition(":")
        if not own or kind not in found:
            raise FormatError("a parameter that is neither arg: nor aux:", name, "load it with mx.nd.load", path=path)
        found[kind][own] = array
    if not names:
        raise FormatError("parameters without names", f"{len(arrays)} arrays", "load it with mx.nd.load", path=path)
    return found["arg"], found["aux"]


def _params_path(prefix: Prefix, epoch: int) -> str:
    return f"{fspath(prefix)}-{epoch:04d}.params"
