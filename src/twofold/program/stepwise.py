"""A program's form for adapters that want to know its steps: the same source, which tells before each what it reads and writes."""

import re
from collections.abc import Callable, Sequence
from typing import Any

from ..backend.kernel import Steps

#: Variables of a program's source that may hold arrays: leaves, also as numbers of a dtype, static memory, and what steps made.
VARIABLE = re.compile(r"\b(?:x\d+(?:_\w+)?|b\d+|v\d+)\b")
ASSIGNED = re.compile(r"^ *(\w+) = ")

#: Where the lines of a step begin and end in a program's body, and the variables that get results; None if it computes nothing.
Part = tuple[int, int, Sequence[str] | None]


def in_steps(source: str, body: int, parts: Sequence[Part], env: dict[str, Any], steps: Steps, leaves: Sequence[Any]) -> list[Any]:
    """Run a program and tell its steps.

    Parameters
    ----------
    source, env
        The program's.
    body
        How many lines stand before the first step's.
    parts
        Its steps in order.
    steps
        Who is told.
    leaves
        The inputs.
    """
    own: dict[str, Any] = env | {"steps": steps}
    exec(compile(told(source, body, parts), "<twofold program, in steps>", "exec"), own)
    run: Callable[[Sequence[Any]], list[Any]] = own["program"]
    return run(leaves)


def told(source: str, body: int, parts: Sequence[Part]) -> str:
    """The source with a note before each step, and one after the last: what is there then and the step's text names is read or written."""
    lines = source.split("\n")
    known = set(VARIABLE.findall("\n".join(lines[:body])))
    notes = []
    for begin, end, results in parts:
        own = lines[body + begin : body + end]
        if own and results is not None:
            words = [w for w in dict.fromkeys(VARIABLE.findall("\n".join(own))) if w in known]
            written = [w for w in words if w in results]
            if words:  # else it is part of the step before
                notes.append((body + begin, f" steps.step({_tuple(w for w in words if w not in written)}, {_tuple(written)})"))
        known.update(m[1] for m in map(ASSIGNED.match, own) if m)
    last = max((end for _, end, _ in parts), default=0)
    for at, note in [(body + last, " steps.join()"), *reversed(notes)]:
        lines.insert(at, note)
    return "\n".join(lines)


def _tuple(names: Any) -> str:
    return "(" + "".join(f"{name}, " for name in names) + ")"
