"""Runs one case in the real MXNet: forward, backward for fixed head gradients, states. Imported under the oracle only."""

from __future__ import annotations

import re
from typing import Any

import mxnet as mx
import numpy as np
from case_tables.declare import CaseSpec, real

# positions of the auxiliary states, which the operator itself rewrites
STATES = {
    "BatchNorm": (3, 4),
    "BatchNorm_v1": (3, 4),
    "_contrib_BatchNormWithReLU": (3, 4),
    "_contrib_SyncBatchNorm": (3, 4),
    "sgd_mom_update": (2,),
    "mp_sgd_update": (2,),
    "mp_sgd_mom_update": (2, 3),
    "nag_mom_update": (2,),
    "mp_nag_mom_update": (2, 3),
    "signum_update": (2,),
    "adam_update": (2, 3),
    "ftrl_update": (2, 3),
    "rmsprop_update": (2,),
    "rmspropalex_update": (2, 3, 4),
}
OWN_NAMESPACES = {"_contrib_": "nd.contrib.", "_image_": "nd.image.", "_linalg_": "nd.linalg."}
NOISE = re.compile(r"^(MXNetError: )?(Error in operator \w+: )?(\[[\d:]+\] \S+: )?")
FIRST_HEAD = 100  # the slot of the first head gradient's draw: away from the inputs'


def default_path(op: str) -> str:
    """The function under `mx` that a registered operator is called by."""
    for prefix, namespace in OWN_NAMESPACES.items():
        if op.startswith(prefix):
            return namespace + op[len(prefix) :]
    return ("nd." if op in vars(mx.nd) else "nd._internal.") + op


def function_at(path: str) -> Any:
    """The callable that a dotted path under `mx` names."""
    found = mx
    for part in path.split("."):
        found = getattr(found, part)
    return found


def first_line(error: BaseException) -> str:
    """The first line of an error's text that says something, without times, node numbers and C++ frames."""
    lines = [line for line in str(error).splitlines() if line and not line.startswith(("Traceback ", "  File "))]
    # libraries name the places of their own sources
    return re.sub(r" /\S+:\d+:", "", re.sub(r"node_\d+", "node", NOISE.sub("", lines[0]))) if lines else ""


def is_float(array: mx.nd.NDArray) -> bool:
    """Whether a gradient can flow through the array."""
    return np.dtype(array.dtype).kind == "f"


def settled(arrays: list[mx.nd.NDArray]) -> list[np.ndarray]:
    """The arrays' values once everything asynchronous has ended, so that late errors are raised here."""
    values = [array.asnumpy() for array in arrays]
    mx.nd.waitall()
    return values


class Run:
    """One case under execution: its arrays on the MXNet side, the record that is filled in, the arrays to store by slot."""

    def __init__(self, spec: CaseSpec) -> None:
        """Places the inputs."""
        self.spec = spec
        self.given = spec.arrays()
        self.place_inputs()
        self.states = STATES.get(spec.op, ())
        self.path = spec.path or default_path(spec.op)
        self.arrays: dict[str, np.ndarray] = {}
        self.record: dict[str, Any] = {"op": spec.op, "path": self.path, "attrs": spec.attrs, "train": spec.train}

    def place_inputs(self) -> None:
        """Fresh arrays on the MXNet side."""
        self.inputs = [None if a is None else mx.nd.array(a, dtype=a.dtype) for a in self.given]

    def store(self, slot: str, array: np.ndarray) -> str:
        """Keeps an array and returns its slot."""
        self.arrays[slot] = array
        return slot

    def execute(self) -> None:
        """Runs forward, then backward where floats go in and come out."""
        self.record["inputs"] = [None if a is None else self.store(f"in{i}", a) for i, a in enumerate(self.given)]
        self.record["input_dtypes"] = [None if a is None else str(a.dtype) for a in self.given]
        try:
            outputs, tracked = self.recorded_forward()
            results = settled(outputs)
        except Exception as error:  # the oracle's refusal is the result of the case
            self.record.update(error=True, exception=type(error).__name__, message=first_line(error))
            return
        self.record["outputs"] = [self.store(f"out{i}", array) for i, array in enumerate(results)]
        self.record["output_dtypes"] = [str(array.dtype) for array in results]
        self.keep_states("after_forward")
        if tracked and all(is_float(output) for output in outputs):
            self.backward(outputs, results, tracked)

    def tracked(self) -> list[int]:
        """Positions of the inputs that get a gradient."""
        asked = range(len(self.inputs)) if self.spec.grad is True else self.spec.grad or ()
        return [i for i in asked if self.inputs[i] is not None and i not in self.states and is_float(self.inputs[i])]

    def recorded_forward(self) -> tuple[list[mx.nd.NDArray], list[int]]:
        """The outputs and the tracked inputs; where only recording fails, the outputs of a plain call and nothing tracked."""
        tracked = self.tracked()
        for index in tracked:
            self.inputs[index].attach_grad()
        try:
            with mx.autograd.record(train_mode=self.spec.train):
                outputs = self.forward()
            settled(outputs)
        except Exception as error:
            self.place_inputs()
            with mx.autograd.train_mode() if self.spec.train else mx.autograd.predict_mode():
                outputs = self.forward()
            settled(outputs)
            self.record["gradient_error"] = first_line(error)
            return outputs, []
        return outputs, tracked

    def forward(self) -> list[mx.nd.NDArray]:
        """The outputs as a list."""
        result = function_at(self.path)(*self.inputs, **self.spec.attrs)
        return [result] if isinstance(result, mx.nd.NDArray) else list(result)[: self.spec.outputs]

    def backward(self, outputs: list, results: list[np.ndarray], tracked: list[int]) -> None:
        """The gradients for fixed random head gradients; an operator without gradient leaves `gradient_error`."""
        heads = [real(a.shape, -1, 1, str(a.dtype)).array(FIRST_HEAD + i) for i, a in enumerate(results)]
        try:
            mx.autograd.backward(outputs, [mx.nd.array(h, dtype=h.dtype) for h in heads], train_mode=self.spec.train)
            gradients = settled([self.inputs[i].grad for i in tracked])
        except Exception as error:
            self.record["gradient_error"] = first_line(error)
            return
        self.record["heads"] = [self.store(f"head{i}", head) for i, head in enumerate(heads)]
        self.record["gradients"] = {str(i): self.store(f"grad{i}", gradients[k]) for k, i in enumerate(tracked)}
        self.keep_states("after_backward")

    def keep_states(self, moment: str) -> None:
        """Stores the auxiliary states, and any other input that the operator has overwritten."""
        now = [None if a is None else a.asnumpy() for a in self.inputs]
        kept = {i for i, a in enumerate(now) if a is not None and a.tobytes() != self.given[i].tobytes()} | set(self.states)
        if kept:
            self.record["states_" + moment] = {str(i): self.store(f"aux{i}_{moment}", now[i]) for i in sorted(kept)}


def run_case(spec: CaseSpec) -> tuple[dict[str, Any], dict[str, np.ndarray]]:
    """The record of a case, which names arrays by slot, and the arrays by slot."""
    run = Run(spec)
    run.execute()
    if spec.onednn:
        run.record["onednn"] = True
    if spec.note:
        run.record["note"] = spec.note
    return run.record, run.arrays
