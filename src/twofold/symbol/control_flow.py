"""``mx.sym.contrib.foreach``, ``while_loop``, ``cond``: nodes with subgraphs. This file composes them; `loops` infers and replays them.

A body is composed once, on separate variables. Each value that it reads from outside becomes an additional input of the node: variables
under their own names, computed symbols as new variables (the attribute ``__subgraph_name__`` marks where the body is cut).
"""

from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

from ..errors import ParameterError
from ..ndarray.control_flow import Structure, flatten, nest, pair_of, step_limit
from ..ops.elementwise_math import copy
from .compose import NotASymbol, variable
from .naming import AttrScope, NameManager
from .node import VARIABLE, Head, SymbolNode, topological
from .symbol import Symbol

__all__ = ["cond", "foreach", "while_loop"]

SCOPE = "__subgraph_name__"
T = TypeVar("T")


def _symbols_of(nested: object, what: str) -> tuple[list[Symbol], Structure]:
    return flatten(
        nested, Symbol, lambda given: NotASymbol(f"{what}: expected a Symbol or (nested) lists of them", given, "return symbols")
    )


class _Body:
    """A traced body: its outputs over its own variables and over the values that it reads from outside.

    Attributes
    ----------
    heads
        The outputs, with outer values replaced by variables.
    outside
        For each variable that the body reads from outside, the outer value.
    """

    def __init__(self, scope: str, own: Sequence[Symbol], outputs: Sequence[Symbol], results: int | None = None) -> None:
        self.own = [s.heads[0].node for s in own]
        self.outside: dict[SymbolNode, Head] = {}
        self._cuts: dict[Head, SymbolNode] = {}
        heads = self._cut([h for s in outputs for h in s.heads], scope)
        # states of `foreach` of which a result's node is the source are copies, as in MXNet
        first = len(heads) if results is None else results
        sources = {h.node for h in heads[:first]}
        self.heads = tuple(self._computed(h, again=k >= first and h.node in sources) for k, h in enumerate(heads))
        self.arguments = [n for n in topological(self.heads) if n.is_variable]

    @staticmethod
    def _computed(head: Head, again: bool) -> Head:
        """An output that is a variable, or is there again, goes through an identity: a body's outputs are computed."""
        if not head.node.is_variable and not again:
            return head
        return Head(SymbolNode(copy.title, NameManager.current.get(None, "identity"), AttrScope.current.get(None), [head]), 0)

    def _cut(self, heads: Sequence[Head], scope: str) -> tuple[Head, ...]:
        new: dict[SymbolNode, SymbolNode] = {}
        for node in topological(heads):
            if node.is_variable:
                new[node] = node
                if node not in self.own:
                    self.outside[node] = Head(node, 0)
            elif node.attrs.get(SCOPE) == scope:
                inputs = [self._inside(h, new, scope) for h in node.inputs]
                same = all(a.node is b.node for a, b in zip(inputs, node.inputs, strict=True))
                new[node] = (
                    node if same else SymbolNode(node.op_name, node.name, node.attrs, inputs, node.subgraphs, node.extra, node.outputs)
                )
        out = tuple(self._inside(h, new, scope) for h in heads)
        # The traversal above also went through outer nodes, whose variables the body itself does not read.
        used = {n for n in topological(out) if n.is_variable}
        self.outside = {n: h for n, h in self.outside.items() if n in used}
        return out

    def _inside(self, head: Head, new: dict[SymbolNode, SymbolNode], scope: str) -> Head:
        node = head.node
        if node.is_variable or node.attrs.get(SCOPE) == scope:
            return Head(new[node], head.place)
        if head not in self._cuts:
            self._cuts[head] = cut = SymbolNode(VARIABLE, node.output_name(head.place), {})
            self.outside[cut] = head
        return Head(self._cuts[head], 0)


def _inputs(symbols: Sequence[Symbol], *bodies: _Body) -> list[Head]:
    """The inputs of a node for symbols. Variables of one name, in these and in what bodies read from outside, become the first of them."""
    given = [s.heads[0] for s in symbols]
    first: dict[str, Head] = {}
    for head in (*given, *(h for body in bodies for h in body.outside.values())):
        if head.node.is_variable:
            first.setdefault(head.node.name, head)
    of = lambda head: first[head.node.name] if head.node.is_variable else head  # noqa: E731
    for body in bodies:
        body.outside = {node: of(head) for node, head in body.outside.items()}
    return [of(head) for head in given]


def _traced(scope: str, own: Sequence[Symbol], function: Callable[[], T]) -> tuple[T, Callable[..., _Body]]:
    """The result of a body, and a function that makes its `_Body` in the same scope of attributes, from the symbols in the result.

    The latter may be told how many of these are results of a step; the rest are then states.
    """
    # the attribute marks nodes composed inside: everything else that the body reads comes from outside, and is cut there
    with AttrScope(**{SCOPE: scope}):
        result = function()

    def body(outputs: Sequence[Symbol], results: int | None = None) -> _Body:
        with AttrScope(**{SCOPE: scope}):
            return _Body(scope, own, outputs, results)

    return result, body


def _own(symbols: Sequence[Symbol], scope: str) -> list[Symbol]:
    """Variables of a body that stand for outer symbols: their names with the numbers of the outputs, or the next free ones."""
    names: list[str] = []
    for symbol in symbols:
        number = symbol.heads[0].place
        while f"{symbol.name}-{number}" in names:
            number += 1
        names.append(f"{symbol.name}-{number}")
    with AttrScope(**{SCOPE: scope}):
        return [variable(name) for name in names]


def _scope(hint: str) -> str:
    """A name that no other body in the process has, as in MXNet: managers of names have no part in it."""
    outer = AttrScope.current.get(None).get(SCOPE)
    name = f"{outer}${hint}" if outer else hint
    AttrScope._subgraph_names[name] += 1
    return f"{name}{AttrScope._subgraph_names[name] - 1}"


def _node(op_name: str, attrs: Mapping[str, object], inputs: Sequence[Head], bodies: Sequence[_Body], outputs: int) -> list[Symbol]:
    spelt = {k: str(v) for k, v in sorted(attrs.items())}
    name = NameManager.current.get(None, op_name)
    node = SymbolNode(op_name, name, {**AttrScope.current.get(None), **spelt}, inputs, tuple(b.heads for b in bodies), outputs=outputs)
    return [Symbol([Head(node, k)]) for k in range(outputs)]


def foreach(body: Callable[[Any, Any], tuple[Any, Any]], data: Any, init_states: Any, name: str = "foreach") -> tuple[Any, Any]:
    """Run ``body(slice, states) -> (output, states)`` over axis 0 of the data, as one node; see ``mx.nd.contrib.foreach``."""
    streams, data_form = _symbols_of(data, "foreach: data")
    states, state_form = _symbols_of(init_states, "foreach: init_states")
    if not streams:
        raise ParameterError("foreach: no data to loop over", repr(data), "pass at least one symbol")
    scope = _scope(name)
    own = _own([*streams, *states], scope)
    slices, old = own[: len(streams)], own[len(streams) :]
    trace = lambda: pair_of(body(nest(slices, data_form), nest(old, state_form)), "foreach: the body")  # noqa: E731
    (outputs, new), make = _traced(scope, own, trace)
    flat_out, out_form = _symbols_of(outputs, "foreach: outputs of the body")
    flat_new, new_form = _symbols_of(new, "foreach: states of the body")
    if len(flat_new) != len(old):
        raise ParameterError("foreach: the body returns a different number of states", f"{len(flat_new)} for {len(old)}", "return them all")
    inner = make([*flat_out, *flat_new], len(flat_out))
    place = {n: k for k, n in enumerate(inner.arguments)}
    attrs = {
        # MXNet counts the bodies as arguments, too.
        "num_args": 1 + len(streams) + len(states) + len(inner.outside),
        "num_outputs": len(flat_out) + len(flat_new),
        "num_out_data": len(flat_out),
        # -1 where the body does not read the input.
        "in_data_locs": [place.get(s.heads[0].node, -1) for s in slices],
        "in_state_locs": [place.get(s.heads[0].node, -1) for s in old],
        "remain_locs": [place[n] for n in inner.outside],
    }
    inputs = [*_inputs([*streams, *states], inner), *inner.outside.values()]
    results = _node("_foreach", attrs, inputs, [inner], len(flat_out) + len(flat_new))
    return nest(results[: len(flat_out)], out_form), nest(results[len(flat_out) :], new_form)


def while_loop(
    cond: Callable[..., Any],
    func: Callable[..., tuple[Any, Any]],
    loop_vars: Any,
    max_iterations: int | None = None,
    name: str = "while_loop",
) -> tuple[Any, Any]:
    """Run ``func(*loop_vars) -> (output, loop_vars)`` while ``cond(*loop_vars)``, as one node; see ``mx.nd.contrib.while_loop``."""
    if max_iterations is None:
        raise ParameterError("while_loop: max_iterations should be specified", None, "pass an upper bound on the number of steps")
    return looped(cond, func, loop_vars, step_limit(max_iterations), name)


def looped(
    cond: Callable[..., Any], func: Callable[..., tuple[Any, Any]], loop_vars: Any, max_iterations: int | None, name: str
) -> tuple[Any, Any]:
    """As `while_loop`; None for a loop without a limit, whose steps have no outputs. MXNet cannot read such a node."""
    single = isinstance(loop_vars, Symbol)
    outer = [loop_vars] if single else list(loop_vars)
    if not outer:
        raise ParameterError("while_loop: loop_vars should contain at least one element", None, "pass the variables of the loop")
    # Each body has separate variables, since a body is cut out of the graph at its variables.
    test_scope = _scope(f"{name}_cond")
    tested = _own(outer, test_scope)
    holds, make_test = _traced(test_scope, tested, lambda: cond(*tested))
    test = make_test([holds])
    loop_scope = _scope(f"{name}_func")
    looped = _own(outer, loop_scope)
    (outputs, new), make = _traced(loop_scope, looped, lambda: pair_of(func(*looped), "while_loop: func"))
    flat_out, out_form = _symbols_of([] if outputs is None else outputs, "while_loop: outputs of func")
    flat_new, _ = _symbols_of(new, "while_loop: loop variables of func")
    if len(flat_new) != len(outer):
        raise ParameterError(
            "while_loop: func returns a different number of loop variables", f"{len(flat_new)} for {len(outer)}", "return them all"
        )
    inner = make([*flat_out, *flat_new])
    inputs = _inputs(outer, test, inner)
    # A value that both bodies read from outside is one input. Where it is also the first value of a loop variable it is a second input:
    # the variable changes from step to step, the value outside stays.
    inputs += dict.fromkeys([*test.outside.values(), *inner.outside.values()])
    attrs = {
        "num_args": 2 + len(inputs),
        "num_outputs": len(flat_out) + len(flat_new),
        "num_out_data": len(flat_out),
        "max_iterations": max_iterations,
        "cond_input_locs": _places(test, tested, inputs),
        "func_input_locs": _places(inner, looped, inputs),
        "func_var_locs": [inner.arguments.index(s.heads[0].node) if s.heads[0].node in inner.arguments else -1 for s in looped],
    }
    results = _node("_while_loop", attrs, inputs, [test, inner], len(flat_out) + len(flat_new))
    variables = results[len(flat_out) :]
    return nest(results[: len(flat_out)], out_form), variables[0] if single else variables


def _places(body: _Body, own: Sequence[Symbol], inputs: Sequence[Head]) -> list[int]:
    """For each argument of a body, the position of the corresponding input of the node."""
    # the first inputs are those of the body's own variables
    rest = {h: k for k, h in enumerate(inputs[len(own) :], len(own))}
    number = {s.heads[0].node: k for k, s in enumerate(own)} | {n: rest[h] for n, h in body.outside.items()}
    return [number[n] for n in body.arguments]


def cond(pred: Symbol | Callable[[], Symbol], then_func: Callable[[], Any], else_func: Callable[[], Any], name: str = "cond") -> Any:
    """``then_func()`` if the single element of ``pred`` is non-zero, else ``else_func()``, as one node that runs only one of them."""
    # A symbol is callable, but calling it would compose it.
    chosen, make_pred = _traced(_scope(f"{name}_pred"), [], lambda: pred() if callable(pred) and not isinstance(pred, Symbol) else pred)
    test = make_pred([chosen])
    branches, forms = [], []
    for part, function in (("then", then_func), ("else", else_func)):
        result, make = _traced(_scope(f"{name}_{part}"), [], function)
        flat, form = _symbols_of(result, f"cond: outputs of {part}_func")
        branches.append(make(flat))
        forms.append((form, len(flat)))
    if forms[0][1] != forms[1][1]:
        raise ParameterError(
            "cond: the branches return different numbers of outputs", f"{forms[0][1]} and {forms[1][1]}", "return equally many"
        )
    _inputs([], test, *branches)
    inputs = list(dict.fromkeys(h for b in (test, *branches) for h in b.outside.values()))
    attrs = {
        "num_args": 3 + len(inputs),
        "num_outputs": forms[0][1],
        "cond_input_locs": _places(test, [], inputs),
        "then_input_locs": _places(branches[0], [], inputs),
        "else_input_locs": _places(branches[1], [], inputs),
    }
    return nest(_node("_cond", attrs, inputs, [test, *branches], forms[0][1]), forms[0][0])
