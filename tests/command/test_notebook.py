"""``%load_ext twofold``: later cells of a notebook import NumPy with large arrays folded, until it is unloaded."""

import ast
import builtins
import importlib
import sys
from types import ModuleType

import pytest

from tests.alias import undone_at_the_end


class Shell:
    """What IPython's shell does with extensions and cells: one module runs all cells."""

    def __init__(self):
        self.module = ModuleType("__main__")
        self.custom_exceptions = ()
        self.ast_transformers = []

    def set_custom_exc(self, kinds, handler):
        self.custom_exceptions = kinds

    def run_line_magic(self, name, argument):
        hook = getattr(
            importlib.import_module(argument), {"load_ext": "load_ipython_extension", "unload_ext": "unload_ipython_extension"}[name]
        )
        hook(self)

    def run_cell(self, text):
        tree = ast.parse(text)
        for transformer in self.ast_transformers:
            tree = transformer.visit(tree)
        exec(compile(tree, "<cell>", "exec"), vars(self.module))

    @property
    def user_ns(self):
        return vars(self.module)


def ipythons_shell():
    shell = pytest.importorskip("IPython.core.interactiveshell", reason="IPython is not installed")
    return shell.InteractiveShell()


@pytest.fixture(params=[Shell, ipythons_shell], ids=["fake", "IPython"])
def shell(request, monkeypatch, tmp_path):
    monkeypatch.chdir(tmp_path)
    monkeypatch.setattr(builtins, "__import__", builtins.__import__)
    monkeypatch.setattr(sys, "path", ["", *sys.path])
    monkeypatch.setattr(sys, "meta_path", list(sys.meta_path))
    made = request.param()
    with undone_at_the_end():
        yield made
        made.run_line_magic("unload_ext", "twofold")


CELL = "import numpy as np, sys\nfolds = np.zeros(100_000).__array_priority__ > 0"


def test_cells_fold_between_loading_and_unloading(shell):
    seen = []
    for magic in (None, "load_ext", "unload_ext"):
        if magic:
            shell.run_line_magic(magic, "twofold")
        shell.run_cell(CELL)
        seen.append(shell.user_ns["folds"])
    assert seen == [False, True, False]


def test_modules_beside_the_notebook_fold_and_others_do_not(shell, tmp_path):
    (tmp_path / "beside_the_notebook.py").write_text("import numpy\nmodule = numpy\n", encoding="utf-8")
    shell.run_line_magic("load_ext", "twofold")
    shell.run_cell("import beside_the_notebook as beside, hypothesis.extra.numpy as other, numpy")
    shell.run_cell("same = beside.module is numpy, other.np is numpy")
    assert shell.user_ns["same"] == (True, False)


def test_loading_twice_and_unloading_leaves_imports_as_they_were(shell):
    before = builtins.__import__
    shell.run_line_magic("load_ext", "twofold")
    shell.run_line_magic("load_ext", "twofold") if isinstance(shell, Shell) else shell.run_line_magic("reload_ext", "twofold")
    assert builtins.__import__ is not before
    shell.run_line_magic("unload_ext", "twofold")
    assert builtins.__import__ is before


def test_what_has_folded_is_explained(shell):
    shell.run_line_magic("load_ext", "twofold")
    shell.run_cell("import numpy as np, twofold as mx\nx = np.zeros(100_000)\ny = np.exp(x) * 2.0\ntext = str(mx.explain())")
    assert ":3: " in shell.user_ns["text"]
