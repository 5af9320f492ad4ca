"""``make asv-pages``: generates pages from the figures in `results/`: comparisons with other libraries, and asv's history.

Comparisons are in `results/*.json`, one file per machine. asv keeps its figures in `results/asv/`, one folder per machine, and plots
their history itself.
"""

from __future__ import annotations

import argparse
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping, Sequence
from html import escape
from pathlib import Path
from typing import Any

HERE = Path(__file__).parent
RESULTS, PAGES = HERE / "results", HERE / ".asv" / "html"
STYLE = "body{font-family:sans-serif;margin:2em}td,th{padding:2px 10px;text-align:right}th:first-child,td:first-child{text-align:left}"


def format_amount(value: float, unit: str) -> str:
    """Format seconds or bytes with three digits and a suitable prefix."""
    steps = ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")) if unit == "s" else ((1e6, "MB"), (1e3, "kB"), (1, "B"))
    factor, name = next((step for step in steps if value >= step[0]), steps[-1])
    return f"{value / factor:.3g} {name}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """Format an HTML table."""
    lines = ["<tr>" + "".join(f"<th>{escape(c)}</th>" for c in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows]
    return "\n".join(["<table>", *lines, "</table>"])


def contest_page(record: Mapping[str, Any]) -> str:
    """The page of one comparison: a table per workload, fastest first, relative to the fastest."""
    versions = ", ".join(f"{name} {found['version']}" for name, found in record["libraries"].items())
    return page(f"{record['date']}, {record['cores']} cores", [f"<p>{escape(versions)}</p>", *_works(record["items"])])


def _works(items: Mapping[str, Any]) -> Iterator[str]:
    for item in items.values():
        medians = sorted(item["medians"].items(), key=lambda entry: entry[1])
        best = medians[0][1] if medians else 1
        yield f"<h2>{escape(item['text'])}</h2>"
        yield table(("", "median", "against the best"), [(name, format_amount(v, item["unit"]), f"{v / best:.2f}") for name, v in medians])


def page(title: str, parts: Sequence[str]) -> str:
    """Assemble an HTML page."""
    about = f'<meta name="description" content="{escape(title)}: measured times, with medians and spreads">'
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title>{about}<style>{STYLE}</style>'
    return "\n".join([head, f"<h1>{escape(title)}</h1>", *parts, "</html>", ""])


def write_pages(results: Path, pages: Path) -> list[Path]:
    """Write a page for each comparison, and an index.

    Parameters
    ----------
    results, pages
        Folders of the figures and of the pages.

    Returns
    -------
    list of Path
        The files written, the index last.
    """
    pages.mkdir(parents=True, exist_ok=True)
    written = []
    for file in sorted(results.glob("peers-*.json")):
        target = pages / f"{file.stem}.html"
        target.write_text(contest_page(json.loads(file.read_text(encoding="utf-8"))), encoding="utf-8")
        written.append(target)
    links = [f'<li><a href="{path.name}">{escape(path.stem)}</a></li>' for path in written]
    if has_history(results):
        links.append('<li><a href="history/index.html">History by revision</a></li>')
    index = pages / "index.html"
    index.write_text(page("Twofold: figures", ["<ul>", *links, "</ul>"]), encoding="utf-8")
    return [*written, index]


def has_history(results: Path) -> bool:
    """Whether asv has stored figures for any machine."""
    return any((results / "asv").glob("*/machine.json"))


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, and run asv to plot the history if there is one."""
    parser = argparse.ArgumentParser(description="Generate pages from the figures in asv_benchmarks/results.")
    parser.add_argument("--out", type=Path, default=PAGES, help="folder of the pages")
    out = parser.parse_args(arguments).out.resolve()
    for path in write_pages(RESULTS, out):
        print(path)
    if not has_history(RESULTS):
        print("no history yet; run make asv to record one")
        return 0
    return subprocess.run([sys.executable, "-m", "asv", "publish", "--html-dir", str(out / "history")], cwd=HERE, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
