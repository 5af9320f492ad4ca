"""Sizes of a network's inputs that may vary: which do, which of them are one size, and their names."""

from collections.abc import Callable, Mapping, Sequence
from typing import NamedTuple

from ...errors import MXNetError, ParameterError, ShapeError
from ...symbol.inference import Inference
from ...symbol.node import Head
from .assembly import Sizes

Shape = tuple[int, ...]
Shapes = Mapping[str, Shape]
#: Axes that have one size, each by the name of its input and its number.
Group = tuple[tuple[str, int], ...]
#: Whether all other shapes of a network follow from these of its inputs without an error.
Fits = Callable[[Shapes], bool]


class Varying(NamedTuple):
    """Sizes that may vary: the inputs' shapes with names for them, and other shapes of that form."""

    named: Mapping[str, Sizes]
    shapes: dict[str, Shape]


def asked_sizes(heads: Sequence[Head], shapes: Shapes, dtypes: Mapping[str, str], params: Shapes, given: Sequence[Sizes]) -> Varying:
    """The sizes that are None or names in ``given``. What may not vary is varied all the same, for an error that names the node."""
    labels = _labels(shapes, given)
    asked = [tuple(a for a, m in labels.items() if m == label) for label in dict.fromkeys(labels.values())]
    groups = groups_that_vary(asked, shapes, _fits(heads, dtypes, params))
    groups += [g for g in asked if not any(set(g) <= set(other) for other in groups)]
    own = {(name, k) for name, sizes in zip(shapes, given, strict=True) for k, size in enumerate(sizes) if isinstance(size, str)}
    for group in groups:
        # an axis without a name has that of the first one of its size
        first = next((a for a in group if a in own), group[0])
        labels |= {a: labels[first] for a in group if a not in own}
    return _named(groups, labels, shapes)


def _labels(shapes: Shapes, given: Sequence[Sizes]) -> dict[tuple[str, int], str]:
    """A name for each axis that may vary: the given one, or that of its input and its number."""
    if [len(s) for s in given] != [len(s) for s in shapes.values()]:
        what = "export_model: dynamic_input_shapes must have the dimensions of the inputs"
        raise ParameterError(what, f"{list(given)} for {list(shapes.values())}", "pass one shape for each input")
    found: dict[tuple[str, int], str] = {}
    for (name, shape), sizes in zip(shapes.items(), given, strict=True):
        for k, (size, own) in enumerate(zip(sizes, shape, strict=True)):
            if isinstance(size, int) and size != own:
                what = "export_model: a size in dynamic_input_shapes is not that of in_shapes"
                raise ParameterError(what, f"{list(given)} for {list(shapes.values())}", "make them equal, or give a name")
            if not isinstance(size, int):
                found[name, k] = f"{name}_{k}" if size is None else size
    return found


def all_free_sizes(heads: Sequence[Head], shapes: Shapes, dtypes: Mapping[str, str], params: Shapes) -> Varying:
    """Every size that may vary without a parameter of another shape, and without an error."""
    fits = _fits(heads, dtypes, params)
    groups = groups_that_vary([((name, k),) for name, shape in shapes.items() for k in range(len(shape))], shapes, fits)
    labels = {axis: f"{group[0][0]}_{group[0][1]}" for group in groups for axis in group}
    # the first axes count the samples: they have one size in all inputs if they can
    first = [g for g in groups if any(k == 0 for _, k in g) and len({name for name, _ in g}) == len(g)]
    samples = _joined(first)
    are_apart = len({name for name, _ in samples}) == len(samples)  # two axes of one input are not both its samples
    if first and are_apart and len({shapes[name][k] for name, k in samples}) == 1 and fits(with_other_sizes(shapes, [samples])):
        groups = [samples, *(g for g in groups if g not in first)]
        labels |= dict.fromkeys(samples, "batch_size")
    return _named(groups, labels, shapes)


def _named(groups: Sequence[Group], labels: Mapping[tuple[str, int], str], shapes: Shapes) -> Varying:
    named = {name: [labels.get((name, k), size) for k, size in enumerate(shape)] for name, shape in shapes.items()}
    return Varying(named, with_other_sizes(shapes, groups))


def _fits(heads: Sequence[Head], dtypes: Mapping[str, str], params: Shapes) -> Fits:
    def fits(shapes: Shapes) -> bool:
        try:
            return Inference(heads, {**shapes, **params}, dtypes).run().is_complete()
        except (ShapeError, MXNetError):
            return False

    return fits


def groups_that_vary(groups: Sequence[Group], shapes: Shapes, fits: Fits) -> list[Group]:
    """The groups that may vary. One that cannot vary alone is joined with those that must have its size.

    Such are the samples of two inputs that are added, and those of a sequence on axis 1 and of its lengths on axis 0.
    """

    def vary(several: Sequence[Group]) -> bool:
        return fits(with_other_sizes(shapes, [_joined(several)]))

    def size(group: Group) -> int:
        name, k = group[0]
        return shapes[name][k]

    found = [g for g in groups if vary([g])]
    bound = [g for g in groups if g not in found]
    while bound:
        one = bound.pop(0)
        equal = [g for g in bound if size(g) == size(one)]
        # a size that is fixed may equal that of the samples by chance, so fewer groups are tried, too
        choices = [equal, [g for g in equal if g[0][1] == one[0][1]], *([g] for g in equal)]
        others = next((c for c in choices if c and vary([one, *c])), None)
        if others is None:
            continue
        for group in tuple(others):
            rest = [g for g in others if g != group]
            others = rest if vary([one, *rest]) else others
        found.append(_joined([one, *others]))
        bound = [g for g in bound if g not in others]
    return found


def _joined(groups: Sequence[Group]) -> Group:
    return tuple(axis for group in groups for axis in group)


def with_other_sizes(shapes: Shapes, groups: Sequence[Group]) -> dict[str, Shape]:
    """Shapes in which the axes of each group have another size, that of the group's first axis."""
    found = {name: list(shape) for name, shape in shapes.items()}
    for group in groups:
        first, axis = group[0]
        for name, k in group:
            found[name][k] = _other_size(axis, shapes[first][axis])
    return {name: tuple(shape) for name, shape in found.items()}


def _other_size(axis: int, size: int) -> int:
    """Another size to write the graph for: one sample more, or twice the extent, which keeps multiples of strides."""
    return size + 1 if axis == 0 else 2 * size
