"""What modules are bound to: descriptions of data and labels, checked; how the rows of a batch are divided among devices."""

from collections.abc import Collection, Iterable, Sequence
from typing import Any

from ..errors import ParameterError, ShapeError
from ..io.iterator import DataBatch, DataDesc

__all__ = ["Shapes", "batch_axis", "batch_size_of", "described", "divided", "shapes_of_batch"]

#: Descriptions, or pairs of name and shape.
Shapes = Sequence[DataDesc | tuple[str, tuple[int, ...]]]


def described(shapes: Shapes | None) -> list[DataDesc]:
    """Descriptions of arrays, from descriptions or from pairs of name and shape; float32 where nothing is said."""
    return [x if isinstance(x, DataDesc) else DataDesc(*x) for x in shapes or ()]


def check_data(descriptions: Iterable[DataDesc], names: Collection[str]) -> None:
    """Compare the names of data with those that a module was made for.

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
    """Look for labels that the symbol does not have while it lacks one of its own.

    Labels that the symbol has no use for are only for metrics.

    Raises
    ------
    ParameterError
        If a label would stay without values that way.
    """
    given = {x.name for x in descriptions}
    unknown = sorted(given - set(arguments))
    waiting = [name for name in names if name in arguments and name not in given]
    if unknown and waiting:
        raise ParameterError(
            "Data provided by label_shapes don't match names specified by label_names",
            f"{', '.join(unknown)} for {', '.join(waiting)}",
            "make Module(label_names=…) and the iterator's provide_label agree",
        )


def batch_axis(description: DataDesc) -> int:
    """Axis of the batch, -1 if there is none."""
    return DataDesc.get_batch_axis(description.layout)


def batch_size_of(descriptions: Sequence[DataDesc]) -> int:
    """Number of rows of a batch.

    Raises
    ------
    ShapeError
        If descriptions differ in it, or an array has no axis for it.
    """
    size = None
    for x in descriptions:
        axis = batch_axis(x)
        if axis == -1:
            continue
        if axis >= len(x.shape):
            raise ShapeError(f"module: {x.name} has no axis of the batch", f"shape {x.shape}, layout {x.layout}", "give its layout")
        if size is not None and x.shape[axis] != size:
            raise ShapeError(
                f"all data must have the same batch size: batch_size = {size}, but {x.name} has shape {x.shape}",
                None,
                "give as many rows of each",
            )
        size = x.shape[axis]
    return 1 if size is None else size


def divided(size: int, loads: Sequence[float]) -> list[slice]:
    """The rows of each device.

    Parameters
    ----------
    size
        Number of rows.
    loads
        How much each device does, in proportion.

    Raises
    ------
    ParameterError
        If a device would get no row.
    """
    total, begin, found = sum(loads), 0, []
    for place, load in enumerate(loads):
        last = place == len(loads) - 1
        end = size if last else min(begin + round(size * load / total), size)
        if begin >= end:
            raise ParameterError("Too many slices. Some splits are empty.", f"{size} rows for {len(loads)} devices", "use fewer devices")
        found.append(slice(begin, end))
        begin = end
    return found


def shapes_of_batch(batch: DataBatch, data: Sequence[DataDesc], label: Sequence[DataDesc]) -> tuple[list[DataDesc], list[DataDesc]]:
    """Descriptions of a batch's data and labels, which may have other shapes than those before.

    Parameters
    ----------
    batch
        The batch.
    data, label
        Descriptions before.

    Raises
    ------
    ParameterError
        If there are not as many arrays as before.
    """
    new_data = described(batch.provide_data) if batch.provide_data else _with_shapes(data, batch.data, "data")
    if batch.provide_label:
        return new_data, described(batch.provide_label)
    if batch.label:
        return new_data, _with_shapes(label, batch.label, "label")
    size = batch_size_of(new_data)
    return new_data, [_resized(x, size) for x in label]


def _with_shapes(descriptions: Sequence[DataDesc], arrays: Sequence[Any], what: str) -> list[DataDesc]:
    if not descriptions and what == "label":  # bound without labels
        return []
    if len(arrays) != len(descriptions):
        names = ", ".join(x.name for x in descriptions)
        raise ParameterError(f"module: a batch with another number of {what} arrays", f"{len(arrays)} for {names}", "give one for each")
    return [DataDesc(x.name, tuple(a.shape), x.dtype, x.layout) for x, a in zip(descriptions, arrays, strict=True)]


def _resized(x: DataDesc, size: int) -> DataDesc:
    axis = batch_axis(x)
    shape = x.shape if axis == -1 else (*x.shape[:axis], size, *x.shape[axis + 1 :])
    return DataDesc(x.name, shape, x.dtype, x.layout)
