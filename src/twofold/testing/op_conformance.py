"""Checks that apply to every operator: each takes an operator and one of its samples, and raises AssertionError.

``CHECKS`` names them all; a test-suite runs every check on every sample, an adapter's author the ones on its backend.
"""

import warnings
from collections.abc import Callable, Sequence
from typing import Any, TypeVar

import numpy as np

from ..backend.protocol import Backend
from ..config import SETTINGS
from ..device import CPU, Device, interned
from ..dtype import NAME_OF, NUMPY, is_float, scalar_dtype
from ..graph.batch import Batch
from ..graph.build import apply, run_rule
from ..graph.gradient import gradient, ones_head
from ..graph.ir import Node, leaf
from ..graph.tangent import tangents
from ..imperative.array import backward, from_host
from ..imperative.cell import HOST, Cell, Value, wrap
from ..imperative.guards import is_differentiated
from ..imperative.invoke import host_of, invoke
from ..imperative.scope import Scope
from ..ndarray.array import NDArray
from ..opdef import BoundOp, Op, Sample
from ..opdef.params import text
from ..program.compile import Program
from ..program.interpret import namespace_of
from ..symbol.compose import apply_op as apply_symbol
from ..symbol.compose import variable
from ..symbol.functions import load_json
from .operands import KEY, make_operands

#: A deferral threshold that no sample reaches: everything runs inline.
HUGE = 1 << 40
T = TypeVar("T")


def sig_of(op: Op, sample: Sample, legacy: bool = True, training: bool = True) -> BoundOp:
    """The operator with a sample's parameters."""
    params = {k: v for k, v in sample.params.items() if k not in op.scalars}
    return op.bind(legacy, **params, **{flag: training for flag in op.training if flag not in params})


def leaves_for(arrays: Sequence[np.ndarray | float | None], sample: Sample | None = None) -> list[Node | None]:
    """Leaves with the types of arrays and scalars. Integral inputs (labels, indices) need no gradient."""
    out: list[Node | None] = []
    whole = {k for k, d in enumerate(sample.inputs) if d is not None and d.whole} if sample is not None else set()
    for k, a in enumerate(arrays):
        if a is None:
            out.append(None)
        elif isinstance(a, np.ndarray):
            name = NAME_OF[a.dtype]
            out.append(leaf(("sample", k), a.shape, name, k not in whole and is_float(name)))
        else:
            out.append(leaf(("sample", k), (), scalar_dtype(a)))
    return out


def eager(bound_op: BoundOp, arrays: Sequence[Any], device: Device = CPU, record: bool = False) -> tuple[list[Any], list[Any]]:
    """(results, operands) of the imperative call."""
    cells = [from_host(NDArray, a, device) if isinstance(a, np.ndarray) and a is not KEY else a for a in arrays]
    if record:
        for c in cells:
            if isinstance(c, NDArray) and is_float(c._dtype):
                c.attach_grad()
    operands: list[Any] = [wrap(Cell, Value(c)) if c is KEY else c for c in cells]
    with Scope(record, True):
        results = [wrap(NDArray, v) for v in invoke(bound_op, operands, device)]
    return results, cells


def in_mode(engine: str, defer: int, run: Callable[[], T]) -> T:
    """Run with other settings of the engine and the deferral threshold."""
    was = SETTINGS.engine, SETTINGS.defer_elements
    SETTINGS.engine, SETTINGS.defer_elements = engine, defer
    try:
        return run()
    finally:
        SETTINGS.engine, SETTINGS.defer_elements = was


def equal(a: np.ndarray, b: np.ndarray, what: str) -> None:
    """Same dtype, shape and bits (NaN equals NaN)."""
    assert a.dtype == b.dtype, f"{what}: {a.dtype} and {b.dtype}"
    assert a.shape == b.shape, f"{what}: {a.shape} and {b.shape}"
    np.testing.assert_array_equal(a, b, err_msg=what)


#: Relative error allowed per float dtype.
PRECISION = {"float64": 1e-9, "float32": 1e-4, "float16": 2e-2, "bfloat16": 1e-1}


def check_types(op: Op, sample: Sample) -> None:
    """Inferred shapes and dtypes match the results, under both conventions."""
    arrays = make_operands(op, sample)
    for legacy in (False, True):
        bound_op = sig_of(op, sample, legacy)
        node = apply(bound_op, tuple(leaves_for(arrays)))
        given = [a for a in arrays if a is not None]
        got = Program(list(node.parts), [n for n in leaves_for(arrays) if n is not None], HOST).run(given)
        for part, array in zip(node.parts, got, strict=True):
            assert (part.shape, part.dtype) == (array.shape, NAME_OF[array.dtype]), f"{op.title}: {part.shape} {part.dtype}"


def check_rule_on_arrays(op: Op, sample: Sample) -> None:
    """The rule computes the same on arrays as the compiled graph."""
    arrays = make_operands(op, sample)
    bound_op = sig_of(op, sample, legacy=False)
    node = apply(bound_op, tuple(leaves_for(arrays)))
    compiled = Program(list(node.parts), [n for n in leaves_for(arrays) if n is not None], HOST).run([a for a in arrays if a is not None])
    direct = HOST.quietly(run_rule, namespace_of(HOST), bound_op, arrays)
    for a, b in zip(direct, compiled, strict=True):
        np.testing.assert_allclose(np.asarray(a, np.float64), np.asarray(b, np.float64), rtol=1e-5, atol=1e-6)


def check_modes(op: Op, sample: Sample) -> None:
    """Naive, inline and deferred (fused) execution give bitwise equal results, recorded or not."""
    arrays, bound_op = make_operands(op, sample), sig_of(op, sample)
    for record in (False, True):

        def run(record: bool = record) -> list[np.ndarray]:
            results, _ = eager(bound_op, arrays, record=record)
            return [host_of(r).copy() for r in results]  # a copy: the next mode may write into the same memory

        naive = in_mode("naive", HUGE, run)
        for name, engine, defer in (("inline", "window", HUGE), ("deferred", "window", 1)):
            for a, b in zip(naive, in_mode(engine, defer, run), strict=True):
                equal(a, b, f"{op.title} {name}")


def projected_program(op: Op, sample: Sample, dtype: str = "float64") -> tuple[Program, list[np.ndarray], list[int], list[Node]]:
    """A program of (a fixed projection of all float results, its gradient with respect to all float inputs)."""
    arrays = make_operands(op, sample, dtype)
    nodes = leaves_for(arrays, sample)
    bound_op = sig_of(op, sample, legacy=False)
    node = apply(bound_op, tuple(nodes))
    wrt = [k for k, n in enumerate(nodes) if n is not None and n.tracked]
    draw = np.random.default_rng(1)
    outputs = [p for p in node.parts[: bound_op.visible] if p.tracked]
    heads = [leaf(("head", k), o.shape, o.dtype) for k, o in enumerate(outputs)]
    # weights away from 0: every element of the outputs must show in their weighted sum
    values = [draw.uniform(0.5, 1.5, o.shape).astype(NUMPY[o.dtype]) for o in outputs]
    grads = gradient(outputs, heads, [nodes[k] for k in wrt])  # type: ignore[misc]
    # outputs and gradients in one program, so that both see the same rewrites
    given = [n for n in nodes if n is not None]
    program = Program([*outputs, *grads], [*given, *heads], HOST)
    return program, [*[a for a in arrays if a is not None], *values], wrt, outputs


def check_gradient(op: Op, sample: Sample) -> None:
    """The gradient agrees with central differences in float64, along a random direction."""
    if not sample.gradient or not op.differentiable:
        return
    program, arrays, wrt, outputs = projected_program(op, sample)
    if not wrt or not outputs:
        return
    places = _places(op, sample, wrt)
    heads = arrays[len(arrays) - len(outputs) :]
    draw = np.random.default_rng(2)
    step = 1e-6  # central differences in float64: truncation of order 1e-12 and rounding of 1e-10 balance about here

    def value(at: list[np.ndarray]) -> float:
        return float(sum((o * h).sum() for o, h in zip(program.run(at), heads, strict=False)))

    grads = program.run(arrays)[len(outputs) :]
    for place, grad in zip(places, grads, strict=True):
        # one random direction tests all elements of a gradient at the price of two runs
        direction = draw.uniform(-1, 1, arrays[place].shape)
        ahead, behind = ([*arrays[:place], arrays[place] + s * step * direction, *arrays[place + 1 :]] for s in (1, -1))
        want = (value(ahead) - value(behind)) / (2 * step)
        have = float((grad * direction).sum())
        tolerance = 1e-5 * sample.tolerance
        assert abs(have - want) <= tolerance * max(1.0, abs(want)), f"{op.title}: gradient of input {place} {have}, differences {want}"


def _places(op: Op, sample: Sample, wrt: Sequence[int]) -> list[int]:
    """Positions of the inputs among those that are not omitted."""
    arrays = make_operands(op, sample)
    given = [k for k, a in enumerate(arrays) if a is not None]
    return [given.index(k) for k in wrt]


def check_second_gradient(op: Op, sample: Sample) -> None:
    """The gradient of the gradient agrees with central differences of the gradient."""
    if not sample.gradient or not op.differentiable or op.random:
        return
    arrays = make_operands(op, sample, "float64")
    nodes = leaves_for(arrays, sample)
    bound_op = sig_of(op, sample, legacy=False)
    node = apply(bound_op, tuple(nodes))
    outputs = [p for p in node.parts[: bound_op.visible] if p.tracked]
    wrt = [n for n in nodes if n is not None and n.tracked]
    if not outputs or not wrt:
        return
    first = gradient(outputs, [ones_head(o) for o in outputs], wrt)
    # a gradient that does not depend on the inputs, such as that of a sum, has no gradient itself
    live = [(w, g) for w, g in zip(wrt, first, strict=True) if g.tracked]
    if not live:
        return
    second = gradient([g for _, g in live], [ones_head(g) for _, g in live], wrt)
    # outputs and gradients in one program, so that both see the same rewrites
    given = [n for n in nodes if n is not None]
    program = Program([*[g for _, g in live], *second], given, HOST)
    values = [a for a in arrays if a is not None]
    got = program.run(values)
    # larger than for the first gradient, which has fewer operations that round
    step = 1e-5
    for w, grad in zip(wrt, got[len(live) :], strict=True):
        place = given.index(w)
        direction = np.random.default_rng(3).uniform(-1, 1, w.shape)
        sums = []
        for s in (1, -1):
            moved = [*values[:place], values[place] + s * step * direction, *values[place + 1 :]]
            sums.append(float(sum(g.sum() for g in program.run(moved)[: len(live)])))
        want, have = (sums[0] - sums[1]) / (2 * step), float((grad * direction).sum())
        assert abs(have - want) <= 1e-4 * sample.tolerance * max(1.0, abs(want)), f"{op.title}: second gradient {have}, differences {want}"


def check_tangent(op: Op, sample: Sample) -> None:
    """Forward mode agrees with reverse mode: the tangent in a direction, projected, is the gradient of the projection in that direction."""
    # users' code has no forward mode, and a loss whose gradient ignores the head is no derivative
    if not sample.gradient or not op.differentiable or op.execution.user_method:
        return
    arrays = make_operands(op, sample, "float64")
    nodes = leaves_for(arrays, sample)
    node = apply(sig_of(op, sample, legacy=False), tuple(nodes))
    outputs = [p for p in node.parts[: node.bound_op.visible] if p.tracked]
    wrt = [n for n in nodes if n is not None and n.tracked]
    if not outputs or not wrt:
        return
    heads = [leaf(("head", k), o.shape, o.dtype) for k, o in enumerate(outputs)]
    directions = [leaf(("direction", k), w.shape, w.dtype) for k, w in enumerate(wrt)]
    found = tangents(outputs, dict(zip(wrt, directions, strict=True)))
    moved = [(t, h) for t, h in zip(found, heads, strict=True) if t is not None]
    grads = gradient(outputs, heads, wrt)
    given = [n for n in nodes if n is not None]
    program = Program([*[t for t, _ in moved], *grads], [*given, *heads, *directions], HOST)
    draw = np.random.default_rng(4)
    values = {n: draw.uniform(-1, 1, n.shape) for n in (*heads, *directions)}
    got = program.run([*[a for a in arrays if a is not None], *values.values()])
    have = float(sum((t * values[h]).sum() for t, (_, h) in zip(got, moved, strict=False)))
    want = float(sum((g * values[d]).sum() for g, d in zip(got[len(moved) :], directions, strict=True)))
    assert abs(have - want) <= 1e-9 * sample.tolerance * max(1.0, abs(want)), f"{op.title}: tangent {have}, gradient {want}"


def check_batch(op: Op, sample: Sample) -> None:
    """The graph of a batch gives the results and gradients of its examples, whichever inputs they share."""
    if op.random or op.execution.user_method:
        return
    examples = [make_operands(op, sample, "float64", seed) for seed in (0, 7)]
    nodes = leaves_for(examples[0], sample)
    node = apply(sig_of(op, sample, legacy=False), tuple(nodes))
    outputs = list(node.parts[: node.bound_op.visible])
    if not outputs:
        return
    arrays = [k for k, a in enumerate(examples[0]) if isinstance(a, np.ndarray)]
    heads = [leaf(("head", k), o.shape, o.dtype) for k, o in enumerate(outputs)]
    tracked = [(o, h) for o, h in zip(outputs, heads, strict=True) if o.tracked and sample.gradient]
    given = [n for n in nodes if n is not None]
    draw = np.random.default_rng(6)
    values = [draw.uniform(-1, 1, (2, *o.shape)) for o in outputs]
    for mapped in {tuple(arrays), *[(k,) for k in arrays]}:
        own = [(k, n) for k, n in enumerate(nodes) if n is not None and k in mapped]
        batches: dict[Node, Node] = {n: leaf(("batch", k), (2, *n.shape), n.dtype, n.tracked) for k, n in own}
        wrt = [n for _, n in own if n.tracked]
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")  # that an operator without a rule runs in a loop
            found = Batch(2).of(outputs, batches)
        wide = {h: leaf(("heads", k), (2, *h.shape), h.dtype) for k, h in enumerate(heads)}
        pairs = [(f, wide[h]) for f, o, h in zip(found, outputs, heads, strict=True) if (o, h) in tracked and f.tracked]
        grads = gradient([f for f, _ in pairs], [h for _, h in pairs], [batches[w] for w in wrt]) if pairs else []
        each = gradient([o for o, _ in tracked], [h for _, h in tracked], wrt) if pairs else []
        one = Program([*outputs, *each], [*given, *heads], HOST)
        all_of = Program([*found, *grads], [*[batches.get(n, n) for n in given], *wide.values()], HOST)
        runs = []
        for example, projected in zip(examples, zip(*values, strict=True), strict=True):
            operands = [a if k in mapped else shared for k, (a, shared) in enumerate(zip(example, examples[0], strict=True))]
            runs.append(one.run([*[a for a in operands if a is not None], *projected]))
        operands = [np.stack(both) if k in mapped else both[0] for k, both in enumerate(zip(*examples, strict=True))]
        got = all_of.run([*[a for a in operands if a is not None], *values])
        for a, b in zip(got, zip(*runs, strict=True), strict=True):
            assert a.shape == (2, *b[0].shape), f"{op.title}: {a.shape} for two of {b[0].shape}"
            np.testing.assert_allclose(np.asarray(a, np.float64), np.stack(b).astype(np.float64), rtol=1e-9 * sample.tolerance, atol=1e-9)


def check_recorded_gradient(op: Op, sample: Sample) -> None:
    """Backward over the tape gives bitwise equal gradients in naive, inline and deferred execution."""
    arrays, bound_op = make_operands(op, sample), sig_of(op, sample)

    def run() -> list[np.ndarray]:
        results, cells = eager(bound_op, arrays, record=True)
        heads = [r for r in results if isinstance(r._content, Value) and is_differentiated(r._content)]
        if not heads:
            return []
        backward(heads, None)
        return [host_of(c.grad).copy() for c in cells if isinstance(c, NDArray) and is_float(c._dtype)]

    naive = in_mode("naive", HUGE, run)
    for name, defer in (("inline", HUGE), ("deferred", 1)):
        for a, b in zip(naive, in_mode("window", defer, run), strict=True):
            equal(a, b, f"{op.title} backward {name}")


def check_dtypes(op: Op, sample: Sample) -> None:
    """Narrower floats give the same values within their precision."""
    want = _run(op, sample, "float64")
    for dtype in [d for d in op.floats if is_float(d) and d != "float64"]:
        got = _run(op, sample, dtype)
        for a, b in zip(got, want, strict=True):
            if a.size and np.isfinite(b.astype(np.float64)).all() and not op.random:
                # relative to the largest element: small ones may be differences of large ones
                scale = max(1.0, float(np.abs(b.astype(np.float64)).max()))
                tolerance = max(PRECISION[dtype], PRECISION.get(NAME_OF[a.dtype], 0))
                error = np.abs(a.astype(np.float64) - b.astype(np.float64)).max()
                assert error <= tolerance * sample.tolerance * scale * 4, f"{op.title} {dtype}: error {error}"


def _run(op: Op, sample: Sample, dtype: str) -> list[np.ndarray]:
    # inputs are rounded to a dtype that every width can represent, so that only the computation differs
    rounded = [a.astype(NUMPY["bfloat16"]).astype(a.dtype) if _is_free(a, dtype) else a for a in make_operands(op, sample, dtype)]
    results, _ = eager(sig_of(op, sample), rounded)
    return [host_of(r) for r in results]


def _is_free(a: object, dtype: str) -> bool:
    return isinstance(a, np.ndarray) and a.dtype == NUMPY[dtype]


def check_parameters(op: Op, sample: Sample) -> None:
    """Every structural parameter prints to MXNet's text and parses back to itself."""
    for name, value in sig_of(op, sample).params.items():
        kind = op.params[name].kind
        if kind.name != "a hashable value":
            assert kind.parse(text(value)) == value or value is None, f"{op.title}: {name}={value!r} prints as {text(value)!r}"


def check_symbol(op: Op, sample: Sample) -> None:
    """A symbol gives the results of the imperative call, before and after JSON."""
    arrays, names = make_operands(op, sample), [i.name for i in op.inputs]
    if not op.names or op.variadic or op.random or op.dynamic_shape:
        return
    given = {n: a for n, a in zip(names, arrays, strict=False) if a is not None}
    attrs = {k: v for k, v in sample.params.items() if k not in op.training}
    symbol = apply_symbol(op, op.title.lower(), [variable(n) if n in given else None for n in names], attrs, "s")
    if set(symbol.list_inputs()) != set(given):
        return  # MXNet's convention makes variables for inputs that the sample omits
    want = [host_of(r) for r in eager(sig_of(op, sample, training=False), arrays)[0]]
    states = symbol.list_auxiliary_states()
    for form in (symbol, load_json(symbol.tojson(remove_amp_cast=False))):
        args = {n: from_host(NDArray, a, CPU) for n, a in given.items() if n not in states}
        bound = form.bind(CPU, args, aux_states={n: from_host(NDArray, given[n], CPU) for n in states})
        for a, b in zip(bound.forward(), want, strict=False):
            assert (a.shape, a.asnumpy().dtype) == (b.shape, b.dtype), f"{op.title} symbol: {a.shape} {a.dtype}"
            np.testing.assert_allclose(a.asnumpy(), b, rtol=1e-5, atol=1e-6, err_msg=f"{op.title} symbol")


def check_backend(op: Op, sample: Sample, backend: Backend, tolerance: float = 1e-5) -> None:
    """Another backend gives NumPy's results."""
    arrays = make_operands(op, sample)
    node = apply(sig_of(op, sample), tuple(leaves_for(arrays)))
    leaves = [n for n in leaves_for(arrays) if n is not None]
    given = [a for a in arrays if a is not None]
    want = Program(list(node.parts), leaves, HOST).run(given)
    device = interned(backend.target.kind)
    there = [backend.from_host(a, device) if isinstance(a, np.ndarray) else a for a in given]
    got = Program(list(node.parts), leaves, backend).run(there)
    for a, b in zip(got, want, strict=True):
        np.testing.assert_allclose(np.asarray(backend.to_host(a), np.float64), np.asarray(b, np.float64), rtol=tolerance, atol=tolerance)


CHECKS: dict[str, Callable[[Op, Sample], None]] = {
    "types": check_types,
    "rule on arrays": check_rule_on_arrays,
    "modes": check_modes,
    "gradient": check_gradient,
    "second gradient": check_second_gradient,
    "tangent": check_tangent,
    "batch": check_batch,
    "recorded gradient": check_recorded_gradient,
    "dtypes": check_dtypes,
    "parameters": check_parameters,
    "symbol": check_symbol,
}
