"""Builds a front end's functions from operators, with true signatures, around a ``call`` that the front end provides.

``call(op, arrays, params, out)`` gets the array arguments in order (None where left out), the parameters that were given, and
``out``. The generator is in a low layer and its use in a high one, so this module refers to no array class.
"""

from collections.abc import Callable, Iterable
from inspect import Parameter, cleandoc, signature
from types import FunctionType, MethodType
from typing import Any, NamedTuple, TypeVar

from ..assembly import assembled_text, attach_method
from ..signal_handlers import unless_signalled
from .parameter_texts import meaning_of, meaning_of_results
from .params import text
from .samples import Draw, Sample
from .spec import BoundOp, Op


class _NullType:
    """The default of a parameter that was not given; None would be a value. Its text is that of MXNet's ``mxnet.base._Null``."""

    def __repr__(self) -> str:
        return "_Null"


NULL: Any = _NullType()
F = TypeVar("F", bound=Callable[..., Any])
R = TypeVar("R")
Call = Callable[[Op, tuple[Any, ...], dict[str, Any], Any], Any]


def function_of(
    op: Op, name: str, call: Call, module: str, *, extra: Iterable[str] = (), fast: "Fast | None" = None, passes: str = "out"
) -> FunctionType:
    """The function of an operator.

    Parameters
    ----------
    op, name
        The operator and the name of the function.
    call
        The function that runs it.
    module
        The function's ``__module__``.
    extra
        Names of further keyword arguments passed on as parameters (``ctx`` of creation operators, say), placed before ``dtype``.
    fast
        A short path for calls with known parameters.
    passes
        Which of the common keywords is the fourth argument of ``call``: ``out``, as for functions of arrays, or ``name``, as for those of
        symbols, which have ``attr`` as well.
    """
    keywords, (head, operands) = _keywords(op, extra), _array_texts(op)
    common = ["name=None", "attr=None", "out=None"] if passes == "name" else ["out=None", "name=None"]
    tail = ", ".join([f"{p}=NULL" for p in keywords] + [*common, "**other"])
    given = "{" + ", ".join(f"{p!r}: {p}" for p in keywords) + "}"
    lines = [f"def {name}({head}{tail}):"]
    # `run` does not suffice for operators that change states, take numbers as arrays or read values
    quick = fast is not None and not op.mutates and not op.front.numbers and not op.is_eager and op.arrays
    if quick and fast is not None:
        lines += _quick_lines(op, [p for p in keywords if p not in op.scalars], operands)
    lines.append(f"    params = {{k: v for k, v in {given}.items() if v is not NULL}}")
    lines.append("    if other: params.update(other)")
    if passes == "name":
        lines.append("    if attr is not None: params['attr'] = attr")
    lines.append(f"    result = call(op, {operands}, dict(params), {passes})")
    if quick:
        lines.append("    if out is None and not other and _key is not None: remember(cache, _key, params)")
    lines.append("    return result")
    env: dict[str, object] = {
        "__name__": __name__,
        "NULL": NULL,
        "call": call,
        "op": op,
        "flat": _unpacked,
        "cache": {},
        "numbers": (float, int),
        "domain": op.front.domain,
        "unless_signalled": unless_signalled,
    }
    env |= {f"default_{p}": op.params[p].default for p in op.scalars}
    if fast is not None:
        env |= {"run": fast.run, "return_single": fast.single, "cls": fast.cls}
        env |= {"is_training": fast.is_training, "remember": _remembering(op, fast)}
    function = assembled_text("\n".join(lines), name, env)
    function.__doc__ = docstring_of(op, name)
    function.__module__ = module
    function.__qualname__ = name
    return function


def docstring_of(op: Op, name: str = "") -> str:
    """The rule's own docstring, then what the arrays, parameters and results are, and an example by the name of the function."""
    lines = [cleandoc(op.doc) or f"Operator {op.title}.", ""]
    rows = []
    for i in op.inputs:
        if not i.injected:
            kind = "arrays" if op.variadic and i is op.inputs[-1] else "array, optional" if i.optional else "array"
            rows += _described(op, i.name, f"{kind}{' (auxiliary state)' if i.auxiliary else ''}")
    for p in op.params.values():
        if p.name not in op.training:
            kind = p.kind.name.removeprefix("a ").removeprefix("an ")
            rows += _described(op, p.name, f"{kind}, " + ("required" if p.required else f"default {text(p.default)}"))
    if rows:
        lines += ["Parameters", "----------", *rows]
    if results := meaning_of_results(op):
        lines += ["", "Returns", "-------", results]
    if example := _example_of(op, name or op.title):
        lines += ["", "Examples", "--------", *example]
    if len(op.names) > 1:
        lines += ["", f"Also known as {', '.join(op.names[1:])}."]
    return "\n".join(lines)


def _described(op: Op, name: str, kind: str) -> list[str]:
    """The entry of an array or a parameter in a docstring."""
    meaning = meaning_of(op, name)
    return [f"{name} : {kind}", *([f"    {meaning}"] if meaning else [])]


def _example_of(op: Op, name: str) -> list[str]:
    """A call with the parameters of the first declared sample, and the shapes of its arrays; empty without a sample."""
    # the samples are made for tests; the first is the simplest, and since tests run it, it cannot become wrong
    given = op.samples[0](Draw()) if op.samples else []
    sample = given[0] if isinstance(given, list) and given else given
    if not isinstance(sample, Sample) or op.variadic:
        return []
    words, shapes = [], []
    for i, drawn in zip(op.arrays, sample.inputs, strict=False):
        if drawn is not None:
            words.append(f"{i.name}={i.name}" if i.optional else i.name)
            shapes.append(f"{i.name} {drawn.shape}")
    words += [f"{key}={value!r}" for key, value in sample.params.items() if key in op.params]
    return [f"{name}({', '.join(words)})" + (f"  # {', '.join(shapes)}" if shapes else "")]


def _keywords(op: Op, extra: Iterable[str]) -> list[str]:
    """The parameters that a function takes, with further ones before ``dtype``."""
    arrays = {i.name for i in op.arrays}
    keywords = [p for p in op.params if p not in op.training and p not in arrays]
    at = keywords.index("dtype") if "dtype" in keywords else len(keywords)
    return [*keywords[:at], *[p for p in extra if p not in keywords], *keywords[at:]]


def _array_texts(op: Op) -> tuple[str, str]:
    """A function's array arguments, and the tuple of their values, as source text."""
    names = [i.name for i in op.arrays]
    if not op.variadic:
        return "".join(f"{a}=None, " for a in names), f"({', '.join(names)}{',' if names else ''})"
    fixed = "".join(f"{a}, " for a in names[:-1])
    return f"{fixed}*{names[-1]}, ", f"({fixed}*flat({names[-1]}),)"


def named(name: str, doc: str) -> Callable[[F], F]:
    """Decorator that gives a function made by a factory its public name and docstring."""

    def name_it(function: F) -> F:
        function.__name__ = function.__qualname__ = name
        function.__doc__ = doc
        return function

    return name_it


def parameter_text(parameter: Parameter) -> str:
    """A parameter as source text, without its annotation."""
    return str(parameter.replace(annotation=Parameter.empty))


def with_arrays(core: Callable[..., R], arrays: Iterable[str], name: str, module: str, doc: str | None) -> Callable[..., R]:
    """A function that passes its first arguments, of the given names, as one tuple: the first argument of ``core``, which it is like."""
    names = ", ".join(arrays)
    _, *others = signature(core).parameters.values()
    head = ", ".join(map(parameter_text, others))
    given = ", ".join(f"**{p.name}" if p.kind is p.VAR_KEYWORD else p.name for p in others)
    function = assembled_text(f"def {name}({names}, {head}): return core(({names}), {given})", name, {"__name__": module, "core": core})
    function.__doc__ = doc
    return function


class LazyMethod:
    """Stands in a class for a method that is generated when it is first looked up, which takes 0.3 ms.

    Parameters
    ----------
    cls, name
        The class and the method's name.
    generated
        Gives the function.
    """

    def __init__(self, cls: type, name: str, generated: Callable[[], Callable[..., Any]]) -> None:
        self._cls, self._name, self._generated = cls, name, generated

    def __get__(self, instance: object, owner: type) -> Callable[..., Any]:
        method = self._generated()
        attach_method(self._cls, self._name, method)
        return method if instance is None else MethodType(method, instance)


class Fast(NamedTuple):
    """A front end's short path.

    ``run(bound_op, operands, *scalars)``, a fragment for operators of a single array, which returns their result where it can, the class of
    arrays, what makes a bound operator, and whether no parameter can change (no array).
    """

    run: Callable[..., Any]
    single: Callable[[Any, Any], Any]
    cls: type
    bound_by: Callable[[Op, dict[str, object]], BoundOp]
    is_training: Callable[[], bool]
    are_fixed: Callable[[dict[str, object]], bool]


def _quick_lines(op: Op, keywords: list[str], operands: str) -> list[str]:
    """Look up the parameters in their given form; required arrays must be present, and scalars must be Python numbers."""
    required = [i.name for i in op.inputs if not i.optional and not i.injected][: -1 if op.variadic else None]
    # 0 and -0.0 are equal, but not as floats: the key has their text
    parts = [f"{k} if {k} is NULL or {k} else str({k})" if k in op.ambiguous else k for k in keywords]
    parts += ["is_training()"] if op.training else []
    key = f"({', '.join(parts)}{',' if parts else ''})"
    present = "".join(f" and {a} is not None" for a in required)
    present += "".join(f" and ({s}.__class__ in numbers{'' if op.params[s].required else f' or {s} is NULL'})" for s in op.scalars)
    scalars = "".join(f", {s}" if op.params[s].required else f", default_{s} if {s} is NULL else {s}" for s in op.scalars)
    if op.front.domain is not None:
        present += f" and domain.holds({scalars.removeprefix(', ')})"
    alone = len(required) == 1 and operands == f"({required[0]},)" and not op.scalars
    return [
        "    try:",
        f"        _key = {key}",  # a parameter may be called key
        "        bound_op = cache.get(_key)",
        "    except unless_signalled((TypeError, ValueError)):  # not hashable; an array has no truth value",
        "        bound_op = _key = None",
        f"    if bound_op is not None and out is None and not other{present}:",
        *([f"        return_single({required[0]}, bound_op)"] if alone else []),
        f"        return run(bound_op, {operands}{scalars})",
    ]


def _remembering(op: Op, fast: Fast) -> Callable[[dict[object, object], object, dict[str, object]], None]:
    def remember(cache: dict[object, object], key: object, params: dict[str, object]) -> None:
        if not fast.are_fixed(params) or not op.is_plain({name: value for name, value in params.items() if value}):
            return  # the key spells out what is not plain
        # a parameter that differs in every call would fill it without end
        if len(cache) > 256:
            cache.clear()
        bound_op = fast.bound_by(op, {name: value for name, value in params.items() if name not in op.scalars})
        if not bound_op.gives_sparse:
            cache[key] = bound_op

    return remember


def _unpacked(arrays: tuple[object, ...]) -> tuple[object, ...]:
    """Variadic inputs may also be given as one list."""
    return tuple(arrays[0]) if len(arrays) == 1 and isinstance(arrays[0], (list, tuple)) else arrays


#: Prefixes of registered names, and the sub-namespace in which a front end puts them.
PREFIXES = {
    "_linalg_": "linalg",
    "_contrib_": "contrib",
    "_image_": "image",
    "_sparse_": "sparse",
    "_random_": "random",
    "_sample_": "random",
}


def place_of(registered: str) -> tuple[str, str]:
    """(sub-namespace, public name) of a registered name; ``_internal`` for names that start with an underscore."""
    for prefix, where in PREFIXES.items():
        if registered.startswith(prefix):
            return where, registered.removeprefix(prefix)
    return ("_internal", registered) if registered.startswith("_") else ("", registered)
