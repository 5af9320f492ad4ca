"""Conformance checks of the backend protocol, which any adapter's tests can run; they do not need pytest.

``check_primitive(backend, name)`` compares one primitive with NumPy in every form in which programs use it. Each function of
`BEHAVIOURS` checks one guarantee of the protocol. All raise AssertionError naming the failed case. ::

    @pytest.mark.parametrize("name", conformance.names())
    def test_primitive(name):
        conformance.check_primitive(MyBackend(), name)
"""

import math
from collections.abc import Callable, Sequence
from contextlib import nullcontext
from typing import Any

import numpy as np

from ..backend.kernel import ArrayType, Call, KernelStep, OperandType, Ref, RowProgram
from ..backend.protocol import Backend
from ..device import Device, interned
from ..dtype import NAME_OF, NUMPY, is_float, promote
from ..opdef import primitives
from ..ops.primitive_arithmetic import astype
from ..program import kernels as _told  # noqa: F401  (tells adapters of the primitives)
from .backend_cases import REAL, Case, cases, numbers

#: Relative error allowed to a result, per dtype: a few units in the last place.
TOLERANCE = {"float16": 4e-3, "bfloat16": 3e-2, "float32": 2e-6, "float64": 1e-14, "complex64": 2e-6, "complex128": 1e-14}


def names() -> list[str]:
    """The primitives that every adapter has, by its own implementation or by default."""
    return [name for name, op in primitives().items() if not op.execution.run_by_program]


def check_primitive(backend: Backend, name: str, dtypes: Sequence[str] = REAL) -> None:
    """Compare a primitive with NumPy: as a function of ``xp``, as a call in a program and, if element-wise, as a kernel.

    Parameters
    ----------
    backend
        The adapter.
    name
        The primitive.
    dtypes
        Real dtypes that the adapter's library supports. It must support bool, int64, uint64 and complex numbers.

    Raises
    ------
    AssertionError
        If values, dtype or shape of a result differ from NumPy's.
    """
    found = cases(name, dtypes)
    assert found, f"{name}: no case has these dtypes: {', '.join(dtypes)}"
    for case in found:
        expect(backend, f"xp.{case}", by_namespace(backend, case), case.want)
        if case.is_weak:
            continue
        expect(backend, f"call of {case}", by_call(backend, case), case.want)
        if primitives()[name].elementwise:
            expect(backend, f"kernel of {case}", by_kernel(backend, case), case.want)


def expect(backend: Backend, what: str, got: object, want: np.ndarray) -> None:
    """Compare an array of the adapter with a NumPy array: type, then values within `TOLERANCE`.

    Raises
    ------
    AssertionError
        If they differ.
    """
    kind, wanted = backend.type_of(got), ArrayType(want.shape, NAME_OF[want.dtype])
    assert kind == wanted, f"{what}: the result is {kind.dtype}{list(kind.shape)}, should be {wanted.dtype}{list(wanted.shape)}"
    value = backend.to_host(got)
    if wanted.dtype in TOLERANCE:
        rtol, wide = TOLERANCE[wanted.dtype], np.float64 if is_float(wanted.dtype) else np.complex128
        np.testing.assert_allclose(value.astype(wide), want.astype(wide), rtol, rtol / 10, equal_nan=True, err_msg=what)
    else:
        np.testing.assert_array_equal(value, want, err_msg=what)


def device_of(backend: Backend) -> Device:
    """The adapter's first device."""
    return interned(backend.target.kind)


def _operands(backend: Backend, case: Case) -> list[Any]:
    return [backend.from_host(a, device_of(backend)) if isinstance(a, np.ndarray) else a for a in case.operands]


def by_namespace(backend: Backend, case: Case) -> Any:
    """The result of a case, computed by a function of ``xp``."""
    operands = _operands(backend, case)
    found = backend.quietly(lambda: getattr(backend.xp, case.op)(*operands, **case.params))
    return backend.as_array(found if case.place is None else found[case.place])


def host_type(array: np.ndarray) -> ArrayType:
    """The type of a NumPy array."""
    return ArrayType(array.shape, NAME_OF[array.dtype])


def by_call(backend: Backend, case: Case) -> Any:
    """The result of a case, computed by the adapter's generated source, which may write to preallocated memory."""
    result = host_type(case.want) if case.place is None else ArrayType((), "several")
    call = backend.call(case.op, full_params(case), [OperandType(*host_type(a)) for a in case.operands], result)
    operands = _operands(backend, case)
    if case.place is not None:
        return backend.as_array(backend.quietly(lambda: _run(call, operands, None)[case.place]))
    if not call.into:
        return backend.as_array(backend.quietly(lambda: _run(call, operands, None)))
    out = backend.empty(case.want.shape, NAME_OF[case.want.dtype])
    backend.quietly(lambda: _run(call, operands, out))
    return out


def full_params(case: Case) -> dict[str, Any]:
    """A case's parameters completed by defaults, as programs pass them."""
    declared = primitives()[case.op].params
    return {name: case.params.get(name, param.default) for name, param in declared.items()}


def _run(call: Call, operands: Sequence[Any], out: Any) -> Any:
    letters = [f"operand_{k}" for k in range(len(operands))]
    env = dict(call.names) | dict(zip(letters, operands, strict=True)) | {"the_output": out}
    text = call.text.format(*letters, out="the_output", **{name: name for name in call.names})
    if not call.into:
        return eval(text, env)
    exec("\n".join(text.split("; ")), env)
    return None


def by_kernel(backend: Backend, case: Case) -> Any:
    """The result of an element-wise case, computed by a kernel of this one step."""
    program = one_step(case)
    out = backend.empty(program.shape, NAME_OF[case.want.dtype])
    kernel = backend.compile(program)
    operands = _operands(backend, case)
    backend.quietly(lambda: kernel(*operands, out))
    return out


def one_step(case: Case) -> RowProgram:
    """A kernel of one step on a case's operands."""
    op = primitives()[case.op]
    types = tuple(host_type(a) for a in case.operands)
    dtypes = [t.dtype for t in types]
    operand = dtypes[0] if op.result == "first" else NAME_OF[case.want.dtype] if op.result == "tail" else promote(*dtypes)
    refs = tuple(Ref("in", k) for k in range(len(types)))
    step = KernelStep(op.name, op.ufunc, op.execution.c, refs, NAME_OF[case.want.dtype], operand, tuple(full_params(case).items()))
    return RowProgram(op.name, case.want.shape, types, (step,), (0,))


# behaviors


def values_survive_a_round_trip(backend: Backend, dtypes: Sequence[str] = REAL) -> None:
    """``from_host`` and ``to_host`` preserve values, dtypes and shapes, including 0-d and empty ones."""
    for dtype in dtypes:
        for shape in ((2, 3), (), (0, 2), (1,)):
            array = numbers(shape, dtype)
            expect(backend, f"round trip of {dtype}{list(shape)}", backend.from_host(array, device_of(backend)), array)


def from_host_takes_strided_arrays(backend: Backend, dtypes: Sequence[str] = REAL) -> None:
    """Transposed and reversed sources are copied correctly."""
    array = numbers((3, 4), "float32")
    for strided in (array.T, array[::-1, ::2], np.broadcast_to(array[0], (2, 4))):
        expect(backend, "strided source", backend.from_host(strided, device_of(backend)), strided)


def from_host_makes_a_snapshot(backend: Backend, dtypes: Sequence[str] = REAL) -> None:
    """The source may be overwritten as soon as ``from_host`` returns."""
    source = numbers((4,), "float32")
    before = source.copy()
    array = backend.from_host(source, device_of(backend))
    source[...] = 99
    expect(backend, "snapshot", array, before)


def copies_have_memory_of_their_own(backend: Backend, dtypes: Sequence[str] = REAL) -> None:
    """Writing to an array does not change copies of it or results of ``contiguous``."""
    source = numbers((2, 3), "float32")
    array = backend.from_host(source, device_of(backend))
    copies = [backend.copy(array, device_of(backend)), backend.xp.contiguous(array)]
    backend.write(array, ..., backend.scalar(99.0, "float32"))
    for copy in copies:
        expect(backend, "copy", copy, source)


def write_takes_basic_indices(backend: Backend, dtypes: Sequence[str] = REAL) -> None:
    """``write`` stores through slices, negative steps, integers and the ellipsis, broadcasting the value."""
    keys: tuple[Any, ...] = (..., (slice(None), 1), (slice(None, None, -1), slice(1, None, 2)), (0, 2), slice(0, 0))
    for key in keys:
        want = numbers((3, 4), "float32")
        value = np.arange(want[key].shape[-1] if want[key].ndim else 1, dtype=np.float32)[... if want[key].ndim else 0]
        array = backend.from_host(want, device_of(backend))
        backend.write(array, key, backend.from_host(np.asarray(value), device_of(backend)))
        want[key] = value
        expect(backend, f"write at {key}", array, want)


def scalars_are_0d_arrays(backend: Backend, dtypes: Sequence[str] = REAL) -> None:
    """``scalar`` returns each dtype's value including the sign of zero; caching must not confuse equal numbers of different types."""
    for dtype in dtypes:
        expect(backend, f"scalar of {dtype}", backend.scalar(1, dtype), np.array(1).astype(NUMPY[dtype]))
    for value in (0.0, -0.0):
        got = backend.to_host(backend.scalar(value, "float32"))
        assert math.copysign(1, got) == math.copysign(1, value), f"scalar({value!r}) has the other sign"


def constants_have_one_value(backend: Backend, dtypes: Sequence[str] = REAL) -> None:
    """``constant`` fills a whole shape."""
    for dtype in dtypes:
        want = np.full((2, 3), 1).astype(NUMPY[dtype])
        expect(backend, f"constant of {dtype}", backend.constant(1, (2, 3), dtype), want)


def empty_gives_memory_to_write(backend: Backend, dtypes: Sequence[str] = REAL) -> None:
    """``empty`` and ``allocator`` return a new array each time."""
    for dtype in dtypes:
        new = backend.allocator((2, 3), dtype)
        first, second = new(), new()
        one, two = np.array(1).astype(NUMPY[dtype]), np.array(0).astype(NUMPY[dtype])
        backend.write(first, ..., backend.from_host(one, device_of(backend)))
        backend.write(second, ..., backend.from_host(two, device_of(backend)))
        expect(backend, f"empty of {dtype}", first, np.broadcast_to(one, (2, 3)))


def kernels_fuse(backend: Backend, dtypes: Sequence[str] = REAL) -> None:
    """A kernel with several steps, constants, broadcast inputs and outputs computes the same as its steps one by one."""
    x, row, column = numbers((3, 4), "float32"), numbers((4,), "float32"), numbers((3, 1), "float32")
    one, two = np.float32(1.5), np.float32(2)
    steps = (
        step("multiply", Ref("in", 0), Ref("in", 1)),
        step("add", Ref("step", 0), Ref("const", 1.5)),
        step("greater", Ref("step", 1), Ref("in", 2), dtype="bool"),
        step("where", Ref("step", 2), Ref("step", 1), Ref("in", 0)),
        step("subtract", Ref("const", 2), Ref("step", 3)),
    )
    types = tuple(host_type(a) for a in (x, row, column))
    program = RowProgram("multiply_add_greater_where", (3, 4), types, steps, (4, 1, 2))
    sums = x * row + one
    wants = (two - np.where(sums > column, sums, x), sums, sums > column)
    outs = [backend.empty((3, 4), d) for d in ("float32", "float32", "bool")]
    kernel = backend.compile(program)
    operands = [backend.from_host(a, device_of(backend)) for a in (x, row, column)]
    for _ in range(2):  # a kernel runs more than once
        backend.quietly(lambda: kernel(*operands, *outs))
    for got, want in zip(outs, wants, strict=True):
        expect(backend, "fused kernel", got, want)


def step(op: str, *args: Ref, dtype: str = "float32", operand_dtype: str = "float32", **params: object) -> KernelStep:
    """Shorthand for a step of a primitive."""
    declared = primitives()[op]
    return KernelStep(op, declared.ufunc, declared.execution.c, args, dtype, operand_dtype, tuple(params.items()))


def kernels_may_write_over_an_input(backend: Backend, dtypes: Sequence[str] = REAL) -> None:
    """An output may overwrite an input."""
    x = numbers((2, 5), "float32")
    array = backend.from_host(x, device_of(backend))
    steps = (step("square", Ref("in", 0)), step("add", Ref("step", 0), Ref("in", 0)))
    program = RowProgram("square_add", x.shape, (host_type(x),), steps, (1,), ((0, 0),))
    kernel = backend.compile(program)
    backend.quietly(lambda: kernel(array, array))
    expect(backend, "kernel in place", array, x * x + x)


def kernels_keep_each_steps_dtype(backend: Backend, dtypes: Sequence[str] = REAL) -> None:
    """Integer overflow, division and casts inside a kernel follow the dtypes of its steps."""
    x = np.array([100, -100, 7, 0], np.int8)
    steps = (
        step("add", Ref("in", 0), Ref("in", 0), dtype="int8", operand_dtype="int8"),
        step("divide", Ref("step", 0), Ref("const", 4), dtype="float64", operand_dtype="int64"),
        KernelStep(astype.name, None, astype.execution.c, (Ref("step", 1),), "float32", "float64", (("dtype", "float32"),)),
    )
    program = RowProgram("add_divide_astype", (4,), (host_type(x),), steps, (0, 2))
    outs = [backend.empty((4,), "int8"), backend.empty((4,), "float32")]
    kernel, operand = backend.compile(program), backend.from_host(x, device_of(backend))
    backend.quietly(lambda: kernel(operand, *outs))
    expect(backend, "int8 sum", outs[0], x + x)
    expect(backend, "its quotient", outs[1], ((x + x) / 4).astype(np.float32))


def streams_keep_marks(backend: Backend, dtypes: Sequence[str] = REAL) -> None:
    """A copy to the device, a kernel and a copy back work in separate streams that wait for each other's events.

    Streams are context managers: operations issued in their block join them. None means an adapter that runs synchronously.
    """
    device = device_of(backend)
    h2d, compute, d2h = (backend.stream(device, purpose) for purpose in ("h2d", "compute", "d2h"))
    x = numbers((2, 3), "float32")
    kernel = backend.compile(RowProgram("square", x.shape, (host_type(x),), (step("square", Ref("in", 0)),), (0,)))
    with h2d or nullcontext():
        array = backend.from_host(x, device)
    backend.wait(compute, backend.record(h2d))
    with compute or nullcontext():
        out = backend.empty(x.shape, "float32")
        kernel(array, out)
    backend.wait(d2h, backend.record(compute))
    with d2h or nullcontext():
        np.testing.assert_array_equal(backend.to_host(out), x * x, err_msg="streams that wait for one another")
    backend.synchronize(device)


def dlpack_goes_both_ways(backend: Backend, dtypes: Sequence[str] = REAL) -> None:
    """``from_dlpack`` shares or copies a producer's memory; ``to_dlpack`` returns a capsule."""
    source = numbers((2, 3), "float32")
    array = backend.from_dlpack(source)
    expect(backend, "from_dlpack", array, source)
    assert "dltensor" in repr(backend.to_dlpack(array)), "to_dlpack: not a DLPack capsule"


def devices_are_there(backend: Backend, dtypes: Sequence[str] = REAL) -> None:
    """There is a device, it reports its memory, and unused memory can be released."""
    assert backend.device_count() >= 1
    free, total = backend.memory_info(device_of(backend))
    assert 0 <= free <= total
    backend.trim()


#: Guarantees of the protocol beyond the primitives.
BEHAVIOURS: tuple[Callable[..., None], ...] = (
    values_survive_a_round_trip,
    from_host_takes_strided_arrays,
    from_host_makes_a_snapshot,
    copies_have_memory_of_their_own,
    write_takes_basic_indices,
    scalars_are_0d_arrays,
    constants_have_one_value,
    empty_gives_memory_to_write,
    kernels_fuse,
    kernels_may_write_over_an_input,
    kernels_keep_each_steps_dtype,
    streams_keep_marks,
    dlpack_goes_both_ways,
    devices_are_there,
)
