"""Every rule that `make mutants` removes is found in the code: its function exists, and its edit applies there once."""

import ast
import json
import subprocess
import sys
from collections import Counter

import pytest

from tests.edits import NoMatch, always, argument, drop, edited, never, parameter, replace, unwrap
from tests.house.verdict import expect_none
from tests.mutants import ALL, COPIED, KILLERS, ROOT


def test_what_the_copied_tests_import_is_copied():
    """Otherwise no test runs in the copies, and no rule is looked at."""
    copied = [ROOT / name for name in COPIED]
    files = [f for place in copied if place.is_relative_to(ROOT / "tests") for f in ([place] if place.is_file() else place.rglob("*.py"))]

    def imported(file):
        for node in ast.walk(ast.parse(file.read_text(encoding="utf-8"))):
            if isinstance(node, ast.ImportFrom) and node.module and node.module.startswith(("tests", "asv_benchmarks")):
                for name in (node.module, *(f"{node.module}.{alias.name}" for alias in node.names)):
                    yield ROOT.joinpath(*name.split(".")).with_suffix(".py")

    found = {(f, other) for f in files if f.suffix == ".py" for other in imported(f) if other.is_file()}
    expect_none(
        f"{f.relative_to(ROOT)} imports {other.relative_to(ROOT)}" for f, other in found if not any(map(other.is_relative_to, copied))
    )


def test_every_rule_is_found_and_code_without_it_parses():
    texts = {m.file: (ROOT / m.file).read_text(encoding="utf-8") for m in ALL}

    def problem(mutant):
        text = texts[mutant.file]
        try:
            without = mutant.applied_to(text)
            if mutant.function is not None:
                ast.parse(without)
        except (NoMatch, SyntaxError) as error:
            return f"{type(error).__name__}: {error}"
        return "the edit changes nothing" if without == text else None

    expect_none(f"{m.name}, {m.place}: {why}" for m in ALL if (why := problem(m)))


def test_rules_have_names_of_their_own():
    expect_none(name for name, count in Counter(m.name for m in ALL).items() if count > 1)


CODE = """
class A:
    def f(self):
        with self.lock:  # a comment
            if self.a and \\
               b is None:
                self.go(x=1)
                return "first line"
        self.y = [c for c in d if c > 0]
        return self.y

def g():
    return 1
"""
EDITS = {
    "never": ("A.f", never("self.a and b is None"), "if (False):"),
    "always": ("A.f", always("b is None"), "(True):"),
    "expression": ("A.f", replace("[... for c in d if ...]", "d"), "self.y = (d)"),
    "statements": ("A.f", replace("self.y = ...\nreturn self.y", "return 2"), "        return 2\n"),
    "drop": ("A.f", drop("self.go(x=1)"), "                pass\n"),
    "drop a block": ("A.f", drop("if self.a and b is None: ..."), "            pass\n        self.y"),
    "unwrap": ("A.f", unwrap("with self.lock"), "        if self.a and b is None:\n            self.go"),
    "argument": ("A.f", argument("x", "2"), "self.go(x=2)"),
    "parameter": ("g", parameter("k=1"), "def g(k=1):"),
}


@pytest.mark.parametrize("name", EDITS)
def test_an_edit_changes_one_place(name):
    function, edit, expected = EDITS[name]
    found = edited(CODE, function, edit)
    ast.parse(found)
    assert expected in found
    assert found != CODE


REFUSED = [("A.f", drop("self.y")), ("A.f", never("d > 0")), ("A.g", drop("return 1")), ("g", replace("return self.y", "pass"))]


@pytest.mark.parametrize(("function", "edit"), REFUSED)
def test_what_is_not_there_once_is_refused(function, edit):
    with pytest.raises(NoMatch):
        edited(CODE, function, edit)


@pytest.mark.ci
def test_the_quick_tests_notice_every_rule():
    """Those that `make test` runs: the tests known to notice a missing rule are not left to CI."""
    killers = set(json.loads(KILLERS.read_text(encoding="utf-8")).values())
    command = [
        sys.executable,
        "-m",
        "pytest",
        "--collect-only",
        "-q",
        "-m",
        "ci or slow or mnist",
        *sorted({k.partition("::")[0] for k in killers}),
    ]
    found = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, timeout=250, check=False).stdout
    assert "::" in found
    expect_none(sorted(killers.intersection(found.splitlines())))
