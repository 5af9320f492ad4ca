"""Infers shapes and dtypes of a symbol from those of some variables, forward and backward: ``infer_shape`` and ``infer_type``.

Internally an unknown shape is None, and an unknown size is None in the shape; in the interface they are MXNet's ``()`` and 0, or None and
-1 while ``npx.set_np`` or ``np_shape`` is in effect. Nodes are visited in order and in reverse order until nothing changes, applying the
operator's own inference of its inputs, unification for element-wise operators, and, once all inputs are known, the typed node itself. If
unknowns remain, a second round *probes*: the operator is typed with several trial sizes, and if an output's size varies with one of them,
the two are the same unknown.
"""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Any, SupportsIndex, TypeVar

from ..dtype import FROM_MXNET_CODE, NUMPY, DTypeLike, dtype_name
from ..errors import DTypeError, MXNetError, ParameterError, ShapeError
from ..numpy_extension import is_np_shape
from ..opdef import Param
from ..opdef.params import SHAPE
from ..origin import warn
from ..signal_handlers import unless_signalled
from ..suggestions import did_you_mean
from .inference_rules import infer_node
from .node import Composition, Head, SymbolNode, topological, variables
from .partial_types import PartialShape, PartialType, shape_text

T = TypeVar("T")
MAX_ROUNDS = 100
#: What was inferred inside subgraphs for given types, while the graph around them is inferred. Its nodes are visited several times, and so
#: are those of each subgraph: without this the time would grow by a factor with each level of loops within loops.
_INSIDE: ContextVar["dict[object, Inference] | None"] = ContextVar("inferred_inside", default=None)


class Inference:
    """The known types of the outputs of all nodes that some heads depend on.

    Parameters
    ----------
    heads
        The graph.
    shapes, dtypes
        Known shapes and dtypes of variables, by name, in addition to their attributes.

    Attributes
    ----------
    known
        Shape and dtype of every output.
    """

    def __init__(self, heads: Iterable[Head], shapes: Mapping[str, PartialShape], dtypes: Mapping[str, str]) -> None:
        self.order = topological(heads)
        self.known: dict[SymbolNode, list[PartialType]] = {}
        #: Nodes about which nothing more can be learned; they are not visited again.
        self._done: set[SymbolNode] = set()
        #: What was known around nodes when their last visit taught nothing: another one would not either.
        self._settled: dict[SymbolNode, tuple[bool, list[tuple[PartialShape, str | None]]]] = {}
        for node in self.order:
            if node.is_variable:
                shape = shapes[node.name] if shapes.get(node.name) is not None else declared_shape(node)
                self.known[node] = [PartialType(shape, dtypes.get(node.name) or declared_dtype(node))]
            else:
                self.known[node] = [PartialType(None, None) for _ in range(node.visible)]

    def run(self) -> "Inference":
        """Infer until nothing changes.

        Raises
        ------
        ShapeError, DTypeError
            If what is known is contradictory; the message names the node.
        """
        with _remembering():
            self._settle(probing=False)
            # only for the few graphs that still have unknowns: probing types each node several times
            if not self.is_complete():
                self._settle(probing=True)
        return self

    def is_complete(self) -> bool:
        """Whether every shape is known."""
        return all(k.is_shaped for n in self.order for k in self.known[n])

    def open_nodes(self) -> set[SymbolNode]:
        """The nodes whose shapes depend on values: operators of dynamic shape, and the nodes that read their results."""
        found: set[SymbolNode] = set()
        for node in self.order:
            if node.is_eager or any(h.node in found for h in node.inputs):
                found.add(node)
        return found

    def _settle(self, probing: bool) -> None:
        for _ in range(MAX_ROUNDS):
            changed = False
            # forward and backward in turn: a chain of n nodes settles in two passes in either direction, not in n
            for order in (self.order, self.order[::-1]):
                for node in order:
                    changed |= self._visit(node, probing)
            if not changed:
                return

    def _visit(self, node: SymbolNode, probing: bool) -> bool:
        if node.is_variable or node in self._done:
            return False
        inputs, outputs = [self.known[h.node][h.place] for h in node.inputs], self.known[node]
        before = [(k.shape, k.dtype) for k in (*inputs, *outputs)]
        probing = probing and node.special is None  # which does not probe
        if self._settled.get(node) == (probing, before):
            return False
        try:
            if infer_node(node, inputs, outputs, probing):
                self._done.add(node)
        except (ShapeError, DTypeError, ParameterError) as error:
            raise _naming(error, node, inputs) from error
        # Before the next clause: many of the package's errors are Python's ValueErrors or TypeErrors, too.
        except MXNetError:
            raise
        except unless_signalled((ValueError, TypeError, IndexError, ArithmeticError)) as error:  # a rule that did not expect such shapes
            raise _naming(ShapeError(f"the inputs do not match ({error})"), node, inputs) from error
        if before != [(k.shape, k.dtype) for k in (*inputs, *outputs)]:
            return True
        self._settled[node] = probing, before
        return False

    def of(self, head: Head) -> PartialType:
        """What is known about an output."""
        return self.known[head.node][head.place]


@contextmanager
def _remembering() -> Iterator[None]:
    """Remember what is inferred inside subgraphs until the outermost of these blocks ends: symbols may change between two inferences."""
    if _INSIDE.get() is not None:
        yield
        return
    token = _INSIDE.set({})
    try:
        yield
    finally:
        _INSIDE.reset(token)


def inferred_inside(heads: Sequence[Head], given: Sequence[PartialType]) -> Inference:
    """The known types of a subgraph, given the known types of its arguments, in order. They are not to be changed."""
    found, key = _INSIDE.get(), (tuple(heads), tuple((k.shape, k.dtype) for k in given))
    if found is None or key not in found:
        made = _inferred_inside(heads, given)
        if found is None:
            return made
        found[key] = made
    return found[key]


def _inferred_inside(heads: Sequence[Head], given: Sequence[PartialType]) -> Inference:
    names = [n.name for n in topological(heads) if n.is_variable]
    shapes = {name: k.shape for name, k in zip(names, given, strict=True) if k.shape is not None}
    dtypes = {name: k.dtype for name, k in zip(names, given, strict=True) if k.dtype is not None}
    return Inference(heads, shapes, dtypes).run()


def _naming(error: MXNetError, node: SymbolNode, inputs: Sequence[PartialType]) -> MXNetError:
    """The same error, with the node and its inputs added to the message."""
    # the same kind of error, so that `except` clauses of programs work as before
    kind = next(k for k in (ShapeError, DTypeError, ParameterError) if isinstance(error, k))
    names = node.input_names if node.op is not None else [""] * len(inputs)
    read = ", ".join(
        f"{name} {shape_text(k.shape)}{f' {k.dtype}' if k.dtype else ''} from {head.node.name}"
        for name, k, head in zip(names, inputs, node.inputs, strict=True)
    )
    given = f"{error.given} (it reads {read})" if error.given else f"it reads {read}"
    todo = error.todo or "see infer_shape_partial() for what is known"
    if isinstance(error, ShapeError) and node.op_name.startswith("elemwise_"):
        todo += f", or use broadcast_{node.op_name.removeprefix('elemwise_')}"
    what = (error.what or str(error)).removeprefix(f"{node.op_name}: ")
    found = kind(f"node {node.name} ({node.op_name}): {what}", given, todo)
    found.node = node.name
    return found


def declared_shape(node: SymbolNode) -> PartialShape:
    """The shape declared in a variable's attributes.

    Raises
    ------
    ParameterError
        If they give something else.
    """
    text = node.attrs.get("__shape__")
    return None if text in (None, "None") else known_shape(sizes_in(text, node.name))


def sizes_in(text: str, name: str) -> tuple[int, ...]:
    """The sizes in the ``__shape__`` of a variable, in which 0 and -1 may be unknown ones."""
    return Param("__shape__", SHAPE, None, True).value(text, name)


def declared_dtype(node: SymbolNode) -> str | None:
    """The dtype declared in a variable's attributes.

    Raises
    ------
    ParameterError
        If they give something else.
    """
    text = node.attrs.get("__dtype__")
    if text in (None, "None", "-1"):
        return None
    found = {str(code): name for code, name in FROM_MXNET_CODE.items()}.get(text)
    if found is None:
        codes = ", ".join(f"{code} {name}" for code, name in FROM_MXNET_CODE.items())
        raise ParameterError(f"{node.name}: parameter __dtype__ must be the code of a dtype", repr(text), f"they are {codes}")
    return found


def inside_shape(shape: Sequence[int | None]) -> tuple[int | None, ...]:
    """The internal form of a shape: sizes of 0 and below are unknown, with NumPy's shapes only those below 0."""
    least = 0 if is_np_shape() else 1
    return tuple(None if n is None or n < least else int(n) for n in shape)


def known_shape(shape: Sequence[int | None]) -> PartialShape:
    """`inside_shape`, or None for the shape without axes, which is MXNet's unknown one unless NumPy's shapes are in effect."""
    return inside_shape(shape) if shape or is_np_shape() else None


def outside_shape(shape: PartialShape) -> Any:
    """MXNet's form of a shape: () if unknown, 0 for an unknown size; with NumPy's shapes None and -1."""
    unknown, unknown_size = (None, -1) if is_np_shape() else ((), 0)
    return unknown if shape is None else tuple(unknown_size if n is None else n for n in shape)


def _given(symbol: Composition, args: Sequence[T], kwargs: Mapping[str, T], what: str) -> dict[str, T]:
    """The given shapes or dtypes by variable name."""
    if args and kwargs:
        raise ParameterError(f"infer_{what}: can only specify known arguments either by position or by name", "both", "pass names only")
    names = symbol.list_arguments()
    if len(args) > len(names):
        raise ParameterError(f"infer_{what}: more arguments than the symbol has", f"{len(args)} for {', '.join(names)}", "leave some out")
    given = dict(zip(names, args, strict=False)) if args else dict(kwargs)
    unknown = set(given) - set(symbol.list_inputs())
    if unknown:
        wrong = sorted(unknown)
        todo = did_you_mean(wrong[0], symbol.list_inputs(), f"it has {', '.join(names)}")
        raise ParameterError(f"infer_{what}: Keyword argument name {', '.join(wrong)} not found", None, todo)
    # only a positional None means unknown, as in MXNet; by name it is an error
    return {k: v for k, v in given.items() if v is not None or not args}


class NotAShape(ShapeError, TypeError):
    """A shape that is not a tuple."""


def _shapes(given: Mapping[str, object]) -> dict[str, PartialShape]:
    found: dict[str, PartialShape] = {}
    for name, shape in given.items():
        if not isinstance(shape, (tuple, list)):
            raise NotAShape(
                "Arguments need to be shapes (tuple)", f"'{name}' is {type(shape)}", "pass a tuple of sizes, 0 for an unknown one"
            )
        if not all(n is None or isinstance(n, SupportsIndex) for n in shape):
            raise NotAShape(f"the shape of {name!r} holds something else than sizes", repr(shape), "pass integers, 0 for an unknown size")
        found[name] = known_shape(shape)
    return found


def _listed(symbol: Composition, found: Inference) -> tuple[list[PartialType], list[PartialType], list[PartialType]]:
    arguments, states = variables(found.order)
    return [found.known[v][0] for v in arguments], [found.of(h) for h in symbol.heads], [found.known[v][0] for v in states]


def _warn_of_unknown(what: str, lines: Iterable[str]) -> None:
    text = f"Cannot decide {what} for the following arguments{' (0s in shape means unknown dimensions)' if what == 'shape' else ''}."
    warn("\n\t".join([f"{text} Consider providing them as input:", *lines]))


Shapes = tuple[list[tuple[int, ...]], list[tuple[int, ...]], list[tuple[int, ...]]]
Unknowns = tuple[None, None, None]
GivenShape = Sequence[int] | None


def infer_shape(self: Composition, *args: GivenShape, **kwargs: GivenShape) -> "Shapes | Unknowns":
    """Infer the shapes of arguments, outputs and auxiliary states from those of some arguments, forward and backward.

    Parameters
    ----------
    *args
        Shapes of the arguments in order, None for unknown ones; or
    **kwargs
        by name. A size of 0 is unknown, with NumPy's shapes (``npx.set_np``) one of -1.

    Returns
    -------
    tuple
        Three lists of shapes; (None, None, None), with a warning, if they cannot be inferred.

    Raises
    ------
    ShapeError
        If shapes are contradictory; the message names the node, the given shape and the needed shape.
    """
    found = Inference(self.heads, _shapes(_given(self, args, kwargs, "shape")), {}).run()
    listed = _listed(self, found)
    arguments, outputs, states = [[outside_shape(k.shape) for k in known] for known in listed]
    if all(k.is_shaped for known in listed for k in known):
        return arguments, outputs, states
    names = zip(self.list_arguments(), arguments, strict=True)
    _warn_of_unknown("shape", (f"{name}: {shape}" for (name, shape), k in zip(names, listed[0], strict=True) if not k.is_shaped))
    return None, None, None


def infer_shape_partial(self: Composition, *args: GivenShape, **kwargs: GivenShape) -> Shapes:
    """Like `infer_shape`, but with () for an unknown shape and 0 for an unknown size; with NumPy's shapes None and -1."""
    found = Inference(self.heads, _shapes(_given(self, args, kwargs, "shape")), {}).run()
    arguments, outputs, states = _listed(self, found)
    return [outside_shape(k.shape) for k in arguments], [outside_shape(k.shape) for k in outputs], [outside_shape(k.shape) for k in states]


Types = tuple[list[type | None], list[type | None], list[type | None]]


def infer_type(self: Composition, *args: DTypeLike | None, **kwargs: DTypeLike) -> "Types | Unknowns":
    """Infer the dtypes of arguments, outputs and auxiliary states from those of some arguments.

    Parameters
    ----------
    *args
        Dtypes of the arguments in order, None for unknown ones; or
    **kwargs
        by name.

    Returns
    -------
    tuple
        Three lists of NumPy scalar classes; (None, None, None), with a warning, if they cannot be inferred.

    Raises
    ------
    DTypeError
        If dtypes are contradictory; the message names the node.
    """
    arguments, outputs, states = infer_type_partial(self, *args, **kwargs)
    if None not in (*arguments, *outputs, *states):
        return arguments, outputs, states
    _warn_of_unknown("type", (f"{n}: {t}" for n, t in zip(self.list_arguments(), arguments, strict=True) if t is None))
    return None, None, None


def infer_type_partial(self: Composition, *args: DTypeLike | None, **kwargs: DTypeLike) -> Types:
    """Like `infer_type`, but with None for an unknown dtype. The index of `pick` must have a known one in both, as in MXNet."""
    given = {name: dtype_name(dtype) for name, dtype in _given(self, args, kwargs, "type").items()}
    found = Inference(self.heads, {}, given).run()
    for node in found.order:
        asked = None if node.op is None else node.op.symbolic.asks_dtype_of
        if asked is not None and found.of(node.inputs[node.input_names.index(asked)]).dtype is None:
            raise DTypeError(
                f"infer_type: node {node.name}: {asked} must be set for {node.op_name}", given, f"pass the dtype of its {asked}"
            )
    return _dtypes_of(self, found)


def declared_dtypes(symbol: Composition) -> "Types":
    """The dtypes of arguments, outputs and auxiliary states that follow from the graph alone, None where unknown."""
    return _dtypes_of(symbol, Inference(symbol.heads, {}, {}).run())


def _dtypes_of(symbol: Composition, found: Inference) -> "Types":
    arguments, outputs, states = _listed(symbol, found)
    return [_scalar_class(k) for k in arguments], [_scalar_class(k) for k in outputs], [_scalar_class(k) for k in states]


def _scalar_class(known: PartialType) -> type | None:
    return None if known.dtype is None else NUMPY[known.dtype].type


def infer_all(heads: Sequence[Head], shapes: Mapping[str, PartialShape], dtypes: Mapping[str, str], what: str) -> Inference:
    """Complete inference: of all shapes but those that depend on values.

    Raises
    ------
    ShapeError
        If shapes remain unknown; the message names the variables.
    """
    found = Inference(heads, shapes, dtypes).run()
    if not found.is_complete():
        open_nodes = found.open_nodes()
        unknown = [n for n in found.order if n not in open_nodes and not all(k.is_shaped for k in found.known[n])]
        if unknown:
            names = ", ".join(f"{n.name} {shape_text(found.known[n][0].shape)}" for n in unknown)
            raise ShapeError(
                f"{what} error: shapes cannot be inferred from those given",
                f"{dict(shapes)}; unknown: {names}",
                "pass the shapes of more arguments",
            )
    return found
