"""Chains in blocks have NumPy's bits and warnings, whatever the layout; threads compute different chains at the same time."""

import subprocess
import sys
import threading
import warnings

import numpy as real
import pytest

from twofold.config import SETTINGS
from twofold.numpy_folding import blocks, error_state, sites
from twofold.numpy_folding.array import FoldingArray
from twofold.numpy_folding.face import numpy as np
from twofold.numpy_folding.rules import SLOW

N = 300_000


@pytest.fixture(autouse=True)
def _in_blocks(monkeypatch):
    monkeypatch.setattr(sites, "HOT", 1 << 60)


def normal(dtype=float, seed=0):
    return real.random.default_rng(seed).standard_normal(N).astype(dtype)


@pytest.mark.parametrize("threads", [1, 2])
@pytest.mark.parametrize("dtype", ["float32", "float64", "int32"])
def test_slow_functions_in_chains_have_numpys_bits(monkeypatch, dtype, threads):
    monkeypatch.setattr(SETTINGS, "threads", threads)
    x = normal(seed=1) * 20
    x[:6] = [0.0, -0.0, 1.0, -1.0, 1e30 if dtype != "int32" else 7.0, 0.5]
    x, y = x.astype(dtype), (normal(seed=2) * 3).astype(dtype)
    for ufunc in SLOW:
        operands = (x, y)[: ufunc.nin]
        with real.errstate(all="ignore"):
            try:
                expected = real.where(ufunc(*[a + a for a in operands]) != 0, 1, 0) + ufunc(*[a + a for a in operands])
            except (TypeError, ValueError):  # of integers
                continue
            folding = [np.array(a) for a in operands]
            found = real.where(ufunc(*[a + a for a in folding]) != 0, 1, 0) + ufunc(*[a + a for a in folding])
            assert found.dtype == expected.dtype, ufunc
            assert real.asarray(found).tobytes() == expected.tobytes(), ufunc


LAYOUTS = {
    "contiguous": lambda x: x.reshape(500, 600),
    "columns": lambda x: x.reshape(500, 600)[:, 3:-3],
    "rows": lambda x: x.reshape(500, 600)[3:-3],
    "three axes, inner part": lambda x: x.reshape(50, 60, 100)[1:-1, 1:-1, 1:-1],
    "two long rows": lambda x: x.reshape(2, 150_000)[:, 5:],
    "one axis of one": lambda x: x.reshape(500, 1, 600)[:, :, 2:],
}


@pytest.mark.parametrize("layout", LAYOUTS)
@pytest.mark.parametrize("block", [1 << 10, 1 << 17])
def test_blocks_of_any_layout(monkeypatch, layout, block):
    monkeypatch.setattr(blocks, "BLOCK", block)
    x = normal()

    def program(a):
        b = LAYOUTS[layout](a)
        c = b * 2.0 + b
        d = c - LAYOUTS[layout](a * 3.0)
        return d, real.exp(d) * b[:1] + b[..., :1] * c, c

    found, expected = program(np.array(x)), program(x)
    for f, e in zip(found, expected, strict=True):
        assert f.strides == e.strides
        assert real.asarray(f).tobytes() == e.tobytes()


def test_a_result_that_is_dropped_and_needed_twice_is_computed_once(monkeypatch):
    runs = []
    compute = blocks.Blockwise.run
    monkeypatch.setattr(blocks.Blockwise, "run", lambda self: runs.append([p.rule.numpys for p in self.order]) or compute(self))
    x = np.array(normal())
    with real.errstate(all="ignore"):
        shared = real.exp(x * 2.0)
        a, b = shared + 1.0, shared - 1.0
    del shared
    assert (a[0], b[0]) == (real.exp(x[0] * 2.0) + 1.0, real.exp(x[0] * 2.0) - 1.0)
    assert runs == [[real.multiply, real.exp, real.add, real.subtract]]


WARNINGS = """
import numpy as np
x = np.arange(300_000.0)
y = (x - 5.0) / (x * 2.0)
z = np.sqrt(x - 1.0) + np.log(x)
with np.errstate(divide="ignore", invalid="ignore"):
    quiet = 1.0 / x + np.log(-x)
w = np.exp(x) * 0.0
np.log10(x)
print(y[0], z[0], quiet[1], w[5])
unread = 1 / x
"""


#: Each iteration drops the result of the one before, whose warnings are wanted all the same, every time.
DROPPED = """
import warnings
import numpy as np
warnings.simplefilter("always")
x = np.arange(300_000.0)
for k in range(7):
    y = np.sqrt(x - k) / (x - 3.0)
    z = np.log(x[:, None] - [0.0, k])
print(y[5], z[5])
"""
#: What is dropped is computed with either of its consumers, which have different shapes.
SHARED = """
import warnings
import numpy as np
warnings.simplefilter("always")
x = np.arange(300_000.0)
shared = np.sqrt(x - 1.0)
narrow, wide = shared + 1.0, shared * np.ones((2, 1))
del shared
print(narrow[5], wide[1, 5])
"""


@pytest.mark.parametrize("program", [WARNINGS, DROPPED, SHARED])
def test_warnings_are_numpys_with_its_lines(tmp_path, program):
    script = tmp_path / "script.py"
    script.write_text(program)
    expected, found = (
        subprocess.run([sys.executable, *way, str(script)], capture_output=True, text=True, check=True, timeout=120)
        for way in ((), ("-m", "twofold", "run", "--numpy"))
    )
    assert " encountered in " in expected.stderr
    assert sorted(found.stderr.splitlines()) == sorted(expected.stderr.splitlines())
    assert found.stdout == expected.stdout


READ_ELSEWHERE = """
import warnings
import numpy as np

x = np.arange(300_000.0) - 10
y = np.sqrt(x)
z = 1 / x
with warnings.catch_warnings():
    warnings.simplefilter("error")
    print(y[20])
with warnings.catch_warnings(record=True) as found:
    warnings.simplefilter("always")
    print(z[20], len(found))
w = np.log(x)
print(w[20])
late = np.log(x + 5)
warnings.simplefilter("error")
print(late[20])
"""


def test_blocks_that_collect_warnings_or_make_them_errors_get_those_of_their_own_operations(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(READ_ELSEWHERE)
    expected, found = (
        subprocess.run([sys.executable, *way, str(script)], capture_output=True, text=True, check=True, timeout=120)
        for way in ((), ("-m", "twofold", "run", "--numpy"))
    )
    assert expected.stderr.count(" encountered in ") == 6
    assert sorted(found.stderr.splitlines()) == sorted(expected.stderr.splitlines())
    assert found.stdout == expected.stdout


@pytest.fixture
def _late_warnings(monkeypatch):
    """As in a program: pytest collects warnings, so operations that may warn would not wait."""
    monkeypatch.setattr(error_state, "warnings_may_come_late", lambda: True)


@pytest.mark.usefixtures("_late_warnings")
def test_dropped_results_that_may_warn_are_computed_in_one_pass(monkeypatch):
    runs = []
    compute = blocks.Blockwise.run
    monkeypatch.setattr(blocks.Blockwise, "run", lambda self: runs.append((len(self.order), len(self.results))) or compute(self))
    x = np.array(abs(normal()))
    for _ in range(10):
        y = real.sqrt(x * 2.0)
    assert y[0] == real.sqrt(x[0] * 2.0)
    assert runs == [(18, 0), (2, 1)]


@pytest.mark.usefixtures("_late_warnings")
def test_a_warning_that_has_become_an_error_hides_no_other():
    x = np.arange(float(N))
    for _ in range(3):
        1.0 / x
    y = x + 1.0
    raised = 0
    for _ in range(4):
        with warnings.catch_warnings():
            warnings.simplefilter("error")
            try:
                y[0]
            except RuntimeWarning:
                raised += 1
    assert raised == 3


def test_warnings_that_are_collected_come_at_once():
    x = np.arange(float(N))
    with pytest.warns(RuntimeWarning, match="divide by zero encountered in divide"):
        y = 1.0 / x
    assert y[1] == 1.0


def test_an_overflow_that_is_an_error_is_raised_by_the_operation(tmp_path):
    script = tmp_path / "script.py"
    script.write_text(
        "import warnings\n"
        "import numpy as np\n"
        f"x = np.full({N}, 1e308)\n"
        "warnings.simplefilter('error')\n"
        "def added_to(y):\n"
        "    y += x\n"
        "for f in (lambda: x * 10, lambda: x + x, lambda: np.square(x), lambda: x.astype('f4'), lambda: added_to(x * 1.0)):\n"
        "    try:\n"
        "        f()\n"
        "    except RuntimeWarning as error:\n"
        "        print(error)\n"
    )
    expected, found = (
        subprocess.run([sys.executable, *way, str(script)], capture_output=True, text=True, check=True, timeout=120)
        for way in ((), ("-m", "twofold", "run", "--numpy"))
    )
    assert len(expected.stdout.splitlines()) == 5
    assert found.stdout == expected.stdout
    assert not found.stderr


def test_different_chains_are_computed_at_the_same_time(monkeypatch):
    inside = threading.Barrier(2, timeout=60)
    compute = blocks.Blockwise.run

    def run(plan):
        inside.wait()
        return compute(plan)

    monkeypatch.setattr(blocks.Blockwise, "run", run)
    x, found = np.arange(float(N)), {}

    def work(k):
        found[k] = float((x * k + 1.0)[1])

    threads = [threading.Thread(target=work, args=(k,)) for k in (2, 3)]
    for t in threads:
        t.start()
    for t in threads:
        t.join()
    assert found == {2: 3.0, 3: 4.0}


def test_a_write_waits_for_the_thread_that_reads_the_memory(monkeypatch):
    started, go = threading.Event(), threading.Event()
    compute = blocks.Blockwise.run

    def run(plan):
        started.set()
        assert go.wait(60)
        return compute(plan)

    monkeypatch.setattr(blocks.Blockwise, "run", run)
    x = np.zeros(N)
    y = x * 2.0 + 1.0
    reader = threading.Thread(target=lambda: y[0])
    reader.start()
    assert started.wait(60)
    writer = threading.Thread(target=lambda: x.__setitem__(slice(None), 7.0))
    writer.start()
    writer.join(0.05)
    assert writer.is_alive()
    go.set()
    reader.join()
    writer.join()
    assert y[0] == 1.0
    assert x[0] == 7.0


def test_a_long_loop_becomes_chains_of_bounded_length(monkeypatch):
    lengths = []
    compute = blocks.Blockwise.run
    monkeypatch.setattr(blocks.Blockwise, "run", lambda self: lengths.append(len(self.order)) or compute(self))
    x = np.zeros(N)
    for _ in range(200):
        x = x * 0.5 + x
    assert type(x) is FoldingArray
    assert x[0] == 0.0
    assert sum(lengths) == 400
    assert max(lengths) <= 66


def test_an_element_is_one_look_up_unless_something_pending_reads_the_memory():
    x = np.zeros(N)
    y = x * 2.0
    assert x[3] == 0.0
    assert y.array is None
    assert x.leased is None
    del y
    assert x[3] == 0.0
    assert x.leased[3] == 0.0
    assert (x + 1.0).array is None


def test_mgrid_folds():
    y, x = np.mgrid[0:500, 0:600]
    assert type(x) is type(y) is FoldingArray
    assert (y[499, 3], x[499, 3]) == (499, 3)
    assert type(np.mgrid[0:3]) is real.ndarray
