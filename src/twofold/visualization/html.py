"""Notebooks' views of arrays, blocks, symbols and other objects: small pages of HTML without script elements.

Each function takes an object of the class that names it for its ``_repr_html_``, see `extension_points.shown_in_notebooks`. Nothing here
runs or waits for pending work.
"""

from __future__ import annotations

from collections.abc import Collection, Iterable, Mapping, Sequence
from html import escape
from typing import TYPE_CHECKING, Any

import numpy as np

from .. import facts
from ..dtype import dtype_name
from ..facts import FactsOf, facts_of, size
from ..imperative.cell import Value
from ..plurals import counted
from ..symbol.symbol import Symbol
from .drawing import Svg, size_text
from .network import NetworkGraph
from .perfetto import perfetto_button
from .timeline import plot_timeline

if TYPE_CHECKING:
    from ..executor.executor import Executor
    from ..gluon.block import Block
    from ..gluon.data import DataLoader
    from ..gluon.parameter import Parameter
    from ..gluon.parameter_dict import ParameterDict
    from ..gluon.trainer import Trainer
    from ..graph.memory_plan import MemoryPlan, MemoryPlans
    from ..imperative.array import Array
    from ..io.iterator import DataIter
    from ..kvstore.base import KVStoreBase
    from ..metric import EvalMetric
    from ..module.base_module import BaseModule
    from ..optimizer import Optimizer
    from ..profiler.explanation import Report
    from ..profiler.profile import Profile

#: The most elements whose values are written out, and the most, spread over the array, that a histogram counts.
MOST_WRITTEN, MOST_COUNTED = 1000, 100_000
BINS, HISTOGRAM = 32, (128, 32)
#: Larger networks, and longer tables, are cut.
MOST_NODES, MOST_ROWS = 400, 200
#: Colors are those of the page, which may be dark: lines and pale text are a mixture of its text and its background.
BORDER = "border:0;border-bottom:1px solid color-mix(in srgb, currentColor 25%, transparent)"
CELL = f"{BORDER};padding:2px 10px;text-align:left;color:inherit;background:none"
PRE = "margin:4px 0;padding:0;max-height:24em;overflow:auto;color:inherit;background:none;line-height:1.35"
BAR = "#4477aa"

Row = Sequence[object]


# ------------------------------------------------------------------------------------------------------------------ pieces


def _page(title: str, facts: Iterable[object], *parts: str) -> str:
    """A title with facts beside it, and the content below."""
    beside = "".join(f' <span style="opacity:.75">· {escape(str(fact))}</span>' for fact in facts if fact not in ("", None))
    return f'<div style="font-size:13px;overflow-x:auto"><div><b>{escape(title)}</b>{beside}</div>{"".join(parts)}</div>'


def _of_facts(kind: FactsOf, shown: object, *parts: str, but: Collection[str] = ()) -> str:
    """A page with the facts that the object's text has too, except for those that a table of the page has."""
    said = [(name.replace("_", " "), value) for name, value in facts_of(kind, shown) if name not in but]
    return _page(type(shown).__name__, [f"{name}: {_number(value)}" if value != "" else name for name, value in said], *parts)


def _table(heads: Sequence[str], rows: Iterable[Row]) -> str:
    rows = list(rows)
    if not rows:
        return ""
    head = "".join(f'<th scope="col" style="{CELL}">{escape(text)}</th>' for text in heads)
    lines = [f"<tr>{''.join(_cell(value) for value in row)}</tr>" for row in rows[:MOST_ROWS]]
    more = f"<div>… {len(rows) - MOST_ROWS} more</div>" if len(rows) > MOST_ROWS else ""
    return f'<table style="border-collapse:collapse;margin:4px 0"><tr>{head}</tr>{"".join(lines)}</table>{more}'


def _cell(value: object) -> str:
    if isinstance(value, Svg):
        return f'<td style="{CELL}">{value}</td>'
    text = _number(value)
    right = ";text-align:right;font-variant-numeric:tabular-nums" if isinstance(value, (int, float)) else ""
    return f'<td style="{CELL}{right}">{escape(text)}</td>'


def _number(value: object) -> str:
    """A number with at most six digits or with commas between thousands; another value as it is printed."""
    if isinstance(value, float):
        return f"{value:.6g}"
    return f"{value:,}" if isinstance(value, int) and not isinstance(value, bool) else str(value)


def _pre(text: str) -> str:
    return f'<pre style="{PRE}">{escape(text)}</pre>'


def _below(title: str, content: str, is_open: bool = False) -> str:
    """Something that is unfolded by a click."""
    return f"<details{' open' if is_open else ''}><summary>{escape(title)}</summary>{content}</details>" if content else ""


def _shape(shape: Sequence[int | None] | None) -> str:
    """A shape as ``64 × 3``, with question marks for unknown sizes."""
    return "?" if shape is None else " × ".join(str(n) if n else "?" for n in shape) or "scalar"


# ------------------------------------------------------------------------------------------------------------------ arrays


def _computed(array: Any) -> np.ndarray | None:
    """The elements in the host's memory; None if they are pending, elsewhere, or not all stored."""
    content = array._content
    data = content.data if content.__class__ is Value else content
    return data if isinstance(data, np.ndarray) and not array._is_sparse and data.shape == array.shape else None


def _state(array: Any) -> str:
    content = array._content
    if array._is_sparse:
        return str(array.stype)
    return "pending" if content.__class__ is Value and content.data is None else ""


def array(shown: Array) -> str:
    """An array: its kind, its values if they are few, and a histogram of numbers; without values while it is pending."""
    of = "view" if type(shown).__name__.endswith("View") else ""
    facts = (_shape(shown.shape), shown._dtype, shown.context, size_text(shown.size * np.dtype(shown._dtype).itemsize), of, _state(shown))
    values = _computed(shown)
    if values is None:
        return _page(type(shown).__name__, facts)
    picture = f"<div>{_histogram(values)}</div>" if values.size > 1 else ""
    return _page(type(shown).__name__, facts, picture, _pre(np.array2string(values, threshold=MOST_WRITTEN)))


def _histogram(values: np.ndarray) -> str:
    """The distribution of numbers, with its ends and the count of numbers that are not finite."""
    if values.dtype.kind not in "fiu" or not values.size:
        return ""
    step = -(-values.size // MOST_COUNTED)
    # without reshaping, which would copy an array that is not contiguous
    sample = np.asarray(values.flat[::step] if step > 1 else values, np.float64).ravel()
    finite = sample[np.isfinite(sample)]
    if not finite.size:
        return _caption(f"no finite numbers among {values.size:,}")
    low, high = float(finite.min()), float(finite.max())
    # numbers near the largest float have no finite range
    if not np.isfinite(high - low):
        return _caption(f"from {low:.4g} to {high:.4g}")
    counts, _ = np.histogram(finite, BINS, (low, high) if high > low else (low - 0.5, low + 0.5))
    strange = f", {sample.size - finite.size:,} not finite" if finite.size < sample.size else ""
    note = f", counted in every {step:,}th" if step > 1 else ""
    return f"{_bars(counts)} {_caption(f'from {low:.4g} to {high:.4g}, mean {finite.mean():.4g}{strange}{note}')}"


def _caption(text: str) -> str:
    return f'<span style="opacity:.75">{escape(text)}</span>'


def _bars(counts: np.ndarray) -> str:
    (width, height), most = HISTOGRAM, max(int(counts.max()), 1)
    bar = width / len(counts)
    # at least one pixel high, so that an interval with few elements differs from one with none
    sizes = [(k, max(1.0, height * int(count) / most)) for k, count in enumerate(counts) if count]
    rects = "".join(f'<rect x="{k * bar:.1f}" y="{height - h:.1f}" width="{bar * 0.9:.1f}" height="{h:.1f}"/>' for k, h in sizes)
    head = f'width="{width}" height="{height}" viewBox="0 0 {width} {height}" role="img" aria-label="histogram"'
    return f'<svg xmlns="http://www.w3.org/2000/svg" {head} style="fill:{BAR};vertical-align:middle">{rects}</svg>'


# ------------------------------------------------------------------------------------------------------------------ networks


def _parameter_row(p: Parameter) -> Row:
    where = ", ".join(str(a.context) for a in p._data) if p._data else "waits for its shape" if p._deferred else "not initialized"
    return p.name, _shape(p.shape), dtype_name(p.dtype), size(p), p.grad_req, where


def _counts(found: Collection[Parameter]) -> list[str]:
    """How many parameters there are, and how many values they have together."""
    return [counted(len(found), "parameter"), counted(sum(map(size, found)), "value")]


PARAMETER_HEADS = ("parameter", "shape", "dtype", "values", "gradient", "where")


def parameter(shown: Parameter) -> str:
    """A parameter: its description, and its array if it has one."""
    name, *facts = _parameter_row(shown)
    # the first of the copies on several devices, which are equal
    own = array(shown._data[0]) if shown._data else ""
    return _page(f"Parameter {name}", [*facts[:2], counted(size(shown), "value"), f"gradient: {facts[3]}", facts[4]], own)


def parameters(shown: ParameterDict) -> str:
    """A table of parameters."""
    every = list(shown.values())
    facts = _counts(every)
    return _page("ParameterDict", facts, _table(PARAMETER_HEADS, map(_parameter_row, every)))


def block(shown: Block) -> str:
    """A table of layers with the shapes of their parameters, and the parameters."""
    own = list(shown.collect_params().values())
    waiting = sum(not size(p) for p in own)
    facts = [shown.name, *_counts(own), f"{waiting} of unknown shape" if waiting else ""]
    facts.append("hybridized" if shown._is_hybridized else "")
    # a layer without others in it is a table of itself
    rows = [row for name, child in shown._children.items() for row in _layers(child, name, 0)] or list(_layers(shown, "", 0))
    layers = _table(("layer", "kind", "parameters", "values"), rows)
    return _page(type(shown).__name__, facts, layers, _below("parameters", _table(PARAMETER_HEADS, map(_parameter_row, own))))


def _layers(layer: Block, name: str, depth: int) -> Iterable[Row]:
    """A row for a layer and for each one in it."""
    own = list(layer._reg_params.values())
    shapes = ", ".join(f"{key} {_shape(p.shape)}" for key, p in layer._reg_params.items())
    yield "\u2003" * depth + name, _kind(layer), shapes, sum(map(size, own)) if own else ""
    # indented by wide spaces, which HTML keeps, as it drops ordinary ones
    for inner, child in layer._children.items():
        yield from _layers(child, inner, depth + 1)


def _kind(layer: Block) -> str:
    """The class and arguments of a layer as one line of text; the class only where the text lists the layers in it."""
    text = repr(layer)
    return type(layer).__name__ if "\n" in text else text


def symbol(shown: Symbol) -> str:
    """The picture of a symbol's graph, or the names of its inputs and outputs if it is large."""
    graph = NetworkGraph(shown)
    names = ", ".join(shown.list_outputs())
    facts = [f"{len(graph.nodes)} nodes", f"outputs: {names}" if len(names) < 100 else f"{len(shown.list_outputs())} outputs"]
    picture = graph.drawn() if len(graph.nodes) <= MOST_NODES else ""
    inputs = _below("inputs", _pre("\n".join(shown.list_inputs())), is_open=not picture)
    return _page(type(shown).__name__, facts, _wide(picture), inputs)


def _wide(picture: str) -> str:
    """A picture that scrolls if it is too high for a notebook's cell."""
    return f'<div style="max-height:40em;overflow:auto;margin:4px 0">{picture}</div>' if picture else ""


def executor(shown: Executor) -> str:
    """An executor's arguments, and the picture of its graph; its programs would have to be compiled first."""
    arguments = [*shown.arg_dict.items(), *shown.aux_dict.items()]
    rows = [(name, _shape(a.shape), a._dtype, str(a.context)) for name, a in arguments]
    table = _table(("argument", "shape", "dtype", "device"), rows)
    graph = shown._source.symbol()
    return _of_facts(facts.executor, shown, table, symbol(graph) if isinstance(graph, Symbol) else "")


def memory_plan(shown: MemoryPlan) -> str:
    """A table of a memory plan's pieces."""
    rows = [(what, size_text(nbytes), note) for what, nbytes, note in shown.rows]
    return _page("MemoryPlan", [size_text(shown.nbytes)], _table(("memory", "size", ""), rows))


def memory_plans(shown: MemoryPlans) -> str:
    """A table for each memory plan, below the title of its program."""
    return _page("MemoryPlans", [counted(len(shown), "program")], *(_pre(title) + memory_plan(plan) for title, plan in shown.items()))


# ------------------------------------------------------------------------------------------------------------------ training


def module(shown: BaseModule) -> str:
    """A module's bound shapes, its parameters, and the picture of its symbol."""
    shapes = [*(shown.data_shapes or ()), *(shown.label_shapes or ())] if shown.binded else []
    inputs = _table(("input", "shape"), [(d[0], _shape(d[1])) for d in shapes])
    weights = _weights(getattr(shown, "_arg_params", None)) + _weights(getattr(shown, "_aux_params", None))
    # buckets have symbols once they are bound
    drawn = shown.symbol if shown.binded else shown._symbol
    network = "" if drawn is None else _below("network", symbol(drawn))
    table = _below("parameters", _table(("parameter", "shape", "dtype", "values"), weights))
    return _of_facts(facts.module, shown, inputs, table, network, but=("data", "label") if shown.binded else ())


def _weights(found: Mapping[str, Array] | None) -> list[Row]:
    return [(name, _shape(a.shape), a._dtype, a.size) for name, a in (found or {}).items()]


def trainer(shown: Trainer) -> str:
    """A trainer's optimizer and parameters."""
    own = shown._params
    parameters = _below("parameters", _table(PARAMETER_HEADS, map(_parameter_row, own)))
    return _of_facts(facts.trainer, shown, optimizer(shown._optimizer), parameters)


def optimizer(shown: Optimizer) -> str:
    """An optimizer's rates and options."""
    return _page(type(shown).__name__, [], _table(("option", "value"), facts_of(facts.optimizer, shown)))


def store(shown: KVStoreBase) -> str:
    """A key-value store's kind and processes."""
    return _of_facts(facts.store, shown)


def loader(shown: DataLoader) -> str:
    """A loader's dataset, and the number of batches."""
    return _of_facts(facts.loader, shown)


def iterator(shown: DataIter) -> str:
    """The arrays of an iterator's batches; a user's iterator may describe them by pairs, or not at all."""
    kinds = [(kind, getattr(shown, f"provide_{kind}", None) or ()) for kind in ("data", "label")]
    rows = [(kind, d[0], _shape(d[1]), dtype_name(d.dtype) if hasattr(d, "dtype") else "") for kind, found in kinds for d in found]
    return _of_facts(facts.iterator, shown, _table(("array", "name", "shape", "dtype"), rows), but=("data", "label"))


def metric(shown: EvalMetric) -> str:
    """The values of a metric, which have been computed when it was updated."""
    return _page(type(shown).__name__, [], _table(("metric", "value"), shown.get_name_value()))


# ------------------------------------------------------------------------------------------------------------------ profiling


def report(shown: Report) -> str:
    """The programs that ran inside the block of `mx.explain`."""
    if shown._thread is None:
        return _page("explain", [], _pre(str(shown)))
    causes = [f"{f.cause}, {counted(f.operations, 'deferred operation')}" if f.operations else f.cause for f in shown.flushes]
    rows = [(f.line, cause, len(f.steps), f.kernels, size_text(f.nbytes)) for f, cause in zip(shown.flushes, causes, strict=True)]
    table = _table(("line", "why", "steps", "fused", "memory"), rows)
    steps = _pre("\n\n".join(f"{f.line}\n" + "\n".join(f"  {line}" for line in f.printed) for f in shown.flushes)) if rows else ""
    inline = _table(("ran at once", "times"), shown.inline.most_common())
    # only what ran has a trace
    traced = perfetto_button(shown.profile().chunks(), "explain.json.gz") if rows or shown.inline else ""
    return _page("explain", shown.facts, table, _below("steps", steps), inline, traced)


def profile(shown: Profile) -> str:
    """A timeline, the times, and a button that opens the trace in Perfetto."""
    times = shown.times
    if not times:
        return _page("profile", ["nothing was recorded"])
    rows = [(row.category, row.name, row.count, *(round(t, 3) for t in (row.total, row.total / row.count, row.longest))) for row in times]
    table = _table(("category", "name", "times", "total, ms", "mean, ms", "longest, ms"), rows)
    picture = f'<div style="overflow-x:auto">{plot_timeline(shown.trace)}</div>'
    return _page(
        "profile", ["times of programs contain those of their kernels"], perfetto_button(shown.chunks(), "profile.json.gz"), picture, table
    )
