"""What libraries give for the large arrays of a script is what they give for NumPy's."""

import ast
import os
import subprocess
import sys
from importlib.util import find_spec
from pathlib import Path

import pytest

CALLS = Path(__file__).with_name("everyday_calls.py")
FUNCTIONS = [f.name for f in ast.parse(CALLS.read_text(encoding="utf-8")).body if isinstance(f, ast.FunctionDef)]
#: The libraries, but for the functions that serve the calls.
LIBRARIES = [name for name in FUNCTIONS if name not in ("path", "python", "shown", "timed", "main")]
MASKED = """
import numpy as np, numpy.ma as ma
from numpy.ma import masked_array
y = np.linspace(-1, 1, 300_000)
m = ma.masked_where(y < 0, y)
for a in (ma.log(y), np.ma.sqrt(y), masked_array(y, y > .5), y * m, m - y, ma.where(y > 0, y, 0), ma.add(y, y), ma.fix_invalid(y)):
    print(type(a).__name__, type(a.data) is np.ndarray, a[:3], a[-3:])
m[y > .9], m[10:20] = 5, y[10:20]
m += y
print(m.count(), m[8:12], m.filled(y)[-2:], y.flat.base is y)
try:
    np.array([[1], [1, 2]])
except ValueError as error:
    print(error)
"""


def printed(*words):
    """What a script prints, run by a Python with these words."""
    done = subprocess.run([sys.executable, *words], env=os.environ, capture_output=True, text=True, timeout=300, check=False)
    assert done.returncode == 0, done.stderr
    return done.stdout


@pytest.mark.parametrize("library", ["python", *(pytest.param(name, marks=pytest.mark.ci) for name in LIBRARIES)])
def test_calls_of_a_library_give_what_they_give_for_numpys_arrays(library):
    if library != "python" and find_spec(library) is None:
        pytest.skip(f"{library} is not installed")
    assert printed("-m", "twofold", "run", "--numpy", CALLS, library) == printed(CALLS, library) != ""


def test_masked_arrays_iterators_and_refused_rows_are_numpys(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(MASKED, encoding="utf-8")
    assert printed("-m", "twofold", "run", "--numpy", script) == printed(script) != ""
