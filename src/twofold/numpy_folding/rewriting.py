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
import sys
from types import CodeType

from ..syntax_trees import syntax_tree
from .guards import MAY_HOLD, at, guarded, guarded_for_objects, guarded_identity, path_of, same
from .module_names import NUMPYS, Function, Names, is_name

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
#: Those that look for what they are given.
FINDING = {"remove", "index", "count", "discard"}
#: Attributes through which tables are written.
LOCATORS = {"loc", "iloc", "at", "iat", "attrs"}
#: Calls that rewriting may nest: three for each level of a program's expressions.
DEEP = 20_000


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
    _Rewriter(Names(tree, is_first)).visit(tree)  # in place
    return tree


class _Rewriter(ast.NodeTransformer):
    """Puts the tests in."""

    def __init__(self, names: Names) -> None:
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
        if is_name(node.func, "type") and len(node.args) != 1:
            callee = [at(node, ast.Constant(None))]  # it makes a class of them
        # as an assignment: only the value may leave, not the object
        if is_name(node.func, "setattr") and self._names.is_pythons("setattr") and len(node.args) == 3:
            owner = path_of(node.args[0])
            self.generic_visit(node)
            node.args[2] = guarded(node.args[2], "__stored__", *owner)
            return node
        self.generic_visit(node)
        if isinstance(node.func, ast.Attribute) and node.func.attr in FINDING and not isinstance(callee[0], ast.Name):
            return node  # a list's, most likely, which looks for the very array
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
        return (is_name(of, "self") and callee.attr in self._own_methods) or (isinstance(of, ast.Call) and is_name(of.func, "super"))

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
        # searching each tuple would take longer than most look-ups by one, but not than those in tables
        searched = isinstance(node.value, ast.Attribute) and node.value.attr in LOCATORS
        if isinstance(node.slice, ast.Tuple):
            node.slice.elts = [self._guarded_index(key, owner, searched) for key in node.slice.elts]
        else:
            node.slice = self._guarded_index(node.slice, owner, searched)
        return node

    def _guarded_index(self, key: ast.expr, owner: list[ast.expr], searched: bool) -> ast.expr:
        """An index, with a test if it may be an array: a library's own object may be what is indexed."""
        if isinstance(key, ast.Name):
            may_be_array = not self._names.is_key(key) and not self._names.is_no_array(key)
        else:
            may_be_array = isinstance(key, ast.Compare) or (isinstance(key, ast.Call) and self._names.is_of(key.func, NUMPYS))
            may_be_array = may_be_array or (isinstance(key, ast.UnaryOp) and isinstance(key.op, ast.Invert))
            may_be_array = may_be_array or (isinstance(key, ast.BinOp) and isinstance(key.op, (ast.BitAnd, ast.BitOr, ast.BitXor)))
        return guarded(key, "__given__", *owner, searched=searched) if may_be_array else key

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
            return not (is_name(target.value, "self") and self._own_methods is not None)
        # ``frame["a"] = x``, ``frame[name] = x``, ``frame.loc[rows] = x``; not ``x[k] = element``, which would take too long
        key = target.slice
        if isinstance(key, ast.Constant):
            return isinstance(key.value, str)
        if isinstance(key, ast.JoinedStr) or (isinstance(target.value, ast.Attribute) and target.value.attr in LOCATORS):
            return True
        return isinstance(key, ast.Name) and not self._names.is_counter(key) and isinstance(value, (ast.Name, ast.Call))
