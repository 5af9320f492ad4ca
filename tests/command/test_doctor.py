"""``twofold doctor``: the page names what is there, and every variable that is read."""

import re
from pathlib import Path

import pytest

from twofold.command import main
from twofold.command.doctor import VARIABLES
from twofold.config import TABLE

ROOT = Path(__file__).parents[2]


@pytest.fixture
def page(capsys):
    assert main(["doctor"]) == 0
    return capsys.readouterr().out


@pytest.mark.parametrize("title", ["Python and NumPy", "Adapters", "GPU", "Settings", "Optional packages"])
def test_page_has_the_section(page, title):
    assert title in page.splitlines()


def test_page_names_the_blas(page):
    assert re.search(r"BLAS kernel +\S+", page)


@pytest.mark.parametrize("setting", TABLE, ids=lambda setting: setting.name)
def test_page_names_the_setting(page, setting):
    assert f"TWOFOLD_{setting.name.upper()}" in page


def test_every_variable_that_the_code_reads_is_listed():
    text = "".join(path.read_text(encoding="utf-8") for folder in ("src", "backends") for path in (ROOT / folder).rglob("*.py"))
    read = set(re.findall(r'environ(?:\.get\(|\[)"((?:TWOFOLD|MXNET)_[A-Z_]+)"', text))
    assert read - set(VARIABLES) - {f"TWOFOLD_{setting.name.upper()}" for setting in TABLE} == set()


def test_unknown_variable_is_pointed_out(monkeypatch, capsys):
    monkeypatch.setenv("MXNET_CUDNN_AUTOTUNE_DEFAULT", "0")
    main(["doctor"])
    assert re.search(r"MXNET_CUDNN_AUTOTUNE_DEFAULT +set, and has no effect", capsys.readouterr().out)


def test_without_a_program_the_command_line_asks_for_one(capsys):
    with pytest.raises(SystemExit):
        main([])
    assert "PROGRAM" in capsys.readouterr().err
