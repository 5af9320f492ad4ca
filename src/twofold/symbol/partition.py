"""Partitions: a typed symbol split by device into the parts that executors run. They also make executors for other shapes."""

import math
from collections.abc import Iterable, Mapping, Sequence
from functools import partial
from typing import Any

from ..collector import RESTING
from ..device import Device, interned
from ..dtype import COMPLEX, is_float
from ..errors import ShapeError
from ..executor.executor import Executor, GraphRunner
from ..executor.function import StateUpdate, new_states
from ..executor.part import Internal, Key, Part, head_key
from ..executor.part_runner import PartRunner
from ..executor.transport import zeros_in
from ..graph.build import G, item
from ..graph.ir import Application, Node, applies, leaf
from ..graph.stabilise import stabilise, stabilised
from ..graph.tables import bound_tables
from ..ndarray.array import NDArray
from ..strictness import tolerate
from .gradient import differentiated
from .inference import Inference, infer_all, inside_shape
from .monitored_gradients import GradientGraph, backwards
from .monitored_names import monitored_inputs
from .node import Head, SymbolNode, variables
from .replay import Replay, passed_by_gradient
from .segment_runner import SegmentRunner
from .segments import needs_segments
from .serialization import to_text
from .storage_types import gradient_stypes, is_sparse, storage_types

Groups = Mapping[str, Device]


class Partition:
    """A symbol with types and devices, split into parts that each run on one device. It is the `BoundGraph` of executors.

    Parameters
    ----------
    heads
        The outputs.
    inference
        Completed shape and dtype inference.
    device, groups
        The default device, and those of groups of nodes.
    requests
        The gradient request of each argument.
    symbol
        The symbol, which `Executor.get_optimized_symbol` returns.
    """

    def __init__(
        self,
        heads: Sequence[Head],
        inference: Inference,
        device: Device,
        groups: Groups,
        requests: Mapping[str, str],
        symbol: object,
    ) -> None:
        self._symbol = symbol
        self.heads, self.inference, self.device, self.requests = tuple(heads), inference, device, requests
        self.groups = {group: interned(place) for group, place in groups.items()}
        self.order = inference.order
        self.arguments, self.states = variables(self.order)
        self._differentiated = differentiated(self.order)
        self._stretches = stretches(self.order, device, self.groups) or [(device, [])]
        # numbers of all outputs of all nodes, in topological order: keys by which parts and the executor exchange values
        self._number = {h: k for k, h in enumerate(Head(n, i) for n in self.order for i in range(n.visible))}

    def key_of(self, head: Head) -> Key:
        """The key of an output in executors: arguments and states go by name, others by number."""
        if not head.node.is_variable:
            return "value", self._number[head]
        return "aux" if head.node in self.states else "arg", head.node.name

    def output_key(self, head: Head) -> Key:
        """The key of an output of the graph; a variable that is an output gets a separate value."""
        return "value", self._number[head]

    def _leaf(self, variable: SymbolNode) -> Node:
        known = self.inference.known[variable][0]
        wanted = self.requests.get(variable.name, "null") != "null" or variable in self._differentiated
        dtype = known.dtype or "float32"
        return leaf(self.key_of(Head(variable, 0)), known.sizes, dtype, wanted and (is_float(dtype) or dtype in COMPLEX))

    @RESTING
    def parts(self, training: bool) -> list[Part]:
        """The typed graph, one part for each run of nodes on one device."""
        bound_tables()  # now, not while the graph is built: dropping the tables midway would intern equal nodes twice
        given_away = self._given_away()
        seen: dict[Head, Node] = {}
        made: list[tuple[Part, dict[SymbolNode, StateUpdate]]] = []
        for place, (device, nodes) in enumerate(self._stretches):
            part, replay = self._part(device, nodes, training, seen)
            if place == len(self._stretches) - 1:  # the last part passes on outputs that are variables
                self._pass_through(part, seen)
            own = set(nodes)
            # values that only this part reads stay inside it, and need no array
            part.makes += [(self.output_key(h), v) for h, v in replay.values.items() if h.node in own and h in given_away]
            seen = replay.values | seen  # older entries win: a later part's leaf must not hide the node that made the value
            made.append((part, replay.updates(_numbers(part, self.states))))
        # over all parts at once: a gradient that enters a part may come from a later one
        order = passed_by_gradient(self.heads, seen)
        for part, updates in made:
            new = new_states([updates[n] for n in order if n in updates])
            part.updates = [(key[1], new[k]) for k, (key, _) in enumerate(part.reads) if k in new]
        return [_stable(part) for part, _ in made]

    def runner(
        self, arguments: Mapping[str, NDArray], gradients: Mapping[str, NDArray | None], states: Mapping[str, NDArray]
    ) -> GraphRunner:
        """The objects that run the graph on arrays: the compiled parts, or segments if shapes depend on values or arrays are sparse."""
        sparse = {n: a.stype for n, a in (*arguments.items(), *states.items()) if a.stype != "default"}
        stypes = {n: g.stype for n, g in gradients.items() if g is not None}
        has_rows = any(s != "default" for s in stypes.values())
        if not has_rows and not needs_segments(self.order) and not is_sparse(self.order, sparse):
            return PartRunner(self.parts, self.gradient_part, arguments, states)
        bound = {v: arguments[v.name] for v in self.arguments} | {v: states[v.name] for v in self.states}
        wanted = [v for v in self.arguments if self.requests.get(v.name, "null") != "null" and is_float(arguments[v.name]._dtype)]
        types = storage_types(self.inference, sparse)
        keys = [self.output_key(h) for h in self.heads]
        return SegmentRunner(
            self.inference, self.heads, keys, bound, types, {v: stypes.get(v.name, "default") for v in wanted}, self.device
        )

    def gradient_stypes(self, given: Mapping[str, str]) -> dict[str, str]:
        """The storage types of gradients that are not dense, by argument, from the storage types of the arguments."""
        has_rules = any(n.op is not None and n.op.storage.gradient_stypes_rule is not None for n in self.order)
        if not has_rules and not is_sparse(self.order, given):
            return {}
        return gradient_stypes(self.inference, storage_types(self.inference, given), self.heads)

    @RESTING
    def gradient_part(self, training: bool) -> Part | None:
        """A part whose internals are the gradients that nodes pass to their inputs; it also reads the outputs' gradients.

        None if the graph runs on several devices, or has gradients among its values.
        """
        if len(self._stretches) > 1 or self._differentiated:
            return None
        bound_tables()
        ((device, nodes),) = self._stretches
        part, replay = self._part(device, nodes, training, {})
        self._pass_through(part, replay.values)
        reads = dict(part.reads)
        # of states what the nodes have read
        values = replay.values | {h: reads[self.key_of(h)] for h in replay.values if h.node.is_variable}
        given: list[Node] = [leaf(head_key(k), values[h].shape, values[h].dtype) for k, h in enumerate(self.heads)]
        part.reads += [(head_key(k), node) for k, node in enumerate(given)]
        backward = backwards(nodes, self.heads, values, Replay(self.inference, training, {}))
        wanted = [v for v in self.arguments if self.requests.get(v.name, "null") != "null"]
        part.shown = partial(GradientGraph(self.heads, given, values, backward).internals, wanted)
        return part

    def _given_away(self) -> set[Head]:
        """Outputs of nodes that other parts or the caller read."""
        place = {n: k for k, (_, nodes) in enumerate(self._stretches) for n in nodes}
        return {h for n in self.order for h in n.inputs if place.get(h.node) != place.get(n)} | set(self.heads)

    def _part(self, device: Device, nodes: Sequence[SymbolNode], training: bool, seen: Mapping[Head, Node]) -> tuple[Part, Replay]:
        own = set(nodes)
        outside = dict.fromkeys(h for n in nodes for h in n.inputs if h.node not in own)
        values: dict[Head, Node] = {}
        reads: dict[Key, Node] = {}
        for head in outside:
            if head.node.is_variable:
                values[head] = self._leaf(head.node)
            else:  # made by an earlier part
                node = seen[head]
                values[head] = leaf(self.key_of(head), node.shape, node.dtype, node.tracked)
            reads[self.key_of(head)] = values[head]
        before = dict(values)  # `values` grows by the replay
        replay = Replay(self.inference, training, values).run(nodes)
        part = Part(device, list(reads.items()), replay.keys, [])
        part.objects = replay.user_objects(_numbers(part, self.states))
        part.written = [(state.name, new) for state, new in replay.written.items()]
        for n in nodes:
            if n.attrs.get("__force_mirroring__", "").lower() in ("true", "1"):
                part.mirrored += [((n.name, True), replay.values[Head(n, k)]) for k in range(n.visible)]
                part.mirrored += [((n.name, False), replay.values[h]) for h in n.inputs]
        part.shown = partial(_internals, nodes, replay.values, before)
        return part, replay

    def _pass_through(self, part: Part, seen: dict[Head, Node]) -> None:
        have = dict(part.reads)
        for head in dict.fromkeys(h for h in self.heads if h.node.is_variable):
            key = self.key_of(head)
            if key not in have:
                have[key] = self._leaf(head.node)
                part.reads.append((key, have[key]))
            part.makes.append((self.output_key(head), have[key]))
            seen.setdefault(head, have[key])

    def reshape(self, executor: Executor, shapes: Mapping[str, Sequence[int]], partial_shaping: bool, allow_up_sizing: bool) -> Executor:
        """The same graph for other shapes, sharing arrays whose shape stays the same; see `Executor.reshape`."""
        unknown = set(shapes) - {*executor.arg_dict, *executor.aux_dict}
        if unknown:
            tolerate("reshape: not an argument", ", ".join(sorted(unknown)), f"it has {', '.join(executor.arg_dict)}")
            shapes = {name: shape for name, shape in shapes.items() if name not in unknown}
        # dtypes do not change; only shapes are inferred again, from those that the caller names
        dtypes = {n: a._dtype for n, a in (executor.arg_dict | executor.aux_dict).items()}
        inference = infer_all(self.heads, {n: inside_shape(s) for n, s in shapes.items()}, dtypes, "reshape")
        # a new partition, because every typed node contains shapes; the cache still holds the programs of shapes that were bound before
        new = Partition(self.heads, inference, self.device, self.groups, self.requests, self._symbol)

        def fitting(array: NDArray, variable: SymbolNode) -> NDArray:
            shape = inference.known[variable][0].sizes
            if array.shape == shape:
                return array
            name = variable.name
            # a weight whose shape depends on the data's would lose its values, so the caller has to allow it
            if name not in shapes and not partial_shaping:
                raise ShapeError(
                    f"reshape: the shape of {name}, which was not named, changes", f"{array.shape} to {shape}", "set partial_shaping=True"
                )
            if math.prod(shape) > array.size and not allow_up_sizing:
                raise ShapeError(
                    f"reshape: the new shape of {name} is larger than the old", f"{array.shape} to {shape}", "set allow_up_sizing=True"
                )
            return zeros_in(array.stype, shape, array._dtype, array.context)

        # arrays that still fit are the same objects in both executors: bucketing and changed batch sizes rely on shared weights
        arguments = {v.name: fitting(executor.arg_dict[v.name], v) for v in new.arguments}
        old_gradients = {v: executor.grad_dict[v.name] for v in new.arguments}
        gradients = {v.name: None if array is None else fitting(array, v) for v, array in old_gradients.items()}
        states = {v.name: fitting(executor.aux_dict[v.name], v) for v in new.states}
        return new.executor(arguments, gradients, states)

    def debug_str(self) -> str:
        """The graph as text."""
        return to_text(self.heads)

    def symbol(self) -> object:
        """The graph as a symbol."""
        return self._symbol

    def executor(self, arguments: dict[str, NDArray], gradients: dict[str, NDArray | None], states: dict[str, NDArray]) -> Executor:
        """An executor on arrays."""
        outputs = [(h.node.output_name(h.place), self.output_key(h)) for h in self.heads]
        return Executor(self, arguments, gradients, states, dict(self.requests), outputs)


def _numbers(part: Part, states: Iterable[SymbolNode]) -> dict[SymbolNode, int]:
    """Positions of states among the values that a part reads."""
    number = {key: k for k, (key, _) in enumerate(part.reads)}
    return {state: number["aux", state.name] for state in states if ("aux", state.name) in number}


def _stable(part: Part) -> Part:
    """The part with formulas that overflow rewritten (see `graph.stabilise`)."""
    lists: list[list[tuple[Any, Node]]] = [part.makes, part.written, part.updates, part.mirrored]
    nodes = [node for pairs in lists for _, node in pairs]
    part.stabilised = stabilised(nodes)
    if part.stabilised:
        # All lists in one call: a node that several of them contain must become one node again.
        new = iter(stabilise(nodes))
        part.makes, part.written, part.updates, part.mirrored = ([(key, next(new)) for key, _ in pairs] for pairs in lists)
    return part


def _internals(nodes: Iterable[SymbolNode], values: Mapping[Head, Node], before: Mapping[Head, Node]) -> Iterable[Internal]:
    for node in nodes:
        for name, head in zip(monitored_inputs(node), node.inputs, strict=True):
            if head.node.is_variable:
                yield Internal(head.node.name, before.get(head, values[head]), True)
            # `before`: by now `values` may hold a state's new value, but the node has read the old one.
            yield Internal(name, before.get(head, values[head]), True)
        shown = [values[Head(node, k)] for k in range(node.count)]
        for k, value in enumerate([*shown, *_only_shown(node, shown[0])]):
            yield Internal(node.output_name(k), value, False)


def _only_shown(node: SymbolNode, result: Node) -> Sequence[Node]:
    """What MXNet's operator keeps beside its results, and the one here does not."""
    if node.op is None or node.op.symbolic.shown_rule is None:
        return ()
    if applies(result, item):  # one of several
        (result,) = result.operands
    assert isinstance(result, Application)
    kept = node.op.symbolic.shown_rule(G, *result.inputs, **result.bound_op.params)
    return kept if isinstance(kept, tuple) else (kept,)


def device_of(node: SymbolNode, default: Device, groups: Mapping[str, Device]) -> Device:
    """The device of a node's group; the default if it has no group or the group has no device."""
    return groups.get(node.attrs.get("__ctx_group__", ""), default)


def stretches(order: Iterable[SymbolNode], default: Device, groups: Mapping[str, Device]) -> list[tuple[Device, list[SymbolNode]]]:
    """Split a graph's operators into stretches on one device, ordered so that each reads only its own and earlier results.

    A stretch ends where another device reads its results, so that this device can begin: layers on several devices form a pipeline.

    Parameters
    ----------
    order
        All nodes, inputs before users.
    default, groups
        The device of nodes without a group, and the devices of groups.
    """
    operators = [n for n in order if not n.is_variable]
    if not groups:
        return [(default, operators)]
    place = {n: device_of(n, default, groups) for n in operators}
    # numbered by how often the data has crossed devices: nodes of one level and device run together, levels in order
    given_away = {h.node for n in operators for h in n.inputs if place.get(h.node, place[n]) is not place[n]}
    level: dict[SymbolNode, int] = {}
    found: dict[tuple[int, Device], list[SymbolNode]] = {}
    for n in operators:
        inputs = [h.node for h in n.inputs if h.node in place]
        level[n] = max((level[i] + (i in given_away) for i in inputs), default=0)
        found.setdefault((level[n], place[n]), []).append(n)
    return [(device, nodes) for (_, device), nodes in sorted(found.items(), key=lambda item: item[0][0])]
