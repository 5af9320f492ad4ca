"""Every operator, as its samples use it, is written to a file that computes the same elsewhere, and here after reading it back."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any, NamedTuple

import numpy as np

import twofold as mx
from twofold.device import CPU
from twofold.errors import OperatorError
from twofold.imperative.array import from_host
from twofold.ndarray.array import NDArray
from twofold.opdef.registry import OPS
from twofold.opdef.samples import Sample, samples_of
from twofold.symbol.compose import apply_op, variable
from twofold.testing.operands import KEY, make_operands

from tests.cases import each, module_of, spread_in_ci

if TYPE_CHECKING:
    from twofold.opdef.spec import Op
    from twofold.symbol.symbol import Symbol

#: Operations that ONNX has no operator for, nor a sensible composition.
WITHOUT_FORM = {
    "cholesky": "decompositions of matrices",
    "cofactors": "decompositions of matrices",
    "complement": "decompositions of matrices",
    "eigenvalues": "decompositions of matrices",
    "eigh": "decompositions of matrices",
    "erfinv": "special functions",
    "gammaln": "special functions",
    "host_call": "functions that only the host computes, such as the suppression of boxes",
    "inverse": "decompositions of matrices",
    "polygamma": "special functions",
    "pool_regions": "pooling of regions",
    "qr": "decompositions of matrices",
    "real_eig": "decompositions of matrices",
    "singular_values": "decompositions of matrices",
    "slogdet": "decompositions of matrices",
    "solve": "decompositions of matrices",
    "svd": "decompositions of matrices",
    "fourier_pairs": "Fourier transforms",
    "fourier_sums": "Fourier transforms",
    "spread_regions": "pooling of regions",
}
#: Symbols draw random numbers where they run, and operators with shapes that depend on values run in stages.
OPERATORS = [op for op in OPS.values() if op.names and not op.dynamic_shape and op.samples]
#: The newest operators that the oldest supported onnxruntime knows.
NEWEST = 20


class Case(NamedTuple):
    """A symbol of one operator, its arrays by name, and the names of those that are states."""

    symbol: Symbol
    arrays: dict[str, np.ndarray]
    states: list[str]

    def placed(self) -> dict[str, NDArray]:
        """The arrays anew: running an update changes its states."""
        return {n: from_host(NDArray, a.copy(), CPU) for n, a in self.arrays.items()}

    def outputs(self, symbol: Symbol | None = None, more: dict[str, NDArray] | None = None) -> list[np.ndarray]:
        """The results of the symbol, or of one that was read back, whose further arrays are given."""
        graph, arrays = self.symbol if symbol is None else symbol, {**self.placed(), **(more or {})}
        states = graph.list_auxiliary_states()
        bound = graph.bind(CPU, {n: arrays[n] for n in graph.list_arguments()}, aux_states={n: arrays[n] for n in states})
        return [a.asnumpy() for a in bound.forward()]


def case_of(op: Op, sample: Sample) -> Case | None:
    """The symbol of a sample; None where MXNet's convention adds inputs that the sample omits."""
    given = make_operands(op, sample)
    names = [i.name for i in op.arrays]
    if op.variadic:
        names = names[:-1] + [f"x{k}" for k in range(len(given) - len(names) + 1)]
    arrays = {n: np.asarray(a) for n, a in zip(names, given, strict=False) if isinstance(a, np.ndarray) and a is not KEY}
    attrs: dict[str, Any] = {k: v for k, v in sample.params.items() if k not in op.training}
    symbol = apply_op(op, op.title.lower(), [variable(n) if n in arrays else None for n in names], attrs, "s")
    return Case(symbol, arrays, symbol.list_auxiliary_states()) if set(symbol.list_inputs()) == set(arrays) else None


def write(case: Case, path: str, opset: int) -> None:
    inputs = [n for n in case.symbol.list_inputs() if n not in case.states]
    params = {n: a for n, a in case.placed().items() if n in case.states}
    shapes, dtypes = [case.arrays[n].shape for n in inputs], [case.arrays[n].dtype for n in inputs]
    mx.onnx.export_model(case.symbol, params, shapes, dtypes, path, opset_version=opset)


def draws(op: Op) -> bool:
    """Whether a file draws random numbers: of these only shapes and dtypes are compared."""
    return op.title.startswith("_random")


def refusal(case: Case, path: str) -> str | None:
    """The operation for which a symbol is refused; None if it is written."""
    try:
        write(case, path, NEWEST)
    except OperatorError as error:
        if "node s" not in str(error):
            raise
        return str(error.given).removeprefix("the operation ")
    return None


def check(found: list[np.ndarray], wanted: list[np.ndarray]) -> None:
    for a, b in zip(found, wanted, strict=True):
        assert (a.shape, a.dtype) == (b.shape, b.dtype)
        np.testing.assert_allclose(a.astype(np.float64), b.astype(np.float64), rtol=1e-4, atol=1e-5)


@each("op", spread_in_ci(OPERATORS), by=module_of, ids=lambda op: op.title)
def test_a_file_computes_the_same_elsewhere_and_when_it_is_read_back(op, path, run):
    for sample in samples_of(op):
        case = case_of(op, sample)
        if case is None:
            continue
        wanted = case.outputs()
        if (lacking := refusal(case, path)) is not None:
            assert lacking in {*WITHOUT_FORM, "random_bits", "cumulative_prod, 20"}
            return
        symbol, args, states = mx.contrib.onnx.import_model(path)
        for found in (run(path, case.arrays), case.outputs(symbol, {**args, **states})):
            check([a * 0 for a in found] if draws(op) else found, [a * 0 for a in wanted] if draws(op) else wanted)
