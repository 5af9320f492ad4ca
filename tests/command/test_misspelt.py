"""Misspelt programs and options of the command line, and misspelt variables of the environment."""

from __future__ import annotations

import os
import re
import subprocess
import sys
import warnings
from pathlib import Path

import pytest

from twofold.command import main
from twofold.config import KNOWN, warn_of_misspelt

ROOT = Path(__file__).parents[2]


@pytest.mark.parametrize(
    ("words", "says"),
    [
        (["rnu", "x.py"], "there is no program 'rnu'; did you mean 'run'?"),
        (["frobnicate"], "there is no program 'frobnicate'; choose from run, launch, "),
        (["run", "--devcie", "gpu", "x.py"], "unrecognized arguments: --devcie; did you mean '--device'?"),
        (["launch", "-n", "2", "--hostfiel=h", "x.py"], "unrecognized arguments: --hostfiel=h; did you mean '--hostfile'?"),
        (["doctor", "--nams", "x"], "unrecognized arguments: --nams x; did you mean '--names'?"),
    ],
)
def test_a_misspelt_word_of_the_command_line_is_told(words, says, capsys):
    with pytest.raises(SystemExit) as ended:
        main(words)
    assert ended.value.code == 2
    assert says in " ".join(capsys.readouterr().err.split())


def test_an_option_like_no_other_is_told_alone(capsys):
    with pytest.raises(SystemExit):
        main(["doctor", "--frobnicate"])
    assert capsys.readouterr().err.endswith("unrecognized arguments: --frobnicate\n")


@pytest.mark.parametrize(
    ("variable", "says"),
    [
        ("TWOFOLD_CHEK", "TWOFOLD_CHEK has no effect; did you mean TWOFOLD_CHECK?"),
        ("TWOFOLD_THREAD", "TWOFOLD_THREAD has no effect; did you mean TWOFOLD_THREADS?"),
        ("TWOFOLD_FAKE_GPU", "TWOFOLD_FAKE_GPU has no effect; did you mean TWOFOLD_FAKE_GPUS?"),
    ],
)
def test_a_misspelt_variable_is_told(variable, says):
    with pytest.warns(UserWarning, match=re.escape(says)):
        warn_of_misspelt([variable])


def test_other_variables_are_not_told():
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        warn_of_misspelt([*KNOWN, "PATH", "MXNET_HOME", "TWOFOLD_OF_ANOTHER_PROGRAM", "CHEK"])


def test_all_variables_of_the_sources_are_known():
    sources = [path for folder in ("src", "backends") for path in (ROOT / folder).rglob("*.py")]
    read = {name for path in sources for name in re.findall(r"[\"'](TWOFOLD_[A-Z_]*[A-Z])[\"']", path.read_text(encoding="utf-8"))}
    assert len(read) > 15
    assert read - {*KNOWN} == set()


def test_a_misspelt_variable_is_told_once_by_a_program():
    words = [sys.executable, "-c", "import twofold as mx; mx.nd.ones(2); mx.np.ones(2)"]
    done = subprocess.run(words, capture_output=True, text=True, check=True, env={**os.environ, "TWOFOLD_CHEK": "1"})
    assert done.stderr.count("did you mean TWOFOLD_CHECK?") == 1
