"""What `help` and the pages of operators say of arrays, parameters and results: everything is described, and no entry is idle."""

from __future__ import annotations

import configparser
import re
import subprocess
import sys
from functools import cache

import pytest

import twofold as mx
from twofold.opdef import parameter_texts
from twofold.opdef.parameter_texts import GENERAL, meaning_of, meaning_of_results

from tests.house.sources import ROOT
from tests.house.verdict import expect_none

operator_pages = pytest.importorskip("operator_pages")
#: Words in double backquotes that name no array and no parameter of the operator.
OTHERS = {"out"}


@cache
def public():
    """The operators that have a page, by their registered names."""
    return {op.title: op for op in [*(o.op for o in operator_pages.operators()), *operator_pages.operators_of_npx().values()]}


def names_of(op):
    return [i.name for i in op.arrays] + [name for name in op.params if name not in op.training]


@cache
def sections():
    """The table as a reader of such files from the standard library finds it: no section and no name twice."""
    reader = configparser.ConfigParser(interpolation=None, delimiters=("=",), comment_prefixes=("#",))
    reader.optionxform = str
    reader.read(ROOT / "src" / "twofold" / "opdef" / "parameter_texts.ini", encoding="utf-8")
    return {section: dict(reader[section]) for section in reader.sections()}


def test_every_array_and_parameter_of_a_public_operator_has_a_meaning():
    expect_none(f"{op.title}.{name}" for op in public().values() for name in names_of(op) if not meaning_of(op, name))


def test_what_every_public_operator_returns_is_said():
    expect_none(op.title for op in public().values() if not meaning_of_results(op))


def test_no_operator_has_two_meanings_of_a_name():
    entries = [(operator, name) for section, found in sections().items() for operator in section.split() for name in found]
    expect_none({entry for entry in entries if entries.count(entry) > 1})


def test_no_entry_of_the_table_is_idle():
    specific = {section: found for section, found in sections().items() if section not in GENERAL}
    expect_none(operator for section in specific for operator in section.split() if operator not in public())
    has = {title: {*names_of(op), "returns"} for title, op in public().items()}
    # an entry for several operators may be for some of them only, as the mask of deformable convolutions is
    expect_none(f"{s}: {name}" for s, found in specific.items() for name in found if not any(name in has[o] for o in s.split()))
    left = {title: names - {name for s, found in specific.items() if title in s.split() for name in found} for title, names in has.items()}
    elementwise, everywhere = (sections()[section] for section in GENERAL)
    expect_none(name for name in elementwise if not any(name in left[title] and op.elementwise for title, op in public().items()))
    left = {title: names - elementwise.keys() if public()[title].elementwise else names for title, names in left.items()}
    expect_none(name for name in everywhere if not any(name in names for names in left.values()))


def test_the_table_is_read_as_the_standard_library_reads_it():
    found: dict[str, dict[str, str]] = {}
    for section, meanings in sections().items():
        for operator in section.split():
            found.setdefault(operator, {}).update(meanings)
    assert parameter_texts.table() == found


def test_meanings_are_phrases_that_say_more_than_a_kind():
    kinds = {param.kind.name for op in public().values() for param in op.params.values()} | {"array", "an array", "arrays"}
    for section, found in sections().items():
        for name, text in found.items():
            assert 0 < len(text) <= 110, (section, name, len(text))
            assert not text.endswith((".", ";", ",")), (section, name, text)
            assert text not in kinds, (section, name, text)
            assert text.count("``") % 2 == 0, (section, name, text)


def test_code_in_a_meaning_names_something_of_its_operator():
    for op in public().values():
        known = OTHERS | set(names_of(op))
        for text in [*(meaning_of(op, name) for name in names_of(op)), meaning_of_results(op)]:
            named = {word.partition("=")[0] for word in re.findall("``(.+?)``", text)}
            assert named <= known, (op.title, text)


def test_help_of_an_operator_describes_its_parameters_and_results():
    text = mx.nd.Convolution.__doc__
    assert "kernel : shape (an int or a tuple of ints), required\n    size of the window for each spatial axis, such as (3, 3) for" in text
    assert "bias : array, optional\n    (num_filter,), added to each channel" in text
    assert "Returns\n-------\n(n, num_filter, o…)" in text
    assert mx.sym.Convolution.__doc__ == text
    assert "Returns\n-------\nan array of the shape to which the operands broadcast" in mx.nd.broadcast_add.__doc__
    assert "Returns\n-------\nan array in the shape of ``x``" in mx.nd.where.__doc__


def test_the_page_of_an_operator_describes_its_parameters_results_and_errors():
    page = operator_pages.operator_text(next(o for o in operator_pages.operators() if o.dotted == "Convolution"))
    said = "size of the window for each spatial axis, such as (3, 3) for images (a shape, that is an int or a tuple of ints; required)"
    assert f"   :param kernel: {said}\n" in page
    assert "   :param bias: (num_filter,), added to each channel of the result; left out with ``no_bias`` (array, optional)\n" in page
    assert "   :returns: (n, num_filter, o…), o being the spatial sizes above; with the channels last in such a ``layout``\n" in page
    assert "   :raises ShapeError: If the shapes of the arrays do not fit each other or a parameter.\n" in page


@pytest.mark.ci
def test_importing_the_package_does_not_read_the_table():
    check = "import twofold; from twofold.opdef.parameter_texts import table; assert not table.cache_info().misses"
    subprocess.run([sys.executable, "-c", check], check=True)
