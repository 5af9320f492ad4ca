"""Differences of random functions that have a row: most are of control flow, which MXNet computes otherwise in graphs than elsewhere."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from .outcomes import differs

if TYPE_CHECKING:
    from .known import Difference

#: What graphs give: the way, the call, and the output or gradient.
IN_GRAPHS = re.compile(r"(hybridized|alloc|static|among|executor|json|symbol block) (\d) (.*)")
#: From so many elements on MXNet leaves the order of equal ones open as it sorts.
UNORDERED = 17
#: A statement with control flow: its result, its kind, the array that it reads, the array that it asks, and how often it runs.
STATEMENT = re.compile(r"(v\d+) = (foreach|while|while_over|cond)\((\w+), (\w+), \S+, (\d)\)")


def is_gradient_of_while(d: Difference) -> bool:
    """The gradient of what the body of a loop reads from outside of it, if the body runs more than once."""
    read = [a for kind, a, count in _in_graph(d) if kind == "while" and count > 1]
    return _is_gradient_by(d, read) and is_as_recorded(d)


def is_gradient_of_cond(d: Difference) -> bool:
    """The gradient of an array that the graph computes and a branch reads: memory that nothing has written."""
    read = [a for kind, a, _ in _in_graph(d) if kind == "cond" and a.startswith("v")]
    return _is_gradient_by(d, read) and is_as_recorded(d)


def is_static_foreach(d: Difference) -> bool:
    """A block with static memory and shapes in which a loop runs over data and states that the block computes."""
    is_computed = any(kind == "foreach" and a.startswith("v") for kind, a, _ in _in_graph(d))
    return d.statement.startswith("static ") and is_computed and is_as_recorded(d)


def is_executor_of_control_flow(d: Difference) -> bool:
    """A graph with `cond` or `while_loop` whose memory is planned as a whole, which raises."""
    is_refused = d.want == "error MXNetError" and d.statement.startswith(("executor ", "json ", "static "))
    return is_refused and any(kind != "foreach" for kind, _, _ in _in_graph(d)) and is_as_recorded(d)


def is_order_of_equal(d: Difference) -> bool:
    """The gradient through a sort of many elements, equal ones of which MXNet puts into any order."""
    sorts = [(m[1], d.ran[k][1]) for k, s in enumerate(d.before) if (m := re.match(r"(v\d+) = sort\(", s))]
    many = [name for name, outcome in sorts if int(re.split(r"[(,)]", outcome)[-2]) >= UNORDERED]
    inside = _inside(d)
    return _is_gradient_by(d, [name for name in many if name in inside])


def is_sum_of_inputs(d: Difference) -> bool:
    """A hybridized block of several outputs, one of which is the sum of two inputs: MXNet cannot differentiate it."""
    if d.want != "error MXNetError" or not re.match(r"hybridized|alloc|static|among|symbol block", d.statement):
        return False
    outputs = [s.partition(" = ")[2] for s in d.before if s.partition(" = ")[0] in _heads(d)]
    is_sum = any(re.fullmatch(r"a\d \+ a\d|dot\(a\d, a\d\)", made) for made in outputs)
    return len(outputs) > 1 and is_sum and is_as_recorded(d)


def is_hard_sigmoid_in_sum(d: Difference) -> bool:
    """The gradient, in a graph, through a sum one operand of which comes from a hard sigmoid, which overwrites that of the other."""
    inside = _inside(d)
    made = {s.partition(" = ")[0]: s.partition(" = ")[2] for s in d.before if s.partition(" = ")[0] in inside}
    sums = [name for name, how in made.items() if re.match(r"\w+ \+ [av]\d|add_n|dot\(", how)]
    through = [v for v in sums if any(made.get(a, "").startswith("hard_sigmoid") for a in _ancestors(d, v))]
    return _is_gradient_by(d, through) and is_as_recorded(d)


def is_beside_added(d: Difference) -> bool:
    """The gradient of an operand of a sum, in a graph, whose other operand is an input to whose gradient is added."""
    added = set(re.findall(r"'(a\d)': 'add'", next((s for s in d.before if s.startswith("heads ")), "")))
    sums = [m.groups() for s in d.before if (m := re.fullmatch(r"(v\d+) = (\w+) \+ ([av]\d+)", s))]
    inside = _inside(d)
    return _is_gradient_by(d, [v for v, x, y in sums if v in inside and added & {x, y}]) and is_as_recorded(d)


def is_as_recorded(d: Difference) -> bool:
    """Whether a graph gives what imperative code gives here, which has been compared with MXNet's before."""
    found = IN_GRAPHS.fullmatch(d.statement)
    if found is None:
        return False
    way, call, what = found.groups()
    at = d.before.index(f"{'recorded among' if way == 'among' else 'recorded'} {call} {what}")
    if "error" in d.answers[at] + d.ran[at][1]:  # what has no gradient is multiplied by a parameter in a block
        at = d.before.index(f"block {call} {what}")
    return not differs(d.ran[at][1], d.got)


def _is_gradient_by(d: Difference, read: list[str]) -> bool:
    """Whether the statement is the gradient of an input from which some of the arrays are computed."""
    found = re.search(r"gradient of (\w+)$", d.statement)
    return found is not None and any(found[1] in _ancestors(d, a) for a in read)


def _in_graph(d: Difference) -> list[tuple[str, str, int]]:
    """The control flow from which heads are computed: its kind, the array that it reads, and how often it runs."""
    inside = _inside(d)
    found = [STATEMENT.match(s) for s in d.before]
    return [(m[2], m[3], int(m[5])) for m in found if m is not None and m[1] in inside]


def _heads(d: Difference) -> list[str]:
    """The names of the outputs."""
    return next((re.findall(r"'(v\d+)'", s.partition("]")[0]) for s in d.before if s.startswith("heads ")), [])


def _inside(d: Difference) -> set[str]:
    """The arrays from which heads are computed."""
    return set().union(*(_ancestors(d, head) for head in _heads(d)))


def _ancestors(d: Difference, name: str) -> set[str]:
    """An array and those from which it is computed."""
    made = {s.partition(" = ")[0]: re.findall(r"\b[av]\d+\b", s.partition(" = ")[2]) for s in d.before if re.match(r"v\d+ = ", s)}
    found, waiting = set[str](), [name]
    while waiting:
        if (one := waiting.pop()) not in found:
            found.add(one)
            waiting += made.get(one, [])
    return found
