"""Computes the first part of a network for a few images of a batch at a time.

The activations of a batch are often larger than the processor's cache, and those of an image are not: then what one operation writes is
still there when the next one reads it. Weights are read again for each group of images, and so are the steps of the program run, so the
part ends where this would cost more. It becomes the body of a loop (``foreach``), which reads groups of images and writes those of results.
"""

import math
from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ..opdef import normalized_axes
from ..ops.primitive_convolve import convolve, convolve_packed
from ..ops.primitive_reduce import sum
from ..ops.primitive_shape import concat, reshape
from ..ops.primitive_windows import window_max, window_sum
from .build import G, apply
from .control_flow import SubGraph, apply_foreach
from .ir import Application, Node, applications, applies, is_const, leaf
from .rewrite import substitute

CONVOLUTIONS, WINDOWS = (convolve, convolve_packed), (window_max, window_sum)
#: Bytes of activations that stay in the cache from one operation to the next.
CACHE = 1 << 20
#: What it costs to run a step and to read a byte of weights, in bytes of activations that are not in the cache: weights are read in order.
STEP, WEIGHT = 1 << 17, 0.5


class Part(NamedTuple):
    """Operations that are computed for so many images at a time, inputs first, and what that saves, in bytes of activations."""

    saved: float
    images: int
    nodes: list[Application]


def in_groups_of_images(outputs: Sequence[Node], inputs: Collection[Node], alike: Callable[[Application, int], bool]) -> list[Node]:
    """The graph with the part in a loop over groups of images for which that pays.

    Parameters
    ----------
    outputs
        A lowered graph.
    inputs
        The leaves that may be images.
    alike
        Whether a convolution of so many images gives the same bits for each as that of all.
    """
    order = list(applications(outputs))
    batch = next((n.shape[0] for n in order if n.bound_op.op in CONVOLUTIONS), 0)
    images = [i for i in inputs if i.shape[:1] == (batch,)]
    parts = [_part(order, images, few, alike) for few in range(1, batch) if batch % few == 0] if images else []
    part = max(parts, default=None, key=lambda part: part.saved)
    return list(outputs) if part is None or part.saved <= 0 else _in_a_loop(outputs, order, images, part)


def _part(order: Sequence[Application], images: Sequence[Node], few: int, alike: Callable[[Application, int], bool]) -> Part:
    """The beginning of a network that saves most if it is computed for a few images at a time."""
    nodes: list[Application] = []
    found, mixed = set[Node](images), set[Node]()
    batch, saved, best, end = images[0].shape[0], 0.0, 0.0, 0
    for n in order:
        if found.isdisjoint(n.operands) and mixed.isdisjoint(n.operands):
            continue
        is_apart = mixed.isdisjoint(n.operands) and _keeps_images_apart(n, found, batch)
        if not is_apart or (n.bound_op.op in CONVOLUTIONS and not alike(n, few)):
            mixed.add(n)
        else:
            found.add(n)
            nodes.append(n)
            saved += _cost(n, batch, batch) - _cost(n, batch, few)
            if saved >= best:
                best, end = saved, len(nodes)
    return Part(best, few, nodes[:end])


def _keeps_images_apart(n: Application, images: set[Node], batch: int) -> bool:
    """Whether each image of a result depends on one image of each operand in ``images``, and all others are the same for every image."""
    op, params = n.bound_op.op, n.bound_op.params
    if n.shape[:1] != (batch,):
        return False
    if op.elementwise:
        return all((i in images) == (len(i.shape) == len(n.shape) and i.shape[0] == batch) for i in n.operands)
    if op in CONVOLUTIONS:
        return n.operands[1] not in images
    if op in WINDOWS:
        return len(params["kernel"]) == len(n.shape) - 2
    if op is concat:
        return params["axis"] % len(n.shape) > 0 and images.issuperset(n.operands)
    if op is sum:
        return 0 not in normalized_axes(params["axis"], len(n.operands[0].shape))
    return op is reshape


def _cost(n: Application, batch: int, few: int) -> float:
    """What a step costs for one of a few images, in bytes of activations that are not in the cache; those that others join cost nothing."""
    if n.bound_op.op.elementwise or n.bound_op.op is reshape:
        return 0.0
    weights = n.operands[1].nbytes if n.bound_op.op in CONVOLUTIONS else 0
    activations = (n.nbytes + math.fsum(i.nbytes for i in n.operands) - weights) / batch
    return max(0.0, activations - CACHE / few) + (STEP + WEIGHT * weights) / few


def _in_a_loop(outputs: Sequence[Node], order: Sequence[Application], images: Sequence[Node], part: Part) -> list[Node]:
    """The graph with a part as the body of a loop."""
    inside, few, batch = set(part.nodes), part.images, images[0].shape[0]
    read = {i for n in order if n not in inside for i in n.operands}.union(outputs)
    results = [n for n in part.nodes if n in read]
    stand_ins = [leaf(("images", k), (few, *i.shape[1:]), i.dtype) for k, i in enumerate(images)]
    new: dict[Node, Node] = dict(zip(images, stand_ins, strict=True))
    # what does not depend on the images is computed outside, once
    shared: dict[Node, None] = {}
    for n in part.nodes:
        shared |= dict.fromkeys(i for i in n.operands if i not in new and not is_const(i))
        operands = tuple([new.get(i, i) for i in n.operands])
        new[n] = G.reshape(*operands, shape=(few, *n.shape[1:])) if applies(n, reshape) else apply(n.bound_op, operands).parts[0]
    body = SubGraph.of([new[n] for n in results], [*stand_ins, *shared], "group")
    groups = [G.reshape(i, shape=(batch // few, few, *i.shape[1:])) for i in images]
    found = apply_foreach(body, groups, [], list(shared))
    return substitute(outputs, {n: G.reshape(r, shape=n.shape) for n, r in zip(results, found, strict=True)})
