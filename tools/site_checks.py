"""Checks of the built documentation, run by ``make docs``: what a reader, a screen reader or a phone would stumble over.

    python tools/site_checks.py [FOLDER]

Of every page: links and anchors that lead nowhere, images without a text, ids that occur twice, headings that skip a level, no title,
description or language, paths of the machine that built it. Of the theme's colors in both modes: contrast, by WCAG's formula. Of the
main pages, where Chromium is installed: whether all of them fits the width of a phone.
"""

from __future__ import annotations

import os
import re
import shutil
import subprocess
import sys
import tempfile
from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from concurrent.futures import ProcessPoolExecutor
from html import unescape
from html.parser import HTMLParser
from pathlib import Path
from typing import NamedTuple
from urllib.parse import unquote, urlsplit

ROOT = Path(__file__).parents[1]
SITE = ROOT / "docs" / "_build" / "html"

#: Folders of pages that others lay out: asv's, and listings of the source, whose way back goes to one of the names that a function has.
FOREIGN = ("_static", "_modules", "benchmarks/history")
#: Folders of the machine, which a default value or a message may have brought into a page.
MACHINE = tuple(f"{folder}/" for folder in (ROOT, Path.home()) if folder.name)
#: A page of each kind that the site has.
MAIN_PAGES = (
    "index.html",
    "install.html",
    "tutorial/arrays.html",
    "guide/performance.html",
    "gallery/index.html",
    "reference/mxnet-names.html",
    "benchmarks/index.html",
    "api/op.Convolution.html",
    "api/gluon.nn.Conv2D.html",
    "search.html",
    "changelog.html",
)
PHONE = 390

#: Variables of the theme that are text, on those that are behind it, with the least contrast: WCAG 2.2, 1.4.3.
TEXTS = ("text-base", "text-muted", "link", "link-higher-contrast", "inline-code-links", "primary", "secondary")
BACKGROUNDS = ("background", "surface")
LEAST = 4.5


class Page(HTMLParser):
    """What the checks need to know of a page."""

    def __init__(self, text: str) -> None:
        super().__init__(convert_charrefs=True)
        self.language = self.title = self.description = ""
        self.ids: list[str] = []
        self.links: list[str] = []
        self.bare_images: list[str] = []
        self.headings: list[int] = []
        self._in_title = False
        self.feed(text)

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """Note what an element has."""
        given = dict(attrs)
        if found := given.get("id"):
            self.ids.append(found)
        if tag == "html":
            self.language = given.get("lang") or ""
        elif tag == "title":
            self._in_title = not self.title  # drawings have titles too
        elif tag == "meta" and given.get("name") == "description":
            self.description = given.get("content") or ""
        elif tag == "img" and "alt" not in given:
            self.bare_images.append(given.get("src") or "")
        elif re.fullmatch("h[1-6]", tag):
            self.headings.append(int(tag[1]))
        self.links += [given[key] or "" for key in ("href", "src") if key in given]

    def handle_endtag(self, tag: str) -> None:
        """Leave the title."""
        if tag == "title":
            self._in_title = False

    def handle_data(self, data: str) -> None:
        """Note the title's text."""
        if self._in_title:
            self.title += data.strip()


class Found(NamedTuple):
    """What one page has, small enough to be sent between processes: its faults, its ids, and its links within the site."""

    faults: list[str]
    ids: set[str]
    links: set[tuple[str, str]]


def read(site: Path, path: Path) -> Found:
    """The faults of a page that can be seen in itself, and where it links to: a file of the site and an anchor, which may be empty."""
    text, name = path.read_text(encoding="utf-8"), path.relative_to(site).as_posix()
    page = Page(text)
    faults = [
        f"{name}: no {what}"
        for what, there in (("language", page.language), ("title", page.title), ("description", page.description))
        if not there
    ]
    faults += [f"{name}: the id {each!r} occurs {count} times" for each, count in Counter(page.ids).items() if count > 1]
    faults += [f"{name}: holds the path {folder} of this machine" for folder in MACHINE if folder in unescape(text)][:1]
    faults += [f"{name}: the image {each} has no text" for each in page.bare_images]
    steps = zip([0, *page.headings], page.headings, strict=False)
    faults += [f"{name}: a heading of level {b} after one of level {a}" for a, b in steps if b > a + 1]
    links = set()
    for link in set(page.links):
        parts = urlsplit(link)
        if not parts.scheme and not parts.netloc:
            target = os.path.normpath(path.parent / unquote(parts.path)) if parts.path else str(path)
            links.add((target, unquote(parts.fragment)))
    return Found(faults, set(page.ids), links)


def faults_of_pages(site: Path) -> Iterator[str]:
    """The faults of all pages, links between them included."""
    site = site.resolve()
    paths = [p for p in sorted(site.rglob("*.html")) if not p.relative_to(site).as_posix().startswith(FOREIGN)]
    with ProcessPoolExecutor() as pool:
        pages = dict(zip(paths, pool.map(read, [site] * len(paths), paths, chunksize=50), strict=True))
    ids = {str(path): found.ids for path, found in pages.items()}
    there = {str(path) for path in site.rglob("*")} | {str(site)}
    for path, found in pages.items():
        yield from found.faults
        for target, anchor in sorted(found.links):
            if target not in there:
                yield f"{path.relative_to(site)}: a link to {target.removeprefix(f'{site}/')}, which does not exist"
            elif anchor and target in ids and anchor not in ids[target]:
                yield f"{path.relative_to(site)}: a link to {target.removeprefix(f'{site}/')}#{anchor}, which is no anchor there"


# --------------------------------------------------------------------------------------------------------------- colors


def colors(styles: Iterable[str], mode: str) -> dict[str, str]:
    """The theme's variables of a mode, ``light`` or ``dark``, as the last of several style sheets leaves them."""
    found: dict[str, str] = {}
    for style in styles:
        for block in re.findall(rf'html\[data-theme="?{mode}"?\][^{{]*\{{([^}}]*)\}}', style):
            found |= dict(re.findall(r"--pst-color-([\w-]+):\s*([^;}]+?)\s*(?=[;}]|$)", block))
    return found


def resolved(name: str, known: Mapping[str, str]) -> str:
    """The hexadecimal color of a variable, which may refer to another one."""
    value = known[name]
    while reference := re.match(r"var\(--pst-color-([\w-]+)\)", value):
        value = known[reference[1]]
    return value


def luminance(color: str) -> float:
    """The relative luminance of ``#rrggbb`` or ``#rgb``: WCAG 2.2, definition of relative luminance."""
    digits = color.lstrip("#")
    pairs = [2 * d for d in digits] if len(digits) == 3 else [digits[k : k + 2] for k in (0, 2, 4)]
    red, green, blue = (c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in (int(pair, 16) / 255 for pair in pairs))
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(first: str, second: str) -> float:
    """The contrast of two colors, from 1 to 21: WCAG 2.2, definition of contrast ratio."""
    darker, lighter = sorted((luminance(first), luminance(second)))
    return (lighter + 0.05) / (darker + 0.05)


def faults_of_colors(site: Path) -> Iterator[str]:
    """Texts that are hard to read on their background."""
    sheets = (site / "_static/styles/theme.css", site / "_static/styles/pydata-sphinx-theme.css", site / "_static/site.css")
    styles = [sheet.read_text(encoding="utf-8") for sheet in sheets if sheet.exists()]
    for mode in ("light", "dark"):
        known = colors(styles, mode)
        for text in TEXTS:
            for behind in BACKGROUNDS:
                found = contrast(resolved(text, known), resolved(behind, known))
                if found < LEAST:
                    yield f"{mode} mode: the contrast of {text} on {behind} is {found:.2f}, below {LEAST}"


# --------------------------------------------------------------------------------------------------------------- phones

#: Loads a page in a frame as wide as a phone, and writes what stands out of it: Chromium's own windows are not that narrow.
FRAME = """<!doctype html><pre id="found"></pre><iframe src="%s" style="width:%dpx;height:844px;border:0"></iframe><script>
const frame = document.querySelector("iframe");
frame.onload = () => setTimeout(() => {
  const page = frame.contentDocument, width = frame.clientWidth;
  const scrolls = e => e && e !== page.documentElement && e !== page.body
    && (getComputedStyle(e).overflowX !== "visible" || scrolls(e.parentElement));
  const wide = [...page.body.querySelectorAll("*")].filter(e => e.getBoundingClientRect().right > width + 1 && !scrolls(e));
  document.querySelector("#found").textContent = page.scrollingElement.scrollWidth <= width ? "fits"
    : wide.slice(0, 3).map(e => e.tagName.toLowerCase() + "." + e.className).join(" ") || "something is wider";
}, 1000);
</script>"""


def faults_on_phones(site: Path, chromium: str) -> Iterator[str]:
    """Main pages that would scroll sideways."""
    for name in MAIN_PAGES:
        with tempfile.TemporaryDirectory() as folder:
            frame = Path(folder) / "frame.html"
            frame.write_text(FRAME % ((site / name).resolve().as_uri(), PHONE), encoding="utf-8")
            options = ["--headless", "--no-sandbox", "--disable-gpu", "--allow-file-access-from-files", "--virtual-time-budget=8000"]
            command = [chromium, *options, f"--user-data-dir={folder}/profile", "--dump-dom", frame.as_uri()]
            run = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
        found = re.search(r'<pre id="found">(.*?)</pre>', run.stdout, re.DOTALL)
        if found is None or not found[1]:
            yield f"{name}: Chromium shows nothing: {run.stderr.strip()[-200:]}"
        elif found[1] != "fits":
            yield f"{name}: wider than a phone ({PHONE} px): {unescape(found[1])}"


def main() -> int:
    """Print the faults."""
    site = Path(sys.argv[1]) if len(sys.argv) > 1 else SITE
    faults = [*faults_of_pages(site), *faults_of_colors(site)]
    if chromium := shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome"):
        faults += faults_on_phones(site, chromium)
    else:
        print("not checked on a phone: there is no Chromium")
    print("\n".join(faults) or f"{sum(1 for _ in site.rglob('*.html')):,} pages without a fault")
    return bool(faults)


if __name__ == "__main__":
    sys.exit(main())
