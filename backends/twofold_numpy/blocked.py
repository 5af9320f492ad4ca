"""Fused kernels: generated straight-line ufunc calls over cache-sized blocks, with scratch per thread, over the cores."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import numpy as np

from twofold.backend.iteration import collapse
from twofold.backend.kernel import ArrayType, KernelStep, OperandType, Ref, RowProgram, code_of
from twofold.dtype import NUMPY

from .calls import call_for
from .memory import aligned
from .namespace import BLOCK, NumpyNamespace, tree_sum
from .workers import THREADS, both

#: Nanoseconds of work from which a second thread pays: waking it takes about 50,000, and it competes for the interpreter's lock.
THREADED = 300_000
#: Nanoseconds of an element of a simple step and of any other in cache.
SIMPLE, OTHER = 0.08, 0.3
#: Reductions over the last axis, into memory that keeps it.
REDUCED: dict[str, Callable[[np.ndarray, np.ndarray], Any]] = {
    "sum": lambda a, out: tree_sum(a, -1, True, out),
    "max": lambda a, out: np.maximum.reduce(a, -1, out=out, keepdims=True),
    "min": lambda a, out: np.minimum.reduce(a, -1, out=out, keepdims=True),
}
#: Dtypes and shapes of a kernel's scratch; each thread keeps that of so many kernels, if it is of at most so many bytes.
Scratch = tuple[tuple[str, tuple[int, ...]], ...]
REMEMBERED, KEPT = 16, 4 << 20
#: Elements up to which a kernel is computed at once, without being cut into blocks, in scratch that it keeps.
SMALL = 4096
#: Functions that NumPy computes four times as slowly of an array and a number as of two arrays.
FILLED = frozenset({"maximum", "minimum"})
_local = threading.local()


class _Printer:
    """Source of one kernel over the collapsed space: a call for each step, which writes into the step's memory.

    A row is an element of the first axis; with reductions, the last axis is that of the program, and the scratch of their results
    (named in ``row_scratch``) has one element for it. ``I0`` … and ``O0`` … are whole inputs and outputs, ``i0`` … and ``o0`` … what a
    block has of them, ``t0`` … scratch, ``c…`` constants and ``f…`` functions.
    """

    def __init__(self, program: RowProgram) -> None:
        self.program = program
        self.space, shapes = collapsed(program)
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
        """Whether the whole space is computed at once."""
        return self.space[0] * self.row <= min(SMALL, BLOCK)

    def whole(self) -> Callable[..., None]:
        """``kernel(inputs…, outputs…)`` over arrays of the program's shapes, in scratch that calls take turns with."""
        shape = self.program.shape
        row = (*shape[:-1], 1)
        kinds = [(NUMPY[kind], row if k in self.row_scratch else shape) for k, kind in enumerate(self.scratch)]
        operands = [f"I{k}" for k in range(len(self.program.inputs))] + [f"o{k}" for k in range(len(self.program.outputs))]
        lines = [f"def kernel({', '.join(operands)}):"]
        if self.scratch:
            self.env |= {"pool": [], "fresh": lambda: [np.empty(own, kind) for kind, own in kinds]}
            lines += [" try:", "  S = pool.pop()", " except IndexError:", "  S = fresh()", f" {self._all_scratch()}= S"]
        lines += [f" {line}" for line in [*self.fills, *self.calls]]
        return self._made([*lines, *([" pool.append(S)"] if self.scratch else [])])

    def in_blocks(self) -> Callable[..., None]:
        """``kernel(inputs…, outputs…, lo, hi, scratch)`` over rows lo to hi, block by block."""
        inputs, outputs = range(len(self.program.inputs)), range(len(self.program.outputs))
        lines = [f"def kernel({', '.join([*[f'I{k}' for k in inputs], *[f'O{k}' for k in outputs]])}, lo, hi, S):"]
        if self.scratch:
            lines.append(f" {self._all_scratch()}= S")
        lines += [f" {fill}" for fill in self.fills]
        lines += [f" for s in range(lo, hi, {self.step}):", f"  e = s + {self.step}"]
        if self.scratch:
            lines += ["  if e > hi:", *[f"   t{k} = t{k}[:hi - s]" for k in range(len(self.scratch))]]
        lines += [f"  i{k} = I{k}[s:e]" for k in inputs if self._is_cut(k)] + [f"  o{k} = O{k}[s:e]" for k in outputs]
        return self._made([*lines, *[f"  {call}" for call in self.calls]])

    def _made(self, lines: list[str]) -> Callable[..., None]:
        exec(code_of("\n".join(lines), "<twofold kernel>"), self.env)
        return self.env.pop("kernel")  # else they would keep each other

    def _all_scratch(self) -> str:
        return "".join(f"t{k}, " for k in range(len(self.scratch)))

    def _is_cut(self, k: int) -> bool:
        """Whether an input is read in blocks."""
        return not self.is_small and self.shapes[k][:1] == self.space[:1] != (1,)

    def _print(self) -> None:
        program = self.program
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
            free += [held[d] for d in dying if held[d] != held.get(t)]

    def _call(self, step: KernelStep, operands: list[str], out: str) -> str:
        text, function = _form(step.op, step.params, len(operands), step.operand_dtype, step.dtype)
        return text.format(*operands, f=self._bind("f", function), out=out)

    def _scratch_for(self, step: KernelStep, dying: list[int], held: dict[int, int], free: list[int]) -> int:
        """Scratch of the result: a dying operand's if types agree (not for ``where``, which writes twice), else a free or new one."""
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
        if not is_number or step.op not in FILLED or step.row:
            return found
        full = f"t{len(self.scratch)}"
        self.scratch.append(step.operand_dtype)
        self.fills.append(f"{full}[...] = {found}")
        return full


@lru_cache(256)
def _form(op: str, params: tuple[tuple[str, Any], ...], count: int, operand_dtype: str, dtype: str) -> tuple[str, Any]:
    """The text of a step, with ``{0}``, ``{1}`` … for operands, ``{out}`` for its memory and ``{f}`` for a function, and that function."""
    if op in REDUCED:
        return "{f}({0}, {out})", REDUCED[op]
    call = call_for(op, dict(params), [OperandType((), operand_dtype)] * count, ArrayType((), dtype))
    if call is None:
        operands = ", ".join([*[f"{{{k}}}" for k in range(count)], *[f"{k}={v!r}" for k, v in params]])
        return f"{{out}}[...] = {{f}}({operands})", getattr(NumpyNamespace(), op)
    if not call.names:  # a cast calls nothing
        return call.text, None
    ((name, function),) = call.names.items()
    return call.text.replace(f"{name}(", "{f}("), function


def compile_kernel(program: RowProgram) -> Callable[..., None]:
    """A kernel over whole arrays: called with the inputs and then the outputs' memory, all of the program's shapes."""
    printer = _Printer(program)
    if printer.is_small:
        return printer.whole()
    kernel, space = printer.in_blocks(), printer.space
    row = (*space[:-1], 1)
    shapes = [*printer.shapes, *[row if program.steps[k].row else space for k in program.outputs]]
    step, rows, small = printer.step, space[0], program.nanoseconds(SIMPLE, OTHER) < THREADED
    whole, part = (step, *space[1:]), (step, *row[1:])
    scratch = tuple((kind, part if k in printer.row_scratch else whole) for k, kind in enumerate(printer.scratch))

    def run(*arrays: np.ndarray) -> None:
        flat = [a.reshape(s) for a, s in zip(arrays, shapes, strict=True)]
        if small or THREADS == 1 or rows <= step:
            _run(kernel, flat, 0, rows, scratch)
            return
        half = -(-rows // step) // 2 * step
        both(
            lambda: _run(kernel, flat, 0, half, scratch),
            lambda: _run(kernel, flat, half, rows, scratch),
        )

    return run


def _run(kernel: Callable[..., None], arrays: list[np.ndarray], lo: int, hi: int, kinds: Scratch) -> None:
    """Run a part with scratch that it checks out: a signal handler may run another kernel in the middle of this one.

    Each thread keeps its own, so that the halves of a kernel do not take each other's.
    """
    waiting = _local.__dict__.setdefault("waiting", OrderedDict())
    blocks = waiting.pop(kinds, None) or [aligned(shape, NUMPY[kind]) for kind, shape in kinds]
    kernel(*arrays, lo, hi, blocks)
    if sum(b.nbytes for b in blocks) <= KEPT:
        waiting[kinds] = blocks
        if len(waiting) > REMEMBERED:
            waiting.popitem(last=False)


def collapsed(program: RowProgram) -> tuple[tuple[int, ...], list[tuple[int, ...]]]:
    """The space and the inputs' shapes with as few axes as possible; an axis that is reduced stays by itself."""
    shapes = [i.shape for i in program.inputs]
    if not program.has_rows:
        return collapse(program.shape, shapes)
    full = [(1,) * (len(program.shape) - len(s)) + tuple(s) for s in shapes]
    space, operands = collapse(program.shape[:-1], [s[:-1] for s in full])
    return (*space, program.shape[-1]), [(*s, f[-1]) for s, f in zip(operands, full, strict=True)]
