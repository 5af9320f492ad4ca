"""Reads which names of MXNet a Python source mentions. The source is parsed, never imported or run."""

import ast
from collections.abc import Iterable, Iterator
from typing import NamedTuple, TypeAlias

#: What a computation of a block gets as ``F``: ``mx.nd`` or ``mx.sym``.
FUNCTIONS = "F"
#: The functions that import what the text in their first argument names, or replace it.
BY_TEXT = {"import_module", "locate", "patch"}
_CAUGHT = {"ImportError", "ModuleNotFoundError", "AttributeError", "Exception", "BaseException"}
_FUNCTIONS = (ast.FunctionDef, ast.AsyncFunctionDef, ast.Lambda)
_COMPREHENSIONS = (ast.ListComp, ast.SetComp, ast.DictComp, ast.GeneratorExp)
_SCOPES = (*_FUNCTIONS, *_COMPREHENSIONS, ast.ClassDef)

#: The names of a scope with the dotted paths that they stand for, None for other values.
Names: TypeAlias = dict[str, str | None]


class Mention(NamedTuple):
    """A name of MXNet in a source.

    ``path`` is dotted and begins with ``mxnet`` or `FUNCTIONS`; for a private attribute of some object it is a dot and the attribute.
    ``is_guarded`` says whether it is in a ``try`` that catches its absence.
    """

    line: int
    path: str
    is_guarded: bool


class ClassOfSource(NamedTuple):
    """A class of a source: its bases' last names, the paths of those that are MXNet's, and the attributes that it gives its objects."""

    name: str
    bases: set[str]
    of_mxnet: set[str]
    attributes: set[str]


class Source(NamedTuple):
    """What a source mentions, its classes, and the names of MXNet to which it assigns."""

    mentions: list[Mention]
    classes: list[ClassOfSource]
    assigned: set[str]


def read(text: str | bytes) -> Source:
    """What a source mentions.

    Raises
    ------
    SyntaxError
        If it is not Python 3.

    Examples
    --------
    >>> source = read("from mxnet import nd; x = nd.array([1]); y = nd.relu(x._slice(0, 1))")
    >>> [mention.path for mention in source.mentions]
    ['mxnet.nd', 'mxnet.nd.array', 'mxnet.nd.relu', '._slice']
    """
    reader = _Reader()
    reader.enter(ast.parse(text), {})
    return Source(reader.mentions, reader.classes, reader.assigned)


class _Reader(ast.NodeVisitor):
    """Collects mentions, scope by scope: a name means what the innermost scope that binds it says."""

    def __init__(self) -> None:
        self.mentions: list[Mention] = []
        self.classes: list[ClassOfSource] = []
        self.assigned: set[str] = set()
        self.scopes: list[Names] = []
        self.inner: list[ClassOfSource] = []  # the classes around what is being read
        self.guards = 0

    def enter(self, scope: ast.AST, names: Names) -> None:
        """Read the inside of a scope; ``names`` are its parameters."""
        # bindings first: a name means the same in the whole scope, also above the line that binds it
        self.scopes.append(names)
        inside = list(_inside(scope))
        stored = [node.id for node in inside if isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load)]
        for node in inside:
            self._bind(node, names, stored)
        for node in ast.iter_child_nodes(scope):
            self.visit(node)
        self.scopes.pop()

    def _bind(self, node: ast.AST, names: Names, stored: list[str]) -> None:
        """Enter what a node binds. An import wins over other values: ``try: import x`` with ``except: x = None``."""
        if isinstance(node, ast.Import):
            for imported in node.names:
                path = imported.name if imported.asname else imported.name.partition(".")[0]
                names[imported.asname or path] = path if _is_mxnet(path) else None
        elif isinstance(node, ast.ImportFrom):
            for imported in node.names:
                path = f"{node.module}.{imported.name}"
                names[imported.asname or imported.name] = path if node.level == 0 and _is_mxnet(path) else None
        elif isinstance(node, ast.Assign) and (path := self._path(node.value)):
            only = [target.id for target in node.targets if isinstance(target, ast.Name) and stored.count(target.id) == 1]
            names.update({name: path for name in only if name not in names})
        elif isinstance(node, ast.Name) and not isinstance(node.ctx, ast.Load):
            names.setdefault(node.id, None)
        elif isinstance(node, (ast.FunctionDef, ast.AsyncFunctionDef, ast.ClassDef)):
            names.setdefault(node.name, None)

    def _path(self, node: ast.AST) -> str | None:
        """The path of an expression that is a name of MXNet, or attributes of one."""
        if isinstance(node, ast.Attribute):
            outer = self._path(node.value)
            return outer and f"{outer}.{node.attr}"
        if isinstance(node, ast.Name):
            return next((names[node.id] for names in reversed(self.scopes) if node.id in names), None)
        return None

    def _mention(self, node: ast.stmt | ast.expr, path: str) -> None:
        self.mentions.append(Mention(node.lineno, path, self.guards > 0))

    # statements

    def visit_Import(self, node: ast.Import) -> None:
        for imported in node.names:
            if _is_mxnet(imported.name):
                self._mention(node, imported.name)

    def visit_ImportFrom(self, node: ast.ImportFrom) -> None:
        if node.level == 0 and node.module and _is_mxnet(node.module):
            for imported in node.names:
                self._mention(node, node.module if imported.name == "*" else f"{node.module}.{imported.name}")

    def visit_Try(self, node: ast.Try) -> None:
        # only the body: what the handlers and the rest mention is not caught
        guards = any(_caught(handler) & _CAUGHT for handler in node.handlers)
        self.guards += guards
        for statement in node.body:
            self.visit(statement)
        self.guards -= guards
        for part in (*node.handlers, *node.orelse, *node.finalbody):
            self.visit(part)

    def visit_ClassDef(self, node: ast.ClassDef) -> None:
        for part in (*node.decorator_list, *node.bases, *node.keywords):
            self.visit(part)
        # other files know the class by this name, whatever they import it from
        bases = {ast.unparse(base).rpartition(".")[2] for base in node.bases}
        own: Names = {}
        of_mxnet = {path for base in node.bases if (path := self._path(base))}
        made = ClassOfSource(node.name, bases, of_mxnet, set())
        self.classes.append(made)
        self.inner.append(made)
        self.enter(ast.Module(node.body, []), own)
        self.inner.pop()
        made.attributes.update(own)

    def _visit_function(self, node: ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda) -> None:
        # defaults belong to the scope around the function
        parameters = [p.arg for p in ast.walk(node.args) if isinstance(p, ast.arg)]
        for default in (*node.args.defaults, *node.args.kw_defaults):
            if default is not None:
                self.visit(default)
        self.enter(node, {name: FUNCTIONS if name == FUNCTIONS else None for name in parameters})

    visit_FunctionDef = visit_AsyncFunctionDef = visit_Lambda = _visit_function

    def _visit_comprehension(self, node: ast.expr) -> None:
        self.enter(node, {})

    visit_ListComp = visit_SetComp = visit_DictComp = visit_GeneratorExp = _visit_comprehension

    # expressions

    def visit_Attribute(self, node: ast.Attribute) -> None:
        # the whole chain at once: the names inside it are part of its path
        path = self._path(node)
        is_read = isinstance(node.ctx, ast.Load)
        if path is None:
            if _is_private(node.attr):
                self._mention(node, f".{node.attr}")
            if not is_read and self.inner and isinstance(node.value, ast.Name) and node.value.id in ("self", "cls"):
                self.inner[-1].attributes.add(node.attr)
            self.visit(node.value)
        elif is_read:
            self._mention(node, path)
        else:
            self.assigned.add(path)
            self.visit(node.value)  # which is read

    def visit_Name(self, node: ast.Name) -> None:
        # a name that an assignment has given to one of MXNet's was mentioned there
        return

    def visit_Call(self, node: ast.Call) -> None:
        texts = [a.value if isinstance(a, ast.Constant) and isinstance(a.value, str) else None for a in node.args]
        called = node.func.attr if isinstance(node.func, ast.Attribute) else getattr(node.func, "id", "")
        if called in BY_TEXT and texts and texts[0] and _is_mxnet(texts[0]):
            self._mention(node, texts[0])
        # with a default, a missing attribute is no failure
        elif called == "getattr" and len(texts) == 2 and texts[1]:
            path = self._path(node.args[0])
            if path is not None or _is_private(texts[1]):
                self._mention(node, f"{path or ''}.{texts[1]}")
        self.generic_visit(node)


def _is_mxnet(path: str) -> bool:
    return path == "mxnet" or path.startswith("mxnet.")


def _is_private(name: str) -> bool:
    return name.startswith("_") and not name.endswith("__") and name.strip("_") != ""


def _inside(scope: ast.AST) -> Iterator[ast.AST]:
    """The nodes of a scope, with the scopes in it but not what is in those."""
    for node in ast.iter_child_nodes(scope):
        # a function's name belongs to the scope around it
        yield node
        if not isinstance(node, _SCOPES):
            yield from _inside(node)


def _caught(handler: ast.ExceptHandler) -> set[str]:
    """The names of the exceptions that a handler catches."""
    if handler.type is None:
        return {"BaseException"}
    kinds: Iterable[ast.expr] = handler.type.elts if isinstance(handler.type, ast.Tuple) else [handler.type]
    return {kind.id for kind in kinds if isinstance(kind, ast.Name)}
