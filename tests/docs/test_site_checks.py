"""The checks of the built site find what they look for."""

from __future__ import annotations

import pytest

from tools.site_checks import ROOT, Page, colors, contrast, faults_of_colors, faults_of_pages, resolved

HEAD = '<!doctype html><html lang="en"><title>A</title><meta name="description" content="d">'
GOOD = f'{HEAD}<h1 id="a">A</h1><h2>B</h2><h2>C</h2><img src="i.svg" alt=""></html>'


def site(tmp_path, **pages: str):
    """A folder of pages by name."""
    (tmp_path / "i.svg").touch()
    for name, text in pages.items():
        (tmp_path / f"{name}.html").write_text(text, encoding="utf-8")
    return tmp_path


def test_a_good_page_has_no_faults(tmp_path):
    folder = site(tmp_path, a=GOOD, b=GOOD.replace("</html>", '<a href="a.html#a"></a><a href="https://x.org/#y"></a></html>'))
    assert list(faults_of_pages(folder)) == []


@pytest.mark.parametrize(
    ("old", "new", "fault"),
    [
        (' lang="en"', "", "no language"),
        ("<title>A</title>", "", "no title"),
        (' content="d"', "", "no description"),
        ("<h2>B", '<h2 id="a">B', "the id 'a' occurs 2 times"),
        (' alt=""', "", "the image i.svg has no text"),
        ("<h2>B</h2>", "<h3>B</h3>", "a heading of level 3 after one of level 1"),
        ("</h1>", f"{ROOT}/docs</h1>", f"holds the path {ROOT}/ of this machine"),
        ("</html>", '<a href="none.html">', "a link to none.html, which does not exist"),
        ("</html>", '<a href="#none">', "a link to a.html#none, which is no anchor there"),
    ],
)
def test_a_fault_of_a_page_is_found(tmp_path, old, new, fault):
    assert list(faults_of_pages(site(tmp_path, a=GOOD.replace(old, new)))) == [f"a.html: {fault}"]


def test_the_title_of_a_drawing_is_not_that_of_the_page():
    assert Page("<title>A</title><svg><title>B</title></svg>").title == "A"


@pytest.mark.parametrize(
    ("first", "second", "expected"),
    # the extremes are by definition; #767676 on white is WCAG's example of what just passes
    [("#000", "#ffffff", 21.0), ("#fff", "#fff", 1.0), ("#767676", "#ffffff", 4.54)],
)
def test_contrast_is_that_of_wcag(first, second, expected):
    assert contrast(first, second) == pytest.approx(expected, abs=0.005)


def test_later_style_sheets_decide_a_color():
    styles = [
        "html[data-theme=light]{--pst-color-link:#111;--pst-color-primary:var(--pst-color-link)}",
        'html[data-theme="light"] { --pst-color-link: #222; }',
    ]
    assert resolved("primary", colors(styles, "light")) == "#222"


def test_pale_text_is_found(tmp_path):
    names = ("text-base", "text-muted", "link", "link-higher-contrast", "inline-code-links", "primary", "secondary")
    texts = "".join(f"--pst-color-{name}:#000000;" for name in names)
    shown = "".join(
        f"html[data-theme={mode}]{{{texts}--pst-color-background:#ffffff;--pst-color-surface:#eeeeee}}" for mode in ("light", "dark")
    )
    (tmp_path / "_static").mkdir()
    (tmp_path / "_static/site.css").write_text(shown.replace("link:#000000", "link:#999999", 1), encoding="utf-8")
    assert [fault.partition(" is")[0] for fault in faults_of_colors(tmp_path)] == [
        "light mode: the contrast of link on background",
        "light mode: the contrast of link on surface",
    ]
