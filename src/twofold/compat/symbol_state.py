"""The private methods of symbols that libraries written on MXNet use: composition in place, and operators without inputs."""

import warnings
from collections.abc import Mapping, Sequence
from ctypes import c_void_p

from ..errors import WrongArgument
from ..ndarray.array import NDArray
from ..symbol.arguments import argument_inputs
from ..symbol.binding import _by_name
from ..symbol.compose import apply_op
from ..symbol.inference import DTypeLike, GivenShape, Shapes, Types, Unknowns
from ..symbol.node import Head, SymbolNode
from ..symbol.serialization import from_json
from ..symbol.symbol import Symbol
from . import handles  # noqa: F401  (gives them to symbols)
from .array_state import adopt
from .base import c_array


class AtomicSymbol(Symbol):
    """An operator with its parameters that has no inputs yet: composing it makes a node, as a call of the operator's function does."""

    __slots__ = ()

    def list_outputs(self) -> list[str]:
        """Names of the outputs, without the name of a node."""
        return [name.removeprefix("_") for name in super().list_outputs()]

    def __call__(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> Symbol:
        """The operator applied to symbols, in the order of its inputs or by their names. See `Symbol.__call__`."""
        node = self.heads[0].node
        op = node.operator
        given: Sequence[Symbol | None] = args
        if not op.variadic and kwargs:
            names = [i.name for i in argument_inputs(op, node.attrs)]
            unknown = sorted(set(kwargs) - set(names))
            if unknown or args:
                raise WrongArgument(
                    f"{op.spoken}: no such inputs", ", ".join(unknown) or "both", f"it has {', '.join(names)}; pass names only"
                )
            given = [kwargs.get(key) for key in names]
        params: Mapping[str, object] = {**node.attrs, **(kwargs if op.variadic else {})}
        return apply_op(op, op.title.lower().lstrip("_"), [*given, *[None] * (len(op.arrays) - len(given))], params, name)


AtomicSymbol.__name__ = AtomicSymbol.__qualname__ = Symbol.__name__


class SymbolState(Symbol):
    """Methods of `Symbol`."""

    def _gen_atomic_symbol(self) -> Symbol:
        """The operator of the output's node, without its inputs and its name."""
        node = self.heads[-1].node
        bare = SymbolNode(node.op_name, "", node.attrs)
        return AtomicSymbol([Head(bare, k) for k in range(node.visible)])

    def _compose(self, *args: Symbol, name: str | None = None, **kwargs: Symbol) -> None:
        """Replace this symbol's variables by other symbols; see `Symbol.__call__`."""
        self.heads = self(*args, name=name, **kwargs).heads

    def _infer_shape_impl(self, partial: bool, *args: GivenShape, **kwargs: GivenShape) -> Shapes | Unknowns:
        """Shapes, as `infer_shape_partial` or `infer_shape` infers them; no warning if that is not possible."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (self.infer_shape_partial if partial else self.infer_shape)(*args, **kwargs)

    def _infer_type_impl(self, partial: bool, *args: DTypeLike, **kwargs: DTypeLike) -> Types | Unknowns:
        """Dtypes, in the same way."""
        with warnings.catch_warnings():
            warnings.simplefilter("ignore")
            return (self.infer_type_partial if partial else self.infer_type)(*args, **kwargs)

    @staticmethod
    def _get_ndarray_inputs(
        arg_key: str, args: Sequence[NDArray | None] | Mapping[str, NDArray], arg_names: Sequence[str], allow_missing: bool
    ) -> tuple[object, list[NDArray | None]]:
        """The handles of a symbol's arrays for C, and the arrays in the order of their names, None where missing ones are allowed."""
        found = _by_name(args, arg_names, arg_key, allow_missing)
        listed = [found.get(name) for name in arg_names]
        return c_array(c_void_p, [None if array is None else array.handle for array in listed]), listed

    def __setstate__(self, state: Mapping[str, str | None]) -> None:
        # MXNet's pickles make a symbol of nothing, and then give it its JSON text
        text = state["handle"]
        self.heads = tuple(from_json(text)) if text else ()


adopt(Symbol, SymbolState)
