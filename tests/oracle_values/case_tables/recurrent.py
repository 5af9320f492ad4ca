"""The fused RNN operator: modes, directions, layers, states, projection, clipping, lengths."""

from __future__ import annotations

from itertools import product
from typing import Any

from .declare import CaseSpec, case, given, real

GATES = {"rnn_relu": 1, "rnn_tanh": 1, "lstm": 4, "gru": 3}
STEPS, BATCH, FEATURES, HIDDEN = 3, 2, 2, 3


def parameter_size(mode: str, layers: int, directions: int, projection: int | None) -> int:
    """The length of the flat parameter vector: per layer and direction, weights to input and to state, two biases, projection."""
    out = projection or HIDDEN
    size = 0
    for layer in range(layers):
        inputs = FEATURES if layer == 0 else out * directions
        size += directions * GATES[mode] * HIDDEN * (inputs + out + 2)
        size += directions * (projection * HIDDEN if projection else 0)
    return size


def rnn(
    mode: str, layers: int = 1, both: bool = False, states: bool = True, lengths: Any = None, train: bool = True, **attrs: Any
) -> CaseSpec:
    """A case of the operator with its parameter vector and initial states."""
    directions, projection = (2 if both else 1), attrs.get("projection_size")
    size = parameter_size(mode, layers, directions, projection)
    inputs = [real((STEPS, BATCH, FEATURES)), real((size,), -0.5, 0.5), real((layers * directions, BATCH, projection or HIDDEN), -1, 1)]
    if mode == "lstm":
        inputs.append(real((layers * directions, BATCH, HIDDEN), -1, 1))
    if lengths is not None:
        inputs += [lengths]
        attrs["use_sequence_length"] = True
    asked = {"state_size": HIDDEN, "num_layers": layers, "mode": mode, **attrs}
    asked.update({"bidirectional": True} if both else {})
    asked.update({"state_outputs": True} if states else {})
    return case("RNN", *inputs, train=train, onednn=True, **asked)


CASES = [
    *(rnn(mode, layers, both) for mode, layers, both in product(GATES, (1, 2), (False, True))),
    *(rnn(mode, states=False) for mode in GATES),
    *(rnn(mode, layers=2, train=False, p=0.5) for mode in ("lstm", "gru")),
    rnn("lstm", lstm_state_clip_min=-0.25, lstm_state_clip_max=0.25),
    rnn("lstm", lengths=given([1, 3], "int32")),
    rnn("lstm", train=False, projection_size=2),
    rnn("lstm", layers=2, both=True, train=False, projection_size=2),
    rnn("gru", layers=3, both=True, states=False),
    case(
        "RNN",
        real((3, 2, 2)),
        real((10,)),
        real((1, 2, 3)),
        state_size=3,
        num_layers=1,
        mode="rnn_tanh",
        onednn=True,
        note="parameters too short",
    ),
    case(
        "RNN",
        real((3, 2, 2)),
        real((21,)),
        real((1, 1, 3)),
        state_size=3,
        num_layers=1,
        mode="rnn_tanh",
        onednn=True,
        note="the state's batch",
    ),
]
