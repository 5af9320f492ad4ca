"""Writes the content of a file as a page of HTML: tables with histograms, a contact sheet of images, the network. All text is escaped."""

from base64 import b64encode
from collections.abc import Sequence
from html import escape

from ...visualization.layered import plot_layers, without_shared_prefix
from ..figures import page
from .content import ArrayContent, Content, Fact, Sample, Table
from .wording import arrays_table, fact_text, samples_table, size_in_bytes

STYLE = """
body { max-width: 80rem; } table { font-size: 14px; } td { font-variant-numeric: tabular-nums; } .text { text-align: left; }
.wide { overflow-x: auto; } .sheet { display: flex; flex-wrap: wrap; gap: 1rem; }
figure { margin: 0; width: 12rem; font-size: 13px; line-height: 1.3; overflow-wrap: anywhere; }
figure svg { background: #eee; display: block; margin-bottom: .3rem; image-rendering: auto; } .tiny { image-rendering: pixelated; }
figcaption b { display: block; } .hist { fill: #4477aa; vertical-align: middle; }
"""
#: Colors of boxes by class, of Paul Tol's bright scheme; they repeat.
COLORS = ("#EE6677", "#228833", "#4477AA", "#CCBB44", "#66CCEE", "#AA3377")
#: Sides of a histogram, and of the picture of a sample, in pixels. Smaller pictures are enlarged.
HISTOGRAM = (96, 24)
PICTURE = 160


def content_page(content: Content) -> str:
    """The page as text."""
    sections = [_facts(content)]
    if content.fault is not None:
        sections.append(f'<p class="failed">{escape(str(content.fault))}</p>')
    pictured = [s for s in content.samples if s.picture is not None or s.fault is not None]
    if pictured:
        sections.append(f'<h2>Images</h2><div class="sheet">{"".join(map(_figure, pictured))}</div>')
    sections += [_table(table) for table in content.tables if table.rows]
    if content.arrays:
        sections.append(_arrays(content.arrays))
    if content.network is not None:
        drawing = plot_layers(without_shared_prefix(content.network.boxes), content.network.edges)
        sections.append(f'<h2>Network</h2><div class="wide">{drawing}</div>')
    if content.samples and not pictured:
        sections.append(_table(samples_table(content)))
    return page(f"Twofold: {content.path}", "\n".join(sections), STYLE)


def _facts(content: Content) -> str:
    facts = {"kind": content.kind, "size": size_in_bytes(content.size), **content.facts}
    rows = "".join(f'<tr><th>{escape(name)}</th><td class="text">{escape(fact_text(value))}</td></tr>' for name, value in facts.items())
    return f"<h1>{escape(content.path)}</h1><table>{rows}</table>"


def _row(tag: str, values: Sequence[Fact], kinds: Sequence[str], more: str = "") -> str:
    cells = "".join(f"<{tag}{kind}>{escape(fact_text(value))}</{tag}>" for value, kind in zip(values, kinds, strict=True))
    return f"<tr>{cells}{more}</tr>"


def _kinds(table: Table) -> list[str]:
    """The attribute of the cells of each column: texts begin at the left, numbers end at the right."""
    return [' class="text"' if any(isinstance(row[k], str) for row in table.rows) else "" for k in range(len(table.heads))]


def _table(table: Table) -> str:
    kinds = _kinds(table)
    rows = _row("th", table.heads, kinds) + "".join(_row("td", row, kinds) for row in table.rows)
    return f'<h2>{escape(table.title)}</h2><div class="wide"><table>{rows}</table></div>'


def _arrays(arrays: Sequence[ArrayContent]) -> str:
    table = arrays_table(arrays, with_histograms=False)
    kinds = _kinds(table)
    rows = _row("th", table.heads, kinds, "<th>distribution</th>")
    for array, row in zip(arrays, table.rows, strict=True):
        picture = histogram(array.statistics.histogram) if array.statistics is not None else ""
        rows += _row("td", row, kinds, f"<td>{picture}</td>")
    return f'<h2>{escape(table.title)}</h2><div class="wide"><table>{rows}</table></div>'


def histogram(counts: Sequence[int]) -> str:
    """A histogram as a small SVG."""
    if not counts:
        return ""
    (width, height), most = HISTOGRAM, max(counts) or 1
    bar = width / len(counts)
    bars = "".join(
        # at least one pixel high, so that an interval with few elements differs from one with none
        f'<rect x="{k * bar:.1f}" y="{height - max(1, height * count / most):.1f}" width="{bar * 0.9:.1f}" '
        f'height="{max(1, height * count / most):.1f}"/>'
        for k, count in enumerate(counts)
        if count
    )
    return f'<svg class="hist" width="{width}" height="{height}" viewBox="0 0 {width} {height}">{bars}</svg>'


def _figure(sample: Sample) -> str:
    label = sample.facts.get("label")
    if sample.boxes:  # its numbers are in the picture
        label = f"objects of class {', '.join(f'{box[0]:g}' for box in sample.boxes)}"
    head = f"<b>#{sample.number}{'' if label is None else f': {escape(fact_text(label))}'}</b>"
    lines = [f"{escape(name)} {escape(fact_text(value))}" for name, value in sample.facts.items() if name not in ("label", "objects")]
    if sample.fault is not None:
        lines.append(f'<span class="failed">{escape(sample.fault)}</span>')
    return f"<figure>{_picture(sample)}<figcaption>{head}{'<br>'.join(lines)}</figcaption></figure>"


def _picture(sample: Sample) -> str:
    if sample.picture is None:
        return ""
    data, width, height = sample.picture
    scale = PICTURE / max(width, height)
    w, h = width * scale, height * scale
    kind = "png" if data.startswith(b"\x89PNG") else "jpeg"
    image = f'<image href="data:image/{kind};base64,{b64encode(data).decode()}" width="{w:.1f}" height="{h:.1f}"/>'
    style = ' class="tiny"' if scale > 1 else ""
    boxes = "".join(_box(box, w, h) for box in sample.boxes)
    return f'<svg{style} width="{w:.1f}" height="{h:.1f}" viewBox="0 0 {w:.1f} {h:.1f}">{image}{boxes}</svg>'


def _box(box: tuple[float, float, float, float, float], w: float, h: float) -> str:
    number, left, top, right, bottom = box
    # a label of any float32 is taken for a class, so infinite and huge ones need a color too
    color = COLORS[int(abs(number)) % len(COLORS)] if abs(number) < 1e9 else COLORS[0]
    x, y = left * w, top * h
    return (
        f'<rect x="{x:.1f}" y="{y:.1f}" width="{max(right - left, 0) * w:.1f}" height="{max(bottom - top, 0) * h:.1f}" '
        f'fill="none" stroke="{color}" stroke-width="2"/>'
        f'<text x="{x + 2:.1f}" y="{max(y + 11, 11):.1f}" font-size="11" font-weight="bold" fill="{color}" stroke="#fff" '
        f'stroke-width="2.5" paint-order="stroke">{number:g}</text>'
    )
