"""``make asv-pages``: pages from the figures kept in `results/`: the contests with other libraries, and asv's history.

Contests are `results/*.json`, a file for each machine; asv keeps its figures in `results/asv/`, a folder for each machine, and draws
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


def amount(value: float, unit: str) -> str:
    """Seconds or bytes with a prefix that keeps three digits."""
    steps = ((1, "s"), (1e-3, "ms"), (1e-6, "µs"), (1e-9, "ns")) if unit == "s" else ((1e6, "MB"), (1e3, "kB"), (1, "B"))
    factor, name = next((step for step in steps if value >= step[0]), steps[-1])
    return f"{value / factor:.3g} {name}"


def table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    """An HTML table."""
    lines = ["<tr>" + "".join(f"<th>{escape(c)}</th>" for c in head) + "</tr>"]
    lines += ["<tr>" + "".join(f"<td>{escape(c)}</td>" for c in row) + "</tr>" for row in rows]
    return "\n".join(["<table>", *lines, "</table>"])


def contest_page(record: Mapping[str, Any]) -> str:
    """The page of one contest: a table for each work, the fastest first, against the fastest."""
    versions = ", ".join(f"{name} {found['version']}" for name, found in record["libraries"].items())
    return page(f"{record['date']}, {record['cores']} cores", [f"<p>{escape(versions)}</p>", *_works(record["items"])])


def _works(items: Mapping[str, Any]) -> Iterator[str]:
    for item in items.values():
        medians = sorted(item["medians"].items(), key=lambda entry: entry[1])
        best = medians[0][1] if medians else 1
        yield f"<h2>{escape(item['text'])}</h2>"
        yield table(("", "median", "against the best"), [(name, amount(v, item["unit"]), f"{v / best:.2f}") for name, v in medians])


def page(title: str, parts: Sequence[str]) -> str:
    """A whole page."""
    head = f'<!doctype html><html lang="en"><meta charset="utf-8"><title>{escape(title)}</title><style>{STYLE}</style>'
    return "\n".join([head, f"<h1>{escape(title)}</h1>", *parts, "</html>", ""])


def write_pages(results: Path, pages: Path) -> list[Path]:
    """Write a page for each contest, and one that lists them.

    Parameters
    ----------
    results, pages
        Where the figures are, and where the pages go.

    Returns
    -------
    list of Path
        What was written, the list last.
    """
    pages.mkdir(parents=True, exist_ok=True)
    written = []
    for file in sorted(results.glob("*.json")):
        target = pages / f"{file.stem}.html"
        target.write_text(contest_page(json.loads(file.read_text(encoding="utf-8"))), encoding="utf-8")
        written.append(target)
    links = [f'<li><a href="{path.name}">{escape(path.stem)}</a></li>' for path in written]
    if has_history(results):
        links.append('<li><a href="history/index.html">the history, revision by revision</a></li>')
    index = pages / "index.html"
    index.write_text(page("Twofold: figures", ["<ul>", *links, "</ul>"]), encoding="utf-8")
    return [*written, index]


def has_history(results: Path) -> bool:
    """Whether asv has kept figures of some machine."""
    return any((results / "asv").glob("*/machine.json"))


def main(arguments: list[str] | None = None) -> int:
    """Write the pages, and have asv draw the history where there is one."""
    parser = argparse.ArgumentParser(description="Pages from the figures in asv_benchmarks/results.")
    parser.add_argument("--out", type=Path, default=PAGES, help="where the pages go")
    out = parser.parse_args(arguments).out.resolve()
    for path in write_pages(RESULTS, out):
        print(path)
    if not has_history(RESULTS):
        print("no history yet: make asv keeps one")
        return 0
    return subprocess.run([sys.executable, "-m", "asv", "publish", "--html-dir", str(out / "history")], cwd=HERE, check=False).returncode


if __name__ == "__main__":
    sys.exit(main())
