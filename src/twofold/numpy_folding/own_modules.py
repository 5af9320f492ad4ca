"""Loads the program's modules with their code rewritten (see `rewriting`), from compiled files of their own."""

import ast
import marshal
import os
import runpy
import sys
from collections.abc import Mapping, Sequence
from importlib.machinery import ModuleSpec, PathFinder, SourceFileLoader
from importlib.util import MAGIC_NUMBER, cache_from_source
from types import CodeType, ModuleType
from typing import Any

from . import leaving, rewriting
from .code_readers import CHANGES, TAG, texts
from .importing import Importers, compilers, first_code

ROOT = __name__.partition(".")[0]


class OwnLoader(SourceFileLoader):
    """Loads a module of the program. Programs see the name of Python's own loader."""

    def source_to_code(self, data: Any, path: Any, *options: object, **more: object) -> CodeType:
        """The module's code, compiled anew."""
        return rewriting.compiled(data, os.fspath(path))

    def get_code(self, fullname: str) -> CodeType:
        """The module's code: from the compiled file beside Python's own, if that is newer than the source."""
        path = self.get_filename(fullname)
        stats = self.path_stats(path)
        header = MAGIC_NUMBER + b"".join((int(n) & 0xFFFFFFFF).to_bytes(4, "little") for n in (0, stats["mtime"], stats["size"]))
        cached = cache_from_source(path, optimization=f"folding{TAG}o{sys.flags.optimize}")
        try:
            data = self.get_data(cached)
            if data.startswith(header):
                return _placed(marshal.loads(memoryview(data)[len(header) :]), path)
        except (OSError, ValueError, EOFError, TypeError):
            pass  # there is none, or it is damaged, as Python's own may be
        code = self.source_to_code(self.get_data(path), path)
        if not sys.dont_write_bytecode:
            # readable by those who can read the source; where it cannot write, this does nothing
            self.set_data(cached, header + marshal.dumps(code), _mode=os.stat(path).st_mode | 0o200)
        return code


OwnLoader.__name__ = SourceFileLoader.__name__


def _placed(code: CodeType, path: str) -> CodeType:
    """Code with the path of its source, which may have been moved with its compiled file."""
    if code.co_filename == path:
        return code
    parts = [_placed(x, path) if isinstance(x, CodeType) else x for x in code.co_consts]
    return code.replace(co_filename=path, co_consts=tuple(parts))


class _ChangingLoader(SourceFileLoader):
    """Loads a module of a library that reads code, and changes it."""

    def exec_module(self, module: ModuleType) -> None:
        """Run the module, and change it."""
        super().exec_module(module)
        CHANGES[module.__name__](module)


class _Finder:
    """Finds the program's modules where Python finds them."""

    def __init__(self, importers: Importers) -> None:
        self._importers = importers

    def find_spec(self, name: str, path: Sequence[str] | None = None, target: ModuleType | None = None) -> ModuleSpec | None:
        """The module's specification, with the loader of the program's modules; None for other modules."""
        if name in CHANGES:
            spec = PathFinder.find_spec(name, path, target)
            if spec is not None and type(spec.loader) is SourceFileLoader:
                spec.loader = _ChangingLoader(name, spec.loader.path)
            return spec
        head = name.partition(".")[0]
        if head == ROOT or (path is not None and head in sys.modules and not self._importers.have(name, {})):
            return None
        spec = PathFinder.find_spec(name, path, target)
        if spec is None or type(spec.loader) is not SourceFileLoader:
            return None
        variables: Mapping[str, object] = {"__file__": spec.origin, "__path__": spec.submodule_search_locations}
        if not self._importers.have(name, variables):
            return None
        spec.loader = OwnLoader(name, spec.loader.path)
        return spec


_found: list[_Finder] = []


def install(importers: Importers) -> None:
    """Rewrite the program's modules, from now on."""
    uninstall()
    leaving.install()
    _found.append(_Finder(importers))
    compilers.append(_first_code)
    places = [k for k, finder in enumerate(sys.meta_path) if finder is PathFinder]
    sys.meta_path.insert(places[0] if places else len(sys.meta_path), _found[0])
    # `multiprocessing` runs the first module of a spawned process by this module
    runpy.__dict__["compile"] = _compiled_there


def uninstall() -> None:
    """Undo `install`. Modules that have been loaded keep their code."""
    for finder in _found:
        if finder in sys.meta_path:
            sys.meta_path.remove(finder)
        runpy.__dict__.pop("compile", None)
    _found.clear()
    compilers.clear()


def _first_code(source: bytes, file: str) -> CodeType:
    texts[file] = source
    return rewriting.compiled(source, file, is_first=True)


def _compiled_there(source: bytes, file: str, mode: str) -> CodeType:
    return first_code(source, file) if mode == "exec" else compile(source, file, mode)


class CellTransformer:
    """Rewrites the cells of a notebook."""

    def visit(self, tree: ast.Module) -> ast.Module:
        """A cell's syntax tree, rewritten."""
        return rewriting.rewritten(tree)


def leave_cells_alone(shell: Any) -> None:
    """Remove the transformer of cells from IPython's shell."""
    shell.ast_transformers[:] = [t for t in shell.ast_transformers if not isinstance(t, CellTransformer)]
