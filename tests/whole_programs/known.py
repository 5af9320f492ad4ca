"""Differences from MXNet that have a row in `docs/reference/compatibility.md`, told by the statement and those before it."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from .known_functions import (
    is_beside_added,
    is_executor_of_control_flow,
    is_gradient_of_cond,
    is_gradient_of_while,
    is_hard_sigmoid_in_sum,
    is_order_of_equal,
    is_static_foreach,
    is_sum_of_inputs,
)


@dataclass(frozen=True)
class Difference:
    """A statement that gives another outcome than MXNet's.

    Parameters
    ----------
    ran
        The program's statements and their outcomes here.
    answers
        The outcomes on MXNet.
    position
        The statement that differs.
    """

    ran: Sequence[tuple[str, str]]
    answers: Sequence[str]
    position: int

    @property
    def statement(self) -> str:
        """The statement that differs."""
        return self.ran[self.position][0]

    @property
    def want(self) -> str:
        """MXNet's outcome."""
        return self.answers[self.position] if self.position < len(self.answers) else "nothing"

    @property
    def got(self) -> str:
        """The outcome here."""
        return self.ran[self.position][1]

    @property
    def before(self) -> list[str]:
        """The statements before it."""
        return [statement for statement, _ in self.ran[: self.position]]

    def since(self, pattern: str) -> list[str]:
        """The statements from the last one that matches a pattern; none if none does."""
        found = [k for k, statement in enumerate(self.before) if re.match(pattern, statement)]
        return self.before[found[-1] :] if found else []


def is_rewritten(d: Difference) -> bool:
    """A gradient through an array of an earlier scope, which a write has changed since, or an operand of it."""
    scopes = [k for k, s in enumerate(d.before) if s.startswith("record(")]
    if not d.statement.endswith(".grad") or len(scopes) < 2:
        return False
    earlier, now = d.before[scopes[0] : scopes[-1]], d.before[scopes[-1] :]
    read = {name for s in now for name in re.findall(r"\bv\d+\b", s)}
    saved = {name for s in earlier if s.partition(" = ")[0] in read for name in re.findall(r"\bv\d+\b", s)}
    writes = re.compile(r"out=(v\d+)|^(v\d+)(?:\[.*\] = | [-+*/]= )")
    roots = _roots(d.before)
    saved = {roots.get(name, name) for name in saved}
    return any(roots.get(name, name) in saved for s in earlier for found in writes.findall(s) for name in found if name)


def _roots(statements: list[str]) -> dict[str, str]:
    """By the names of what may be views: the arrays whose memory they may share."""
    roots: dict[str, str] = {}
    for s in statements:
        if made := re.match(r"(v\d+) = (v\d+)(?:\[|\.(?!copy|astype))", s):
            roots[made[1]] = roots.get(made[2], made[2])
    return roots


def is_product_with_zeros(d: Difference) -> bool:
    """A gradient after a product of elements, of which more is not finite on MXNet."""
    is_after = "grad" in d.statement and any("prod(" in s for s in d.before)
    return is_after and not d.got.startswith("error") and not d.want.startswith("error") and _lost(d.got) < _lost(d.want)


def is_added_to(d: Difference) -> bool:
    """A gradient that MXNet replaces where it should add to it; or that of a mean or sum, to which it adds a part, or twice."""
    if is_beside_added(d):
        return True
    own = re.search(r"gradient of (\w+)$|(\w+)\.grad$", d.statement)
    if own is None:
        return False
    requested = rf"'{own[1]}': 'add'" if own[1] else rf"{own[2]}\.attach_grad\(add\)"
    if not re.search(requested, "\n".join(d.before)):
        return False
    scope = d.before if own[1] else d.since(r"record\(")
    partly = re.compile(r"(mean|layer_norm)\(" if own[1] else rf"mean\(|LayerNorm| \+ |Function of {own[2]}$")
    return _is_replaced(d) or any(partly.search(s) for s in scope)


def _is_replaced(d: Difference) -> bool:
    """Whether a gradient would be MXNet's if that were added to the one before, for one backward pass or two."""
    before = d.statement.replace(" 1 ", " 0 ")
    earlier = [outcome for s, outcome in d.ran[: d.position] if s == before and not outcome.startswith("error")]
    if d.want.startswith("error") or d.got.startswith("error"):
        return False
    want, got = (float(outcome.split()[3]) for outcome in (d.want, d.got))
    sums = [first + passes * want for first in (0.0, *(float(e.split()[3]) for e in earlier[-1:])) for passes in (1, 2)]
    return any(math.isclose(got, total, rel_tol=5e-3, abs_tol=5e-3 * abs(want)) for total in sums)


def is_partly_freed(d: Difference) -> bool:
    """The backward pass of arrays of an earlier scope, a part of whose graph another backward pass has freed on MXNet."""
    now = d.since(r"record\(")
    made = {name for s in now for name in re.findall(r"^(v\d+) =", s)}
    read = {name for s in now for name in re.findall(r"\bv\d+\b", s)} - made
    earlier = d.before[: len(d.before) - len(now)]
    scopes = [k for k, s in enumerate(earlier) if s.startswith("record(")]
    recorded = {name for s in earlier[scopes[0] :] for name in re.findall(r"^(v\d+) =", s)} if scopes else set()
    return d.want == "error MXNetError" and ".backward()" in d.statement and bool(read & recorded)


def is_sum_of_empty(d: Difference) -> bool:
    """A sum with a csr matrix without elements, which MXNet's functions make without row pointers."""
    return d.want == "error MXNetError" and re.match(r"s\d+ = sparse ", d.statement) is not None and d.got.endswith(" 0 0 0")


def is_second_order(d: Difference) -> bool:
    """MXNet has not got the derivative, or divides by one that is 0."""
    is_one = re.search(r"= (second|derivatives)\(", d.statement) is not None
    return is_one and (d.want.startswith("error") or (is_finite(d.got) and not is_finite(d.want)))


def is_of_other_mode(d: Difference) -> bool:
    """A gradient of a normalization that was recorded for prediction."""
    return d.statement.endswith(".grad") and "record(False)" in d.before and any("BatchNorm" in s for s in d.before)


def is_norm_of_integers(d: Difference) -> bool:
    """The norm of an array of integers, which MXNet computes in integers."""
    return bool(re.search(r"norm\(", d.statement)) and d.want.startswith("int")


def is_of_many(d: Difference) -> bool:
    """A mean that MXNet divides by a number beyond the range of float16, or a norm or product that it computes in float16."""
    is_lost = bool(re.search(r"(mean|prod)\(", d.statement)) and (not is_finite(d.want) or d.want.endswith(" 0 0"))
    return d.want.startswith("float16") and (is_lost or bool(re.search(r"norm\(", d.statement)))


def is_recorded_write(d: Difference) -> bool:
    """A write that MXNet refuses because it records."""
    is_write = re.search(r"\] = | [-+*/]= |\[:\] = |out=|copyto", d.statement) is not None
    return (
        d.want == "error MXNetError" and is_write and bool(d.since(r"record\(")) and not any("backward" in s for s in d.since(r"record\("))
    )


def is_sum_of_sparse(d: Difference) -> bool:
    """A reduction of a sum of csr matrices, parts of which MXNet leaves out, or counts though they are gone."""
    found = re.search(r"(sum 0|norm) of (s\d+)$", d.statement)
    return found is not None and any(s.startswith(f"{found[2]} = sparse ") for s in d.before)


def is_overlapping(d: Difference) -> bool:
    """An update of an array by a part of itself, which MXNet reads after it has been written."""
    found = re.fullmatch(r"(v\d+) (?:[-+*/]=|\[:\] =) (v\d+)", d.statement)
    return found is not None and any(s.startswith((f"{found[2]} = {found[1]}[", f"{found[2]} = {found[1]}.")) for s in d.before)


def is_own_assignment(d: Difference) -> bool:
    """An array assigned to a selection of itself that has other axes."""
    return bool(re.match(r"(v\d+)\[.*\] = \1$", d.statement)) and d.got.startswith("error")


def _lost(outcome: str) -> int:
    """How many elements of an array are not finite."""
    return int(outcome.split()[2])


def is_finite(outcome: str) -> bool:
    """Whether all elements of an array are finite."""
    return outcome.split()[2:3] == ["0"]


#: The rows, with what tells their differences.
ROWS: dict[str, Callable[[Difference], bool]] = {
    "An array assigned to itself": is_own_assignment,
    "Executors of `cond` and `while_loop`": is_executor_of_control_flow,
    "`foreach` in static memory": is_static_foreach,
    "Gradients of `cond` in graphs": is_gradient_of_cond,
    "Gradients of `while_loop` in graphs": is_gradient_of_while,
    "Gradient of `hard_sigmoid` in graphs": is_hard_sigmoid_in_sum,
    "Gradient of a product with zeros": is_product_with_zeros,
    'Gradients with `grad_req="add"`': is_added_to,
    "Gradients after a later write": is_rewritten,
    "Gradients of gradients": is_second_order,
    "Mode of the backward pass": is_of_other_mode,
    "Graphs partly freed": is_partly_freed,
    "Means, products and norms of 16-bit floats": is_of_many,
    "Norms of whole numbers": is_norm_of_integers,
    "Order of equal elements": is_order_of_equal,
    "Outputs that are sums of inputs": is_sum_of_inputs,
    "Overlapping assignment": is_overlapping,
    "Reductions of sums of csr matrices": is_sum_of_sparse,
    "Sums with empty csr matrices": is_sum_of_empty,
    "Writes while recording": is_recorded_write,
}


def row_of(difference: Difference) -> str | None:
    """The row that a difference has; None for a new one. A gradient that has stayed as it was keeps its row."""
    d = difference
    same = [k for k in range(d.position) if d.statement.endswith(".grad") and (d.answers[k], d.ran[k]) == (d.want, d.ran[d.position])]
    if same:
        return row_of(Difference(d.ran, d.answers, same[0]))
    return next((row for row, is_it in ROWS.items() if is_it(difference)), None)
