"""Computes the first part of a network for a few images of a batch at a time.

The activations of a batch are often larger than the processor's cache, and those of an image are not: then what one operation writes is
still there when the next one reads it. For each group of images weights are read and the steps of the program are run again, so the part
ends where this would cost more. It becomes the body of a loop (``foreach``), which reads groups of images and writes those of results.
"""

from collections.abc import Callable, Collection, Sequence
from typing import NamedTuple

from ..opdef import BoundOp
from .build import G, apply
from .control_flow import SubGraph, apply_foreach
from .epilogues import is_convolution
from .ir import Application, Node, applications, is_const, leaf, unshaped
from .rewrite import substitute

#: Bytes of activations that stay in a core's cache from one operation to the next.
CACHE = 1 << 20
#: What it costs to run a step and to read a byte of weights, in bytes of activations that are not in the cache: weights are read in order.
STEP, WEIGHT = 1 << 17, 0.5


class Part(NamedTuple):
    """Operations that are computed for so many images at a time, inputs first, each with its operator for these.

    ``saved``: what that saves, in bytes of activations.
    """

    saved: float
    images: int
    nodes: list[tuple[Application, BoundOp]]


def in_groups_of_images(
    outputs: Sequence[Node], inputs: Collection[Node], alike: Callable[[Application, int], bool], threads: int = 1
) -> list[Node]:
    """The graph with the part in a loop over groups of images for which that pays.

    Parameters
    ----------
    outputs
        A lowered graph.
    inputs
        The leaves that may be images.
    alike
        Whether a convolution of so many images gives the same bits for each as that of all.
    threads
        How many threads share a step. Each has a core's cache, and they need work.
    """
    order = list(applications(outputs))
    batch = next((n.shape[0] for n in order if is_convolution(n)), 0)
    images = [i for i in inputs if i.shape[:1] == (batch,)]
    parts = [_part(order, images, few, alike, threads * CACHE) for few in range(1, batch) if batch % few == 0] if images else []
    part = max(parts, default=None, key=lambda part: part.saved)
    return list(outputs) if part is None or part.saved <= 0 else _in_a_loop(outputs, order, images, part)


def _part(order: Sequence[Application], images: Sequence[Node], few: int, alike: Callable[[Application, int], bool], cache: int) -> Part:
    """The beginning of a network that saves most if it is computed for a few images at a time."""
    batch, saved, best, end = images[0].shape[0], 0.0, 0.0, 0
    nodes, found = list[tuple[Application, BoundOp]](), set[Node](images)
    # what depends on images but is not in the part
    mixed = _added_up(order, few, batch)
    for n in order:
        if found.isdisjoint(n.operands) and mixed.isdisjoint(n.operands):
            continue  # it depends on no image
        bound_op = None if n in mixed or not mixed.isdisjoint(n.operands) else _operator_for(few, n, found, batch)
        if bound_op is None or (is_convolution(n) and not alike(n, few)):
            mixed.add(n)
        else:
            found.add(n)
            nodes.append((n, bound_op))
            saved += _cost(n, batch, batch, cache) - _cost(n, batch, few, cache)
            if saved >= best:
                best, end = saved, len(nodes)
    return Part(best, few, nodes[:end])


def _added_up(order: Sequence[Application], few: int, batch: int) -> set[Node]:
    """What is added up over images: sums take what is in memory in another order than what they compute themselves (see `planes`)."""
    found = set[Node]()
    for n in order:
        if n.bound_op.op.execution.row_reduction and _operator_for(few, n, {*n.operands}, batch) is None:
            found |= {x for x in map(unshaped, n.operands) if isinstance(x, Application) and x.bound_op.op.elementwise}
    return found


def _operator_for(few: int, n: Application, images: set[Node], batch: int) -> BoundOp | None:
    """The operator for a few of the images in some operands; None if an image of the result needs more than one of each."""
    op, flags = n.bound_op.op, [i in images for i in n.operands]
    if op.elementwise:
        have_batch = [len(i.shape) == len(n.shape) and i.shape[0] == batch for i in n.operands]
        return n.bound_op if have_batch == flags else None
    rule = op.algebra.apart_rule if n.shape[:1] == (batch,) else None
    params = None if rule is None else rule(few, flags, *n.operands, **n.bound_op.params)
    return None if params is None else op.bind(**(n.bound_op.params | params))


def _cost(n: Application, batch: int, few: int, cache: int) -> float:
    """What a step costs for one of a few images, in bytes of activations that are not in the cache; those that others join cost nothing."""
    if n.bound_op.op.elementwise or n.bound_op.op.view:
        return 0.0
    weights = n.operands[1].nbytes if is_convolution(n) else 0
    activations = (n.nbytes + sum(i.nbytes for i in n.operands) - weights) / batch
    return max(0.0, activations - cache / few) + (STEP + WEIGHT * weights) / few


def _in_a_loop(outputs: Sequence[Node], order: Sequence[Application], images: Sequence[Node], part: Part) -> list[Node]:
    """The graph with a part as the body of a loop."""
    inside, few, batch = dict(part.nodes), part.images, images[0].shape[0]
    read = {i for n in order if n not in inside for i in n.operands}.union(outputs)
    results, images = [n for n in inside if n in read], [i for i in images if any(i in n.operands for n in inside)]
    stand_ins = [leaf(("images", k), (few, *i.shape[1:]), i.dtype) for k, i in enumerate(images)]
    new: dict[Node, Node] = dict(zip(images, stand_ins, strict=True))
    # what does not depend on the images is computed outside, once
    shared: dict[Node, None] = {}
    for n, bound_op in inside.items():
        shared |= dict.fromkeys(i for i in n.operands if i not in new and not is_const(i))
        (new[n],) = apply(bound_op, tuple([new.get(i, i) for i in n.operands])).parts
    body = SubGraph.of([new[n] for n in results], [*stand_ins, *shared], "group")
    groups = [G.reshape(i, shape=(batch // few, few, *i.shape[1:])) for i in images]
    found = apply_foreach(body, groups, [], list(shared))
    return substitute(outputs, {n: G.reshape(r, shape=n.shape) for n, r in zip(results, found, strict=True)})
