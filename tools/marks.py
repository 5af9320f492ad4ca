"""Counts the marks of the house: what a newcomer would trip over in `src` and `backends`, each with a ceiling that only falls.

`make code-lines` prints them below its table of folders. `tests/house/test_marks.py` fails where one is worse than its limit in
`tests/house/ceilings.toml`; `make code-lines ARGS=--lower` writes better counts there.
"""

from __future__ import annotations

import ast
import re
import tomllib
from collections import Counter
from collections.abc import Callable, Iterable
from functools import cache, cached_property
from typing import Any, NamedTuple

from tools.code_lines import ROOT, code_and_comments, docstring_lines

CEILINGS = ROOT / "tests/house/ceilings.toml"
SAYS_ANY = re.compile(r"\bAny\b|(^|[^.a-z_])cast\(")
PYTHON = re.compile(r"\s*(def|if|for|return|class|try|with|else|elif|import|from|while)\b.*[:\w)]$")
IGNORE = re.compile(r"#\s*type:\s*ignore")
#: Lines of a file, beyond which it needs a reason.
CAP = 450
#: Lines of code from which equal runs count as copies.
RUN = 6
#: Lines of an assignment of literals from which it is a table.
TABLE = 3
LITERALS = (ast.Dict, ast.List, ast.Tuple, ast.Set, ast.Constant, ast.Name, ast.Attribute, ast.UnaryOp, ast.BinOp, ast.Starred)


class File:
    """A Python file, with what several marks ask of it."""

    def __init__(self, path: str, text: str) -> None:
        self.path, self.text = path, text
        self.lines = text.split("\n")

    @property
    def name(self) -> str:
        """The file's name without its folder."""
        return self.path.rpartition("/")[2]

    @property
    def line_count(self) -> int:
        """All lines, blank ones included."""
        return self.text.count("\n")

    @cached_property
    def nodes(self) -> list[ast.AST]:
        """All nodes of the syntax tree, the module first."""
        return list(ast.walk(ast.parse(self.text)))

    @cached_property
    def docstrings(self) -> set[int]:
        """The numbers of the lines of docstrings."""
        return docstring_lines(self.nodes)

    @cached_property
    def code_and_comments(self) -> tuple[set[int], int]:
        """The numbers of the lines of code, and how many comments there are."""
        code, comments = code_and_comments(self.text)
        return code - self.docstrings, comments

    @property
    def code(self) -> set[int]:
        """The numbers of the lines of code."""
        return self.code_and_comments[0]

    def spans(self, *kinds: type[ast.AST]) -> list[tuple[int, int]]:
        """The first and last lines of the statements of some kinds."""
        return [(node.lineno, node.end_lineno or 0) for node in self.nodes if isinstance(node, kinds) and isinstance(node, ast.stmt)]

    def code_in(self, spans: Iterable[tuple[int, int]]) -> set[int]:
        """The lines of code between pairs of first and last lines."""
        return self.code & {line for first, last in spans for line in range(first, last + 1)}


# ---------------------------------------------------------------------------------------------------------- the marks


def lines_with_any(file: File) -> int:
    """The lines of `src` that say `Any` or cast, without imports."""
    lines = [file.lines[number - 1] for number in file.code] if file.path.startswith("src/") else []
    return sum("import" not in line and SAYS_ANY.search(line) is not None for line in lines)


def is_table(node: ast.stmt) -> bool:
    """Whether a statement assigns literals over several lines."""
    value = node.value if isinstance(node, ast.Assign | ast.AnnAssign) else None
    if value is None or (node.end_lineno or 0) - node.lineno + 1 < TABLE:
        return False
    return all(isinstance(inner, LITERALS) for inner in ast.walk(value) if isinstance(inner, ast.expr))


def ceremony_of(file: File) -> int:
    """The lines of imports, `raise`, `__all__`, signatures over several lines and tables of literals."""
    spans = file.spans(ast.Import, ast.ImportFrom, ast.Raise)
    for node in file.nodes:
        if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef):
            head = (node.lineno, node.body[0].lineno - 1)
            # a comment may stand between a signature of one line and the body
            spans += [head] if len(file.code_in([head])) > 1 else []
        elif isinstance(node, ast.stmt) and (is_table(node) or is_export(node)):
            spans.append((node.lineno, node.end_lineno or 0))
    return len(file.code_in(spans))


def is_export(node: ast.stmt) -> bool:
    """Whether a statement assigns ``__all__``."""
    return isinstance(node, ast.Assign) and any(isinstance(to, ast.Name) and to.id == "__all__" for to in node.targets)


def has_inner_export(file: File) -> bool:
    """Whether a module that is no package's face has ``__all__``."""
    return file.name != "__init__.py" and any(isinstance(node, ast.Assign) and is_export(node) for node in file.nodes)


def python_in_strings(file: File) -> int:
    """The lines of strings over several lines that hold Python statements."""
    documented = {id(n.value) for n in file.nodes if isinstance(n, ast.Expr)}
    inner = {id(part) for n in file.nodes if isinstance(n, ast.JoinedStr) for part in n.values}
    found = 0
    for node in file.nodes:
        if isinstance(node, ast.Constant | ast.JoinedStr) and id(node) not in documented | inner:
            lines = text_of(node).split("\n")
            is_other = any(line.rstrip().endswith(";") for line in lines)  # C of kernels
            if len(lines) > 1 and not is_other and any(PYTHON.match(line) for line in lines):
                found += (node.end_lineno or node.lineno) - node.lineno + 1
    return found


def text_of(node: ast.Constant | ast.JoinedStr) -> str:
    """The text of a string; of an f-string, with names where it has values."""
    if isinstance(node, ast.JoinedStr):
        return "".join(text_of(part) if isinstance(part, ast.Constant) else "x" for part in node.values)
    return node.value if isinstance(node.value, str) else ""


def copied_lines(files: Iterable[File]) -> int:
    """The lines of code in runs that stand in two places or more, without imports."""
    places: dict[tuple[str, ...], list[list[tuple[str, int]]]] = {}
    for file in files:
        imports = file.code_in(file.spans(ast.Import, ast.ImportFrom))
        numbers = [n for n in sorted(file.code - imports) if len(file.lines[n - 1].strip()) > 2]
        for run in zip(*(numbers[i:] for i in range(RUN)), strict=False):
            key = tuple(file.lines[n - 1].strip() for n in run)
            places.setdefault(key, []).append([(file.path, n) for n in run])
    return len({line for found in places.values() if len(found) > 1 for run in found for line in run})


def crowded_names(files: Iterable[File]) -> int:
    """The files whose name more than two files have, packages' own left out."""
    names = Counter(file.name for file in files if not file.name.startswith("__"))
    return sum(count for count in names.values() if count > 2)


def number_of(test: Callable[[File], object]) -> Callable[[list[File]], int]:
    """A mark: in how many files something is so."""
    return lambda files: sum(bool(test(file)) for file in files)


def sum_of(count: Callable[[File], int]) -> Callable[[list[File]], int]:
    """A mark: a count over all files."""
    return lambda files: sum(count(file) for file in files)


def per_cent(part: Callable[[File], int], whole: Callable[[File], int]) -> Callable[[list[File]], float]:
    """A mark: a share in per cent."""
    return lambda files: round(100 * sum(map(part, files)) / sum(map(whole, files)), 2)


def code_of(file: File) -> int:
    """The lines of code."""
    return len(file.code)


def comments_of(file: File) -> int:
    """The comments."""
    return file.code_and_comments[1]


def is_long(file: File) -> bool:
    """Whether a file is over the cap and no listed exception."""
    return file.line_count > CAP and file.path not in settings()["long_files"]


def is_outside(file: File) -> bool:
    """Whether a file is neither in `calls/` nor where settings are declared."""
    return not file.path.startswith(("src/twofold/calls/", "src/twofold/config.py"))


class Mark(NamedTuple):
    """What is counted, under which name, what it is to become, and whether more is better."""

    key: str
    text: str
    goal: float | None
    measure: Callable[[list[File]], float]
    is_good: bool = False


MARKS = (
    Mark("code_lines", "lines of code", 77_500, sum_of(code_of)),
    Mark("comments", "comments, % of all lines", 4.0, per_cent(comments_of, lambda f: f.line_count), is_good=True),
    Mark("comments_in_code", "comments, % of the lines of code", None, per_cent(comments_of, code_of), is_good=True),
    Mark("ceremony", "lines of imports, signatures, raise, __all__, tables", None, sum_of(ceremony_of)),
    Mark("ceremony_share", "the same, % of the lines of code", 15.0, per_cent(ceremony_of, code_of)),
    Mark("ignores", "type: ignore", 90, sum_of(lambda f: len(IGNORE.findall(f.text)))),
    Mark("any_or_cast", "lines of src with Any or cast", 2000, sum_of(lines_with_any)),
    Mark("any_share", "the same, % of the lines of code", None, per_cent(lines_with_any, code_of)),
    Mark("inner_exports", "__all__ in inner modules", None, number_of(has_inner_export)),
    Mark("python_in_strings", "lines of Python in strings", 200, sum_of(python_in_strings)),
    Mark("long_files", "files over 450 lines", None, number_of(is_long)),
    Mark("short_files", "files under 20 lines of code, % of all files", None, per_cent(lambda f: code_of(f) < 20, lambda f: 1)),
    Mark("copied_lines", f"lines in runs of {RUN} that stand twice", None, copied_lines),
    Mark("crowded_names", "files whose name more than two files have", None, crowded_names),
    Mark(
        "reads_threshold",
        "modules outside calls/ that read defer_elements",
        6,
        number_of(lambda f: "defer_elements" in f.text and is_outside(f)),
    ),
    Mark("spells_tracked", "modules that spell .node.tracked", 1, number_of(lambda f: ".node.tracked" in f.text)),
    Mark("storage_errors", "except StorageError", 1, sum_of(lambda f: len(re.findall(r"except \(?StorageError", f.text)))),
)


# ---------------------------------------------------------------------------------------------------------- ceilings


@cache
def settings() -> dict[str, dict[str, Any]]:
    """The tables of the ceilings: the limit of each mark by its key, and the long files with their reasons."""
    return tomllib.loads(CEILINGS.read_text(encoding="utf-8"))


def difference(mark: Mark, count: float, limit: float) -> float:
    """How much worse than its limit a mark is; negative where it is better."""
    return limit - count if mark.is_good else count - limit


def improved(text: str, mark: Mark, count: float) -> str:
    """The text of the ceilings with a mark's own set to a better count."""

    def line(match: re.Match[str]) -> str:
        return f"{match[1]}{count if difference(mark, count, float(match[2])) < 0 else match[2]}"

    return re.sub(rf"^({mark.key} = )([\d_.]+)", line, text, flags=re.MULTILINE)


def row(mark: Mark, count: float, before: float | None, limit: float | None) -> str:
    """One line of the table."""
    over = 0 if limit is None else difference(mark, count, limit)
    note = "worse than its limit" if over > 0 else "the limit can be improved" if over < 0 else ""
    return f"{mark.text:56} {shown(before):>9} {shown(count):>9} {shown(limit):>9} {shown(mark.goal):>9}  {note}".rstrip()


def shown(number: float | None) -> str:
    """A number as the table has it."""
    return "" if number is None else f"{number:,}" if isinstance(number, int) else f"{number:.2f}"


def counts_of(texts: dict[str, str]) -> list[float]:
    """The marks of files, given as texts by their paths."""
    files = [File(path, text) for path, text in texts.items()]
    return [mark.measure(files) for mark in MARKS]


def print_marks(now: dict[str, str], before: dict[str, str] | None, lower: bool) -> None:
    """Print all marks of the files' texts, with those of a revision before them.

    Parameters
    ----------
    now, before
        The texts of the files by their paths.
    lower
        Whether to write counts that are better than their limits into the ceilings.
    """
    counts = counts_of(now)
    old = counts_of(before) if before else [None] * len(counts)
    limits, text = settings()["marks"], CEILINGS.read_text(encoding="utf-8")
    print(f"\n{'':56} {'before' if before else '':>9} {'now':>9} {'limit':>9} {'goal':>9}")
    for mark, count, was in zip(MARKS, counts, old, strict=True):
        print(row(mark, count, was, limits.get(mark.key)))
        text = improved(text, mark, count)
    if lower:
        CEILINGS.write_text(text, encoding="utf-8")
