"""The shared C printer: a fused kernel as CUDA (NVRTC) or host C++ source, one thread per element.

16-bit floats are a storage format: kernels compute in float32 and round once, when they write (and where a step casts). Inputs and
outputs are contiguous; outputs have the iteration space's shape, inputs may be broadcast. Floating-point constants are printed in
hexadecimal, so that none is rounded twice.
"""

import math
import re
from collections.abc import Callable, Sequence
from functools import cache
from pathlib import Path
from typing import NamedTuple

import numpy as np

from ..dtype import FLOATS, NAME_OF, NUMPY
from ..errors import KernelCompileError
from . import special_functions
from .kernel import KernelStep, Ref, RowProgram
from .strides import LONG, Space, broadcast_strides, index_terms, merge_axes, row_major

#: The C type in which each dtype is computed.
C_TYPES = {
    "bool": "bool",
    # plain char is unsigned on some processors
    "int8": "signed char",
    "int16": "short",
    "int32": "int",
    "int64": "long long",
    "uint8": "unsigned char",
    "uint16": "unsigned short",
    "uint32": "unsigned int",
    "uint64": "unsigned long long",
    "float16": "float",
    "bfloat16": "float",
    "float32": "float",
    "float64": "double",
}
#: The C type in which each dtype is stored, the functions that encode a value for storage, and those that only round it.
STORED = C_TYPES | {"float16": "tf_half", "bfloat16": "tf_bfloat"}
ENCODED = {"float16": "tf_to_half", "bfloat16": "tf_to_bfloat"}
ROUNDED = {"float16": "tf_round_half", "bfloat16": "tf_round_bfloat"}
SUFFIX = {"float32": "f", "float16": "f", "bfloat16": "f", "uint32": "u", "int64": "LL", "uint64": "ULL"}


class KernelUnit(NamedTuple):
    """A translation unit of kernels.

    Attributes
    ----------
    source
        The source.
    names
        Each kernel's name; its signature is ``void name(const T* in0, …, T* out0, …)``, and it needs one thread per element.
    """

    source: str
    names: tuple[str, ...]


def kernel_unit(*programs: RowProgram) -> KernelUnit:
    """Print kernels, each named after its program and numbered.

    Raises
    ------
    KernelCompileError
        If a step has no C expression.
    """
    names = tuple("tf_" + re.sub(r"\W", "_", f"{program.name}_{k}") for k, program in enumerate(programs))
    kernels = [_kernel(name, program) for name, program in zip(names, programs, strict=True)]
    return KernelUnit("\n".join([*preamble(programs), *kernels]) + "\n", names)


def preamble(programs: Sequence[RowProgram]) -> list[str]:
    """The declarations before the kernels of programs."""
    return [header("c_prelude.h"), *_special(programs)]


def _kernel(name: str, program: RowProgram) -> str:
    size = math.prod(program.shape)
    index = "long long" if size >= LONG else "unsigned int"
    parameters = [f"const {STORED[t.dtype]} *in{k}" for k, t in enumerate(program.inputs)]
    parameters += [f"{STORED[program.steps[s].dtype]} *out{k}" for k, s in enumerate(program.outputs)]
    # an empty space has no loop: its index terms would divide by a size of 0
    body = [f"    TF_EACH({index}, i, {size}) {{", *[f"        {line}" for line in _body(program)], "    }"] if size else []
    return "\n".join([f"TF_KERNEL {name}({', '.join(parameters)}) {{", *body, "}"])


@cache
def header(name: str) -> str:
    """The content of a C file in this package."""
    return Path(__file__).with_name(name).read_text(encoding="utf-8")


def _body(program: RowProgram) -> list[str]:
    space = merge_axes(program.shape, [broadcast_strides(t.shape, row_major(t.shape), program.shape) for t in program.inputs])
    lines = [read_line(k, t.dtype, _index_of(space, k)) for k, t in enumerate(program.inputs)]
    lines += [step_line(program, k) for k in range(len(program.steps))]
    return lines + [write_line(k, program.steps[s].dtype, "i", f"v{s}") for k, s in enumerate(program.outputs)]


def read_line(k: int, dtype: str, place: str) -> str:
    """The C statement that reads an element of input k as ``x{k}``, in the type that is computed with."""
    read = f"tf_float(in{k}[{place}])" if dtype in ENCODED else f"in{k}[{place}]"
    return f"const {C_TYPES[dtype]} x{k} = {read};"


def step_line(program: RowProgram, k: int) -> str:
    """The C statement that computes step k of a kernel as ``v{k}``."""
    step = program.steps[k]
    # C computes 8- and 16-bit integers as int; the cast makes them wrap around as NumPy's do
    return f"const {C_TYPES[step.dtype]} v{k} = {cast_text(step_text(step, _operands(program, step)), step.dtype)};"


def cast_text(text: str, dtype: str) -> str:
    """The C expression that casts another one to a dtype's type, as NumPy does where a float does not fit an integer."""
    kind = C_TYPES[dtype]
    return f"({kind})({text})" if dtype == "bool" or dtype in FLOATS else f"tf_cast<{kind}>({text})"


def write_line(k: int, dtype: str, place: str, value: str) -> str:
    """The C statement that writes a value to an element of output k."""
    return f"out{k}[{place}] = {ENCODED[dtype]}({value});" if dtype in ENCODED else f"out{k}[{place}] = {value};"


def _index_of(space: Space, k: int) -> str:
    """The C expression of input k's index for element ``i`` of the space."""
    own = space.strides[k]
    if own == space.contiguous:
        return "i"
    return " + ".join(_term(*t, outermost=t[0] * t[1] == math.prod(space.sizes)) for t in index_terms(space.sizes, own)) or "0"


def _term(inner: int, size: int, stride: int, *, outermost: bool) -> str:
    """One axis' term of an index; the outermost axis needs no remainder."""
    at = f"i / {inner}" if inner > 1 else "i"
    at = at if outermost else f"{at} % {size}"
    return f"{at} * {stride}" if stride > 1 else at


def _operands(program: RowProgram, step: KernelStep) -> list[tuple[str, str]]:
    """C expression and dtype of each operand."""
    return [_operand(program, step, ref) for ref in step.args]


def _operand(program: RowProgram, step: KernelStep, ref: Ref) -> tuple[str, str]:
    if ref.kind == "in":
        return f"x{ref.value}", program.inputs[ref.value].dtype
    if ref.kind == "step":
        return f"v{ref.value}", program.steps[ref.value].dtype
    return literal(ref.value, step.operand_dtype), step.operand_dtype


def step_text(step: KernelStep, operands: list[tuple[str, str]]) -> str:
    """The C expression of one step.

    Parameters
    ----------
    step
        The step.
    operands
        C expression and dtype of each operand.

    Raises
    ------
    KernelCompileError
        If its primitive has no C expression.
    """
    if step.c is None:
        raise KernelCompileError(f"kernel: the primitive {step.op} has no C expression", None, "declare one, or do not fuse it")
    wanted = operand_dtypes(step, [dtype for _, dtype in operands])
    texts = [t if C_TYPES[d] == C_TYPES[w] else cast_text(t, w) for (t, d), w in zip(operands, wanted, strict=True)]
    params = dict(step.params)
    if sorted(wanted) == ["int64", "uint64"]:  # a comparison: C would convert both operands to unsigned first
        texts = [f"tf_order({', '.join(texts)})", "0"]
    if step.result == "dtype" and step.dtype in ROUNDED:
        return f"{ROUNDED[step.dtype]}({texts[0]})"
    return step.c.format(*texts, **params)


def operand_dtypes(step: KernelStep, dtypes: list[str]) -> list[str]:
    """The dtype that each operand is converted to: that of NumPy's loop for a ufunc, else the result's, except for conditions and casts."""
    if step.ufunc is not None:
        # None is the result, whose dtype NumPy chooses along with those of the operands
        loop = getattr(np, step.ufunc).resolve_dtypes((*[NUMPY[d] for d in dtypes], None))
        return [NAME_OF[d] for d in loop[:-1]]
    if step.result == "tail":
        return [dtypes[0], *[step.dtype] * (len(dtypes) - 1)]
    return dtypes if step.result == "dtype" else [step.dtype] * len(dtypes)


def literal(value: float | int | bool, dtype: str) -> str:
    """A Python scalar as an exact C constant of a dtype's type, in parentheses."""
    exact = np.asarray(value).astype(NUMPY[dtype])
    kind, suffix = C_TYPES[dtype], SUFFIX.get(dtype, "")
    if dtype == "bool":
        return "true" if exact else "false"
    if exact.dtype.kind in "iu":
        number = int(exact)
        # C has no literal for the least int64: -9223372036854775808 is a minus sign and a number that is too large
        text = f"{number}{suffix}" if number > -(2**63) else f"({number + 1}{suffix} - 1)"
        return f"(({kind}){text})"
    number = float(exact)
    if math.isfinite(number):
        return f"({number.hex()}{suffix})"
    return f"(({kind})TF_NAN)" if math.isnan(number) else f"(({kind}){'-' if number < 0 else ''}TF_INFINITY)"


# special functions


def _special(programs: Sequence[RowProgram]) -> list[str]:
    """The parts of ``c_special.h`` that steps call: their tables, the header, and the code that depends on parameters."""
    used = {(step.c_part, step.params) for program in programs for step in program.steps if step.c_part}
    if not used:
        return []
    before: list[str] = []
    after: list[str] = []
    for name, part in PARTS.items():
        given = sorted(params for other, params in used if other == name)
        if given:
            lines = [f"#define TF_{name.upper()}", *_tables(*part.tables)]
            before += ["#ifndef __CUDACC__", *lines, "#endif"] if part.cuda_has_it else lines
            after += [line for params in given for line in part.of_params(**dict(params))]
    return [*before, header("c_special.h"), *after]


def _tables(*names: str) -> list[str]:
    lines = []
    for name in names:
        table = getattr(special_functions, name)
        parts = {"": table} if isinstance(table[0], float) else {"_P": table[0], "_Q": table[1]}
        lines += [_table(f"TF_{name}{part}", values) for part, values in parts.items()]
    return lines


def _table(name: str, values: tuple[float, ...]) -> str:
    return f"TF_TABLE double {name}[] = {{{', '.join(literal(v, 'float64') for v in values)}}};"


def _polygamma(order: int) -> list[str]:
    """The function of an order."""
    if not order:
        return []  # digamma is in the header
    s = order + 1
    # 171! is beyond the largest float64
    factor = literal(math.factorial(order) if order <= 170 else math.inf, "float64")
    arguments = f"{order}, x, {factor}, {special_functions.zeta_terms(s)}, tf_tail_{order}, tf_cotangent_{order}"
    return [
        _table(f"tf_tail_{order}", special_functions.zeta_tail(s)),
        _table(f"tf_cotangent_{order}", special_functions.cotangent_derivative(order)),
        f"TF_FUNCTION double tf_polygamma_{order}(double x) {{ return tf_polygamma_of({arguments}); }}",
    ]


def _nothing() -> list[str]:
    return []


class Part(NamedTuple):
    """A part of ``c_special.h``, which is compiled where ``TF_<NAME>`` is defined.

    Attributes
    ----------
    tables
        The names of its tables in `special_functions`.
    of_params
        The lines to follow the header, for each set of the primitive's parameters that occurs.
    cuda_has_it
        CUDA has the function itself.
    """

    tables: tuple[str, ...]
    of_params: Callable[..., list[str]] = _nothing
    cuda_has_it: bool = False


#: The parts by the names that primitives declare as their ``c_part``.
PARTS = {
    "erfinv": Part(("ERFINV_CENTRAL", "ERFINV_MIDDLE", "ERFINV_TAIL"), cuda_has_it=True),
    "polygamma": Part(("DIGAMMA_SMALL", "DIGAMMA_MIDDLE", "DIGAMMA_ROOT_LESS_1", "DIGAMMA_SERIES"), _polygamma),
}
