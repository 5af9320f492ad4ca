"""Random NumPy programs give NumPy's results on folding arrays and in `twofold.np`, and every path was really taken."""

import os
import subprocess
import sys
from collections import Counter
from types import SimpleNamespace

import pytest

from tests.cases import later_in_ci
from tests.three_ways.programs import program
from tests.three_ways.worlds import Twofold

CASES = int(os.environ.get("FUZZ_CASES", "150"))


@pytest.mark.fuzz
@pytest.mark.parametrize("half", [0, 1], ids=["ufuncs", "machine code"])
@pytest.mark.parametrize("elements", later_in_ci([24, 1]), ids=["some wait", "all wait"])
def test_random_programs_are_numpys(record_property, machine_code, elements, half):
    environment = os.environ | {"TWOFOLD_FOLD_ELEMENTS": str(elements), "TWOFOLD_DEFER_ELEMENTS": str(elements)}
    if half:
        environment |= machine_code
    command = [sys.executable, "-m", "tests.three_ways.programs", str(-(-CASES // 2)), str(half * CASES)]
    done = subprocess.run(command, capture_output=True, text=True, timeout=max(280, CASES), check=False, env=environment)
    record_property("told", f"NumPy three ways, paths taken in {CASES // 2} random programs: {done.stdout.strip()}")
    assert done.returncode == 0, done.stdout + done.stderr


class Wrong(Twofold):
    """`twofold.np` with one wrong function."""

    def __init__(self, name, function):
        super().__init__()
        self.np = SimpleNamespace(**{k: getattr(self.np, k) for k in dir(self.np) if not k.startswith("_")} | {name: function})


WRONG = {
    "add": lambda a, b, **options: Twofold.np.add(a, b),  # forgets out=
    "maximum": lambda a, b, **options: Twofold.np.minimum(a, b, **options),
    "sum": lambda a, **options: Twofold.np.sum(a, **options) * 1.000001,
    "swapaxes": lambda a, i, j: Twofold.np.swapaxes(a, i, j).copy(),
}


def run_all(way):
    for seed in range(80):
        program(seed, way, Counter())


@pytest.mark.filterwarnings("ignore")
@pytest.mark.parametrize("name", WRONG)
def test_a_wrong_function_is_noticed(name):
    with pytest.raises(AssertionError):
        run_all(Wrong(name, WRONG[name]))
