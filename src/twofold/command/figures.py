"""Self-contained pages of HTML, and the figures of the demo's report: no scripts, and no files beside the page."""

import struct
import zlib
from base64 import b64encode
from collections.abc import Mapping, Sequence
from html import escape

import numpy as np

from ..visualization import plot_training

#: The rules of CSS of all pages. Elements that are too wide for a phone scroll, and have a shadow at a side
#: to which they do.
STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; overflow-wrap: anywhere; }
table { border-collapse: collapse; overflow-wrap: normal; }
td, th { padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #ccc; } td { white-space: nowrap; }
td:first-child, th:first-child { text-align: left; } pre { background: #f4f4f4; padding: 1rem; overflow: auto; font-size: 13px; }
img, svg { max-width: 100%; } .failed { color: #b00020; }
.wide { overflow-x: auto; } .wide svg { max-width: none !important; background: none !important; }
.wide, .wide [style*="overflow-x"] {
  background:
    linear-gradient(90deg, #fff 30%, #fff0) 0 0 / 3rem 100% local, linear-gradient(270deg, #fff 30%, #fff0) 100% 0 / 3rem 100% local,
    linear-gradient(90deg, #0004, #0000) 0 0 / .8rem 100%, linear-gradient(270deg, #0004, #0000) 100% 0 / .8rem 100%;
  background-repeat: no-repeat; }
@media (max-width: 600px) { td, th { padding: .2rem .4rem; font-size: 14px; } }
"""
#: Those of the demo's figures. A timeline is wider than the text, where the window is.
FIGURES = """
.timeline { width: min(100vw - 2rem, 82rem); margin-left: calc(50% - min(50vw - 1rem, 41rem)); }
.sheet { display: flex; flex-wrap: wrap; gap: 1rem; } figure { margin: 0; font-size: 13px; line-height: 1.3; }
figure img { width: 5rem; image-rendering: pixelated; display: block; border: 1px solid #ccc; }
.counts td, .counts th { padding: .1rem; width: 1.9rem; text-align: center; border: 0; font-size: 13px; }
"""
MISREAD_SHOWN = 30


def page(title: str, body: str, style: str = "") -> str:
    """A page.

    Parameters
    ----------
    title
        Its title, as text.
    body
        The content, as HTML.
    style
        Rules of CSS besides those of all reports.
    """
    head = '<meta charset="utf-8"><meta name="viewport" content="width=device-width, initial-scale=1">'
    head += f"<title>{escape(title)}</title><style>{STYLE}{style}</style>"
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'


def table(heads: Sequence[str], rows: Sequence[Sequence[str]], kind: str = "") -> str:
    """A table of texts, with a CSS class if one is given; it scrolls if it is wider than the page."""
    first = "".join(f'<th scope="col">{escape(text)}</th>' for text in heads)
    others = "".join(f"<tr>{''.join(f'<td>{escape(text)}</td>' for text in row)}</tr>" for row in rows)
    return f'<div class="wide"><table class="{kind}"><tr>{first}</tr>{others}</table></div>'


def curves_figure(losses: Mapping[str, Sequence[float]]) -> str:
    """The losses of each way, in separate panels: curves that agree would hide one another.

    Parameters
    ----------
    losses
        The loss of each step, by way.
    """
    panels = "".join(f"<figure>{plot_training({way: values}, log=True)}</figure>" for way, values in losses.items())
    return f'<div class="sheet">{panels}</div>'


def confusion_figure(counts: np.ndarray) -> str:
    """The confusion matrix, with cells the darker the more images they count.

    Parameters
    ----------
    counts
        Shape (10, 10): true digit, predicted digit.
    """
    # logarithmic: errors would vanish beside the diagonal
    shades = np.log1p(counts) / max(np.log1p(counts.max()), 1)
    heads = "".join(f'<th scope="col">{k}</th>' for k in range(counts.shape[1]))
    rows = ""
    for true, (row, tones) in enumerate(zip(counts, shades, strict=True)):
        cells = "".join(f"<td{_tone(tone)}>{count or ''}</td>" for count, tone in zip(row, tones, strict=True))
        rows += f'<tr><th scope="row">{true}</th>{cells}</tr>'
    return f'<div class="wide"><table class="counts"><tr><th></th>{heads}</tr>{rows}</table></div>'


def _tone(share: float) -> str:
    """The colors of a cell: white letters where the ground is dark."""
    if not share:
        return ""
    ground = ", ".join(f"{255 - share * (255 - end):.0f}" for end in (8, 48, 107))
    return f' style="background:rgb({ground});color:{"#fff" if share > 0.5 else "#000"}"'


def misread_figure(images: np.ndarray, true: np.ndarray, read: np.ndarray) -> str:
    """The first misclassified images.

    Parameters
    ----------
    images
        Shape (n, height, width), from 0 (paper) to 1 (ink).
    true, read
        Shape (n,): true and predicted digits.
    """
    wrong = np.flatnonzero(true != read)
    if not len(wrong):
        return "<p>None.</p>"
    figures = "".join(
        f'<figure><img alt="a {true[k]}" src="data:image/png;base64,{b64encode(_png(images[k])).decode()}">{true[k]} as {read[k]}</figure>'
        for k in wrong[:MISREAD_SHOWN]
    )
    return f'<p>{len(wrong)} of {len(true)}; the first of them:</p><div class="sheet">{figures}</div>'


def _png(ink: np.ndarray) -> bytes:
    """A PNG of 8-bit grays (ISO/IEC 15948): its size, and rows that each begin with the number of no filter."""
    height, width = ink.shape
    rows = np.zeros((height, width + 1), np.uint8)
    rows[:, 1:] = np.round(255 * (1 - ink))
    head = struct.pack(">IIBBBBB", width, height, 8, 0, 0, 0, 0)
    parts = ((b"IHDR", head), (b"IDAT", zlib.compress(rows.tobytes())), (b"IEND", b""))
    chunks = [struct.pack(">I", len(data)) + kind + data + struct.pack(">I", zlib.crc32(kind + data)) for kind, data in parts]
    return b"\x89PNG\r\n\x1a\n" + b"".join(chunks)
