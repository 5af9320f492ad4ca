"""Writes the code of every generated function, class by class, so that two trees can be compared: `process replay`.

``python tools/generated_code.py > before`` in one tree, the same in another, then ``diff``. Bytecode is printed without line numbers, with
jumps as labels; what a function's globals hold is printed by kind and name, so that a function that lost its fast NumPy function
differs too.
"""

import dis
import sys
from types import CodeType, FunctionType, ModuleType
from typing import Any

import twofold as mx
import twofold.mxnet_numpy as dialect
from twofold.mxnet_numpy.array import ndarray as dialect_array
from twofold.ndarray.array import NDArray
from twofold.numpy.array import ndarray, ndarrayElement


def described(value: Any) -> str:
    """A stable text for what a global name of generated code holds."""
    if isinstance(value, (bool, int, float, str, type(None))):
        return repr(value)
    if isinstance(value, (frozenset, set)):
        return "{" + ", ".join(sorted(map(described, value))) + "}"
    if isinstance(value, tuple):
        return "(" + ", ".join(map(described, value)) + ")"
    name = getattr(value, "__qualname__", None) or getattr(value, "__name__", "")
    return f"{type(value).__name__} {name}".strip()


def lines_of(code: CodeType) -> list[str]:
    """The instructions of a code object, and of those inside it."""
    found = [
        i for i in dis.get_instructions(code) if i.opname not in ("RESUME", "CACHE", "NOP", "COPY_FREE_VARS", "PRECALL", "EXTENDED_ARG")
    ]
    places = {i.offset: k for k, i in enumerate(found)}
    targets = sorted({i.argval for i in found if "JUMP" in i.opname or i.opname in ("FOR_ITER", "SEND")})
    following = {t: next((places[i.offset] for i in found if i.offset >= t), -1) for t in targets}
    label = {t: f"L{k}" for k, t in enumerate(targets)}
    at: dict[int, list[str]] = {}
    for t, k in following.items():
        at.setdefault(k, []).append(label[t])
    out: list[str] = []
    inner: list[CodeType] = []
    for k, i in enumerate(found):
        mark = ",".join(at.get(k, [])) + ":" if k in at else ""
        if i.argval in label and ("JUMP" in i.opname or i.opname in ("FOR_ITER", "SEND")):
            given = label[i.argval]
        elif isinstance(i.argval, CodeType):
            given = "<code>"
            inner.append(i.argval)
        else:
            given = i.argrepr
        out.append(f"{mark}{i.opname} {given}")
    for code_inside in inner:
        out += ["  " + line for line in lines_of(code_inside)]
    return out


def names_of(code: CodeType) -> set[str]:
    """The names that a code object looks up in its globals or attributes."""
    found = set(code.co_names)
    for inner in code.co_consts:
        if isinstance(inner, CodeType):
            found |= names_of(inner)
    return found


def dump(title: str, value: Any, seen: set[int]) -> None:
    """Print a function, and the functions that its globals hold."""
    if isinstance(value, property):
        value = value.fget
    value = getattr(value, "__func__", value)
    if not isinstance(value, FunctionType) or id(value) in seen:
        return
    seen.add(id(value))
    own = getattr(sys.modules.get(value.__globals__.get("__name__", "")), "__dict__", None)
    if own is value.__globals__:
        for cell in value.__closure__ or ():
            if isinstance(cell.cell_contents, FunctionType):
                dump(f"{title} > {cell.cell_contents.__name__}", cell.cell_contents, seen)
        return
    print(f"== {title}")
    code = value.__code__
    print(f"   args {code.co_varnames[: code.co_argcount + code.co_kwonlyargcount]} {described(value.__defaults__)} {value.__kwdefaults__}")
    print("\n".join(f"   {line}" for line in lines_of(value.__code__)))
    held = sorted(n for n in names_of(value.__code__) if n in value.__globals__)
    for n in held:
        print(f"   {n} = {described(value.__globals__[n])}")
    for n in held:
        if isinstance(value.__globals__[n], FunctionType):
            dump(f"{title} > {n}", value.__globals__[n], seen)


def main() -> None:
    """Print every generated function of every array class and namespace."""
    classes: list[type] = [NDArray, ndarray, ndarrayElement, dialect_array]
    seen: set[int] = set()
    for cls in classes:
        for name in sorted(vars(cls)):
            found = vars(cls)[name]
            dump(f"{cls.__module__}.{cls.__name__}.{name}", found if isinstance(found, property) else getattr(cls, name), seen)
    spaces: list[tuple[str, ModuleType]] = [
        ("nd", mx.nd),
        ("np", mx.np),
        ("np.linalg", mx.np.linalg),
        ("np.random", mx.np.random),
        ("np.fft", mx.np.fft),
    ]
    spaces += [("dialect", dialect), ("dialect.random", dialect.random), ("npx", mx.npx)]
    for short, space in spaces:
        for name in sorted(dir(space)):
            found = getattr(space, name, None)
            if not isinstance(found, (ModuleType, type)):
                dump(f"{short}.{name}", found if isinstance(found, FunctionType) else vars(type(found)).get("__call__"), seen)


if __name__ == "__main__":
    main()
