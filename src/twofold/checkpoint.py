"""Checkpoints of a model: its symbol in ``prefix-symbol.json``, its parameters in ``prefix-NNNN.params``, as MXNet writes them."""

import logging
from collections.abc import Mapping
from os import PathLike, fspath
from typing import Any, NamedTuple

from . import symbol as sym
from .errors import FormatError
from .ndarray.array import NDArray
from .ndarray.saving import load, save

__all__ = ["BatchEndParam", "load_checkpoint", "load_params", "save_checkpoint"]

Prefix = str | PathLike[str]
Parameters = dict[str, NDArray]


class BatchEndParam(NamedTuple):
    """What a callback at the end of a batch is told.

    Attributes
    ----------
    epoch, nbatch
        Number of the epoch, and of the batch within it, from 0.
    eval_metric
        The metric over the epoch so far; None if there is none.
    locals
        The variables of the training loop.
    """

    epoch: int
    nbatch: int
    eval_metric: Any
    locals: Any


def save_checkpoint(
    prefix: Prefix,
    epoch: int,
    symbol: Any,
    arg_params: Mapping[str, NDArray],
    aux_params: Mapping[str, NDArray],
    remove_amp_cast: bool = True,
) -> None:
    """Write the symbol and the parameters of a model.

    Parameters
    ----------
    prefix
        How the files' names begin; it may lead to another folder.
    epoch
        Number of the epoch, which the parameters' file has in its name.
    symbol
        The symbol; None to write the parameters only.
    arg_params, aux_params
        Dicts of name to array: parameters, and auxiliary states such as moving means.
    remove_amp_cast
        Leave out the casts that mixed precision put into the symbol.

    Raises
    ------
    FileAccessError
        If a file cannot be written; what was there before stays.
    """
    if symbol is not None:
        symbol.save(f"{fspath(prefix)}-symbol.json", remove_amp_cast=remove_amp_cast)
    arrays = {f"arg:{name}": array for name, array in arg_params.items()}
    arrays |= {f"aux:{name}": array for name, array in aux_params.items()}
    path = _params_path(prefix, epoch)
    save(path, arrays)
    logging.info('Saved checkpoint to "%s"', path)


def load_checkpoint(prefix: Prefix, epoch: int) -> tuple[Any, Parameters, Parameters]:
    """Read what `save_checkpoint` or MXNet wrote.

    Parameters
    ----------
    prefix, epoch
        As of `save_checkpoint`.

    Returns
    -------
    tuple
        The symbol, and dicts of the parameters and of the auxiliary states.

    Raises
    ------
    MissingFileError
        If there are no such files.
    FormatError
        If one of them is damaged.
    """
    symbol = sym.load(f"{fspath(prefix)}-symbol.json")
    return symbol, *load_params(prefix, epoch)


def load_params(prefix: Prefix, epoch: int) -> tuple[Parameters, Parameters]:
    """Read the parameters of a checkpoint: dicts of the parameters and of the auxiliary states.

    Parameters
    ----------
    prefix, epoch
        As of `save_checkpoint`.

    Raises
    ------
    MissingFileError
        If there is no such file.
    FormatError
        If it is damaged, or holds other arrays than a checkpoint does.
    """
    path = _params_path(prefix, epoch)
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
