"""Descriptions of the data and labels that modules are bound to, and how the rows of a batch are split among devices."""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Any, TypeAlias

import numpy as np

from ..errors import DTypeError, OperatorError, ParameterError, ShapeError, UnknownKey, WrongShape
from ..io.iterator import BatchLike, DataBatch, DataDesc, describe
from ..ndarray.array import NDArray
from ..origin import warn
from ..strictness import tolerate

NamedShapes = Sequence[tuple[str, tuple[int, ...]]]
#: A batch, or a list of one per device.
Batch = BatchLike | list[DataBatch]
Labels = Sequence[NDArray] | Sequence[Sequence[NDArray]] | None
#: One array for each output, or for each a list of the devices' parts. Not as two lists: type checkers would ask callers which one it is.
Arrays: TypeAlias = "list[NDArray] | Any"
#: ``"write"``, ``"add"`` or ``"null"``: one for all parameters, one per argument in order, or by name.
Requests = str | Sequence[str] | Mapping[str, str]


def as_batch(batch: Batch) -> DataBatch:
    """A batch of any class as a `DataBatch`; attributes that it lacks are None.

    Raises
    ------
    DTypeError
        If it is a list of batches.
    OperatorError
        If it is no batch, but an array or a tuple of arrays, say.
    """
    if isinstance(batch, DataBatch):
        return batch
    if isinstance(batch, list):
        raise DTypeError("module: expected one batch", f"a list of {len(batch)}", "pass a DataBatch")
    if isinstance(batch, np.ndarray) or not isinstance(batch, BatchLike):  # `data` of NumPy's arrays is their memory
        what = "module: expected a batch, whose attribute data is a list of arrays"
        todo = "pass mx.io.DataBatch([x]), or mx.io.DataBatch([x], [label]), for an array x of mx.nd"
        raise OperatorError(what, type(batch).__name__, todo)
    optional = ("label", "pad", "index", "bucket_key", "provide_data", "provide_label")
    return DataBatch(batch.data, *(getattr(batch, name, None) for name in optional))


def check_inputs(what: str, names: Sequence[str], arguments: Sequence[str]) -> None:
    """Check that a symbol has the arguments that a module names with the parameter ``what``; a missing label is only a warning.

    Raises
    ------
    ParameterError
        If it lacks one.
    """
    likely = ", ".join(n for n in arguments if not n.endswith(("_weight", "_bias", "_gamma", "_beta")))
    for name in names:
        if name in arguments:
            continue
        text = f"You created Module with Module(..., {what}={names}) but input with name '{name}' is not found in symbol.list_arguments()"
        if what != "label_names":
            raise ParameterError(text, None, f"did you mean one of {likely}?")
        warn(f"{text}; did you mean one of {likely}?")


def check_data(descriptions: Iterable[DataDesc], names: Collection[str]) -> None:
    """Check that the names of data match those of a module.

    Raises
    ------
    ParameterError
        If they differ.
    """
    given = [x.name for x in descriptions]
    if sorted(given) != sorted(names):
        raise ParameterError(
            "Data provided by data_shapes don't match names specified by data_names",
            f"{', '.join(given) or 'nothing'} for {', '.join(names) or 'nothing'}",
            "make Module(data_names=…) and the iterator's provide_data agree",
        )


def check_labels(descriptions: Iterable[DataDesc], names: Collection[str], arguments: Collection[str]) -> None:
    """Check the names of labels against those of a module.

    Labels that the symbol does not use are allowed: metrics may need them.

    Raises
    ------
    ParameterError
        If there are unknown labels while one of the symbol's labels is missing.
    """
    given = {x.name for x in descriptions}
    unknown = sorted(given - set(arguments))
    missing = [name for name in names if name in arguments and name not in given]
    if unknown and missing:
        raise UnknownKey(
            "Data provided by label_shapes don't match names specified by label_names",
            f"{', '.join(unknown)} for {', '.join(missing)}",
            "make Module(label_names=…) and the iterator's provide_label agree",
        )


def batch_axis(description: DataDesc) -> int:
    """The batch axis; -1 without one."""
    return DataDesc.get_batch_axis(description.layout)


def batch_size_of(descriptions: Sequence[DataDesc]) -> int:
    """The number of rows of a batch.

    Raises
    ------
    ShapeError
        If the descriptions disagree, or an array lacks its batch axis.
    """
    size = None
    for x in descriptions:
        axis = batch_axis(x)
        if axis == -1:
            continue
        if axis >= len(x.shape):
            raise ShapeError(f"module: {x.name} has no batch axis", f"shape {x.shape}, layout {x.layout}", "specify its layout")
        if size is not None and x.shape[axis] != size:
            raise WrongShape(
                f"all data must have the same batch size: batch_size = {size}, but {x.name} has shape {x.shape}",
                None,
                "pass the same number of rows for each",
            )
        size = x.shape[axis]
    return 1 if size is None else size


def split_rows(size: int, loads: Sequence[float]) -> list[slice]:
    """The rows of a batch that each device computes.

    Parameters
    ----------
    size
        Number of rows.
    loads
        The devices' shares of the work.

    Raises
    ------
    ParameterError
        If a device would get no row.
    """
    total, begin, found = sum(loads), 0, []
    for place, load in enumerate(loads):
        last = place == len(loads) - 1  # the last device takes the rows that rounding leaves
        end = size if last else min(begin + round(size * load / total), size)
        if begin >= end:
            raise ParameterError("Too many slices. Some splits are empty.", f"{size} rows for {len(loads)} devices", "use fewer devices")
        found.append(slice(begin, end))
        begin = end
    return found


def shapes_of_batch(batch: DataBatch, data: Sequence[DataDesc], label: Sequence[DataDesc]) -> tuple[list[DataDesc], list[DataDesc]]:
    """Descriptions of a batch's data and labels, whose shapes may differ from previous ones.

    Parameters
    ----------
    batch
        The batch.
    data, label
        The previous descriptions.

    Raises
    ------
    ParameterError
        If there are too few arrays. Surplus ones are ignored, with a warning.
    """
    new_data = describe(batch.provide_data) if batch.provide_data else _with_shapes(data, batch.data, "data")
    if batch.provide_label:
        return new_data, describe(batch.provide_label)
    if batch.label:
        return new_data, _with_shapes(label, batch.label, "label")
    # a batch without labels, as in prediction: the executors still have arrays for them
    size = batch_size_of(new_data)
    return new_data, [_resize(x, size) for x in label]


def _with_shapes(descriptions: Sequence[DataDesc], arrays: Sequence[NDArray], what: str) -> list[DataDesc]:
    if not descriptions and what == "label":  # bound without labels
        return []
    if len(arrays) != len(descriptions):
        names = ", ".join(x.name for x in descriptions)
        problem = f"module: the batch has the wrong number of {what} arrays", f"{len(arrays)} for {names}", "pass one for each"
        if len(arrays) < len(descriptions):
            raise ParameterError(*problem)
        tolerate(*problem)
    return [DataDesc(x.name, tuple(a.shape), x.dtype, x.layout) for x, a in zip(descriptions, arrays, strict=False)]


def _resize(x: DataDesc, size: int) -> DataDesc:
    axis = batch_axis(x)
    shape = x.shape if axis == -1 else (*x.shape[:axis], size, *x.shape[axis + 1 :])
    return DataDesc(x.name, shape, x.dtype, x.layout)
