"""The page of MXNet's names says what Twofold has."""

import subprocess
import sys

import pytest

from tests.house.sources import ROOT

SCRIPT = "import sys; from pathlib import Path; import mxnet_names; sys.stdout.write(mxnet_names.page(Path(sys.argv[1])))"


@pytest.mark.ci
def test_the_page_of_names_is_current(shared):
    command = [sys.executable, "-c", SCRIPT, str(shared / "inventory" / "mxnet_api.json")]
    done = subprocess.run(command, cwd=ROOT / "tools", capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    found, stored = done.stdout.splitlines(), (ROOT / "docs" / "reference" / "mxnet-names.md").read_text(encoding="utf-8").splitlines()
    changed = sorted({*found} ^ {*stored})
    assert not changed, f"run tools/mxnet_names.py: {changed[0][:200]} and {len(changed) - 1} other lines differ"


@pytest.mark.ci
def test_calls_that_mxnet_takes_are_taken(shared):
    script = str(ROOT / "tools" / "mxnet_names.py")
    command = [sys.executable, script, str(shared / "inventory" / "mxnet_api.json"), "--calls"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=250, check=False)
    assert done.returncode == 0, done.stderr
    assert done.stdout == "", "mend the signature, or give the reason in OTHER_SIGNATURES"
