"""Compiles the program's own code so that code that is not its own never gets a folding array.

A folding array says that it is a ``numpy.ndarray``, but it is none, and compiled code refuses it. So where an array may leave the program,
the compiled code tests whether it folds, and if so asks `leaving` for NumPy's array: an argument of a call, unless the callee is known to
be NumPy's or the program's own; an index of ``x.flat``; what a function returns that others may call; what is stored in an object of
another class. ``a is b`` asks, too, since one of the two may have come back from there. ::

    pandas.cut(y, 10)    pandas.cut(y if __unfolded__ or __kind__(y) is not __folding__ and … else __given__(y, pandas.cut), 10)

The test takes some 20 ns for a name and 40 for any other expression; before the first array has folded, 4 for names, arithmetic and
elements. No variable and no line changes. Functions that other compilers read (`COMPILERS`) stay as they are.
"""

import ast
import builtins
import sys
from collections import Counter
from collections.abc import Collection
from types import CodeType

from ..syntax_trees import syntax_tree
from .guards import MAY_HOLD, at, guarded, guarded_for_objects, guarded_identity, path_of, same

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
#: Methods of Python's containers, which only store. Their arguments are tested, but not searched for folding arrays.
STORING = {
    "append",
    "appendleft",
    "add",
    "insert",
    "extend",
    "put",
    "push",
    "get",
    "setdefault",
    "pop",
    "remove",
    "index",
    "count",
    "discard",
}
#: Attributes through which tables are written.
LOCATORS = {"loc", "iloc", "at", "iat", "attrs"}
#: Calls that rewriting may nest: three for each level of a program's expressions.
DEEP = 20_000

Function = ast.FunctionDef | ast.AsyncFunctionDef


def compiled(source: bytes | str, file: str, is_first: bool = False) -> CodeType:
    """The code of a module of the program.

    Parameters
    ----------
    source
        Its text.
    file
        Its path, for tracebacks.
    is_first
        Whether it is the program's first module, whose functions no other module imports.

    Raises
    ------
    SyntaxError
        As `compile`.
    """
    tree = syntax_tree(source, file)
    limit = sys.getrecursionlimit()
    sys.setrecursionlimit(max(limit, DEEP))
    try:
        rewritten(tree, is_first)
    except RecursionError:  # deeper than Python itself compiles, or nearly: without tests
        return compile(source, file, "exec", dont_inherit=True)
    finally:
        sys.setrecursionlimit(limit)
    return compile(tree, file, "exec", dont_inherit=True)


def rewritten(tree: ast.Module, is_first: bool = False) -> ast.Module:
    """The syntax tree of a module, changed in place."""
    _Rewriter(_Names(tree, is_first)).visit(tree)  # in place
    return tree


class _Names(ast.NodeVisitor):
    """What the names of a module stand for, as far as its text says. Scopes are not told apart: a name bound twice is unknown."""

    def __init__(self, tree: ast.Module, is_first: bool) -> None:
        self._is_first = is_first
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
        top = [n for n in tree.body if isinstance(n, (ast.FunctionDef, ast.ClassDef)) and self._bound[n.name] == 1 and not n.decorator_list]
        #: Functions and classes of this module, whose bases are of this module, too.
        self.classes: set[str] = set()
        self.own = {n.name for n in top if isinstance(n, ast.FunctionDef)}
        for node in top:
            if isinstance(node, ast.ClassDef) and self.has_own_bases(node):
                self.classes.add(node.name)
                self.own.add(node.name)

    # what names are bound to

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
            if _is_name(makes, "range") or (_is_name(makes, "enumerate") and first is not node.target):
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

    # what is known of expressions

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
            return node.id in self.own or (hasattr(builtins, node.id) and self.is_pythons(node.id))
        if isinstance(node, ast.Call):
            return _is_name(node.func, "type") and self.is_pythons("type")
        return isinstance(node, ast.Constant) or (isinstance(node, ast.Attribute) and node.attr == "__class__")

    def is_pythons(self, name: str) -> bool:
        """Whether nothing in the module gives a built-in function's name another meaning."""
        return not self._bound[name] and self._stars <= NUMPYS

    def _calls_own(self, call: ast.Call) -> bool:
        """Whether ``map``, ``sorted`` and their like call nothing, or a function of this module."""
        first = call.args[:1] if _is_name(call.func, "map") or _is_name(call.func, "filter") else []
        given = [*first, *(k.value for k in call.keywords if k.arg == "key")]
        return all(isinstance(f, ast.Lambda) or (isinstance(f, ast.Name) and f.id in self.own) for f in given)

    def is_handed_out(self, function: Function) -> bool:
        """Whether others than the program may call a function: it is used otherwise than to be called."""
        name = function.name
        return bool(function.decorator_list) or self._read[name] != self._called[name] or not self._is_first


def _origin(bound: str, module: str) -> str:
    """Which package a name is from that an import binds to ``bound``: the modules in `APART` count as one of their own."""
    return "numpy.…" if f"{bound}.".startswith(APART) else module.partition(".")[0]


def _is_name(node: ast.AST, name: str) -> bool:
    return isinstance(node, ast.Name) and node.id == name


def _parts(node: ast.AST) -> list[str]:
    """The attributes of an expression such as ``a.b.c``."""
    found = []
    while isinstance(node, (ast.Attribute, ast.Call)):
        if isinstance(node, ast.Attribute):
            found.append(node.attr)
        node = node.value if isinstance(node, ast.Attribute) else node.func
    return found


class _Rewriter(ast.NodeTransformer):
    """Puts the tests in."""

    def __init__(self, names: _Names) -> None:
        self._names = names
        #: The function of `leaving` that the results of the innermost function around the current place pass through: none if only the
        #: program calls it, and in ``__array__``, which NumPy calls without a frame, always NumPy's array.
        self._leaving = ""
        #: The methods of the innermost class around it, if its bases are the program's; and the functions in the body of any class.
        self._own_methods: set[str] | None = None
        self._methods: set[ast.AST] = set()
        #: Lambdas that only code which looks at their results calls.
        self._inner: set[ast.AST] = set()

    # functions

    def visit_FunctionDef(self, node: Function) -> ast.AST:
        if self._names.is_compiled(node):
            return node
        before, self._leaving = self._leaving, "__returned__" if self._names.is_handed_out(node) else ""
        if node in self._methods:
            self._leaving = "__given__" if node.name == "__array__" else "__returned__"
        returns, node.returns = node.returns, None
        self.generic_visit(node)
        self._leaving, node.returns = before, returns
        return node

    visit_AsyncFunctionDef = visit_FunctionDef

    def visit_arg(self, node: ast.arg) -> ast.AST:
        return node  # an annotation may be kept as text

    def visit_AnnAssign(self, node: ast.AnnAssign) -> ast.AST:
        if node.value is not None:
            node.value = self.visit(node.value)
        return node

    def visit_ClassDef(self, node: ast.ClassDef) -> ast.AST:
        if self._names.is_compiled(node):
            return node
        methods = {n for n in node.body if isinstance(n, (ast.FunctionDef, ast.AsyncFunctionDef))}
        self._methods |= methods
        before, self._own_methods = self._own_methods, {n.name for n in methods} if self._names.has_own_bases(node) else None
        self.generic_visit(node)
        self._own_methods = before
        return node

    def visit_Lambda(self, node: ast.Lambda) -> ast.AST:
        self.generic_visit(node)
        if node not in self._inner:
            node.body = guarded(node.body, "__returned__")
        return node

    def visit_Return(self, node: ast.Return) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None and self._leaving:
            node.value = guarded(node.value, self._leaving)
        return node

    def visit_Yield(self, node: ast.Yield) -> ast.AST:
        self.generic_visit(node)
        if node.value is not None:  # anyone may have got the generator
            node.value = guarded(node.value, "__returned__")
        return node

    # calls

    def visit_Call(self, node: ast.Call) -> ast.AST:
        if self._names.keeps(node) or self._is_own_method(node.func):
            if self._names.is_built_in(node.func):
                # the key of ``sorted`` and its like: what it returns does not leave the program
                self._inner.update(k.value for k in node.keywords if isinstance(k.value, ast.Lambda))
            return self.generic_visit(node)
        callee = path_of(node.func)
        if _is_name(node.func, "type") and len(node.args) != 1:
            callee = [at(node, ast.Constant(None))]  # it makes a class of them
        # as an assignment: only the value may leave, not the object
        if _is_name(node.func, "setattr") and self._names.is_pythons("setattr") and len(node.args) == 3:
            owner = path_of(node.args[0])
            self.generic_visit(node)
            node.args[2] = guarded(node.args[2], "__stored__", *owner)
            return node
        self.generic_visit(node)
        leaving = [a for a in node.args if not (isinstance(a, ast.Name) and a.id in self._names.own)]
        searched = not (isinstance(node.func, ast.Attribute) and node.func.attr in STORING)
        # a function of the program is no array
        node.args = [guarded(a, "__given__", *callee, searched=searched) if a in leaving else a for a in node.args]
        for keyword in node.keywords:
            keyword.value = guarded(keyword.value, "__given__", *callee, searched=searched)
        return node

    def _is_own_method(self, callee: ast.expr) -> bool:
        """Whether a callee is ``self.method``, or ``super().method``, in a class whose methods are all the program's."""
        if not isinstance(callee, ast.Attribute) or self._own_methods is None:
            return False
        of = callee.value
        return (_is_name(of, "self") and callee.attr in self._own_methods) or (isinstance(of, ast.Call) and _is_name(of.func, "super"))

    # comparisons

    def visit_Compare(self, node: ast.Compare) -> ast.AST:
        self.generic_visit(node)
        sides, how = [node.left, *node.comparators], node.ops[0]
        if len(sides) != 2 or not isinstance(how, (ast.Is, ast.IsNot, ast.Eq, ast.NotEq)):
            return node
        if any(map(self._names.is_module, sides)):
            return same(node)  # ``xp is numpy``: a library's own is not the one that programs see
        return node if isinstance(how, (ast.Eq, ast.NotEq)) or any(map(self._names.is_no_array, sides)) else guarded_identity(node)

    # indices

    def visit_Subscript(self, node: ast.Subscript) -> ast.AST:
        self.generic_visit(node)
        if isinstance(node.value, ast.Attribute) and node.value.attr == "flat":
            # NumPy's iterator takes no other mask than an array of its own
            node.slice = guarded(node.slice, "__given__", at(node, ast.Constant(None)))
            return node
        owner = path_of(node.value)
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = [self._guarded_index(key, owner) for key in node.slice.elts]
        else:
            node.slice = self._guarded_index(node.slice, owner)
        return node

    def _guarded_index(self, key: ast.expr, owner: list[ast.expr]) -> ast.expr:
        """An index, with a test if it may be an array: a library's own object may be what is indexed."""
        if isinstance(key, ast.Name):
            may_be_array = not self._names.is_key(key) and not self._names.is_no_array(key)
        else:
            may_be_array = isinstance(key, ast.Compare) or (isinstance(key, ast.Call) and self._names.is_of(key.func, NUMPYS))
            may_be_array = may_be_array or (isinstance(key, ast.UnaryOp) and isinstance(key.op, ast.Invert))
            may_be_array = may_be_array or (isinstance(key, ast.BinOp) and isinstance(key.op, (ast.BitAnd, ast.BitOr, ast.BitXor)))
        return guarded(key, "__given__", *owner, searched=False) if may_be_array else key

    # what is stored elsewhere

    def visit_Assign(self, node: ast.Assign) -> ast.AST:
        self.generic_visit(node)
        targets = [t for t in node.targets if isinstance(t, (ast.Attribute, ast.Subscript))]
        leaving = [t for t in targets if self._may_leave_by(t, node.value)]
        if leaving:
            # in ``a = a.b = x`` the name is bound before the attribute is
            owner = path_of(leaving[0].value) if len(node.targets) == 1 else [at(node, ast.Constant(None))]
            node.value = guarded(node.value, "__stored__", *owner)
        elif len(node.targets) == 1 and [*map(type, targets)] == [ast.Subscript] and isinstance(node.value, MAY_HOLD):
            node.value = guarded_for_objects(node.value, *path_of(targets[0].value))
        return node

    def _may_leave_by(self, target: ast.Attribute | ast.Subscript, value: ast.expr) -> bool:
        """Whether the target of an assignment may belong to an object that is neither the program's nor an array."""
        if isinstance(target, ast.Attribute):
            return not (_is_name(target.value, "self") and self._own_methods is not None)
        # ``frame["a"] = x``, ``frame[name] = x``, ``frame.loc[rows] = x``; not ``x[k] = element``, which would take too long
        key = target.slice
        if isinstance(key, ast.Constant):
            return isinstance(key.value, str)
        if isinstance(key, ast.JoinedStr) or (isinstance(target.value, ast.Attribute) and target.value.attr in LOCATORS):
            return True
        return isinstance(key, ast.Name) and not self._names.is_counter(key) and isinstance(value, (ast.Name, ast.Call))
