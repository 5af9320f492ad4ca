"""A primitive is one file, and so are a composite and an iterator: each is added to a copy of the tree, and passes the generated tests."""

import os
import shutil
import subprocess
import sys

import pytest

from .sources import ROOT
from tests.backend.test_conformance import ADAPTERS
from tests.docs.pages import blocks

PRIMITIVES = '''"""Two primitives with references: the sign and logarithm of determinants, and the bell curve."""

from ..opdef import primitive


@primitive(reference=lambda np, data: np.linalg.slogdet(data), outputs=2, floats=("float32", "float64"))
def probe_slogdet(xp, data):
    """(sign, logarithm of the magnitude) of the determinants of (…, n, n) matrices."""


probe_slogdet.type(lambda data: [(data.shape[:-2], data.dtype), (data.shape[:-2], data.dtype)])


@probe_slogdet.grad
def _(xp, dout, out, data):
    return xp.host(_inverse, data, like=data, gradient=_inverse_gradient) * xp.reshape(dout[1], shape=(*data.shape[:-2], 1, 1))


def _inverse(np, x):
    return np.swapaxes(np.linalg.inv(x), -1, -2)


def _inverse_gradient(xp, dout, out, x):
    return -xp.matmul(xp.matmul(out, xp.matrix_transpose(dout)), out)


@probe_slogdet.sample
def _(draw):
    return draw(draw.real((2, 3, 3), then=lambda np, x: x + 6 * np.eye(3)))


@primitive("probe_bell", elementwise=True, result="float", c="exp(-({0} * {0}))", reference=lambda np, data: np.exp(-(data * data)))
def probe_bell(xp, data):
    """``exp(-data²)``."""


@probe_bell.grad
def _(xp, dout, out, data):
    return -2 * dout * out * data


@probe_bell.sample
def _(draw):
    return draw(draw.real((3, 4)))
'''

COMPOSITE = '''"""A composite: the logarithm of 1 + data²."""

from ..opdef import op


@op("probe_cauchy", method=True)
def probe_cauchy(xp, data):
    """``log(1 + data²)``."""
    return xp.log1p(data * data)


@probe_cauchy.sample
def _(draw):
    return draw(draw.real((3, 4)))
'''


def generated_tests(tree, names, files):
    """What the generated tests of the probes with these names in a tree print at their end."""
    env = os.environ | {"PYTHONPATH": os.pathsep.join([str(tree / "src"), str(tree / "backends")])}
    command = [sys.executable, "-m", "pytest", "-q", "-n", "0", "-p", "no:cacheprovider", "--case", names]
    done = subprocess.run([*command, *files], cwd=tree, env=env, capture_output=True, text=True, check=False)
    return done.stdout[-3000:] + done.stderr[-2000:]


def copied(tmp_path):
    for folder in ("src", "backends", "tests"):
        shutil.copytree(ROOT / folder, tmp_path / folder, ignore=shutil.ignore_patterns("__pycache__", "oracle_values", "fakes"))
    shutil.copy(ROOT / "pyproject.toml", tmp_path)
    return tmp_path


@pytest.mark.ci
def test_a_primitive_and_a_composite_are_one_file_each(tmp_path):
    tree = copied(tmp_path)
    (tree / "src/twofold/ops/probe_primitives.py").write_text(PRIMITIVES, encoding="utf-8")
    (tree / "src/twofold/ops/probe_composite.py").write_text(COMPOSITE, encoding="utf-8")
    said = generated_tests(tree, "probe", ["tests/ops/test_conformance.py", "tests/backend/test_conformance.py"])
    # three probes, each: 11 checks and 2 other backends; the two primitives on each adapter and their memory; "probe" matches no other test
    assert f"{3 * (11 + 2) + 2 * (len(ADAPTERS) + 1)} cases" in said, said
    assert "failed" not in said, said


@pytest.mark.ci
def test_an_iterator_is_one_file(tmp_path):
    tree = copied(tmp_path)
    example = next(blocks((ROOT / "docs/how-to/add-an-iterator.md").read_text(encoding="utf-8")))
    (tree / "src/twofold/io/windows.py").write_text(f'"""An iterator over windows."""\n\n{example.text}', encoding="utf-8")
    said = generated_tests(tree, "WindowIter", ["tests/training/test_iterators.py"])
    assert "17 passed" in said, said


@pytest.mark.ci
@pytest.mark.parametrize(
    ("right", "wrong", "noticed_by"),
    [
        ("return max(0, self._start + self.batch_size - len(self._windows))", "return 0", "besides_padding"),
        ("% len(self._windows)", "% (len(self._windows) - 1)", "declared_rows"),
    ],
)
def test_an_iterator_that_pads_wrongly_is_found(tmp_path, right, wrong, noticed_by):
    tree = copied(tmp_path)
    text = next(blocks((ROOT / "docs/how-to/add-an-iterator.md").read_text(encoding="utf-8"))).text
    assert right in text
    (tree / "src/twofold/io/windows.py").write_text(f'"""An iterator over windows."""\n\n{text.replace(right, wrong)}', encoding="utf-8")
    said = generated_tests(tree, "WindowIter", ["tests/training/test_iterators.py"])
    assert noticed_by in said, said
