"""The arithmetic of gates, which dense and convolutional cells share."""

from collections.abc import Callable
from typing import Any

from .. import symbol as sym
from ..symbol.symbol import Symbol

__all__ = ["GRU_GATES", "LSTM_GATES", "Activation", "activated", "gru_step", "lstm_step"]

#: The name of an activation, or a function of a symbol.
Activation = str | Callable[..., Symbol]

#: Suffixes of the gates' names, in the order of the packed weights: input, forget, candidate, output.
LSTM_GATES = ("_i", "_f", "_c", "_o")
#: Reset, update, candidate.
GRU_GATES = ("_r", "_z", "_o")


def activated(inputs: Symbol, activation: Activation, **kwargs: Any) -> Symbol:
    """Apply an activation, given by its name or as a function."""
    if isinstance(activation, str):
        kwargs["act_type"] = activation  # any name: the operator checks it
        return sym.Activation(inputs, **kwargs)
    return activation(inputs, **kwargs)


def lstm_step(gates: Symbol, memory: Symbol, activation: Activation, name: str) -> tuple[Symbol, list[Symbol]]:
    """The output and the states of a long short-term memory, from its four gates before their activations."""
    enter = sym.Activation(gates[0], act_type="sigmoid", name=f"{name}i")
    forget = sym.Activation(gates[1], act_type="sigmoid", name=f"{name}f")
    candidate = activated(gates[2], activation, name=f"{name}c")
    leave = sym.Activation(gates[3], act_type="sigmoid", name=f"{name}o")
    kept = forget * memory
    memory = sym.elemwise_add(kept, enter * candidate, name=f"{name}state")
    output = sym.elemwise_mul(leave, activated(memory, activation), name=f"{name}out")
    return output, [output, memory]


def gru_step(i2h: Symbol, h2h: Symbol, state: Symbol, activation: Activation, name: str, **split: Any) -> tuple[Symbol, list[Symbol]]:
    """The output and the state of a gated recurrent unit, from the three gates of the input and of the state before their activations."""
    i2h_r, i2h_z, i2h_o = sym.SliceChannel(i2h, num_outputs=3, name=f"{name}_i2h_slice", **split)
    h2h_r, h2h_z, h2h_o = sym.SliceChannel(h2h, num_outputs=3, name=f"{name}_h2h_slice", **split)
    reset = sym.Activation(i2h_r + h2h_r, act_type="sigmoid", name=f"{name}_r_act")
    update = sym.Activation(i2h_z + h2h_z, act_type="sigmoid", name=f"{name}_z_act")
    candidate = activated(i2h_o + reset * h2h_o, activation, name=f"{name}_h_act")
    new = (1.0 - update) * candidate
    output = sym.elemwise_add(new, update * state, name=f"{name}out")
    return output, [output]
