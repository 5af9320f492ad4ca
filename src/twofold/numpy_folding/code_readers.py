"""Libraries that read the code of functions: they get the code as the program's text has it, without the tests of `rewriting`.

numba compiles a function from its code, cloudpickle sends the code to processes that do not know the names of the tests, and pytest
compiles test modules by itself. pandas reads the variables around a call of ``frame.query``: it gets NumPy's own arrays. `own_modules`
loads these libraries' modules and then calls what `CHANGES` has for them.
"""

import ast
import linecache
import sys
import zlib
from collections.abc import Callable, Iterator
from pathlib import Path
from types import CodeType, MethodType, ModuleType
from typing import Any

from . import guards, leaving, rewriting

#: Compiled files are of this version of the rewriting alone.
REWRITERS = ("guards.py", "module_names.py", "rewriting.py")
TAG = f"{zlib.crc32(b''.join([Path(__file__).with_name(name).read_bytes() for name in REWRITERS])):x}"
#: Texts that are in no file, such as that of ``-c``, by the names that their code has for files.
texts: dict[str, bytes | str] = {}
#: The module whose objects functions of the face are bound to.
FACE = f"{__package__}.face"
_NAMES = {*guards.ASKED, guards.UNFOLDED, guards.UNHELD}


def original(code: CodeType) -> CodeType:
    """Code as the program's text has it; the same code if it has no tests, or if its text cannot be found."""
    if not any(_NAMES.intersection(part.co_names) for part in _parts(code)):
        return code
    file = code.co_filename
    text = texts.get(file) or "".join(linecache.getlines(file))
    plain = list(_parts(compile(text, file, "exec", dont_inherit=True)))
    # rewriting makes no function and moves none, so both have the same parts in the same order
    tested = list(_parts(rewriting.compiled(text, file, is_first=file in texts)))
    if code in tested:
        return plain[tested.index(code)]
    # pytest has changed it, too
    alike = [p for p in plain if (p.co_qualname, p.co_firstlineno) == (code.co_qualname, code.co_firstlineno)]
    return alike[0] if len(alike) == 1 else code


def _parts(code: CodeType) -> Iterator[CodeType]:
    """A code object and those of the functions in it."""
    yield code
    for constant in code.co_consts:
        if isinstance(constant, CodeType):
            yield from _parts(constant)


def _change_numba(module: Any) -> None:
    before = module.get_code_object

    def get_code_object(thing: object) -> object:
        code = before(thing)
        return original(code) if isinstance(code, CodeType) else code

    module.get_code_object = get_code_object


def _change_interpreter(module: Any) -> None:
    """Numba looks for functions of NumPy's own module among a function's global variables."""
    before = module.Interpreter.get_global_value

    def get_global_value(self: object, name: str) -> object:
        found = before(self, name)
        if isinstance(found, ModuleType) and found.__name__ in ("numpy", "numpy.random"):
            return sys.modules[found.__name__]
        if isinstance(found, MethodType) and type(found.__self__).__module__ == FACE:
            return getattr(sys.modules["numpy"], found.__name__, found)
        return found

    module.Interpreter.get_global_value = get_global_value


def _change_cloudpickle(module: Any) -> None:
    table = module.CloudPickler.dispatch_table
    before = table[CodeType]
    table[CodeType] = lambda code: before(original(code))


def _change_pandas(module: Any) -> None:
    before = module.Scope.resolve

    def resolve(self: object, key: str, is_local: bool) -> object:
        return leaving.given(before(self, key, is_local))

    module.Scope.resolve = resolve


def _change_pytest(module: Any) -> None:
    before = module.rewrite_asserts

    def rewrite_asserts(tree: ast.Module, *rest: object) -> None:
        before(tree, *rest)
        rewriting.rewritten(tree)

    module.rewrite_asserts = rewrite_asserts
    module.PYC_TAIL = f".folding{TAG}{module.PYC_TAIL}"  # a plain Python would not know the names in these files


#: By the name of a library's module, what changes it once it has been loaded.
CHANGES: dict[str, Callable[[Any], None]] = {
    "numba.core.bytecode": _change_numba,
    "numba.core.interpreter": _change_interpreter,
    "cloudpickle.cloudpickle": _change_cloudpickle,
    "joblib.externals.cloudpickle.cloudpickle": _change_cloudpickle,
    "_pytest.assertion.rewrite": _change_pytest,
    "pandas.core.computation.scope": _change_pandas,
}
