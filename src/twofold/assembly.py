"""Assembles functions: writes fragments into the functions that call them, and removes branches that are known not to be taken.

A call costs about 50 ns, as long as adding two small arrays. So the shortest paths contain their tests instead of calling them. Each test
is nevertheless written once, as a *fragment*: a real function, which other code may call too.

* `inlined` writes the fragments that a function calls into it.
* `assembled` also makes several functions from one *template*: names with known values (``legacy``, ``reverse``) become constants, branches
that these rule out are removed, and each function gets globals for the other free names.

Templates and fragments are real Python that linters and type checkers see, and tracebacks show their lines.

What a fragment may look like:

* a single ``return``: its expression takes the place of the call, wherever the call is. An argument is written in place of its parameter
  each time, so it is a name or a constant if that is more than once; an assignment expression,
  ``f(entry := v.entry)``, is written the first time, and its name afterwards.
* several statements, called as ``x = f(...)``: each ``return`` ends a branch, and assigns to ``x``.
* several statements, called as a statement of its own or by ``return f(...)``: a ``return`` in it returns from the caller. Such fragments
  are called ``return_…``; the caller continues where they do not return.

Local variables of a fragment become those of its caller, under their own names.
"""

import ast
import builtins
import linecache
import operator
import sys
from collections.abc import Callable, Mapping
from functools import cache
from types import CodeType, FunctionType
from typing import Any, TypeAlias, TypeVar, cast

from .assembled_code import KEPT, key_of
from .function_source import tree_of
from .syntax_trees import syntax_tree

Function: TypeAlias = Callable[..., Any]
Globals: TypeAlias = dict[str, Any]
F = TypeVar("F", bound=Function)
N = TypeVar("N", bound=ast.AST)
#: In a template's module: the value of names that each function gets, or that are known beforehand.
FREE: Any = object()
_FRAGMENTS: set[object] = set()


def attach_method(cls: type, name: str, method: Function) -> None:
    """Set a generated function as a method of a class, and give it the method's name."""
    method.__name__, method.__qualname__ = name, f"{cls.__name__}.{name}"
    setattr(cls, name, method)


def fragment(function: F) -> F:
    """Decorator: calls of the function in assembled functions are replaced by its body."""
    _FRAGMENTS.add(function)
    return function


def inlined(function: F) -> F:
    """Decorator that writes the fragments that a function calls into it. Without source files the function calls them."""
    plain = cast("FunctionType", function)
    try:
        code, elsewhere = _code_of(plain, ())
    except LookupError:
        return function
    for name, value in elsewhere.items():  # what fragments of other modules name
        if plain.__globals__.setdefault(name, value) is not value:
            raise AssertionError(f"{plain.__name__} and a fragment in it mean two things by {name}")
    plain.__code__ = code
    return function


def assembled(template: Function, given: Mapping[str, object], **known: bool | int | str | None) -> FunctionType:
    """A function made from a template.

    Parameters
    ----------
    template
        The template.
    given
        The values of its free names. Names that are missing are looked up in the template's module now.
    **known
        The names whose values decide beforehand.
    """
    template = cast("FunctionType", template)
    code, elsewhere = _code_of(template, tuple(sorted(known.items())))
    around = template.__globals__
    env = {**elsewhere, **{name: around[name] for name in _names(code) if name in around}, **given}
    env["__name__"] = template.__module__  # marks frames of the package: see `origin`
    env["__builtins__"] = builtins  # C code that imports something looks for these in the globals of its caller
    # CPython specialises a code object for the globals that it last saw: sharing one would cost 13 % of `(x + y) + (x * y)`
    made = FunctionType(code.replace(), env, template.__name__, template.__defaults__)
    made.__kwdefaults__ = template.__kwdefaults__
    made.__module__ = template.__module__
    return made


def assembled_text(text: str, name: str, given: Globals) -> FunctionType:
    """The function of that name which a text defines, with the fragments that it calls written in.

    For functions whose parameters are those of operators: their signatures must be written out. Tracebacks show the text.
    """
    file = f"<twofold: {name} {len(linecache.cache)}>"
    tree = syntax_tree(text, file)
    elsewhere: dict[str, str] = {}
    (function,) = tree.body
    assert isinstance(function, ast.FunctionDef)
    function.body = _Writer(given, {}, {}, elsewhere).block(function.body)
    code = compile(tree, file, "exec")
    env = _values(elsewhere) | given
    exec(code, env)
    linecache.cache[file] = len(text), None, text.splitlines(keepends=True), file
    return env[name]


@cache
def _names(code: CodeType) -> frozenset[str]:
    """The names that a code object and those inside it look up in their globals (or as attributes, which is harmless)."""
    return frozenset(code.co_names).union(*[_names(c) for c in code.co_consts if isinstance(c, CodeType)])


@cache
def _code_of(function: FunctionType, known: tuple[tuple[str, object], ...]) -> tuple[CodeType, Globals]:
    """The code of a template or of a function with fragments, and the names in it. Functions that differ in globals get copies of it."""
    key = key_of(function, known)
    code, elsewhere = KEPT.get(key) or KEPT.add(key, _assemble(function, dict(known)))
    return code, _values(elsewhere)


def _assemble(function: FunctionType, known: Globals) -> tuple[CodeType, dict[str, str]]:
    """The code, and the modules of names from elsewhere."""
    tree = tree_of(function)
    elsewhere: dict[str, str] = {}
    body = _Writer(function.__globals__, known, {}, elsewhere).block(tree.body)
    module = ast.Module([_bare(tree, body)], [])
    (code,) = [c for c in compile(module, function.__code__.co_filename, "exec").co_consts if isinstance(c, CodeType)]
    return code, elsewhere


def _values(elsewhere: Mapping[str, str]) -> Globals:
    """The objects of names from elsewhere."""
    return {name: vars(sys.modules[module])[name] for name, module in elsewhere.items()}


def _bare(tree: ast.FunctionDef, body: list[ast.stmt]) -> ast.FunctionDef:
    """A function with another body, without annotations and decorators; its default values are those of the function that is made."""
    given = tree.args
    args = ast.arguments(
        posonlyargs=[ast.copy_location(ast.arg(a.arg), a) for a in given.posonlyargs],
        args=[ast.copy_location(ast.arg(a.arg), a) for a in given.args],
        vararg=given.vararg and ast.copy_location(ast.arg(given.vararg.arg), given.vararg),
        kwonlyargs=[ast.copy_location(ast.arg(a.arg), a) for a in given.kwonlyargs],
        kw_defaults=[None for _ in given.kwonlyargs],
        kwarg=given.kwarg and ast.copy_location(ast.arg(given.kwarg.arg), given.kwarg),
        defaults=[],
    )
    bare = ast.copy_location(ast.FunctionDef(tree.name, args, body, []), tree)
    bare.lineno = min([tree.lineno, *[d.lineno for d in tree.decorator_list]])  # the first line of its code stays the same
    return bare


@cache
def _own(function: FunctionType) -> tuple[frozenset[str], frozenset[str]]:
    """The local variables of a fragment, and the variables that it returns: they become the target of an assignment."""
    tree = tree_of(function)
    stored = {n.id for n in ast.walk(tree) if isinstance(n, ast.Name) and isinstance(n.ctx, ast.Store)}
    returned = {s.value.id for s in ast.walk(tree) if isinstance(s, ast.Return) and isinstance(s.value, ast.Name)}
    return frozenset(stored - {a.arg for a in tree.args.args}), frozenset(returned)


class _Known(ast.Constant):
    """A value known in advance: of a name, or of an expression that only known names decide.

    Only branches on these are removed. The constants that a template itself spells out, as in ``n or None``, are values and stay.
    """


class _Writer:
    """Writes one function: replaces known names, removes branches that they rule out, and inserts fragments.

    All functions from a template share the trees that it reads: it makes new nodes and changes none.

    Parameters
    ----------
    around
        The globals in which names of fragments are looked up.
    known
        Values of names.
    arguments
        In a fragment: the expressions that replace its parameters.
    elsewhere
        Receives the globals that the inserted fragments use, each with its module.
    place
        In a fragment: the call, whose line all nodes get.
    """

    def __init__(
        self,
        around: Globals,
        known: Globals,
        arguments: dict[str, ast.expr],
        elsewhere: dict[str, str],
        place: ast.expr | None = None,
    ) -> None:
        self._around, self._known, self._arguments, self._elsewhere, self._place = around, known, arguments, elsewhere, place
        self._evaluated: set[str] = set()

    def block(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """Statements as written: some vanish, others become several."""
        written: list[ast.stmt] = []
        for s in statements:
            if isinstance(s, ast.Expr) and isinstance(s.value, ast.Constant):
                continue  # a docstring
            found = _STATEMENTS.get(s.__class__, _Writer._copy)(self, s)
            written += found if isinstance(found, list) else [found]
            if written and isinstance(written[-1], (ast.Return, ast.Raise)):
                break  # the rest is ruled out
        return [s for s in written if not isinstance(s, ast.Pass)] or [self._new(ast.Pass, statements[0])]

    def _rest(self, statements: list[ast.stmt]) -> list[ast.stmt]:
        """A block that may be empty."""
        return [s for s in self.block(statements) if not isinstance(s, ast.Pass)] if statements else []

    def _new(self, kind: type[N], like: ast.AST, **fields: Any) -> N:
        """A node at the place of another one."""
        node = kind(**fields)
        place = self._place or like
        node.lineno, node.col_offset = place.lineno, place.col_offset  # type: ignore[attr-defined]  # of a statement or expression
        return node

    # -------------------------------------------------------------------------------------------------- expressions

    def expression(self, node: Any) -> Any:
        """An expression as it is written, or another part of a tree."""
        special = _EXPRESSIONS.get(node.__class__)
        return special(self, node) if special is not None else self._copy(node)

    def _copy(self, node: Any) -> Any:
        """A node with the parts that it has when they are written."""
        kind = node.__class__
        if not kind._fields:
            return node  # an operator
        new = kind.__new__(kind)  # without what the constructor asks for since Python 3.13: every field is set below
        for field in kind._fields:
            v = getattr(node, field, None)
            if isinstance(v, ast.AST):
                v = self.expression(v)
            elif isinstance(v, list):
                v = [self.expression(x) if isinstance(x, ast.AST) else x for x in v]
            setattr(new, field, v)
        if kind._attributes:  # operators and contexts have no line
            place = self._place or node
            new.lineno, new.col_offset = place.lineno, place.col_offset
        return new

    def _name(self, node: ast.Name) -> ast.expr:
        name = node.id
        if name in self._arguments:
            given = self._arguments[name]
            if isinstance(node.ctx, ast.Load):
                if isinstance(given, ast.NamedExpr):  # evaluated once, where it is read first
                    self._arguments[name] = ast.copy_location(ast.Name(given.target.id, ast.Load()), given)
                elif not isinstance(given, (ast.Name, ast.Constant)):
                    if name in self._evaluated:
                        raise AssertionError(f"{ast.unparse(given)} would be evaluated twice as {name}: give it a name")
                    self._evaluated.add(name)
                return given
            assert isinstance(given, ast.Name), "a fragment assigns to a parameter that is no variable"
            return self._new(ast.Name, node, id=given.id, ctx=node.ctx)
        if name in self._known and isinstance(node.ctx, ast.Load):
            return self._new(_Known, node, value=self._known[name])
        if self._place is None:  # in the function itself names stay as they are
            return node
        if name in self._around and self._around[name] is not FREE:
            self._elsewhere[name] = self._around["__name__"]
        return self._new(ast.Name, node, id=name, ctx=node.ctx)

    def _unary(self, node: ast.UnaryOp) -> ast.expr:
        operand = self.expression(node.operand)
        if isinstance(node.op, ast.Not) and isinstance(operand, _Known):
            return self._new(_Known, node, value=not operand.value)
        return self._new(ast.UnaryOp, node, op=node.op, operand=operand)

    def _boolean(self, node: ast.BoolOp) -> ast.expr:
        """Without the operands that decide nothing. Operands before one that decides everything are tests without effects."""
        decides = isinstance(node.op, ast.Or)
        left: list[ast.expr] = []
        for operand in node.values:
            v = self.expression(operand)
            if isinstance(v, ast.BoolOp) and v.op.__class__ is node.op.__class__:
                left += v.values
            elif not isinstance(v, _Known):
                left.append(v)
            elif bool(v.value) is decides:
                return v
        if len(left) < 2:
            return left[0] if left else self._new(_Known, node, value=not decides)
        return self._new(ast.BoolOp, node, op=node.op, values=left)

    def _comparison(self, node: ast.Compare) -> ast.expr:
        new = self._copy(node)
        if isinstance(new.left, _Known) and len(new.ops) == 1 and isinstance(new.comparators[0], ast.Constant):
            return self._new(_Known, node, value=_COMPARISONS[new.ops[0].__class__](new.left.value, new.comparators[0].value))
        return new

    def _choice(self, node: ast.IfExp) -> ast.expr:
        test = self.expression(node.test)
        if isinstance(test, _Known):
            return self.expression(node.body if test.value else node.orelse)
        return self._new(ast.IfExp, node, test=test, body=self.expression(node.body), orelse=self.expression(node.orelse))

    # --------------------------------------------------------------------------------------------------- statements

    def _if(self, node: ast.If) -> ast.stmt | list[ast.stmt]:
        test = self.expression(node.test)
        if isinstance(test, _Known):
            return self._rest(node.body if test.value else node.orelse)
        return self._new(ast.If, node, test=test, body=self.block(node.body), orelse=self._rest(node.orelse))

    def _for(self, node: ast.For) -> ast.stmt:
        target, values = self.expression(node.target), self.expression(node.iter)
        return self._new(ast.For, node, target=target, iter=values, body=self.block(node.body), orelse=self._rest(node.orelse))

    def _while(self, node: ast.While) -> ast.stmt:
        test = self.expression(node.test)
        return self._new(ast.While, node, test=test, body=self.block(node.body), orelse=self._rest(node.orelse))

    def _with(self, node: ast.With) -> ast.stmt:
        return self._new(ast.With, node, items=[self.expression(i) for i in node.items], body=self.block(node.body))

    def _try(self, node: ast.Try) -> ast.stmt:
        body = self.block(node.body)
        handlers = [
            self._new(ast.ExceptHandler, h, type=h.type and self.expression(h.type), name=h.name, body=self.block(h.body))
            for h in node.handlers
        ]
        return self._new(ast.Try, node, body=body, handlers=handlers, orelse=self._rest(node.orelse), finalbody=self._rest(node.finalbody))

    # ---------------------------------------------------------------------------------------------------- fragments

    def _called(self, node: ast.expr | None) -> FunctionType | None:
        """The fragment that an expression calls, if it does."""
        if not isinstance(node, ast.Call) or not isinstance(node.func, ast.Name) or node.func.id in self._arguments:
            return None
        found = self._around.get(node.func.id)
        return cast("FunctionType", found) if isinstance(found, FunctionType) and found in _FRAGMENTS else None

    def _inside(self, called: FunctionType, call: ast.Call, assigns: bool = False) -> tuple[ast.FunctionDef, "_Writer"]:
        """A fragment's tree, and the object that writes it in place of a call."""
        tree = tree_of(called)
        parameters = [a.arg for a in tree.args.args]
        defaults = dict(zip(parameters[len(parameters) - len(tree.args.defaults) :], tree.args.defaults, strict=True))
        arguments: Globals = defaults | dict(zip(parameters, map(self.expression, call.args), strict=False))
        arguments |= {str(k.arg): self.expression(k.value) for k in call.keywords}
        own, returned = _own(called)
        if clash := (own - returned if assigns else own) & {
            n.id for a in arguments.values() for n in ast.walk(a) if isinstance(n, ast.Name)
        }:
            raise AssertionError(f"{called.__name__} has a variable called as an argument of it: {', '.join(clash)}")
        constants = {p: a.value for p, a in arguments.items() if isinstance(a, ast.Constant)}  # literals among arguments are known, too
        variables = {p: a for p, a in arguments.items() if p not in constants}
        return tree, _Writer(called.__globals__, self._known | constants, variables, self._elsewhere, self._place or call)

    def _call(self, node: ast.Call) -> ast.expr:
        called = self._called(node)
        if called is None:
            return self._copy(node)
        tree, writer = self._inside(called, node)
        (only,) = writer.block(tree.body)
        value = only.value if isinstance(only, ast.Return) else None
        assert value is not None, f"{called.__name__} is no expression"
        return value

    def _effect(self, node: ast.Expr | ast.Return) -> ast.stmt | list[ast.stmt]:
        called = self._called(node.value)
        if called is None:
            return self._copy(node)
        tree, writer = self._inside(called, cast("ast.Call", node.value))
        return writer._rest(tree.body)

    def _annotated(self, node: ast.AnnAssign) -> ast.stmt | list[ast.stmt]:
        if node.value is None:
            return []
        return self._assignment(ast.copy_location(ast.Assign([node.target], node.value), node))

    def _assignment(self, node: ast.Assign) -> ast.stmt | list[ast.stmt]:
        called, target = self._called(node.value), self.expression(node.targets[0])
        if called is None or not isinstance(target, ast.Name) or len(node.targets) > 1:
            return self._copy(node)
        tree, writer = self._inside(called, cast("ast.Call", node.value), assigns=True)
        if len([s for s in tree.body if not isinstance(s, ast.Expr)]) == 1 and isinstance(tree.body[-1], ast.Return):
            return self._copy(node)
        # the value that the fragment builds up and returns is built up in the target itself
        own, returned = _own(called)
        writer._arguments |= {name: self._new(ast.Name, node, id=target.id, ctx=ast.Load()) for name in returned & own}
        return self._assigning(writer.block(tree.body), target.id)

    def _assigning(self, statements: list[ast.stmt], target: str) -> list[ast.stmt]:
        """Statements in which each ``return`` at the end of a branch assigns to a variable instead."""
        out: list[ast.stmt] = []
        for k, s in enumerate(statements):
            if isinstance(s, ast.Return):
                assert s.value is not None
                if not (isinstance(s.value, ast.Name) and s.value.id == target):
                    name = ast.copy_location(ast.Name(target, ast.Store()), s)
                    out.append(ast.copy_location(ast.Assign([name], s.value), s))
                return out
            if isinstance(s, ast.If) and any(isinstance(n, ast.Return) for n in ast.walk(s)):
                body = self._assigning(s.body, target) or [ast.copy_location(ast.Pass(), s)]
                orelse = self._assigning([*s.orelse, *statements[k + 1 :]], target)
                return [*out, ast.copy_location(ast.If(s.test, body, orelse), s)]
            out.append(s)
        return out


_COMPARISONS: dict[type, Callable[[object, object], bool]] = {ast.Eq: operator.eq, ast.NotEq: operator.ne, ast.Is: operator.is_}
_EXPRESSIONS: dict[type, Callable[[_Writer, Any], ast.expr]] = {
    ast.Name: _Writer._name,
    ast.UnaryOp: _Writer._unary,
    ast.BoolOp: _Writer._boolean,
    ast.Compare: _Writer._comparison,
    ast.IfExp: _Writer._choice,
    ast.Call: _Writer._call,
}
_STATEMENTS: dict[type, Callable[[_Writer, Any], ast.stmt | list[ast.stmt]]] = {
    ast.If: _Writer._if,
    ast.For: _Writer._for,
    ast.While: _Writer._while,
    ast.With: _Writer._with,
    ast.Try: _Writer._try,
    ast.Expr: _Writer._effect,
    ast.Return: _Writer._effect,
    ast.Assign: _Writer._assignment,
    ast.AnnAssign: _Writer._annotated,
}
