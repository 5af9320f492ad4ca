"""The channels-last pass: keeps images as (n, d…, c) between operations where the backend is faster with that layout.

Convolutions are declared over images (n, c, d…). An adapter's algorithm may want the channels last and transpose its inputs and
results. This pass forms regions of such convolutions and the surrounding operations that give the same bits in either layout, and
transposes only at the borders of the regions. Where the border costs more than the convolutions gain, the region shrinks or is dropped.
"""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TypeVar

from ..opdef import normalized_axes
from ..ops import primitive_reduce
from ..ops.primitive_shape import permute_dims
from .build import G, apply
from .ir import Application, Node, applications, applies, fill_of, is_const
from .rewrite import simplify

#: What a convolution or per-channel sum gains from channels last, in bytes of images that could be transposed in that time;
#: None if it needs the channels first.
Gain = float | None
Item = TypeVar("Item")


def with_channels_last(outputs: Sequence[Node], gain: Callable[[Application], Gain]) -> list[Node]:
    """Convert regions of a lowered graph to channels last where that is faster; its inputs and outputs keep their layout."""
    order = list(applications(outputs))
    gains: dict[Node, Gain] = {n: gain(n) if _changed_params(n) is not None else None for n in order if n.bound_op.op.layout.images}
    # without a convolution that gains there is nothing around which a region could form
    if not any(gains.values()):
        return list(outputs)
    gains |= {n: gain(n) if _sums_channels(n) else None for n in order if _is_sum(n)}
    chosen = _Choice(order, outputs, gains).made()
    return simplify(_Writer(chosen).written(order, outputs)) if chosen else list(outputs)


def _last(shape: Sequence[Item]) -> tuple[Item, ...]:
    """Axis 1 moved to the end: of a shape, or of any sequence with one item per axis."""
    return (shape[0], *shape[2:], shape[1])


def _to_last(ndim: int) -> tuple[int, ...]:
    """The permutation of ``ndim`` axes that moves axis 1 to the end."""
    return _last(tuple(range(ndim)))


def _to_first(ndim: int) -> tuple[int, ...]:
    """The inverse of `_to_last`."""
    return (0, ndim - 1, *range(1, ndim - 1))


def _axes(n: Node) -> tuple[int, ...] | None:
    """The permutation of a transposition; None for other nodes."""
    return tuple(a % len(n.shape) for a in n.bound_op.params["axes"]) if applies(n, permute_dims) else None


def _is_line(n: Node) -> bool:
    """Whether at most one axis is longer than 1, so that a transposition is only a reshape."""
    return n.size == max(n.shape, default=1)


def _is_sum(n: Node) -> bool:
    return applies(n, primitive_reduce.sum)


def _changed_params(n: Application) -> Mapping[str, object] | None:
    """The parameters that an operation changes for channels last; None if it has no such form."""
    op = n.bound_op.op
    if op.elementwise:
        return {}
    return None if op.layout.channels_rule is None else op.layout.channels_rule(_last, *n.operands, **n.bound_op.params)


def _images_of(n: Application) -> list[Node]:
    """The operands that a channels-last operation reads with channels last; per-channel vectors are not among them."""
    op = n.bound_op.op
    if op.layout.images:
        return [n.operands[k] for k in op.layout.images]  # a weight keeps its layout
    if _axes(n) is not None and _gives_image(n):
        return []  # the image is its operand, still with channels first
    if _is_sum(n) or _axes(n) is not None or op.layout.keeps_order:
        return [n.operands[0]]
    return [i for i in n.operands if len(i.shape) == len(n.shape) and not _is_line(i) and not is_const(i)]


def _gives_image(n: Application) -> bool:
    """Whether a channels-last operation's result has its channels last, too."""
    is_image = n.bound_op.op.layout.gives_image and not _is_sum(n)
    return is_image and not (len(n.shape) > 2 and _axes(n) == _to_last(len(n.shape)))


def _sums_channels(n: Application) -> bool:
    """Whether a sum leaves only the channel axis."""
    ndim = len(n.operands[0].shape)
    return ndim > 2 and normalized_axes(n.bound_op.params["axis"], ndim) == (0, *range(2, ndim))


def _moves(n: Application, gains: Mapping[Node, Gain]) -> bool:
    """Whether an operation has a channels-last form that gives the same bits."""
    if n in gains:
        return gains[n] is not None
    if len(n.shape) < 3 or len(n.parts) > 1 or _is_line(n):
        return False
    axes = _axes(n)
    if axes is not None:
        return axes in (_to_last(len(n.shape)), _to_first(len(n.shape)))
    return _changed_params(n) is not None


class _Choice:
    """The choice of operations to convert.

    The choice starts with everything connected to a convolution that gains. Then operations are removed one by one while that makes
    the border cheaper. Finally, regions whose border costs more than their convolutions gain are dropped.
    """

    def __init__(self, order: Sequence[Application], outputs: Iterable[Node], gains: Mapping[Node, Gain]) -> None:
        self.gains = gains
        moves = {n for n in order if _moves(n, gains)}
        self.images = {n: list(dict.fromkeys(_images_of(n))) for n in moves}
        self.readers: dict[Node, list[Application]] = {}
        #: Images that something outside the region reads with channels first: results of the program, and operands of other operations.
        self.seen_first = set(outputs)
        for n in order:
            images = self.images.get(n, [])
            for i in images:
                self.readers.setdefault(i, []).append(n)
            self.seen_first.update(i for i in n.inputs if i is not None and i not in images)
        self.last = {n for group in self._groups([n for n in order if gains.get(n)], moves) for n in group}
        self.order = [n for n in order if n in self.last]
        #: For each image, how many of its readers are converted.
        self.reading = {i: sum(n in self.last for n in readers) for i, readers in self.readers.items()}

    def made(self) -> set[Application]:
        """The operations to convert."""
        # forward and backward over the graph, so that a border moves through a whole chain in one round
        while sum(map(self._returns, (*self.order, *reversed(self.order)))):
            pass
        return {n for group in self._groups(self.order, self.last) if self._worth(group) > 0 for n in group}

    def _around(self, n: Application) -> Iterator[Node]:
        """The images that an operation reads, and its result if that is an image."""
        yield from self.images[n]
        if _gives_image(n):
            yield n

    def _groups(self, seeds: Iterable[Application], allowed: set[Application]) -> Iterator[set[Application]]:
        """The regions: allowed operations connected to a seed through images."""
        met: set[Application] = set()
        for seed in seeds:
            group: set[Application] = set()
            values: set[Node] = set()
            waiting = [seed] if seed in allowed and seed not in met else []
            while waiting:
                n = waiting.pop()
                if n not in group:
                    group.add(n)
                    for value in self._around(n):
                        if value not in values:
                            values.add(value)
                            near = (value, *self.readers.get(value, ()))
                            waiting += [m for m in near if isinstance(m, Application) and m in allowed and m not in group]
            # a seed that an earlier region has reached belongs to that one
            met |= group
            yield group

    def _returns(self, n: Application) -> bool:
        """Take an operation back if that makes the border cheaper, or no dearer and closer to the convolutions; return whether it did.

        On a tie, operations after a convolution stay converted: they fuse into one kernel with those that follow.
        """
        if n not in self.last:
            return False
        group = self._with_its_own(n)
        values = list(dict.fromkeys(value for m in group for value in self._around(m)))
        before = sum(map(self._border, values))
        for m in group:
            self._set_last(m, False)
        # only the images around the operations can have changed
        dearer = sum(map(self._border, values)) + sum(map(self._own, group)) - before
        if dearer < 0 or (dearer == 0 and self.last.isdisjoint(i for m in group for i in self.images[m])):
            return True
        for m in group:
            self._set_last(m, True)
        return False

    def _with_its_own(self, n: Application) -> list[Application]:
        """An operation; a sum with the element-wise operations that only it reads, such as the squares of a variance."""
        group = [n]
        for m in group if _is_sum(n) else ():
            group += [i for i in self.images[m] if isinstance(i, Application) and i in self.last and self._is_only_for(i, m)]
        return group

    def _is_only_for(self, n: Application, reader: Application) -> bool:
        """Whether an element-wise operation's result has one reader."""
        return n.bound_op.op.elementwise and n not in self.seen_first and self.readers[n] == [reader]

    def _set_last(self, n: Application, last: bool) -> None:
        if last:
            self.last.add(n)
        else:
            self.last.discard(n)
        for i in self.images[n]:
            self.reading[i] += 1 if last else -1

    def _border(self, value: Node) -> int:
        """Bytes of a value that are transposed: it is made in one layout and read in the other."""
        made_last = isinstance(value, Application) and value in self.last and _gives_image(value)
        if made_last and _axes(value) is not None:
            return 0  # it is a transposition: its operand is the same image in the other layout
        reading = self.reading.get(value, 0)
        if made_last:
            return value.nbytes if value in self.seen_first or reading < len(self.readers.get(value, ())) else 0
        return value.nbytes if reading else 0

    def _own(self, n: Application) -> float:
        """What an operation itself gains."""
        if _is_sum(n):
            # `_other_result` first sums over the images, and transposes the remaining n-th part
            return -n.operands[0].nbytes / max(1, n.operands[0].shape[0])
        if _axes(n) is not None:
            # a transposition to channels last is its operand as converted, so it disappears
            return 0.0 if _gives_image(n) else n.nbytes
        return self.gains.get(n) or 0.0

    def _worth(self, group: set[Application]) -> float:
        values = {value for n in group for value in self._around(n)}
        return sum(map(self._own, group)) - sum(map(self._border, values))


class _Writer:
    """Rewrites the chosen operations to channels last, with transpositions at the border."""

    def __init__(self, chosen: set[Application]) -> None:
        self.chosen = chosen
        #: The new nodes by the old ones, in each layout. A node that both layouts read is in both, connected by one transposition.
        self.first: dict[Node, Node] = {}
        self.last: dict[Node, Node] = {}

    def written(self, order: Iterable[Application], outputs: Sequence[Node]) -> list[Node]:
        """The new outputs."""
        for n in order:
            if n not in self.chosen:
                inputs = tuple(map(self._in_first, n.operands))
                self.first[n] = n if inputs == n.inputs else apply(n.bound_op, inputs)
            elif _gives_image(n):
                self.last[n] = self._image_result(n)
            else:
                self.first[n] = self._other_result(n)
        return [self._in_first(o) for o in outputs]

    def _in_first(self, n: Node) -> Node:
        if n in self.last and n not in self.first:
            self.first[n] = _transposed(self.last[n], _to_first(len(n.shape)))
        return self.first.get(n, n)

    def _in_last(self, n: Node) -> Node:
        if n not in self.last:
            self.last[n] = self._spread(n, len(n.shape))
        return self.last[n]

    def _spread(self, n: Node, ndim: int) -> Node:
        """A value with its channels last, as it broadcasts to ``ndim`` axes."""
        if n.shape == ():
            return self._in_first(n)
        x, shape = self._in_first(n), (1,) * (ndim - len(n.shape)) + n.shape
        fill = fill_of(x)
        if fill is not None:
            return G.full(shape=_last(shape), value=fill, dtype=x.dtype)
        return G.reshape(x, shape=_last(shape)) if _is_line(n) else _transposed(G.reshape(x, shape=shape), _to_last(ndim))

    def _image_result(self, n: Application) -> Node:
        """A converted operation whose result is an image."""
        if _axes(n) is not None:
            return self._in_first(n.operands[0])
        places, ndim = n.bound_op.op.layout.images, len(n.shape)
        if places:  # a weight is read unchanged; `_spread` would move the axes of an operand that only broadcasts
            return _with_params(n, tuple(self._in_last(i) if k in places else self._in_first(i) for k, i in enumerate(n.operands)))
        images = _images_of(n)
        return _with_params(n, tuple(self._in_last(i) if i in images else self._spread(i, ndim) for i in n.operands))

    def _other_result(self, n: Application) -> Node:
        """A converted operation on images whose result is not an image."""
        images = tuple(self._in_last(i) for i in _images_of(n))
        if n.bound_op.op.layout.images:
            return _with_params(n, images)
        (x,) = images
        if _axes(n) is not None:
            return x
        total = G.sum(x, axis=0, keepdims=True)  # over the images first, as large sums over (n, d…) begin with channels first, too
        return apply(n.bound_op, (_transposed(total, _to_first(len(x.shape))),))


def _with_params(n: Application, inputs: tuple[Node, ...]) -> Node:
    """The channels-last form of an operation, applied to inputs in their new layout."""
    changed = _changed_params(n)
    return apply(n.bound_op.op.bind(**(n.bound_op.params | dict(changed))) if changed else n.bound_op, inputs)


def _transposed(x: Node, axes: tuple[int, ...]) -> Node:
    return G.contiguous(G.permute_dims(x, axes=axes))
