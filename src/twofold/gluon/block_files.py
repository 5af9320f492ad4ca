"""Saves and loads the parameters of a block, by their paths in the model."""

from collections.abc import Iterable, Mapping
from os import PathLike

from .. import ndarray as nd
from ..errors import InvalidValue, ParameterError
from .parameter import Contexts, Parameter
from .parameter_dict import ParameterDict, brief_list, load_all, load_named_arrays
from .signatures import check_dtype_source

Path = str | PathLike[str]


def save_parameters(params: Mapping[str, Parameter], filename: Path, deduplicate: bool) -> None:
    """See `Block.save_parameters`; ``params`` are by path."""
    if deduplicate:  # under the last path of each, as in MXNet
        params = {name: param for param, name in {param: name for name, param in params.items()}.items()}
    nd.save(filename, {name: param._reduce() for name, param in params.items()})


def load_parameters(
    params: Mapping[str, Parameter],
    full_names: ParameterDict,
    prefix: str,
    filename: Path,
    ctx: Contexts,
    allow_missing: bool,
    ignore_extra: bool,
    cast_dtype: bool,
    dtype_source: str,
) -> None:
    """See `Block.load_parameters`; ``params`` are by path, ``full_names`` by name, which starts with the block's prefix."""
    check_dtype_source(cast_dtype, dtype_source)
    arrays = load_named_arrays(filename)
    if not arrays and not params:
        return
    if not any("." in name for name in arrays):  # written before MXNet 1.0: full names instead of paths
        if not all(name.startswith(prefix) for name in full_names):
            what = f"file '{filename}' is of another network: it has no parameter '{next(iter(params))}'"
            raise InvalidValue(what, f"the parameters {brief_list(arrays)}", "load the file that this network's save_parameters wrote")
        full_names.load_dict(arrays, ctx, allow_missing, ignore_extra, prefix, str(filename), cast_dtype, dtype_source)
        return
    if not allow_missing:
        _check_complete(params, arrays, filename)
    for name in arrays:
        if name not in params and not ignore_extra:
            raise ParameterError(
                f"Parameter '{name}' loaded from file '{filename}' is not present in the block",
                f"a block with {brief_list(params) or 'no parameters'}",
                "set ignore_extra=True to ignore it",
            )
    load_all([(params[name], array) for name, array in arrays.items() if name in params], ctx, cast_dtype, dtype_source)


def _check_complete(params: Mapping[str, Parameter], arrays: Iterable[str], filename: Path) -> None:
    """Check that each parameter is in the file, a shared one under any of its paths."""
    arrays = list(arrays)
    loaded = {params[name] for name in arrays if name in params}
    missing = next((name for name, param in params.items() if param not in loaded), None)
    if missing is not None:
        raise InvalidValue(
            f"Parameter '{missing}' is missing in file '{filename}'",
            f"the parameters {brief_list(arrays)}",
            "load the file of this network, or set allow_missing=True to leave it as it is",
        )
