"""``from mxnet.X import *`` gives the names that it gives in MXNet, for every module."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from twofold.compat.mxnet_alias import reason_for_absence

HERE = Path(__file__).parent
#: Names that are not given, by reason.
NOT_GIVEN = {
    "of libraries that may be missing": "cv2 h5py requests ss stats",
    "of MXNet's inner modules": "C tvmop np_symbol utils c_int_p convert_map profiler_kvstore_handle _ndarray_cls _STR_2_DTYPE_",
    "of another library": "BASE_ESTIMATOR SKLEARN_INSTALLED mirr npv ppmt pv rate",
    "has no graph": "unravel_index",
}
#: Modules whose names are those of MXNet's C library, of which Twofold has those that programs call.
OF_THE_LIBRARY = {"mxnet.ndarray._internal", "mxnet.ndarray.numpy._internal", "mxnet.symbol._internal"}
PROGRAM = """
import importlib, json, sys
from twofold.compat.mxnet_alias import MissingModule, install, reason_for_absence
install()
found = {}
for module in json.load(sys.stdin):
    if reason_for_absence(module.partition(".")[2]):
        continue
    space = {}
    try:
        exec(f"from {module} import *", space)
    except MissingModule:
        continue
    found[module] = sorted(space.keys() - {"__builtins__"})
print(json.dumps(found))
"""


@pytest.fixture(scope="module")
def wanted():
    """MXNet's answers."""
    answers = json.loads((HERE / "star_imports.json").read_text(encoding="utf-8"))
    return {module: names.split() for module, names in answers.items()}


def star_imports(modules):
    """What star imports from modules give, in a process of their own."""
    done = subprocess.run(
        [sys.executable, "-c", PROGRAM], input=json.dumps(modules), capture_output=True, text=True, check=True, timeout=120
    )
    return json.loads(done.stdout)


@pytest.mark.ci
def test_star_imports_give_what_mxnets_give(wanted):
    found = star_imports(list(wanted))
    left_out = set(" ".join(NOT_GIVEN.values()).split())
    lacking, surplus = {}, {}
    for module, names in found.items():
        surplus[module] = sorted(set(names) - set(wanted[module]))
        absent = {name for name in wanted[module] if reason_for_absence(f"{module}.{name}".partition(".")[2])} | left_out
        lacking[module] = [] if module in OF_THE_LIBRARY else sorted(set(wanted[module]) - set(names) - absent)
    assert {module: names for module, names in surplus.items() if names} == {}, "change compat/star_names.toml"
    assert {module: names for module, names in lacking.items() if names} == {}, "change compat/star_names.toml"
    assert len(found) > 150


def test_each_name_that_is_not_given_is_one_of_mxnets(wanted):
    given = {name for names in wanted.values() for name in names}
    assert set(" ".join(NOT_GIVEN.values()).split()) - given == set()


def test_names_from_elsewhere_are_attributes_too():
    program = (
        "import twofold.compat.mxnet_alias as m; m.install(); import json, mxnet; assert mxnet.initializer.json is json; mxnet.callback.np"
    )
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=False, timeout=60)
    assert "callback.np: Twofold does not have it" in done.stderr
