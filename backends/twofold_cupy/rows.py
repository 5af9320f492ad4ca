"""Row programs as one kernel: a group of threads shares a row and makes one pass over it for each dependent reduction.

In each pass a thread visits its elements of the row. Values that a later pass needs stay in registers where rows are short, and are
recomputed otherwise.
"""

from collections.abc import Callable, Sequence, Set
from functools import cache
from typing import Any

import numpy as np

from twofold.backend.c_text import C_TYPES, STORED, literal, preamble, read_line, step_line, write_line
from twofold.backend.kernel import ROW_REDUCTIONS, Array, KernelStep, Ref, RowProgram
from twofold.backend.strides import merge_axes

from .kernels import SCALAR, check_dtypes, constants_of, coordinates, name_of, scalar_argument, strides_over, without_shapes
from .launch import THREADS, Kernel, cuda_text, function
from .operands import is_constant
from .reductions import WARP, reduction, threads_of_row

#: Elements of a row per thread, and values of all of them together, up to which values are kept in registers between passes.
MAX_ITEMS, MAX_REGISTERS = 32, 64
#: The column layout of an input whose stride along the row is neither 0 nor 1; the stride is an argument.
STRIDED = "strided"


def row_kernel(program: RowProgram) -> Callable[..., None]:
    """Compile a program with row reductions; called and raising as `elementwise`."""
    check_dtypes(program)
    plans: dict[tuple[Any, ...], tuple[Kernel, tuple[int], tuple[int, int], tuple[Any, ...]]] = {}
    rows = int(np.prod(program.shape[:-1], dtype=np.int64))

    def kernel(*arrays: Array) -> None:
        if rows == 0 or (program.shape[-1] == 0 and not any(program.steps[k].row for k in program.outputs)):
            return
        key = tuple([None if type(a) is np.ndarray else a.strides for a in arrays])
        plan = plans.get(key)
        if plan is None:
            plan = plans[key] = _plan(program, rows, arrays)
        launched, grid, block, integers = plan
        launched(grid, block, (*integers, *[scalar_argument(a) if type(a) is np.ndarray else a for a in arrays]))

    return kernel


def _plan(program: RowProgram, rows: int, arrays: Sequence[Array]) -> tuple[Kernel, tuple[int], tuple[int, int], tuple[Any, ...]]:
    whole = [strides_over(a, program.shape) for a in arrays[: len(program.inputs)]]
    space = merge_axes(program.shape[:-1], [s[:-1] for s in whole])
    right = [0 if is_constant(a) else s[-1] for a, s in zip(arrays, whole, strict=False)]
    columns = tuple(SCALAR if is_constant(a) else _column(s) for a, s in zip(arrays, right, strict=False))
    axes = tuple(tuple(axis for axis, s in enumerate(own) if s) for own in space.strides)
    # some room below 2**31: indices of the last block's idle threads are computed too
    is_long = merge_axes(program.shape, whole).is_long or rows * program.shape[-1] >= 2**31 - 2**16
    index = "long long" if is_long else "int"
    name = f"{name_of(program)}_by_rows"
    n = program.shape[-1]
    source = kernel_source(without_shapes(program, (n,)), name, len(space.sizes), axes, columns, index, constants_of(program))
    kernel = function(source, name)
    width = threads_of_row(n)
    strides = [space.strides[k][axis] for k, own in enumerate(axes) for axis in own]
    strides += [s for s, own in zip(right, columns, strict=True) if own == STRIDED]
    integers = tuple(map(np.int64 if is_long else np.int32, [rows, *space.sizes[1:], *strides]))
    return kernel, (-(-rows // (THREADS // width)),), (width, THREADS // width), integers


def _column(stride: int) -> int | str:
    return stride if stride in (0, 1) else STRIDED


Columns = tuple[int | str, ...]


@cache
def kernel_source(
    program: RowProgram,
    name: str,
    rank: int,
    axes: tuple[tuple[int, ...], ...],
    columns: Columns,
    index: str,
    constants: tuple[str, ...] = (),
) -> str:
    """The source of a kernel ``name(rows, sizes…, strides…, columns…, inputs…, outputs…)``.

    Parameters
    ----------
    program
        The steps, and the length of a row, the only size in the source: it decides how many elements each thread holds in registers,
        for which the loops must be unrolled.
    name
        The kernel's name.
    rank
        Number of axes of the space of rows.
    axes
        For each input, the axes of that space with a nonzero stride.
    columns
        For each input, its stride along the row: 1, 0 (one element per row) or `STRIDED`; or `SCALAR`.
    index
        The C type of element indices.
    constants
        See `kernels.constants_of`.
    """
    return _Printer(program, columns, index).source(name, rank, axes)


class _Printer:
    """Prints the source of one row kernel."""

    def __init__(self, program: RowProgram, columns: Columns, index: str) -> None:
        self.program, self.columns, self.index = program, columns, index
        self.n = program.shape[-1]
        self.width = threads_of_row(self.n)
        self.items = -(-self.n // self.width)
        self.level = self._levels()
        self.rounds = max([self.level[k] for k, s in enumerate(program.steps) if s.row], default=0)
        #: Inputs (as ``-1 - k``) and steps whose elements are in registers by now.
        self.in_registers: set[int] = set()
        self.lines: list[str] = []

    def _levels(self) -> list[int]:
        """For each step, the number of passes after which its value is known."""
        level: list[int] = []
        for step in self.program.steps:
            below = max([level[r.value] for r in step.args if r.kind == "step"], default=0)
            level.append(below + (step.op in ROW_REDUCTIONS))
        return level

    def source(self, name: str, rank: int, axes: tuple[tuple[int, ...], ...]) -> str:
        program, index = self.program, self.index
        parameters = [f"const {index} rows", *[f"const {index} size{axis}" for axis in range(1, rank)]]
        parameters += [f"const {index} stride{k}_{axis}" for k, own in enumerate(axes) for axis in own]
        parameters += [f"const {index} column{k}" for k, own in enumerate(self.columns) if own == STRIDED]
        for k, t in enumerate(program.inputs):
            number = self.columns[k] == SCALAR
            parameters.append(f"const {C_TYPES[t.dtype]} in{k}" if number else f"const {STORED[t.dtype]} *in{k}")
        parameters += [f"{STORED[program.steps[s].dtype]} *out{k}" for k, s in enumerate(program.outputs)]
        self._begin(rank, axes)
        for round_ in range(self.rounds):
            self._reduce(round_)
        self._write()
        lines = [*preamble([program]), cuda_text("tree"), *self._joins(), f"TF_KERNEL {name}({', '.join(parameters)}) {{"]
        return "\n".join([*lines, *[f"    {line}" for line in self.lines], "}", ""])

    def _joins(self) -> list[str]:
        """The functions that combine two elements, one per reduction and dtype."""
        made = {}
        for step in self.program.steps:
            if step.op in ROW_REDUCTIONS:
                kind = C_TYPES[step.dtype]
                body = reduction(step.op, step.dtype).join
                made[_join(step)] = f"TF_FUNCTION {kind} {_join(step)}({kind} a, {kind} b) {{ return {body}; }}"
        return list(made.values())

    def _begin(self, rank: int, axes: tuple[tuple[int, ...], ...]) -> None:
        index = self.index
        self.lines += [
            f"__shared__ double shared[{THREADS}];",
            f"const int lane = threadIdx.x, first = threadIdx.y * {self.width};",
            f"const {index} i = ({index})blockIdx.x * {THREADS // self.width} + threadIdx.y;",
            "const bool live = i < rows;",
        ]
        if any(axes):
            self.lines += coordinates(index, rank)
        for k, t in enumerate(self.program.inputs):
            if self.columns[k] == SCALAR:
                self.lines.append(f"const {C_TYPES[t.dtype]} x{k} = in{k};")
                continue
            self.lines.append(f"const {index} base{k} = {' + '.join(f'c{a} * stride{k}_{a}' for a in axes[k]) or '0'};")
            # one element per row is read before anything is written, as an output may be in place of the input
            if not self.columns[k] and self.n > 1:
                # a thread beyond the last row reads element 0: it must not exit, because the whole block waits at the tree's barriers
                self.lines.append(read_line(k, t.dtype, f"live ? base{k} : 0"))
        self._follow(0)

    def _is_element(self, k: int) -> bool:
        """Whether an input has one element per element of a row."""
        return self.columns[k] != SCALAR and (self.columns[k] != 0 or self.n == 1)

    def _reduce(self, round_: int) -> None:
        """One pass: the reductions whose operands are known, then the per-row steps that depend on them."""
        steps = self.program.steps
        now = [k for k, s in enumerate(steps) if s.op in ROW_REDUCTIONS and self.level[k] == round_ + 1]
        for k in now:
            start = literal(reduction(steps[k].op, steps[k].dtype).identity, steps[k].dtype)
            self.lines.append(f"{C_TYPES[steps[k].dtype]} a{k} = {start};")
        adds = [f"a{k} = {_join(steps[k])}(a{k}, {_name(steps[k])});" for k in now]
        self._over_row([r for k in now for r in steps[k].args], adds, round_)
        for k in now:
            kind = C_TYPES[steps[k].dtype]
            tree = f"TF_TREE({self.width}, {_join(steps[k])}, {WARP})"
            self.lines += [f"{kind} v{k};", f"{{ {kind} *part = ({kind} *)shared; const {kind} value = a{k}; {tree} v{k} = part[first]; }}"]
        self._follow(round_ + 1)

    def _follow(self, level: int) -> None:
        """The per-row steps that are known after ``level`` passes."""
        for k, step in enumerate(self.program.steps):
            if step.row and step.op not in ROW_REDUCTIONS and self.level[k] == level:
                self.lines.append(step_line(self.program, k))

    def _write(self) -> None:
        """The last pass: compute and write the outputs."""
        program = self.program
        elements = [(k, s) for k, s in enumerate(program.outputs) if not program.steps[s].row]
        writes = [write_line(k, program.steps[s].dtype, f"i * {self.n} + j", f"v{s}") for k, s in elements]
        if writes:
            refs = [Ref("step", s) for _, s in elements]
            self._over_row(refs, writes, self.rounds)
        for k, s in enumerate(program.outputs):
            if program.steps[s].row:
                self.lines.append(f"if (live && lane == 0) {{ {write_line(k, program.steps[s].dtype, 'i', f'v{s}')} }}")

    def _over_row(self, wanted: Sequence[Ref], then: Sequence[str], round_: int) -> None:
        """A loop over a thread's elements that computes the wanted values, then runs statements."""
        inputs, steps = self._needed(wanted)
        unrolls = self.items <= MAX_ITEMS
        later = self._needed_later(round_) if unrolls else set()
        new = [v for v in [*(-1 - k for k in inputs), *steps] if v in later and v not in self.in_registers]
        if self.items * (len(self.in_registers) + len(new)) > MAX_REGISTERS:
            new = []
        self.lines += [f"{C_TYPES[self._dtype(v)]} {_register(v)}[{max(self.items, 1)}];" for v in new]
        # the array's elements are registers only if the loop is unrolled: with a dynamic index the array is in local memory
        self.lines += ["#pragma unroll" if unrolls else "#pragma unroll 1", f"for (int e = 0; e < {self.items}; ++e) {{"]
        self.lines += [f"    const {self.index} j = lane + e * {self.width};", f"    if (live && j < {self.n}) {{"]
        body = []
        for k in inputs:
            dtype = self.program.inputs[k].dtype
            place = f"base{k} + j * column{k}" if self.columns[k] == STRIDED else f"base{k} + j"
            known = f"const {C_TYPES[dtype]} x{k} = {_register(-1 - k)}[e];"
            body.append(known if -1 - k in self.in_registers else read_line(k, dtype, place))
        for k in steps:
            kind = C_TYPES[self.program.steps[k].dtype]
            body.append(f"const {kind} v{k} = {_register(k)}[e];" if k in self.in_registers else step_line(self.program, k))
        body += [f"{_register(v)}[e] = {f'x{-1 - v}' if v < 0 else f'v{v}'};" for v in new]
        self.in_registers.update(new)
        self.lines += [*[f"        {line}" for line in [*body, *then]], "    }", "}"]

    def _dtype(self, value: int) -> str:
        return self.program.inputs[-1 - value].dtype if value < 0 else self.program.steps[value].dtype

    def _needed(self, wanted: Sequence[Ref]) -> tuple[list[int], list[int]]:
        """The inputs and steps to evaluate per element, in order; values in registers have no dependencies."""
        values = self._elements(wanted, self.in_registers)
        return sorted(-1 - v for v in values if v < 0), sorted(v for v in values if v >= 0)

    def _needed_later(self, round_: int) -> set[int]:
        """Inputs and steps whose elements a later pass uses."""
        steps = self.program.steps
        roots = [r for k, s in enumerate(steps) if s.op in ROW_REDUCTIONS and self.level[k] > round_ + 1 for r in s.args]
        if round_ < self.rounds:
            roots += [Ref("step", s) for s in self.program.outputs if not steps[s].row]
        return self._elements(roots, frozenset())

    def _elements(self, roots: Sequence[Ref], leaves: Set[int]) -> set[int]:
        """The per-element inputs (as ``-1 - k``) and steps that references depend on; leaves are not followed further."""
        found: set[int] = set()
        stack = list(roots)
        while stack:
            ref = stack.pop()
            if ref.kind == "in" and self._is_element(ref.value):
                found.add(-1 - ref.value)
            elif ref.kind == "step" and not self.program.steps[ref.value].row and ref.value not in found:
                found.add(ref.value)
                if ref.value not in leaves:
                    stack += self.program.steps[ref.value].args
        return found


def _join(step: KernelStep) -> str:
    return f"tf_join_{step.op}_{step.dtype}"


def _name(step: KernelStep) -> str:
    """The operand of a reduction, cast to the reduction's dtype."""
    (ref,) = step.args
    return f"({C_TYPES[step.dtype]}){'x' if ref.kind == 'in' else 'v'}{ref.value}"


def _register(value: int) -> str:
    return f"kx{-1 - value}" if value < 0 else f"kv{value}"
