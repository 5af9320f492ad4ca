"""NumPy's warnings of small arrays name the script's own line, once for each, as with NumPy itself."""

import subprocess
import sys

import pytest

SCRIPT = """
x = np.array([1.0, 0.0])
z = np.zeros(2)
for k in range(3):
    x / z
np.divide(x, z)
np.log(z)
x[0] / z[0]
np.sqrt(-x)
1.0 / z
x.copy().__itruediv__(z)
np.exp(x * 1e4)
np.array([]).mean()
np.array([1.0]).var(ddof=1)
def f():
    return np.log(z)
f(), f()
x.sum() / z.sum()
x[:1] / z[:1]
x - np.inf * z
x **= 0.5
y = -np.ones(2)
y **= 0.5
divmod(y, z)
np.divide(x, z, out=y, where=z < 1)
np.sqrt(y - np.inf, dtype="float32")
"""


@pytest.fixture
def ran(tmp_path):
    """Run the script with a module as ``np``; returns its status and error output."""

    def execute(module, *options, script=SCRIPT):
        file = tmp_path / "script.py"
        file.write_text(f"import {module} as np{script}", encoding="utf-8")
        done = subprocess.run([sys.executable, *options, str(file)], capture_output=True, text=True, timeout=120, check=False)
        return done.returncode, done.stderr

    return execute


def test_warnings_name_the_scripts_lines(ran):
    expected = ran("numpy")
    assert ran("twofold.np") == expected
    assert expected[1].count("script.py:5: RuntimeWarning") == 2  # zero by zero too, but not once more for each pass


@pytest.mark.ci
def test_the_programs_filters_hold(ran):
    assert ran("twofold.np", "-W", "ignore") == (0, "")
    status, error = ran("twofold.np", "-W", "error")
    assert status == 1
    assert error.endswith("RuntimeWarning: divide by zero encountered in divide\n")
    quiet = "\nimport warnings\nwarnings.filterwarnings('ignore', 'divide by zero')\nnp.zeros(1) / np.zeros(1), np.ones(1) / np.zeros(1)\n"
    assert ran("twofold.np", script=quiet) == ran("numpy", script=quiet)


def test_programs_may_copy_the_filters_as_texts(ran):
    copied = """
import warnings
copies = [(f[0], m if m is None or isinstance(m, str) else m.pattern, f[2]) for f in warnings.filters for m in f[1:2]]
warnings.resetwarnings()
for action, message, category in copies:
    warnings.filterwarnings(action, message or "", category, append=True)
np.zeros(1) / np.zeros(1)
"""
    assert ran("twofold.np", script=copied)[1].count("RuntimeWarning: invalid value") == 1


def test_the_larger_is_written_to_an_array_without_a_warning(ran):
    script = """
x = np.arange(3.0)
np.maximum(x, 1.0, out=x)
np.minimum(x, x[::-1].copy(), out=x)
"""
    assert ran("twofold.np", "-W", "error", script=script) == (0, "")
