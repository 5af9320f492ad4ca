"""Signatures, parameters, results and errors of functions of ``mx.np``, as NumPy's docstrings of the same functions describe them."""

from __future__ import annotations

import inspect
import re
from collections.abc import Callable, Iterable, Iterator
from inspect import Parameter, Signature
from typing import Any, NamedTuple

import numpy
from restructured import escaped
from signatures import readable
from sphinx.util.inspect import stringify_signature

#: Parameters that mean something else than in NumPy.
DIFFERENT = {
    "device": "The device of the result, such as ``mx.gpu(0)``; by default the current one.",
    "ctx": "The same as ``device``, by MXNet's name.",
}
#: Parameters that NumPy's functions do not have, or that their docstrings leave to a general page.
OWN = {
    "size": "How many elements the result has, so that its shape does not depend on values: of more only the first are there.",
    "fill_value": "What fills up a result of ``size`` elements.",
    "descending": "Whether the largest comes first.",
    "start": "Where the values begin; where they end, from 0, if it is the only number.",
    "out": "Where the result is written, or a tuple of such arrays.",
    "where": "Where to compute: elsewhere ``out`` keeps its elements.",
    "casting": "Which casts of the operands and of the result are allowed, such as ``same_kind``.",
    "dtype": "The dtype to compute in.",
    "order": "Has no effect.",
    "subok": "Has no effect.",
    "options": "``dtype``, ``where``, ``casting`` and other arguments of element-wise functions.",
    "kwargs": "Other keyword arguments, as NumPy's function takes them.",
}
#: The parameters of element-wise functions after the operands.
UFUNC = "/, out=None, *, where=True, casting='same_kind', order='K', dtype=None, subok=True"
#: Parameters of ours by the names that NumPy has for them.
RENAMED = {"a": ("prototype", "x1"), "b": ("x2",), "args": ("d0",), "arrays": ("a1",), "arys": ("arys1",), "xi": ("x1",)}
#: Functions whose docstrings refer to that of another.
REFERS = {"amax": "max", "amin": "min", "around": "round", "triu": "tril", "ranf": "random_sample", "sample": "random_sample"} | {
    f"{how}split": "split" for how in ("array_", "d", "h", "v")
}


class Field(NamedTuple):
    """An entry of a section: the names it describes, their type, and the first paragraph about them."""

    names: tuple[str, ...]
    kind: str
    about: str


def sections(doc: str) -> dict[str, str]:
    """The sections of a docstring in NumPy's format; what comes before the first has an empty title."""
    parts = re.split(r"^([A-Z][\w ]+)\n-{3,}\n", f"{inspect.cleandoc(doc)}\n", flags=re.MULTILINE)
    return {"": parts[0]} | {title.title(): text for title, text in zip(parts[1::2], parts[2::2], strict=True)}


def fields(text: str) -> Iterator[Field]:
    """The entries of a section: a line that begins with a name, and indented lines about it."""
    for head, body in re.findall(r"^(\S.*)\n((?:[ \t]+.*\n|\n(?=[ \t]))*)", text, flags=re.MULTILINE):
        names, _, kind = head.partition(" : ")
        yield Field(tuple(name.strip(" *`") for name in names.split(",")), kind.strip(), first_paragraph(inspect.cleandoc(body)))


def first_paragraph(text: str) -> str:
    """The first paragraph of prose on one line, without a sentence that announces a list."""
    found = next((p for p in text.split("\n\n") if p and not p.lstrip().startswith("..")), "")
    found = " ".join(found.partition("\n.. ")[0].partition("\n* ")[0].split())
    return re.sub(r"(?:(?<=[.;])|^)[^.;]*:$", "", found).strip()


def marked_up(text: str) -> str:
    """Prose of NumPy's in the markup of these pages: no roles, no references, code between two backticks."""
    text = re.sub(r"\s?\[\w+\]_", "", text)
    text = re.sub(
        r"(?:^|(?<=[.)] ))(?:Please s|S)ee (?:also )?(?:the )?(?:[Nn]otes|[Ee]xamples|:ref:`[^`]+`|`[^`]+`)[^.]*\.(?: |$)", "", text
    )
    text = re.sub(r":[\w:]+:`([^`<]*?)(?:\s*<[^`]*>)?`", r"``\1``", text)
    text = re.sub(r"(?<!`)`~?([^`]+)`_*(?!`)", r"``\1``", text)
    text = re.sub(r"(?<![`\w])_(\w+)_(?![`\w])", r"\1", text)
    return re.sub(r"(?<=\w)_(?![\w`])", r"\\_", escaped(text.replace("````", "``")))


def of_numpy(dotted: str) -> Any:
    """NumPy's function of the same name as one of ours, such as ``np.fft.rfft``; None if it has none."""
    found: Any = numpy
    for part in dotted.split(".")[1:]:
        found = getattr(found, part, None)
    return found


def signature_of(found: Callable[..., Any], dotted: str) -> str:
    """The signature of a function of ours; what it only passes on is shown as NumPy names it."""
    numpys = of_numpy(dotted)
    if isinstance(numpys, numpy.ufunc):
        described = [name for field in fields(sections(numpys.__doc__)["Parameters"]) for name in field.names]
        return f"({', '.join(described[: numpys.nin])}, {UFUNC})"
    try:
        ours = inspect.signature(found)
    except ValueError:  # of functions in C; the docstring begins with it
        return re.sub(r"^\w+", "", " ".join(inspect.cleandoc(numpys.__doc__).partition("\n\n")[0].split()))
    if {Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD} <= {p.kind for p in ours.parameters.values()}:
        ours = merged(ours, inspect.signature(numpys))
    return readable(ours, stringify_signature(ours, show_annotation=False, show_return_annotation=False))


def merged(ours: Signature, numpys: Signature) -> Signature:
    """A signature in which NumPy's parameters stand for those that are passed on."""
    own = [p for p in ours.parameters.values() if p.kind not in (Parameter.VAR_POSITIONAL, Parameter.VAR_KEYWORD)]
    passed = [p for p in numpys.parameters.values() if p.name not in {mine.name for mine in own}]
    return Signature(sorted([*own, *passed], key=lambda p: p.kind))


def field_lines(dotted: str, signature: str) -> list[str]:
    """The parameters that a signature names, the results and the errors, as fields of a description."""
    namespace, _, name = dotted.rpartition(".")
    found = sections(getattr(of_numpy(f"{namespace}.{REFERS.get(name, name)}"), "__doc__", None) or "")
    known = {name: field for field in fields(found.get("Parameters", "")) for name in field.names}
    lines = []
    for name in re.findall(r"(?:^\(|, )\**(\w+)", re.sub(r"=(?:\([^()]*\)|\{[^{}]*\}|[^,()]*)", "=", signature)):
        if name in DIFFERENT:
            lines.append(f":param {name}: {DIFFERENT[name]}")
        elif field := next((known[n] for n in (name, *RENAMED.get(name, ())) if n in known), None):
            lines.append(f":param {name}: {described(field)}")
        elif name in OWN:
            lines.append(f":param {name}: {OWN[name]}")
    return [*lines, *result_lines(list(fields(found.get("Returns", "")))), *error_lines(fields(found.get("Raises", "")))]


def described(field: Field) -> str:
    """A type and what it is, as sentences."""
    kind = f"{marked_up(field.kind).rstrip('.')}." if field.kind else ""
    return f"{kind} {marked_up(field.about)}".strip()


def result_lines(results: list[Field]) -> list[str]:
    """What a function returns: a line, or a list of several arrays."""
    told = [f"{f'**{r.names[0]}**: ' if r.kind else f'{marked_up(r.names[0])}. '}{described(r)}" for r in results]
    if len(told) < 2:
        return [f":returns: {line}" for line in told]
    return [":returns:", *[f"    * {line}" for line in told]]


def error_lines(errors: Iterable[Field]) -> list[str]:
    """What a function raises."""
    return [f":raises {name}: {marked_up(error.about)}" for error in errors for name in error.names if name.isidentifier()]
