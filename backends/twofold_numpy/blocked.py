"""Fused kernels: generated straight-line ufunc calls over cache-sized blocks, with scratch per thread, over the cores."""

import threading
from collections import OrderedDict
from collections.abc import Callable
from typing import Any

import numpy as np

from twofold.backend.iteration import collapse
from twofold.backend.kernel import ArrayType, KernelStep, OperandType, Ref, RowProgram
from twofold.dtype import NUMPY

from .calls import call_for
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
    """Source of one kernel: ``kernel(inputs…, outputs…, lo, hi, scratch)`` over rows lo to hi of the collapsed space.

    A row is an element of the first axis; with reductions, the last axis is that of the program, and the scratch of their results
    (named in ``row_scratch``) has one element for it.
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
        self.body: list[str] = []

    def bind(self, name: str, value: Any) -> str:
        full = f"{name}_{len(self.env)}"
        self.env[full] = value
        return full

    @property
    def is_small(self) -> bool:
        """Whether the whole space is computed at once."""
        return self.space[0] * self.row <= min(SMALL, BLOCK)

    def source(self) -> str:
        self._steps()
        return self._whole() if self.is_small else self._in_blocks()

    def _whole(self) -> str:
        """``kernel(inputs…, outputs…)`` over arrays as they are."""
        operands = [f"i{k}" for k in range(len(self.program.inputs))] + [f"o{k}" for k in range(len(self.program.outputs))]
        lines = [f"def kernel({', '.join(operands)}):"]
        if self.scratch:
            names = "".join(f"t{k}, " for k in range(len(self.scratch)))
            lines += [" try:", "  S = pool.pop()", " except IndexError:", "  S = fresh()", f" {names}= S"]
        lines += [f" {line}" for line in [*self.fills, *self.body]]
        return "\n".join([*lines, *([" pool.append(S)"] if self.scratch else []), ""])

    def _in_blocks(self) -> str:
        inputs = [f"I{k}" for k in range(len(self.program.inputs))]
        outputs = [f"O{k}" for k in range(len(self.program.outputs))]
        lines = [f"def kernel({', '.join(inputs + outputs)}, lo, hi, S):"]
        lines += [f" t{k} = S[{k}]" for k in range(len(self.scratch))]
        lines += [f" {fill}" for fill in self.fills]
        lines += [f" for s in range(lo, hi, {self.step}):", f"  e = s + {self.step}", "  if e > hi:", "   e = hi"]
        lines += [f"   t{k} = t{k}[:e - s]" for k in range(len(self.scratch))]
        for k, shape in enumerate(self.shapes):
            lines.append(f"  i{k} = I{k}[s:e]" if shape[:1] == self.space[:1] != (1,) else f"  i{k} = I{k}")
        lines += [f"  o{k} = O{k}[s:e]" for k in range(len(self.program.outputs))]
        return "\n".join(lines + ["  " + b for b in self.body])

    def _steps(self) -> None:
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
            self.body += self._text(step, name, name[t]).split("; ")
            free += [held[d] for d in dying if held[d] != held.get(t)]

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

    def _text(self, step: KernelStep, name: dict[int, str], out: str) -> str:
        args = []
        for ref in step.args:
            if step.op in FILLED and not step.row and self._is_scalar(ref):
                args.append(self._filled(ref, step.operand_dtype))
            elif ref.kind == "in":
                args.append(f"i{ref.value}")
            elif ref.kind == "step":
                args.append(name[ref.value])
            else:
                args.append(self.bind("c", np.array(ref.value, NUMPY[step.operand_dtype])))
        return self._call(step, args, out)

    def _is_scalar(self, ref: Ref) -> bool:
        return ref.kind == "const" or (ref.kind == "in" and not self.shapes[ref.value])

    def _filled(self, ref: Ref, dtype: str) -> str:
        """Scratch full of one number, filled at the kernel's begin."""
        name = f"t{len(self.scratch)}"
        self.scratch.append(dtype)
        self.fills.append(
            f"{name}[...] = {self.bind('c', np.array(ref.value, NUMPY[dtype])) if ref.kind == 'const' else self._whole_input(ref.value)}"
        )
        return name

    def _whole_input(self, k: int) -> str:
        """The name of an input before it is cut into blocks."""
        return f"{'i' if self.is_small else 'I'}{k}"

    def _call(self, step: KernelStep, args: list[str], out: str) -> str:
        if step.op in REDUCED:
            return f"{self.bind('reduce', REDUCED[step.op])}({args[0]}, {out})"
        kind = ArrayType((), step.dtype)
        operands = [OperandType((), step.operand_dtype)] * len(args)
        call = call_for(step.op, dict(step.params), operands, kind)
        if call is None:
            run = self.bind("f", getattr(NumpyNamespace, step.op))
            keywords = "".join(f", {k}={v!r}" for k, v in step.params)
            return f"{out}[...] = {run}({', '.join(args)}{keywords})"
        text = call.text
        for key, value in call.names.items():
            text = text.replace(f"{key}(", f"{self.bind(key, value)}(") if callable(value) else text
        return text.format(*args, out=out)


def compile_kernel(program: RowProgram) -> Callable[..., None]:
    """A kernel over whole arrays: called with the inputs and then the outputs' memory, all of the program's shapes."""
    printer = _Printer(program)
    env = printer.env
    exec(printer.source(), env)
    kernel, space = env.pop("kernel"), printer.space
    if printer.is_small:
        return _at_once(kernel, printer)
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


def _at_once(kernel: Callable[..., None], printer: _Printer) -> Callable[..., None]:
    """The kernel of a small space, with scratch of the program's shape that calls take turns with."""
    shape = printer.program.shape
    row = (*shape[:-1], 1)
    kinds = [(NUMPY[kind], row if k in printer.row_scratch else shape) for k, kind in enumerate(printer.scratch)]
    printer.env |= {"pool": [], "fresh": lambda: [np.empty(own, kind) for kind, own in kinds]}
    return kernel


def _run(kernel: Callable[..., None], arrays: list[np.ndarray], lo: int, hi: int, kinds: Scratch) -> None:
    """Run a part with scratch that it checks out: a signal handler may run another kernel in the middle of this one.

    Each thread keeps its own, so that the halves of a kernel do not take each other's.
    """
    waiting = _local.__dict__.setdefault("waiting", OrderedDict())
    blocks = waiting.pop(kinds, None) or [np.empty(shape, NUMPY[kind]) for kind, shape in kinds]
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
