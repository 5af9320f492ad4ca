"""Self-contained HTML pages: the frame that all reports have."""

from html import escape

STYLE = """
body { font: 16px/1.5 system-ui, sans-serif; max-width: 60rem; margin: 2rem auto; padding: 0 1rem; }
table { border-collapse: collapse; } td, th { padding: .2rem .8rem; text-align: right; border-bottom: 1px solid #ccc; }
td:first-child, th:first-child { text-align: left; } pre { background: #f4f4f4; padding: 1rem; overflow: auto; font-size: 13px; }
img, svg { max-width: 100%; } .failed { color: #b00020; }
"""


def page(title: str, body: str, style: str = "") -> str:
    """A page.

    Parameters
    ----------
    title
        Its title, as text.
    body
        What follows, as HTML.
    style
        Rules of CSS besides those of all reports.
    """
    head = f'<meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}{style}</style>'
    return f'<!doctype html><html lang="en"><head>{head}</head><body>{body}</body></html>\n'
