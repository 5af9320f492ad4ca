"""``twofold run`` runs a program as Python does: the same arguments, search path, ``__main__``, tracebacks, exit status and children."""

import os
import signal
import subprocess
import sys
import zipfile
from functools import partial

import pytest

from tests.cases import spread_in_ci

DESCRIBE = """
import sys
names = ("__name__", "__file__", "__package__", "__cached__", "__doc__")
print(sys.argv, sys.path[0], {n: globals().get(n) for n in names}, type(__loader__).__name__, __builtins__ is sys.modules["builtins"])
print(__spec__ and (__spec__.name, __spec__.origin), sys.modules["__main__"].__dict__ is globals())
"""


@pytest.fixture
def python(tmp_path):
    """Run Python, with the launcher's options or without it; returns its status, output and error output."""

    def execute(*words, options=(), launched=True, stdin=None):
        launcher = ["-m", "twofold", "run", *options] if launched else []
        command = [sys.executable, *launcher, *words]
        done = subprocess.run(command, input=stdin, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path)
        return done.returncode, done.stdout, done.stderr

    return execute


@pytest.fixture
def same(python):
    """Run a program with Python and with the launcher, which must do the same; returns what they do."""

    def execute(*words, stdin=None):
        expected = python(*words, launched=False, stdin=stdin)
        assert python(*words, options=["--numpy"], stdin=stdin) == expected
        return expected

    return execute


@pytest.fixture
def files(tmp_path):
    """Write files below the program's folder."""

    def write(**texts):
        for name, text in texts.items():
            path = tmp_path / (name.replace("__in__", "/") + ".py")
            path.parent.mkdir(parents=True, exist_ok=True)
            path.write_text(text, encoding="utf-8")
        return tmp_path

    return write


ARGUMENTS = ["--numpy", "-h", "--", "-m", "x y"]


def test_a_script_sees_what_python_shows_it(same, files):
    files(script=DESCRIBE, below__in__script=DESCRIBE)
    assert same("script.py", *ARGUMENTS)[0] == 0
    assert same("below/script.py", *ARGUMENTS)[0] == 0


def test_a_module_sees_what_python_shows_it(same, files):
    files(package__in____init__="", package__in__module=DESCRIBE, package__in____main__=DESCRIBE, single=DESCRIBE)
    for name in ("package.module", "package", "single"):
        assert same("-m", name, *ARGUMENTS)[0] == 0


def test_code_and_standard_input_see_what_python_shows_them(same):
    assert same("-c", DESCRIBE, *ARGUMENTS)[0] == 0
    assert same("-", *ARGUMENTS, stdin=DESCRIBE)[0] == 0
    assert same(stdin=DESCRIBE)[0] == 0


def test_a_folder_and_an_archive_run_their_main_module(same, files, tmp_path):
    files(folder__in____main__=DESCRIBE)
    assert same("folder", *ARGUMENTS)[0] == 0
    with zipfile.ZipFile(tmp_path / "archive.zip", "w") as archive:
        archive.write(tmp_path / "folder" / "__main__.py", "__main__.py")
    assert same("archive.zip", *ARGUMENTS)[0] == 0


ENDINGS = {
    "an error": "def f(x):\n    return 1 / x\nf(0)",
    "an error of NumPy": "import numpy as np\ndef f(x):\n    return x + np.ones(3)\nf(np.ones(500_000) * 2.0)",
    "an error of NumPy in Python": "import numpy as np\nnp.linalg.inv(np.ones((600, 700)))",
    "a size that cannot be": "import numpy as np\nnp.zeros(-1)",
    "an index that cannot be": "import numpy as np\nx = np.ones(500_000)\ntry:\n    x[500_000]\nexcept IndexError:\n    x.reshape(3, 7)",
    "an error in a chain": "import numpy as np\nnp.seterr(all='raise')\n1.0 / np.zeros(500_000)",
    "a chain of errors": "try:\n    1 / 0\nexcept ZeroDivisionError as e:\n    raise ValueError('x') from e",
    "a syntax error": "x = (",
    "a failing import": "import nothing",
    "a neighbour that fails": "import failing",
    "a neighbour that imports what fails": "import importing_failing",
    "numpy without a name": "from numpy import nothing",
    "numpy without a submodule": "import numpy.nothing",
    "a text": "raise SystemExit('stop')",
    "a number": "import sys; sys.exit(7)",
    "nothing": "import sys; sys.exit()",
    "its own hook": "import sys; sys.excepthook = lambda *e: print(e[0], e[2].tb_lineno, e[2].tb_next); 1 / 0",
    "a deprecated module": "import deprecated",
    "a thread": "import threading, time\nthreading.Thread(target=lambda: (time.sleep(0.2), print('late'))).start()",
    "at exit": "import atexit, sys\natexit.register(print, 'last')\nprint(sys.modules['__main__'].sys is sys)",
    "new built-ins": "import builtins, gettext, late\nbuiltins.late = 5\nprint(late.read())\ngettext.install('x'); print(_('text'))",
}


@pytest.mark.parametrize("ending", spread_in_ci(ENDINGS, 3))
def test_a_program_ends_as_in_python(same, files, ending):
    files(
        script=ENDINGS[ending],
        failing="raise RuntimeError('no')",
        importing_failing="import json, failing",
        deprecated="import warnings\nwarnings.warn('old', DeprecationWarning, stacklevel=2)",
        late="import numpy\ndef read():\n    return late",
    )
    status, out, error = same("script.py")
    assert out or error or status in (0, 7)


def test_an_interrupted_program_dies_of_the_signal(same, files, monkeypatch):
    # where these tests run in the background, a shell has told their processes to ignore it
    monkeypatch.setattr(subprocess, "run", partial(subprocess.run, preexec_fn=lambda: signal.signal(signal.SIGINT, signal.SIG_DFL)))
    files(script="import os, signal\nos.kill(os.getpid(), signal.SIGINT)\nimport time; time.sleep(5)")
    assert same("script.py")[0] == -2


def test_a_failing_start_is_one_line(python, files):
    files(empty__in__nothing="", package__in____init__="")
    starts = {
        ("-m", "nowhere.at_all"): "given nowhere.at_all; pass the name of a module, or of a package with __main__",
        ("-m", "package"): "given package; pass the name of a module, or of a package with __main__",
        ("-m", ""): "pass the name of a module, or of a package with __main__",
        ("missing.py",): "run: there is no such script: given missing.py; pass the path of a Python file",
        ("empty",): "run: there is no __main__.py in the folder or archive: given empty; pass the path of a Python file",
    }
    for words, end in starts.items():
        status, out, error = python(*words, options=["--numpy"])
        assert (status, out, error.count("\n")) == (2, "", 1), error
        assert error.startswith("twofold: run: ")
        assert error.endswith(end + "\n")


@pytest.mark.parametrize(
    ("options", "environment", "says"),
    [
        ([], {"TWOFOLD_THREADS": "many"}, "setting TWOFOLD_THREADS: invalid value: given 'many'; use an integer of 0 or more"),
        ([], {"TWOFOLD_JIT": "maybe"}, "setting TWOFOLD_JIT: invalid value: given 'maybe'; use 1 or 0"),
        ([], {"TWOFOLD_FAKE_GPUS": "x"}, "setting TWOFOLD_FAKE_GPUS: invalid value: given 'x'; use an integer of 0 or more"),
        ([], {"TWOFOLD_BACKEND_CPU": "abacus"}, "run: cpu: no array library serves this kind of device: given abacus: not installed"),
        (["--device", "gpu"], {"TWOFOLD_BACKEND_GPU": "abacus"}, "run: gpu: no array library serves this kind of device: given abacus"),
        (["--device", "gpu:1"], {"TWOFOLD_FAKE_GPUS": "1"}, "run: gpu(1): no such device: given 1 of that kind"),
    ],
)
def test_a_setting_that_cannot_be_is_one_line(python, files, monkeypatch, options, environment, says):
    files(script="print('ran')")
    for name, value in environment.items():
        monkeypatch.setenv(name, value)
    status, out, error = python("script.py", options=options)
    assert (status, out, error.count("\n")) == (2, "", 1), error
    assert error.startswith(f"twofold: {says}")


@pytest.mark.parametrize(
    "words",
    [["-m"], ["--explain", "-"], ["--device", "tpu", "script.py"], ["--nothing", "script.py"], ["--numpy", "--explain", "--no-fold", "-"]],
)
def test_a_wrong_call_is_explained(python, words):
    status, _, error = python(*words)
    assert status == 2
    assert error.startswith("usage: twofold run [options]")


def test_nothing_to_run_is_explained_at_a_terminal(tmp_path):
    terminal, end = os.openpty()
    done = subprocess.run(
        [sys.executable, "-m", "twofold", "run"], stdin=end, capture_output=True, text=True, timeout=120, check=False, cwd=tmp_path
    )
    os.close(terminal)
    os.close(end)
    assert done.returncode == 2
    assert "pass a script, -m MODULE, -c CODE, or - to read the program from standard input" in done.stderr


def test_packages_are_one_word_and_must_exist(python, files):
    files(script="import sys; print(sys.argv)", a__in____init__="raise RuntimeError('imported')", b__in____init__="", b__in__c="")
    for names in (["--packages", "a,b.c"], ["--packages", "a", "--packages=b"], ["--packages", " a, b"]):
        assert python("script.py", "x", options=["--numpy", *names]) == (0, "['script.py', 'x']\n", "")
    wrong = {
        ("a", "b"): "separate names of packages by commas: --packages a,b\n",
        ("a,nowhere",): "there is no such package or module: given 'nowhere'; pass names as they are imported, separated by commas",
        ("b.nowhere",): "there is no such package or module: given 'b.nowhere'",
        ("script.py",): "there is no such package or module: given 'script.py'",
        ("scikit-learn",): "there is no such package or module: given 'scikit-learn'",
        ("a,",): "there is no such package or module: given ''",
        ("numpy.linalg",): "run: --packages: it cannot fold itself: given numpy.linalg",
    }
    for names, says in wrong.items():
        status, out, error = python("script.py", options=["--numpy", "--packages", *names])
        assert (status, out, error.count("\n")) == (2, "", 1), error
        assert says in error


CHILDREN = """
import multiprocessing, sys
import numpy as np
import neighbour

def look(x):
    import numpy
    return [__name__, np.zeros(100_000).__array_priority__ == 0, numpy is np, neighbour.folds(), float((x * 2.0).sum())]

if __name__ == "__main__":
    with multiprocessing.get_context(sys.argv[1]).Pool(1) as pool:
        print(pool.map(look, [np.ones(100_000)]))
"""
NEIGHBOUR = "import numpy\ndef folds():\n    return numpy.ones(100_000).__array_priority__ > 0\n"


@pytest.mark.parametrize("method", ["fork", "spawn", "forkserver"])
def test_children_import_what_their_parent_imports(python, files, method):
    files(script=CHILDREN, neighbour=NEIGHBOUR)
    name = "__main__" if method == "fork" else "__mp_main__"
    for options, is_plain in ((["--numpy"], False), (["--numpy", "--no-fold"], True)):
        status, out, error = python("script.py", method, options=options)
        assert status == 0, error
        assert out.splitlines()[0] == str([[name, is_plain, True, not is_plain, 200_000.0]])


def test_spawned_children_of_mxnet_scripts_import_twofold(python, files):
    files(
        script="import multiprocessing\nimport mxnet as mx\n\ndef f(n):\n    return mx.nd.ones((n,)).sum().asscalar()\n\n"
        "if __name__ == '__main__':\n    with multiprocessing.get_context('spawn').Pool(1) as pool:\n        print(pool.map(f, [3]))"
    )
    assert python("script.py") == (0, "[np.float32(3.0)]\n", "")
