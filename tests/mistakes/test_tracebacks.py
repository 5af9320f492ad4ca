"""Tracebacks of uncaught errors: the user's lines, with the library's frames as one line."""

import os
import re
import subprocess
import sys

import pytest

from tests.alias import undone_at_the_end

LAYER = """\
import twofold as mx

class Net(mx.gluon.HybridBlock):
    def hybrid_forward(self, F, x):
        return F.FullyConnected(x, num_hidden=2, no_bias=True)

def main():
    Net()(mx.nd.ones((2, 5)))

main()
"""
FOLDED = re.compile(r"… \d+ frames? of Twofold; TWOFOLD_TRACEBACK=full shows them")


def error_of(text, tmp_path, **variables):
    """What a script prints on standard error."""
    script = tmp_path / "script.py"
    script.write_text(text)
    kept = {name: value for name, value in os.environ.items() if name != "TWOFOLD_TRACEBACK"}
    found = subprocess.run([sys.executable, str(script)], capture_output=True, text=True, check=False, env=kept | variables)
    assert found.returncode == 1
    return found.stderr.replace(str(tmp_path), "")


def test_a_traceback_has_the_users_lines(tmp_path):
    found = error_of(LAYER, tmp_path)
    lines = [line.strip() for line in found.splitlines() if set(line) - {" ", "^", "~"}]
    assert [FOLDED.sub("…", line) for line in lines] == [
        "Traceback (most recent call last):",
        'File "/script.py", line 10, in <module>',
        "main()",
        'File "/script.py", line 8, in main',
        "Net()(mx.nd.ones((2, 5)))",
        "…",
        'File "/script.py", line 5, in hybrid_forward',
        "return F.FullyConnected(x, num_hidden=2, no_bias=True)",
        "…",
        lines[-1],
    ]
    assert lines[-1].startswith("twofold.errors.")


def test_all_frames_are_shown_on_demand(tmp_path):
    found = error_of(LAYER, tmp_path, TWOFOLD_TRACEBACK="full")
    assert "hybrid_block.py" in found
    assert not FOLDED.search(found)


def test_an_error_of_the_script_is_shown_as_python_shows_it(tmp_path):
    text = "import twofold as mx\nx = mx.nd.ones(3)\nsorted([x], key=lambda x: x.nothing)\n"
    assert error_of(text, tmp_path) == error_of(text, tmp_path, TWOFOLD_TRACEBACK="full")


def test_an_inner_error_that_says_the_same_is_left_out(tmp_path):
    text = "import twofold as mx\nlayer = mx.gluon.nn.Conv2D(8, 9)\nlayer.initialize()\nlayer(mx.nd.ones((1, 3, 4, 4)))\n"
    assert error_of(text, tmp_path).count("Traceback") == 1
    assert error_of(text, tmp_path, TWOFOLD_TRACEBACK="full").count("Traceback") > 1


def test_a_cause_of_another_library_is_kept_without_its_frames(tmp_path):
    found = error_of("import twofold as mx\nmx.np.linalg.inv(mx.np.zeros((2, 2)))\n", tmp_path)
    assert found.startswith("Traceback (most recent call last):\n  … ")
    assert found.count("numpy.linalg.LinAlgError: Singular matrix\n") == 1
    assert found.count("File ") == 1


def test_a_hook_that_was_there_before_stays(tmp_path):
    text = "import sys\nsys.excepthook = lambda *e: print('mine', e[1], file=sys.stderr)\nimport twofold as mx\nraise mx.MXNetError('oh')\n"
    assert error_of(text, tmp_path) == "mine oh\n"


def test_a_traceback_that_is_cut_is_not_folded(tmp_path):
    found = error_of("import sys\nsys.tracebacklimit = 1\n" + LAYER, tmp_path)
    assert not FOLDED.search(found)


def test_a_notebook_shows_the_users_lines(capsys, tmp_path, monkeypatch):
    monkeypatch.chdir(tmp_path)
    shell = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed").InteractiveShell()
    shell.run_line_magic("colors", "nocolor")
    with undone_at_the_end():
        shell.run_line_magic("load_ext", "twofold")
        shell.run_cell(LAYER)
        folded = capsys.readouterr()
        monkeypatch.setenv("TWOFOLD_TRACEBACK", "full")
        shell.run_cell(LAYER)
        full = capsys.readouterr()
        shell.run_line_magic("unload_ext", "twofold")
    assert "hybrid_forward(self, F, x)" in folded.out
    assert "hybrid_block.py" not in folded.out
    assert FOLDED.fullmatch(folded.err.strip())
    assert "hybrid_block.py" in full.out
    assert shell.custom_exceptions == ()
