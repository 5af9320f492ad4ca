"""Fused kernels as generated straight-line ufunc calls over cache-sized blocks, with scratch memory per thread, on up to two threads."""

import math
import threading
from collections import OrderedDict
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Any

import numpy as np

from twofold.backend import workers
from twofold.backend.kernel import ArrayType, KernelStep, OperandType, Ref, RowProgram, code_of, function_of
from twofold.backend.strides import collapse
from twofold.backend.workers import run_all
from twofold.dtype import NUMPY

from .calls import call_for
from .memory import aligned
from .namespace import BLOCK, NumpyNamespace, tree_sum

#: Nanoseconds of work from which a second thread pays: waking it takes about 50,000, and it competes for the GIL.
THREADED = 300_000
#: Estimated nanoseconds per element of a simple step and of any other, in cache.
SIMPLE, OTHER = 0.08, 0.3
#: Reductions over the last axis, which is kept with size 1.
REDUCED: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "sum": lambda a, out: tree_sum(a, -1, True, out),
    "max": lambda a, out: np.maximum.reduce(a, -1, out=out, keepdims=True),
    "min": lambda a, out: np.minimum.reduce(a, -1, out=out, keepdims=True),
}
#: Dtypes and shapes of a kernel's scratch. Each thread keeps the scratch of MAX_KERNELS kernels, of at most MAX_BYTES each.
Scratch = tuple[tuple[str, tuple[int, ...]], ...]
MAX_KERNELS, MAX_BYTES = 16, 4 << 20
#: Elements up to which a kernel runs unblocked, in separate scratch.
SMALL = 4096
#: Ufuncs that are four times as slow for an array and a scalar as for two arrays: their scalars are expanded into scratch first.
SLOW_WITH_SCALAR = frozenset({"maximum", "minimum"})
_local = threading.local()


class _Printer:
    """Prints one kernel over the collapsed space: a call per step, which writes into the step's memory.

    Blocks are cut along the first axis of ``space``. With reductions the last axis is the program's, and scratch of their results
    (``row_scratch``) has size 1 there. ``I0`` … and ``O0`` … are whole inputs and outputs, ``i0`` … and ``o0`` … their parts in a block,
    ``t0`` … scratch, ``c…`` constants and ``f…`` functions.
    """

    def __init__(self, program: RowProgram, space: Sequence[int], shapes: Sequence[Sequence[int]]) -> None:
        self.program, self.space = program, tuple(space)
        self.shapes = [() if set(own) == {1} else own for own in shapes]  # without axes a ufunc needs no iterator for numbers
        self.row = 1
        for n in self.space[1:]:
            self.row *= n
        self.step = max(1, BLOCK // max(1, self.row))
        self.env: dict[str, Any] = {}
        self.scratch: list[str] = []
        self.row_scratch: set[int] = set()
        self.fills: list[str] = []
        self.calls: list[str] = []
        self._print()

    @property
    def is_small(self) -> bool:
        """Whether the space is processed as one block."""
        return self.space[0] * self.row <= min(SMALL, BLOCK)

    def unblocked(self) -> Callable[..., None]:
        """``kernel(inputs…, outputs…)`` over arrays of the program's shapes; overlapping calls pop scratch from a free list."""
        shape = self.program.shape
        row = (*shape[:-1], 1)
        kinds = [(NUMPY[kind], row if k in self.row_scratch else shape) for k, kind in enumerate(self.scratch)]
        operands = [f"I{k}" for k in range(len(self.program.inputs))] + [f"o{k}" for k in range(len(self.program.outputs))]
        lines = [f"def kernel({', '.join(operands)}):"]
        if self.scratch:
            self.env |= {"pool": [], "fresh": lambda: [np.empty(own, kind) for kind, own in kinds]}
            lines += [" try:", "  S = pool.pop()", " except IndexError:", "  S = fresh()", f" {self._all_scratch()}= S"]
        lines += [f" {line}" for line in [*self.fills, *self.calls]]
        return self._compile([*lines, *([" pool.append(S)"] if self.scratch else [])])

    def blocked(self) -> Callable[..., None]:
        """``kernel(inputs…, outputs…, lo, hi, scratch)`` over rows lo to hi of the first axis, block by block."""
        inputs, outputs = range(len(self.program.inputs)), range(len(self.program.outputs))
        lines = [f"def kernel({', '.join([*[f'I{k}' for k in inputs], *[f'O{k}' for k in outputs]])}, lo, hi, S):"]
        if self.scratch:
            lines.append(f" {self._all_scratch()}= S")
        lines += [f" {fill}" for fill in self.fills]
        lines += [f" for s in range(lo, hi, {self.step}):", f"  e = s + {self.step}"]
        if self.scratch:
            # only the last block can be shorter
            lines += ["  if e > hi:", *[f"   t{k} = t{k}[:hi - s]" for k in range(len(self.scratch))]]
        lines += [f"  i{k} = I{k}[s:e]" for k in inputs if self._is_cut(k)] + [f"  o{k} = O{k}[s:e]" for k in outputs]
        return self._compile([*lines, *[f"  {call}" for call in self.calls]])

    def _compile(self, lines: list[str]) -> Callable[..., None]:
        return function_of(code_of("\n".join(lines), "<twofold kernel>"), self.env, "kernel")

    def _all_scratch(self) -> str:
        return "".join(f"t{k}, " for k in range(len(self.scratch)))

    def _is_cut(self, k: int) -> bool:
        """Whether an input is sliced by blocks."""
        return not self.is_small and self.shapes[k][:1] == self.space[:1] != (1,)

    def _print(self) -> None:
        program = self.program
        # the step that reads each result last: its scratch is free from then on
        last: dict[int, int] = {}
        for t, step in enumerate(program.steps):
            for ref in step.args:
                if ref.kind == "step":
                    last[ref.value] = t
        name: dict[int, str] = {}
        free: list[int] = []
        held: dict[int, int] = {}
        for t, step in enumerate(program.steps):
            dying = [r.value for r in step.args if r.kind == "step" and last[r.value] == t and r.value in held]
            dying = list(dict.fromkeys(dying))
            if t in program.outputs:
                name[t] = f"o{program.outputs.index(t)}"
            else:
                held[t] = self._scratch_for(step, dying, held, free)
                name[t] = f"t{held[t]}"
            operands = [self._operand(step, ref, name) for ref in step.args]
            self.calls.append(self._call(step, operands, name[t]))
            # after the step's scratch is chosen: its result must not get the scratch of its operands, except in place
            free += [held[d] for d in dying if held[d] != held.get(t)]

    def _call(self, step: KernelStep, operands: list[str], out: str) -> str:
        text, function = _step_template(step.op, step.params, len(operands), step.operand_dtype, step.dtype)
        return text.format(*operands, f=self._bind("f", function), out=out)

    def _scratch_for(self, step: KernelStep, dying: list[int], held: dict[int, int], free: list[int]) -> int:
        """The scratch of a step: a dying operand's, in place, if types agree (not for ``where``, which writes twice), else free or new."""
        if step.op != "where":
            for d in dying:
                if self._fits(held[d], step):
                    return held[d]
        for k in free:
            if self._fits(k, step):
                free.remove(k)
                return k
        self.scratch.append(step.dtype)
        if step.row:
            self.row_scratch.add(len(self.scratch) - 1)
        return len(self.scratch) - 1

    def _fits(self, k: int, step: KernelStep) -> bool:
        return self.scratch[k] == step.dtype and (k in self.row_scratch) == step.row

    def _bind(self, letter: str, value: Any) -> str:
        name = f"{letter}{len(self.env)}"
        self.env[name] = value
        return name

    def _operand(self, step: KernelStep, ref: Ref, name: dict[int, str]) -> str:
        if ref.kind == "step":
            return name[ref.value]
        if ref.kind == "in":
            found, is_number = f"{'i' if self._is_cut(ref.value) else 'I'}{ref.value}", not self.shapes[ref.value]
        else:
            found, is_number = self._bind("c", np.array(ref.value, NUMPY[step.operand_dtype])), True
        # a reduced row is one number per row, so scalars need not be expanded
        if not is_number or step.op not in SLOW_WITH_SCALAR or step.row:
            return found
        full = f"t{len(self.scratch)}"
        self.scratch.append(step.operand_dtype)
        self.fills.append(f"{full}[...] = {found}")
        return full


@lru_cache(256)
def _step_template(op: str, params: tuple[tuple[str, Any], ...], count: int, operand_dtype: str, dtype: str) -> tuple[str, Any]:
    """The source of a step, with ``{0}``, ``{1}`` … for operands, ``{out}`` for its memory and ``{f}`` for a function; and the function."""
    if op in REDUCED:
        return "{f}({0}, {out})", REDUCED[op]
    call = call_for(op, dict(params), [OperandType((), operand_dtype)] * count, ArrayType((), dtype))
    if call is None:
        operands = ", ".join([*[f"{{{k}}}" for k in range(count)], *[f"{k}={v!r}" for k, v in params]])
        return f"{{out}}[...] = {{f}}({operands})", getattr(NumpyNamespace(), op)
    if not call.names:  # a cast calls nothing
        return call.text, None
    ((name, function),) = call.names.items()
    return call.text.replace(f"{{{name}}}", "{f}"), function


def compile_kernel(program: RowProgram) -> Callable[..., None]:
    """Compile a program; the kernel is called with the inputs and then the outputs' memory, all of the program's shapes."""
    printer = _Printer(program, *collapsed_space(program))
    if printer.is_small:
        return printer.unblocked()
    flat, apart = _in_blocks(printer), None

    def run(*arrays: np.ndarray) -> None:
        nonlocal apart
        kernel = flat
        for a in arrays:
            if not a.flags.c_contiguous:  # its axes cannot be merged without a copy
                kernel = apart = apart or _in_planes(program, *_whole_space(program))
                break
        kernel(*arrays)

    return run


def _in_planes(program: RowProgram, space: tuple[int, ...], shapes: Sequence[tuple[int, ...]]) -> Callable[..., None]:
    """A kernel over a space whose axes cannot be merged: plane by plane, as long as a step along the first axis is more than a block."""
    if len(space) <= (2 if program.has_rows else 1) or math.prod(space[1:]) <= BLOCK:
        return _in_blocks(_Printer(program, space, shapes))
    plane = _in_planes(program, space[1:], [s[1:] for s in shapes])
    whole = [*shapes, *[(*space[:-1], 1) if program.steps[k].row else space for k in program.outputs]]

    def run(*arrays: np.ndarray) -> None:
        given = [a.reshape(s) for a, s in zip(arrays, whole, strict=True)]
        for k in range(space[0]):
            plane(*[a[k if len(a) > 1 else 0] for a in given])

    return run


def _in_blocks(printer: _Printer) -> Callable[..., None]:
    """A kernel over the printer's space, on up to two threads."""
    program, kernel, space = printer.program, printer.blocked(), printer.space
    row = (*space[:-1], 1)
    shapes = [*printer.shapes, *[row if program.steps[k].row else space for k in program.outputs]]
    step, rows, small = printer.step, space[0], program.nanoseconds(SIMPLE, OTHER) < THREADED
    whole, part = (step, *space[1:]), (step, *row[1:])
    scratch = tuple((kind, part if k in printer.row_scratch else whole) for k, kind in enumerate(printer.scratch))
    is_kept = sum(math.prod(shape) * NUMPY[kind].itemsize for kind, shape in scratch) <= MAX_BYTES

    def run(*arrays: np.ndarray) -> None:
        given = list(map(np.ndarray.reshape, arrays, shapes))
        if small or workers.count() == 1 or rows <= step:
            _run(kernel, given, 0, rows, scratch, is_kept)
            return
        half = -(-rows // step) // 2 * step  # at a block's begin: reductions inside of blocks keep their bits
        run_all([lambda: _run(kernel, given, 0, half, scratch, is_kept), lambda: _run(kernel, given, half, rows, scratch, is_kept)])

    return run


def _run(kernel: Callable[..., None], arrays: list[np.ndarray], lo: int, hi: int, kinds: Scratch, is_kept: bool) -> None:
    """Run a part of a kernel with scratch checked out from this thread's table.

    It is checked out, not shared, as a signal handler may run the same kernel in the middle of this call; and per thread, so that the two
    halves of a kernel never wait for each other.
    """
    waiting = _local.__dict__.setdefault("waiting", OrderedDict())
    blocks = waiting.pop(kinds, None) or [aligned(shape, NUMPY[kind]) for kind, shape in kinds]
    kernel(*arrays, lo, hi, blocks)
    if is_kept:
        waiting[kinds] = blocks
        if len(waiting) > MAX_KERNELS:
            waiting.popitem(last=False)


def _whole_space(program: RowProgram) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The space and the inputs' shapes with all axes but leading ones of size 1; with reductions there is one before the reduced one."""
    least = 2 if program.has_rows else 1
    shape = (1,) * (least - len(program.shape)) + program.shape
    full = [(1,) * (len(shape) - len(i.shape)) + tuple(i.shape) for i in program.inputs]
    first = next((k for k, n in enumerate(shape) if n != 1 or k == len(shape) - least), 0)
    return shape[first:], [s[first:] for s in full]


def collapsed_space(program: RowProgram) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The space and the inputs' shapes with as few axes as possible; the last axis is kept apart if it is reduced."""
    if not program.has_rows:
        return collapse(program.shape, [i.shape for i in program.inputs])
    shape, full = _whole_space(program)
    space, operands = collapse(shape[:-1], [s[:-1] for s in full])
    return (*space, shape[-1]), [(*s, f[-1]) for s, f in zip(operands, full, strict=True)]
