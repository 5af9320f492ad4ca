"""What the names of one of the program's modules stand for, as far as its text says: `rewriting` puts no test where that is known."""

import ast
import builtins
from collections import Counter
from collections.abc import Collection

#: Packages that compile functions of the program from their code.
COMPILERS = {"numba", "cython", "pythran", "transonic", "taichi", "triton"}
#: Modules whose functions take no arrays, or only look at them.
HARMLESS = {
    "abc", "argparse", "cmath", "dataclasses", "datetime", "decimal", "enum", "fractions", "gc", "glob",
    "logging", "math", "os", "pathlib", "platform", "random", "re", "resource", "shutil", "signal", "statistics",
    "string", "struct", "subprocess", "sys", "textwrap", "time", "timeit", "traceback", "tracemalloc", "typing", "warnings", "weakref",
}  # fmt: skip
#: Modules whose functions take folding arrays.
NUMPYS = {"numpy"}
#: Those of NumPy's whose functions do not, and such functions: masked arrays keep the classes of arrays, ``assert_raises`` calls anybody's
#: functions, and ``as_strided`` looks for its bounds in the arrays that ``base`` leads to, where a folding array's buffer is none.
APART = ("numpy.ma.", "numpy.testing.", "numpy.lib.stride_tricks.as_strided.", "numpy.lib._stride_tricks_impl.as_strided.")
#: Built-in functions that look at folding arrays, as NumPy's do, but not ``type``, which must say what NumPy would say.
BUILT_IN = {name for name in dir(builtins) if name not in ("type", "issubclass", "setattr", "compile", "__import__")}
#: Those that call a function that they are given: first, or as ``key``.
CALLING = {"map", "filter", "sorted", "min", "max"}
Function = ast.FunctionDef | ast.AsyncFunctionDef


class _Bindings(ast.NodeVisitor):
    """What the names of a module are bound to, and how they are used. Scopes are not told apart."""

    def __init__(self, tree: ast.Module) -> None:
        #: How often each name is bound, by imports, to whole numbers, to other constants or keys of dictionaries; read; and called.
        self._bound, self._imported, self._counting, self._keys, self._read, self._called = (Counter[str]() for _ in range(6))
        #: The top modules that names are imported from, and those of ``from module import *``.
        self._origins: dict[str, set[str]] = {}
        self._stars: set[str] = set()
        #: Names of the module ``numpy``.
        self._modules: set[str] = set()
        #: Functions and classes that are handed to compilers.
        self._compiled: set[str] = set()
        self.visit(tree)

    def visit_Name(self, node: ast.Name) -> None:
        if isinstance(node.ctx, ast.Load):
            self._read[node.id] += 1
        else:
            self._bound[node.id] += 1

    def generic_visit(self, node: ast.AST) -> None:
        if isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef, ast.ExceptHandler, ast.MatchAs, ast.MatchStar)):
            self._bound[node.name or ""] += 1
        elif isinstance(node, ast.arg):
            self._bound[node.arg] += 1
        elif isinstance(node, (ast.Global, ast.Nonlocal)):
            self._bound.update(node.names)
        super().generic_visit(node)

    def visit_Import(self, node: ast.Import) -> None:
        for alias in node.names:
            name = alias.asname or alias.name.partition(".")[0]
            self._import(name, _origin(alias.name if alias.asname else "", alias.name))
            if alias.name == "numpy" or name == "numpy":
                self._modules.add(name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        module = "" if node.level else node.module or ""
        for alias in node.names:
            if alias.name == "*":
                self._stars.add(_origin(module, module))
            else:
                self._import(alias.asname or alias.name, _origin(f"{module}.{alias.name}", module))

    def _import(self, name: str, origin: str) -> None:
        self._bound[name] += 1
        self._imported[name] += 1
        self._origins.setdefault(name, set()).add(origin)

    def visit_For(self, node: ast.For | ast.comprehension) -> None:
        first = node.target.elts[0] if isinstance(node.target, ast.Tuple) else node.target
        if isinstance(first, ast.Name) and isinstance(node.iter, ast.Call):
            makes = node.iter.func
            if is_name(makes, "range") or (is_name(makes, "enumerate") and first is not node.target):
                self._counting[first.id] += 1
            elif isinstance(makes, ast.Attribute) and makes.attr in ("items", "keys"):
                self._keys[first.id] += 1
        self.generic_visit(node)

    visit_comprehension = visit_For

    def visit_AugAssign(self, node: ast.AugAssign) -> None:
        self._note_constant([node.target], node.value)
        self.generic_visit(node)

    def visit_Assign(self, node: ast.Assign) -> None:
        self._note_constant(node.targets, node.value)
        self.generic_visit(node)

    def _note_constant(self, targets: list[ast.expr], value: ast.expr) -> None:
        if isinstance(value, ast.Constant):
            names = self._counting if isinstance(value.value, int) else self._keys
            names.update(t.id for t in targets if isinstance(t, ast.Name))

    def visit_Call(self, node: ast.Call) -> None:
        if isinstance(node.func, ast.Name):
            self._called[node.func.id] += 1
        engines = [k.value.value for k in node.keywords if k.arg == "engine" and isinstance(k.value, ast.Constant)]
        if self.is_of(node.func, COMPILERS) or not COMPILERS.isdisjoint(engines):  # `groupby.agg(f, engine="numba")`
            self._compiled |= {a.id for a in node.args if isinstance(a, ast.Name)}
        self.generic_visit(node)

    def is_of(self, node: ast.AST, modules: Collection[str]) -> bool:
        """Whether an expression begins with a name that is imported from some of these modules, and bound to nothing else."""
        while not isinstance(node, ast.Name):
            if not isinstance(node, (ast.Attribute, ast.Call)):
                return False
            node = node.value if isinstance(node, ast.Attribute) else node.func
        origins = self._origins.get(node.id)
        if origins is None:
            # after ``from numpy import *``, a name that nothing binds is NumPy's
            return bool(self._stars) and self._stars.issubset(modules) and not self._bound[node.id]
        return origins.issubset(modules) and self._bound[node.id] == self._imported[node.id]


class Names(_Bindings):
    """What the names of a module stand for, as far as its text says: a name bound twice is unknown."""

    def __init__(self, tree: ast.Module, is_first: bool) -> None:
        super().__init__(tree)
        self._is_first = is_first
        top = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and self._bound[n.name] == 1 and not n.decorator_list]
        #: Functions and classes of this module, whose bases are of this module, too.
        self.classes: set[str] = set()
        self.own = {n.name for n in top if isinstance(n, ast.FunctionDef)}
        for node in top:
            if isinstance(node, ast.ClassDef) and self.has_own_bases(node):
                self.classes.add(node.name)
                self.own.add(node.name)

    def is_counter(self, node: ast.AST) -> bool:
        """Whether an expression is a variable that only ever holds whole numbers."""
        return isinstance(node, ast.Name) and 0 < self._bound[node.id] == self._counting[node.id]

    def is_key(self, node: ast.Name) -> bool:
        """Whether a variable only ever holds whole numbers, other constants and keys of dictionaries."""
        return 0 < self._bound[node.id] == self._counting[node.id] + self._keys[node.id]

    def has_own_bases(self, node: ast.ClassDef) -> bool:
        """Whether a class derives from classes of this module alone."""
        return all(isinstance(b, ast.Name) and b.id in {*self.own, "object"} for b in node.bases) and not node.keywords

    def keeps(self, call: ast.Call) -> bool:
        """Whether the callee of a call is known to take folding arrays, or to look at no array."""
        callee = call.func
        if isinstance(callee, ast.Name):
            if self.is_built_in(callee):
                return callee.id not in CALLING or self._calls_own(call)
            if callee.id in self.own:
                return True
        if isinstance(callee, ast.Lambda) or (isinstance(callee, ast.Attribute) and self._is_simple(callee.value)):
            return True
        if self.is_of(callee, HARMLESS):
            return True
        # ``numpy.ndarray.sum`` is NumPy's own, which refuses folding arrays
        return self.is_of(callee, NUMPYS) and {"ndarray", "ma", "testing", "as_strided"}.isdisjoint(_parts(callee))

    def _is_simple(self, node: ast.expr) -> bool:
        """Whether an expression is a text, or an object that a class of this module has just made."""
        return isinstance(node, (ast.Constant, ast.JoinedStr)) or (isinstance(node, ast.Call) and self._is_own(node.func))

    def _is_own(self, node: ast.expr) -> bool:
        return isinstance(node, ast.Name) and node.id in self.classes

    def is_compiled(self, node: Function | ast.ClassDef) -> bool:
        """Whether another compiler reads a function or a class."""
        return node.name in self._compiled or any(self.is_of(d, COMPILERS) for d in node.decorator_list)

    def is_built_in(self, callee: ast.expr) -> bool:
        """Whether a callee is one of `BUILT_IN`."""
        return isinstance(callee, ast.Name) and callee.id in BUILT_IN and self.is_pythons(callee.id)

    def is_module(self, node: ast.expr) -> bool:
        """Whether an expression is the module ``numpy``."""
        return isinstance(node, ast.Name) and node.id in self._modules and self.is_of(node, NUMPYS)

    def is_no_array(self, node: ast.expr) -> bool:
        """Whether an expression is known to be no array: a constant, a function or class of this module, of Python's, or of an object."""
        if isinstance(node, ast.Name):
            return node.id in self.own or (node.id in vars(builtins) and self.is_pythons(node.id))
        if isinstance(node, ast.Call):
            return is_name(node.func, "type") and self.is_pythons("type")
        return isinstance(node, ast.Constant) or (isinstance(node, ast.Attribute) and node.attr == "__class__")

    def is_pythons(self, name: str) -> bool:
        """Whether nothing in the module gives a built-in function's name another meaning."""
        return not self._bound[name] and self._stars <= NUMPYS

    def _calls_own(self, call: ast.Call) -> bool:
        """Whether ``map``, ``sorted`` and their like call nothing, or a function of this module."""
        first = call.args[:1] if is_name(call.func, "map") or is_name(call.func, "filter") else []
        given = [*first, *(k.value for k in call.keywords if k.arg == "key")]
        return all(isinstance(f, ast.Lambda) or (isinstance(f, ast.Name) and f.id in self.own) for f in given)

    def is_handed_out(self, function: Function) -> bool:
        """Whether others than the program may call a function: it is used otherwise than to be called."""
        name = function.name
        return bool(function.decorator_list) or self._read[name] != self._called[name] or not self._is_first


def _origin(bound: str, module: str) -> str:
    """Which package a name is from that an import binds to ``bound``: the modules in `APART` count as one of their own."""
    return "numpy.…" if f"{bound}.".startswith(APART) else module.partition(".")[0]


def is_name(node: ast.AST, name: str) -> bool:
    """Whether an expression is a name."""
    return isinstance(node, ast.Name) and node.id == name


def _parts(node: ast.AST) -> list[str]:
    """The attributes of an expression such as ``a.b.c``."""
    found = []
    while isinstance(node, (ast.Attribute, ast.Call)):
        if isinstance(node, ast.Attribute):
            found.append(node.attr)
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return found
