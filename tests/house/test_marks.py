"""The marks of the house get no worse: what tools/marks.py counts, against the limits of ceilings.toml."""

from __future__ import annotations

import textwrap

import pytest

from tests.house.sources import ROOT
from tests.house.verdict import expect_none
from tools.code_lines import files_at
from tools.marks import CAP, MARKS, File, Mark, ceremony_of, counts_of, difference, improved, row, settings

PATH = "src/twofold/a.py"
FEW = Mark("few", "things", 3, lambda files: len(files))
MANY = FEW._replace(is_good=True)


def measured(key: str, *texts: str) -> float:
    """A mark of files that have these texts."""
    (mark,) = [mark for mark in MARKS if mark.key == key]
    return mark.measure([File(f"src/twofold/f{i}.py", textwrap.dedent(text)) for i, text in enumerate(texts)])


def test_ceremony_is_imports_raises_exports_tables_and_signatures_over_several_lines():
    text = """
    import a
    __all__ = ["f"]
    TABLE = {
        "a": 1,
    }
    def f(x):
        raise ValueError(
            x
        )
    def g(
        x,
    ):
        return [
            f(x),
        ]
    """
    assert ceremony_of(File(PATH, textwrap.dedent(text))) == 1 + 1 + 3 + 3 + 3


def test_a_table_with_calls_is_code():
    assert measured("ceremony", "A = [\n    f(1),\n    2,\n]\n") == 0


def test_statements_in_strings_count_but_docstrings_and_c_do_not():
    body = "if a:\n    return b\n"
    texts = f'A = """{body}"""\n', f'def f():\n    """{body}"""\n', 'A = """if (a)\n  b = 1;\n"""\n', f'A = f"""{{x}}\n{body}"""\n'
    assert [measured("python_in_strings", text) for text in texts] == [3, 0, 0, 4]


def test_lines_that_stand_twice_are_copies():
    lines = [f"value_{i} = {i}" for i in range(8)]
    assert measured("copied_lines", "\n".join(lines[:6]), "\n".join(lines)) == 12
    assert measured("copied_lines", "\n".join(lines[:5]), "\n".join(lines)) == 0


def test_a_name_that_three_files_have_is_crowded():
    files = [File(f"src/twofold/{folder}/{name}.py", "") for folder in "abc" for name in ("shapes", "__init__", folder)]
    assert next(mark for mark in MARKS if mark.key == "crowded_names").measure(files) == 3


@pytest.mark.parametrize(("mark", "worse"), [(FEW, 6), (MANY, 4)], ids=["less is better", "more is better"])
def test_a_row_says_whether_its_limit_is_kept(mark: Mark, worse: int):
    assert row(mark, 5, None, 5).split() == ["things", "5", "5", "3"]
    assert row(mark, worse, 7, 5).endswith("worse than its limit")
    assert row(mark, 10 - worse, 7, 5).endswith("the limit can be improved")


def test_limits_are_improved_and_never_loosened():
    text = "few = 5\nfewer = 5\n"
    assert improved(text, FEW, 3) == "few = 3\nfewer = 5\n"
    assert improved(text, FEW, 6) == text
    assert improved(text, MANY, 6) == "few = 6\nfewer = 5\n"


@pytest.mark.ci
def test_every_mark_keeps_its_limit():
    limits = settings()["marks"]
    counts = zip(MARKS, counts_of(files_at(None)), strict=True)
    rows = [row(mark, count, None, limits[mark.key]) for mark, count in counts if difference(mark, count, limits.get(mark.key, count)) > 0]
    expect_none(rows)


def test_exceptions_from_the_cap_are_long_and_have_reasons():
    for path, reason in settings()["long_files"].items():
        assert File(path, (ROOT / path).read_text(encoding="utf-8")).line_count > CAP, path
        assert reason, path
