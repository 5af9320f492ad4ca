"""Parameters of a block in files, by where they are in the model."""

from collections.abc import Iterable
from os import PathLike
from typing import Any

from .. import ndarray as nd
from ..errors import ParameterError
from .parameter import Contexts, Parameter, check_dtype_source
from .parameter_dict import brief_list, loaded_arrays
from .refusals import Refused

__all__ = ["load_parameters", "save_parameters"]

Path = str | PathLike[str]


def save_parameters(block: Any, filename: Path, deduplicate: bool) -> None:
    """See `Block.save_parameters`."""
    places: dict[str, Parameter] = block._collect_params_with_prefix()
    if deduplicate:
        places = {name: param for param, name in {param: name for name, param in places.items()}.items()}
    nd.save(filename, {name: param._reduce() for name, param in places.items()})


def load_parameters(
    block: Any, filename: Path, ctx: Contexts, allow_missing: bool, ignore_extra: bool, cast_dtype: bool, dtype_source: str
) -> None:
    """See `Block.load_parameters`."""
    check_dtype_source(cast_dtype, dtype_source)
    arrays = loaded_arrays(filename)
    places: dict[str, Parameter] = block._collect_params_with_prefix()
    if not arrays and not places:
        return
    if not any("." in name for name in arrays):  # names of before 1.0, without structure
        params = block.collect_params()
        params.load_dict(arrays, ctx, allow_missing, ignore_extra, block.prefix, str(filename), cast_dtype, dtype_source)
        return
    if not allow_missing:
        _check_complete(places, arrays, filename)
    for name, array in arrays.items():
        if name in places:
            places[name]._load_init(array, ctx, cast_dtype, dtype_source)
        elif not ignore_extra:
            raise ParameterError(
                f"Parameter '{name}' loaded from file '{filename}' is not present in the block",
                f"which contains parameters {brief_list(places)}",
                "set ignore_extra=True to ignore",
            )


def _check_complete(places: dict[str, Parameter], arrays: Iterable[str], filename: Path) -> None:
    """Each parameter must be in the file under one of its places."""
    arrays = list(arrays)
    there = {places[name] for name in arrays if name in places}
    missing = next((name for name, param in places.items() if param not in there), None)
    if missing is not None:
        raise Refused(
            f"Parameter '{missing}' is missing in file '{filename}'",
            f"which contains parameters: {brief_list(arrays)}",
            "set allow_missing=True to ignore missing parameters",
        )
