"""``Symbol``: outputs of an untyped graph. Structure, names, attributes and composition; inference, files and binding are elsewhere.

Operators and fluent methods are attached by `python_operators` and `namespace`.
"""

from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, ClassVar, NoReturn

from ..device import Device
from ..dtype import DTypeLike
from ..errors import IndexingError, NotImplementedForSymbol, OperatorError, ParameterError, WrongArgument
from ..extension_points import shown_in_notebooks
from ..formats.files import write_file
from ..formats.json_text import utf8
from ..ndarray.array import NDArray
from ..strictness import tolerate
from ..suggestions import did_you_mean
from . import binding, inference, serialization
from .gradient import gradient_of
from .node import Head, checked_attrs, hidden, topological, variables
from .rebuild import with_variables

#: MXNet's backends. In MXNet, `Symbol.optimize_for` partitions symbols for them.
BACKENDS = ("MKLDNN", "MKLDNN_QUANTIZE")


class Symbol:
    """Outputs of a graph of named operators over variables: a program without shapes, values or a device.

    Parameters
    ----------
    heads
        The outputs; none if None. Symbols are created by `Variable`, by the functions of this package and by Python's operators on
        symbols.
    """

    __slots__ = ("heads",)
    __array_priority__ = 1000.0  # higher than NumPy's scalars, so that np.float32(2) * symbol calls the symbol's operator
    __hash__ = None  # type: ignore[assignment]  # == makes a symbol

    heads: tuple[Head, ...]
    #: Whether operators and methods are those of MXNet's NumPy dialect.
    _is_numpy: ClassVar[bool] = False

    if TYPE_CHECKING:  # attached from a table

        def __add__(self, other: object) -> "Symbol": ...

        __radd__ = __sub__ = __rsub__ = __mul__ = __rmul__ = __truediv__ = __rtruediv__ = __add__
        __mod__ = __rmod__ = __pow__ = __rpow__ = __lt__ = __le__ = __gt__ = __ge__ = __add__

        def __neg__(self) -> "Symbol": ...

        __abs__ = __neg__

        as_np_ndarray: Callable[[], "Symbol"]

    def __init__(self, heads: Sequence[Head] | None) -> None:
        self.heads = tuple(heads or ())

    def as_nd_ndarray(self) -> "Symbol":
        """The symbol itself."""
        return self

    # structure

    @property
    def name(self) -> str | None:
        """Name of the node whose outputs these are; None for outputs of several nodes."""
        nodes = {h.node for h in self.heads}
        return nodes.pop().name if len(nodes) == 1 else None

    def __len__(self) -> int:
        return len(self.heads)

    def __iter__(self) -> Iterator["Symbol"]:
        return (Symbol([h]) for h in self.heads)

    def __getitem__(self, index: int | slice | str) -> "Symbol":
        """An output by position or name, or several by a slice.

        Raises
        ------
        IndexingError
            If there is no output at that position.
        ParameterError
            If no output, or more than one, has that name.
        """
        if isinstance(index, slice):
            return Symbol(self.heads[index])
        if isinstance(index, str):
            return Symbol([self.heads[self._position(index)]])
        # To Python a bool is an int, but as a position it is a mistake.
        if isinstance(index, bool) or not isinstance(index, int):
            raise WrongArgument("Symbol only supports integers, slices and names as index", repr(index), "pass the position of an output")
        if not -len(self.heads) <= index < len(self.heads):
            raise IndexingError("symbol: no such output", f"{index} of {len(self.heads)}", "see list_outputs()")
        return Symbol([self.heads[index]])

    def _position(self, name: str) -> int:
        names = self.list_outputs()
        if names.count(name) != 1:
            what = "There are multiple outputs with name" if name in names else "Cannot find output that matches name"
            raise ParameterError(f'{what} "{name}"', None, did_you_mean(name, names, "see list_outputs(), or pick one by position"))
        return names.index(name)

    def list_arguments(self) -> list[str]:
        """Names of the variables that are inputs, in the order of their first use."""
        return [v.name for v in variables(topological(self.heads))[0]]

    def list_auxiliary_states(self) -> list[str]:
        """Names of the variables that operators update, such as BatchNorm's moving mean."""
        return [v.name for v in variables(topological(self.heads))[1]]

    def list_inputs(self) -> list[str]:
        """Names of all variables, arguments and states, in the order of their first use."""
        return [n.name for n in topological(self.heads) if n.is_variable]

    def list_outputs(self) -> list[str]:
        """Names of the outputs."""
        return [h.node.output_name(h.place) for h in self.heads]

    def get_internals(self) -> "Symbol":
        """Every output of every node, as a group: ``get_internals()["fc_output"]`` selects an inner value."""
        # Hidden outputs, such as BatchNorm's mean and variance, cannot be selected in MXNet either.
        return Symbol([Head(n, k) for n in topological(self.heads) for k in range(n.visible)])

    def get_children(self) -> "Symbol | None":
        """The inputs of the outputs' nodes, as a group; None for variables."""
        below = [i for node in dict.fromkeys(h.node for h in self.heads) for i in node.inputs]
        return Symbol(below) if below else None

    # attributes

    def attr(self, key: str) -> str | None:
        """An attribute of the node, or None; ``"name"`` is the node's name. Always None for a group."""
        if self.name is None:
            return None
        node = self.heads[0].node
        return node.shown_attrs().get(key, node.name if key == "name" else None)

    def list_attr(self, recursive: bool = False) -> dict[str, str]:
        """The attributes of the node; of a group, those of its first output's node.

        Raises
        ------
        ParameterError
            If ``recursive`` is true: use `attr_dict` for the attributes of all nodes.
        """
        if recursive:
            raise ParameterError("Symbol.list_attr with recursive=True has been deprecated", "recursive=True", "use attr_dict instead")
        return self.heads[0].node.shown_attrs() if self.heads else {}

    def attr_dict(self) -> dict[str, dict[str, str]]:
        """The attributes of every node that has any, by node name."""
        return {n.name: n.shown_attrs() for n in topological(self.heads) if n.attrs}

    def _set_attr(self, **attributes: str) -> None:
        """Set attributes of the nodes, which every symbol that holds them sees."""
        spelt = hidden(checked_attrs(attributes))
        for node in {h.node for h in self.heads}:
            node.set_attrs(spelt)

    # composition

    def __call__(self, *args: "Symbol", name: str | None = None, **kwargs: "Symbol") -> "Symbol":
        """A copy of this graph in which other symbols replace variables.

        Parameters
        ----------
        *args
            Replacements of the arguments in the order of `list_arguments`; or
        **kwargs
            by their names.
        name
            New name of the output's node.
        """
        if args and kwargs:
            raise WrongArgument("compose only accepts input Symbols either as positional or keyword arguments", "both", "pass names only")
        given = dict(zip(self.list_arguments(), args, strict=False)) if args else kwargs
        for key, symbol in given.items():
            if not isinstance(symbol, Symbol):
                raise WrongArgument("Compose expect `Symbol` as arguments", f"{key}: {type(symbol).__name__}", "make a Variable")
            if len(symbol.heads) != 1:
                raise ParameterError(
                    f"Keyword Argument {key} is a tuple, single value is required", symbol.list_outputs(), "pick an output"
                )
        unknown = set(given) - set(self.list_inputs())
        # `zip` has silently dropped arguments beyond those of the symbol.
        if unknown or len(args) > len(given):
            names = ", ".join(sorted(unknown)) or f"{len(args)} arguments"
            raise ParameterError("Symbol.Compose: keyword argument name not found", names, f"it has {', '.join(self.list_inputs())}")
        return Symbol(with_variables(self.heads, {k: s.heads[0] for k, s in given.items()}, name))

    # nodes are copied too: attributes set on a copy must not show in the original
    def __copy__(self) -> "Symbol":
        return Symbol(with_variables(self.heads, {}))

    def __deepcopy__(self, memo: object) -> "Symbol":
        return self.__copy__()

    def grad(self, wrt: "str | Symbol | Sequence[str | Symbol]") -> "Symbol":
        """The gradient of the sum of all outputs with respect to variables, as a symbol with one output per variable.

        Parameters
        ----------
        wrt
            Names of arguments, or the variables themselves.

        Raises
        ------
        ParameterError
            If one is not an argument.
        """
        names = [w if isinstance(w, str) else str(w.name) for w in ([wrt] if isinstance(wrt, (str, Symbol)) else wrt)]
        return Symbol(gradient_of(self, names))

    gradient = grad

    # inference

    infer_shape = inference.infer_shape
    infer_shape_partial = inference.infer_shape_partial
    infer_type = inference.infer_type
    infer_type_partial = inference.infer_type_partial

    # files

    def tojson(self, remove_amp_cast: bool = True) -> str:
        """The graph as MXNet's JSON text, by default without the casts of automatic mixed precision."""
        return serialization.to_json(self.heads, remove_amp_cast)

    def save(self, fname: str, remove_amp_cast: bool = True) -> None:
        """Write the JSON text to a file (a path, or a URL such as ``s3://…``)."""
        write_file(fname, [utf8(self.tojson(remove_amp_cast), "a symbol")])

    def __reduce__(self) -> tuple[object, ...]:
        return _from_json, (self.tojson(remove_amp_cast=False),)  # with the casts: a copy must compute the same

    def debug_str(self) -> str:
        """The graph as text, one paragraph per node."""
        return serialization.to_text(self.heads)

    # MXNet's other graphs

    def optimize_for(
        self,
        backend: str,
        args: Mapping[str, NDArray] | None = None,
        aux: Mapping[str, NDArray] | None = None,
        ctx: Device | None = None,
        shape_dict: Mapping[str, Sequence[int]] | None = None,
        type_dict: Mapping[str, DTypeLike] | None = None,
        stype_dict: object = None,
        skip_infer: bool = False,
        **kwargs: object,
    ) -> "Symbol":
        """The symbol itself: every symbol is optimized when it runs, for the device that it runs on.

        Parameters
        ----------
        backend
            One of MXNet's backends (`BACKENDS`), for which MXNet would partition the symbol. Another name gives a warning.
        args, aux, shape_dict, type_dict
            Arrays, shapes and dtypes by name, which must match the symbol.
        skip_infer
            Whether to skip this check.
        ctx, stype_dict, **kwargs
            Options of MXNet's backends.

        Raises
        ------
        ShapeError
            If the shapes do not match.
        """
        if backend not in BACKENDS:
            tolerate("optimize_for: unknown backend", repr(backend), f"pass one of {', '.join(BACKENDS)}")
        # A shape given by name overrides that of the array of this name.
        shapes = {**{n: a.shape for given in (args, aux) for n, a in (given or {}).items()}, **(shape_dict or {})}
        if shapes and not skip_infer:
            self.infer_shape_partial(**shapes)
        if type_dict and not skip_infer:
            self.infer_type_partial(**type_dict)
        return Symbol(self.heads)

    def get_backend_symbol(self, backend: str) -> "Symbol":
        """The symbol itself; see `optimize_for`.

        Raises
        ------
        ParameterError
            If MXNet has no backend of that name.
        """
        if backend not in BACKENDS:
            raise ParameterError("get_backend_symbol: unknown backend", repr(backend), f"pass one of {', '.join(BACKENDS)}")
        return Symbol(self.heads)

    # execution

    bind = binding.bind
    simple_bind = binding.simple_bind
    eval = binding.eval_

    def __getattr__(self, name: str) -> NoReturn:
        todo = (
            "it is known only when a graph runs: use F.shape_array, sizes 0 and -1 in reshape, or infer_shape()"
            if name in ("shape", "size", "ndim")
            else did_you_mean(name, dir(type(self)), "see dir() of it")
        )
        raise OperatorError(f"'{type(self).__name__}' object has no attribute '{name}'", None, todo)

    def __repr__(self) -> str:
        names = ", ".join(str(h.node.name) for h in self.heads)
        return f"<Symbol {self.name}>" if self.name is not None else f"<Symbol group [{names}]>"

    _repr_html_ = shown_in_notebooks("symbol")


def _from_json(text: str) -> Symbol:
    return Symbol(serialization.from_json(text))


def _needs_values(name: str, operator: str | None = None) -> object:
    def method(self: Symbol, *args: object, **kwargs: object) -> NoReturn:
        raise NotImplementedForSymbol(name, operator, *args)

    method.__name__ = name
    method.__doc__ = "Not for symbols: it needs an array's values."
    return method


#: Array methods that symbols define only to raise an error, with the operator that calls them.
_FOR_ARRAYS = {
    "__bool__": "bool",
    "__iadd__": "+=",
    "__isub__": "-=",
    "__imul__": "*=",
    "__itruediv__": "/=",
    "asnumpy": None,
    "asscalar": None,
    "as_in_context": None,
    "backward": None,
    "copy": None,
    "detach": None,
    "wait_to_read": None,
}
for _name, _operator in _FOR_ARRAYS.items():
    setattr(Symbol, _name, _needs_values(_name, _operator))
