"""Pages of the operators: of ``mx.nd`` and ``mx.sym``, and of ``mx.npx``, which are the same under NumPy's conventions."""

from __future__ import annotations

import inspect
from collections.abc import Iterator
from typing import TYPE_CHECKING, NamedTuple

import see_also
from examples_of_names import example_of_name
from operator_errors import errors_of
from operator_examples import example_of
from restructured import Entry, escaped, example_lines, first_sentence, inside, searched, table, titled
from sources import source_lines

import twofold as mx
from twofold import ndarray as _registers_the_operators  # noqa: F401
from twofold.numpy_extension import operator_of
from twofold.opdef.frontend import place_of
from twofold.opdef.parameter_texts import meaning_of, meaning_of_results
from twofold.opdef.params import text as spelt
from twofold.opdef.registry import NAMES

if TYPE_CHECKING:
    from twofold.opdef.params import Param
    from twofold.opdef.spec import Op


class Operator(NamedTuple):
    """An operator under its first name in a namespace."""

    op: Op
    place: str
    names: list[str]
    others: list[str]

    @property
    def all_names(self) -> list[str]:
        """All its names below ``mx.nd`` and ``mx.sym``."""
        return [*[below(self.place, name) for name in self.names], *self.others]

    @property
    def dotted(self) -> str:
        """Its name below ``mx.nd`` and ``mx.sym``."""
        return self.all_names[0]


def below(place: str, name: str) -> str:
    """A name in a sub-namespace, which may be none."""
    return f"{place}.{name}" if place else name


def is_built_in(op: Op) -> bool:
    """Whether the package declares it: a process may have declared others."""
    return op.rule.__module__.startswith("twofold.")


def operators() -> list[Operator]:
    """The operators with public names, each once for each sub-namespace."""
    found = []
    for op in {id(op): op for op in NAMES.values() if is_built_in(op)}.values():
        places: dict[str, list[str]] = {}
        for place, name in map(place_of, op.names):
            if place not in ("_internal", "random"):
                places.setdefault(place, []).append(name)
        # an operator of several namespaces (``sparse`` among them) has its page under the first, with the other names as synonyms
        if places:
            first = next(iter(places))
            others = [below(place, name) for place in places if place != first for name in places[place]]
            found.append(Operator(op, first, places[first], others))
    return sorted(found, key=lambda operator: (operator.place, operator.dotted.lower()))


def default_of(param: Param) -> str:
    """The default of a parameter as a program would write it."""
    return repr(param.default) if isinstance(param.default, str) else spelt(param.default)


def parameters(op: Op) -> list[str]:
    """The parameters that a program passes, with their defaults, as a signature shows them."""
    return [p.name if p.required else f"{p.name}={default_of(p)}" for p in op.params.values() if p.name not in op.training]


def signature(op: Op, *last: str) -> str:
    """The parameters of an operator's function; a required one that follows optional ones stands after ``*``."""
    arrays = [f"*{i.name}" if op.variadic and i is op.arrays[-1] else f"{i.name}=None" if i.optional else i.name for i in op.arrays]
    shown = [*arrays, *parameters(op)]
    optional = next((k for k, text in enumerate(shown) if "=" in text), len(shown))
    required = next((k for k, text in enumerate(shown) if k > optional and "=" not in text), None)
    if required is not None and not op.variadic:
        shown.insert(required, "*")
    return ", ".join([*shown, *(last or ["out=None"])])


def described(op: Op, heads: list[str], facts: list[str]) -> list[str]:
    """The description of an operator under the signatures of its functions, and what is known of it."""
    body = [*escaped(inspect.cleandoc(op.doc or f"The operator {op.title}.")).split("\n"), ""]
    for i in op.arrays:
        kind = "arrays" if op.variadic and i is op.arrays[-1] else "array"
        more = ["optional"] * i.optional + ["auxiliary state"] * i.auxiliary
        body.append(parameter_line(op, i.name, ", ".join([kind, *more])))
    for p in op.params.values():
        if p.name not in op.training:
            last = "required" if p.required else f"default {default_of(p)}"
            body.append(parameter_line(op, p.name, f"{kind_text(p)}; {last}"))
    body += [f":returns: {escaped(meaning_of_results(op))}"]
    body += [f":raises {name}: If {reason}." for name, reason in errors_of(op, legacy=heads[0].startswith("mx.nd"))] + [""]
    return [
        ".. py:function:: " + "\n                 ".join(heads),
        "",
        *inside(body),
        *(f"* {fact}" for fact in [f"**Gradient**: {gradient_text(op)}", *facts]),
        "",
    ]


def parameter_line(op: Op, name: str, kind: str) -> str:
    """The field of an array or a parameter: what it means, then its kind."""
    return f":param {name}: {escaped(meaning_of(op, name))} ({kind})"


def kind_text(param: Param) -> str:
    """A parameter's kind without parentheses, to stand in them: ``a shape, that is an int or a tuple of ints``."""
    name, _, more = param.kind.name.partition(" (")
    return f"{name}, that is {more.replace(')', '')}" if more else name


def operator_text(operator: Operator) -> str:
    """The page of an operator."""
    op, (name, *aliases) = operator.op, operator.all_names
    heads = [f"mx.nd.{name}({signature(op)})", f"mx.sym.{name}({signature(op, 'name=None', 'attr=None')})"] + [
        f"mx.nd.{alias}" for alias in aliases
    ]
    facts = []
    if op.method_name:
        facts.append(f"**Method**: ``x.{op.method_name}()`` of arrays" + (" and symbols" if op.front.symbol_method else ""))
    if aliases:
        facts.append(f"**Also named** {', '.join(f'``{a}``' for a in aliases)}")
    lines = [*described(op, heads, facts), *see_also.of_operator(operator.all_names)]
    example = example_of_name("op", operator.dotted) or example_of(op, f"mx.nd.{operator.dotted}")
    if example:
        lines += example_lines(example)
    return "\n".join([*source_lines(op), titled(operator.dotted, *searched(f"nd.{name}", f"sym.{name}"), *lines)])


def operators_of_npx() -> dict[str, Op]:
    """The operators that are functions of ``mx.npx`` and ``mx.npx.image``, by their names there."""
    # functions that the module defines have pages as such, also those that are named as an operator is
    found = {name: operator_of(name) for name in dir(mx.npx) if name not in mx.npx.__all__}
    images = {f"image.{name}": operator_of(f"_image_{name}") for name in dir(mx.npx.image)}
    return {name: op for name, op in (found | images).items() if op is not None and is_built_in(op)}


def entries_of_npx() -> Iterator[Entry]:
    """Their pages."""
    pages = {id(operator.op): operator.dotted for operator in operators()}
    for name, op in operators_of_npx().items():
        same = pages.get(id(op))
        facts = [f"**The same with MXNet's conventions**: :doc:`mx.nd.{same} <op.{same}>`"] if same else []
        lines = described(op, [f"mx.npx.{name}({signature(op)})"], facts)
        example = example_of_name("npx", name) or example_of(op, f"mx.npx.{name}")
        text = titled(f"mx.npx.{name}", *searched(f"npx.{name}"), *lines, *(example_lines(example) if example else []))
        yield Entry(name, f"npx.{name}", first_sentence(op.doc or ""), "\n".join([*source_lines(op), text]))


def gradient_text(op: Op) -> str:
    """Whether and how an operator has a gradient."""
    if not op.differentiable:
        return "none"
    if op.ignores_head:
        return "its own: that of a loss, which ignores the gradient that it is given"
    return "yes"


#: What the page of operators says of each place.
PLACES = {"": "General", "contrib": "contrib", "image": "image", "linalg": "linalg", "sparse": "sparse"}


def operators_text(found: list[Operator]) -> str:
    """The page of all operators."""
    about = (
        "Operators are functions of ``mx.nd`` (on arrays) and ``mx.sym`` (on symbols) with the same inputs and parameters.",
        "Parameters without a default are required.",
        "",
    )
    lines = []
    for place, title in PLACES.items():
        entries = [Entry(o.names[0], f"op.{o.dotted}", first_sentence(o.op.doc), "") for o in found if o.place == place]
        if entries:
            lines += [title, "-" * len(title), "", *table(entries), ""]
    return titled("Operators (mx.nd, mx.sym)", *about, *lines)
