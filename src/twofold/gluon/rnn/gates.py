"""The arithmetic of gates, shared by the dense and convolutional cells of ``gluon.rnn``, ``gluon.contrib.rnn`` and ``mx.rnn``.

Cells differ in the names and operators of their nodes, which MXNet's files fix: each function takes these as arguments. ``step`` is the
beginning of the names of all nodes of one step.
"""

import operator
from collections.abc import Callable, Iterable
from functools import partial
from typing import Any

from ...symbol.symbol import Symbol
from ..signatures import Functions, Operand

#: The name of an activation, or a function.
Activation = str | Callable[..., Any]
#: Applies an activation to a value; ``name`` is that of the node.
Apply = Callable[..., Any]


#: Adds, multiplies or subtracts two operands; ``name`` is that of the node.
Combine = Callable[[Functions, str, Operand, Operand, str], Operand]
_OPERATORS = {"add": operator.add, "mul": operator.mul, "sub": operator.sub}


def unnamed(F: Functions, kind: str, lhs: Operand, rhs: Operand, name: str) -> Operand:
    """Python's operator: the nodes of symbols get the next free name."""
    return _OPERATORS[kind](lhs, rhs)


def named(F: Functions, kind: str, lhs: Operand, rhs: Operand, name: str) -> Operand:
    """The operator whose node has a name; arrays have none, and Python's operator is the fastest for them."""
    return getattr(F, f"elemwise_{kind}")(lhs, rhs, name=name) if isinstance(lhs, Symbol) else _OPERATORS[kind](lhs, rhs)


def rest_of(F: Functions, z: Operand, step: str) -> Operand:
    """``1 - z``, for which MXNet's graphs have two nodes."""
    if not isinstance(z, Symbol):
        return _OPERATORS["sub"](1, z)
    return F.elemwise_sub(F.ones_like(z, name=f"{step}ones_like0"), z, name=f"{step}minus0")


def lstm_step(F: Functions, gates: Iterable[Any], memory: Any, step: str, apply: Apply, out: str = "out") -> tuple[Any, list[Any]]:
    """The output and the states of a long short-term memory, from its four gates before their activations."""
    i, f, g, o = gates
    recurrent = partial(F.Activation, act_type="sigmoid")
    # in the order of MXNet's graphs
    i, f, g, o = recurrent(i, name=f"{step}i"), recurrent(f, name=f"{step}f"), apply(g, name=f"{step}c"), recurrent(o, name=f"{step}o")
    # operators with names, not `+`: MXNet's graphs name these two nodes
    c = F.elemwise_add(f * memory, i * g, name=f"{step}state")
    h = F.elemwise_mul(o, apply(c), name=f"{step}{out}")
    return h, [h, c]


def gru_gates(F: Functions, i2h: Any, h2h: Any, step: str, apply: Apply, combine: Combine = unnamed, **split: int) -> tuple[Any, Any]:
    """The update gate z and the candidate n of a gated recurrent unit, from the maps of input and state for all three gates."""
    ir, iz, i_n = F.SliceChannel(i2h, num_outputs=3, name=f"{step}i2h_slice", **split)
    hr, hz, h_n = F.SliceChannel(h2h, num_outputs=3, name=f"{step}h2h_slice", **split)
    # the reset gate acts on the state's map, bias included, so both maps must come apart
    r = F.Activation(combine(F, "add", ir, hr, f"{step}plus0"), act_type="sigmoid", name=f"{step}r_act")
    z = F.Activation(combine(F, "add", iz, hz, f"{step}plus1"), act_type="sigmoid", name=f"{step}z_act")
    kept = combine(F, "mul", r, h_n, f"{step}mul0")
    return z, apply(combine(F, "add", i_n, kept, f"{step}plus2"), name=f"{step}h_act")


def gru_step(F: Functions, i2h: Any, h2h: Any, state: Any, step: str, apply: Apply, out: str, **split: int) -> tuple[Any, list[Any]]:
    """The output, named ``out``, and the state of a gated recurrent unit; see `gru_gates`."""
    z, n = gru_gates(F, i2h, h2h, step, apply, unnamed, **split)
    output = F.elemwise_add((1.0 - z) * n, z * state, name=out)
    return output, [output]
