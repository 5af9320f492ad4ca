"""Symbols as a hostile file may have them, with huge and negative parameters for every operator: ``python … SEED COUNT [OPERATOR …]``.

For each operator ``COUNT`` graphs. Each must load and infer, or raise an error of the library, within `SECONDS` of the processor and
with the memory that the process has. Prints a line for each graph that does neither, and the totals.
"""

from __future__ import annotations

import collections
import json
import random
import resource
import signal
import sys
from typing import TYPE_CHECKING, NoReturn

import twofold as mx
import twofold.ops
import twofold.symbol
from twofold.errors import MXNetError
from twofold.opdef import NAMES, Op, Sample, samples_of
from twofold.opdef.params import text

if TYPE_CHECKING:
    from collections.abc import Sequence

SECONDS = 2.0
MEMORY = 2 << 30
WRITABLE = (int, float, str, tuple, bool, type(None))
INTEGERS = ["1000000000", "1099511627776", "-1", "-1000000000", "0", "30000000", "65535", "1" + "0" * 26]
INTEGERS += [str(2**63 - 1), str(2**63), str(-(2**63))]
TUPLES = [
    "(1099511627776, 2)",
    "(2, 1099511627776)",
    "(-1, -1)",
    "(1000000000, 1000000000)",
    f"({2**63 - 1}, 1)",
    f"({2**63},)",
    "(0, 0)",
    "(0,)",
    "()",
    "(1000000000,)",
    "(-5, 3)",
    "(100000, 100000)",
    "(30000000,)",
    "(" + "1, " * 2000 + ")",
    "((1000000000, 1000000000), (0, 0))",
]
FLOATS = ["1e308", "-1e308", "nan", "inf", "-inf", "0"]
HUGE = (2**40, 10**9)


class TooSlow(BaseException):
    """Time is up; not an Exception, so that nothing takes it for an error of a rule."""


def interrupt(*_: object) -> NoReturn:
    """The handler of the timer."""
    raise TooSlow


def with_names() -> dict[int, tuple[Op, list[str]]]:
    """The operators that files can name, with their names."""
    found: dict[int, tuple[Op, list[str]]] = {}
    for name, op in sorted(NAMES.items()):
        found.setdefault(id(op), (op, []))[1].append(name)
    return found


def graph_of(name: str, sample: Sample, attrs: dict[str, str], shapes: Sequence[tuple[int, ...]] = ()) -> str:
    """The file of a symbol that applies an operator to variables, of a sample's shapes or others, with some parameters replaced."""
    op = NAMES[name]
    own = {key: text(value) for key, value in sample.params.items() if key in op.params and isinstance(value, WRITABLE)}
    shapes = shapes or shapes_of(sample)
    nodes: list[dict[str, object]] = [
        {"op": "null", "name": f"x{k}", "inputs": [], "attrs": {"__shape__": str(shape)}} for k, shape in enumerate(shapes)
    ]
    places = [*range(len(shapes))]
    nodes.append({"op": name, "name": "node", "attrs": own | attrs, "inputs": [[k, 0, 0] for k in places]})
    return json.dumps({"nodes": nodes, "arg_nodes": places, "heads": [[len(places), 0, 0]]})


def shapes_of(sample: Sample) -> list[tuple[int, ...]]:
    """The shapes of the arrays of a sample."""
    return [drawn.shape for drawn in sample.inputs if drawn is not None]


def hostile(draw: random.Random, op: Op) -> dict[str, str]:
    """Values for one or two parameters of an operator."""
    attrs = {}
    for touched in draw.sample([*op.params], min(len(op.params), draw.choice([1, 1, 2]))):
        kind = op.params[touched].kind.name
        if "shape" in kind or "axes" in kind:
            pool = TUPLES + INTEGERS
        elif "int" in kind:
            pool = INTEGERS + TUPLES[:2]
        else:
            pool = FLOATS + INTEGERS + TUPLES
        attrs[touched] = draw.choice(pool)
    return attrs


def drawn(draw: random.Random, op: Op, name: str, sample: Sample) -> str:
    """A graph with one or two parameters of an operator, and perhaps sizes of its inputs, replaced."""
    attrs = hostile(draw, op)
    shapes = shapes_of(sample)
    if draw.random() < 0.15:
        shapes = [tuple(draw.choice([n, *HUGE]) for n in shape) if draw.random() < 0.5 else shape for shape in shapes]
    return graph_of(name, sample, attrs, shapes)


def outcome(graph: str) -> str:
    """How a program ends that loads a graph, and infers its shapes and dtypes."""
    try:
        signal.setitimer(signal.ITIMER_VIRTUAL, SECONDS)
        try:
            symbol = mx.sym.load_json(graph)
            symbol.list_outputs(), symbol.tojson()
            symbol.infer_shape_partial()
            symbol.infer_type_partial()
        except MXNetError:
            return "refused"
        finally:
            signal.setitimer(signal.ITIMER_VIRTUAL, 0)
    except TooSlow:
        return "TOO SLOW"
    except (Exception, RecursionError, MemoryError) as error:
        return f"{type(error).__name__}: {error}"[:100].upper()
    return "accepted"


def main(seed: int, count: int, only: list[str]) -> None:
    """Try so many graphs of each operator."""
    signal.signal(signal.SIGVTALRM, interrupt)
    resource.setrlimit(resource.RLIMIT_AS, (MEMORY, MEMORY))
    totals = collections.Counter[str]()
    for op, names in with_names().values():
        if not op.params or (only and not {*only} & {*names}):
            continue
        # what a file cannot say, such as a sample's callable, would be refused whatever the parameters are
        valid = [(name, s) for name in names for s in samples_of(op) if outcome(graph_of(name, s, {})) == "accepted"]
        draw = random.Random(f"{seed} {op.title}")
        for _ in range(count if valid else 0):
            graph = drawn(draw, op, *draw.choice(valid))
            ended = outcome(graph)
            totals[ended if ended.islower() else "other"] += 1
            if not ended.islower():
                print(f"{op.title}: {ended}: {graph[:600]}")
    print(dict(totals))


if __name__ == "__main__":
    main(int(sys.argv[1]), int(sys.argv[2]), sys.argv[3:])
