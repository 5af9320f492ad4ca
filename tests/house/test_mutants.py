"""The text of every rule that `make mutants` removes occurs exactly once in its file."""

import ast
from collections import Counter

from tests.house.verdict import expect_none
from tests.mutants import ALL, ROOT


def test_the_text_of_every_rule_stands_once_in_its_file():
    found = ((m, (ROOT / m.file).read_text(encoding="utf-8").count(m.text)) for m in ALL)
    expect_none(f"{m.name}: {count} times in {m.file}" for m, count in found if count != 1)


def test_code_without_a_rule_still_parses():
    def broken(mutant):
        try:
            ast.parse((ROOT / mutant.file).read_text(encoding="utf-8").replace(mutant.text, mutant.replacement))
        except SyntaxError as error:
            return str(error)
        return None

    expect_none(f"{m.name}: {why}" for m in ALL if m.file.endswith(".py") and (why := broken(m)))


def test_rules_have_names_of_their_own():
    expect_none(name for name, count in Counter(m.name for m in ALL).items() if count > 1)
