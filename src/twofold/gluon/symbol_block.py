"""`SymbolBlock`: a symbol, such as an exported one, as a block. Variables that are not inputs become parameters."""

from collections.abc import Mapping, Sequence
from os import PathLike, fspath
from typing import Any

from .. import symbol as sym
from ..device import Device
from ..errors import InvalidValue
from ..suggestions import did_you_mean
from ..symbol.inference import declared_dtypes
from ..symbol.naming import NameManager
from ..symbol.symbol import Symbol
from .block import Block
from .hybrid_block import HybridBlock
from .parameter import Contexts, ParameterAttributes
from .parameter_dict import ParameterDict
from .structure import flatten
from .tracing import Trace

__all__ = ["SymbolBlock"]


class SymbolBlock(HybridBlock):
    """A block that computes a symbol, always as a compiled graph.

    Parameters
    ----------
    outputs
        The symbol, or a list of symbols.
    inputs
        The variable that stands for the input, or a list of variables.
    params
        Parameters to share by name; created if None.

    Raises
    ------
    ParameterError
        If an input is not a variable.

    Examples
    --------
    >>> import twofold as mx
    >>> x = mx.sym.Variable("x")
    >>> block = mx.gluon.SymbolBlock(mx.sym.FullyConnected(x, num_hidden=2, name="fc"), x)
    >>> block.initialize()
    >>> block(mx.nd.ones((3, 4))).shape
    (3, 2)
    """

    def __init__(self, outputs: Symbol | Sequence[Symbol], inputs: Symbol | Sequence[Symbol], params: ParameterDict | None = None) -> None:
        super().__init__(prefix=None, params=None)
        # The variables of a symbol have their full names already.
        self._prefix = ""
        self._params = ParameterDict("", params)
        flat, form = flatten([inputs] if isinstance(inputs, Symbol) else inputs, (Symbol,), "input")
        for symbol in flat:
            if len(symbol.heads) != 1 or not symbol.heads[0].node.is_variable:
                raise InvalidValue(
                    f"Input symbols must be variable: {symbol} is an operator's output", None, "create them with mx.sym.Variable"
                )
        names = [s.heads[0].node.name for s in flat]
        outputs = outputs[0] if isinstance(outputs, (list, tuple)) and len(outputs) == 1 else outputs
        heads, nested = flatten(outputs, (Symbol,), "output")
        symbol = heads[0] if len(heads) == 1 else sym.Group(heads)
        # One symbol with several outputs, such as a group, returns a list like a list of symbols does.
        if isinstance(outputs, Symbol) and len(outputs.heads) > 1:
            nested = (0,) * len(outputs.heads)
        self._make_params(symbol, names)
        self._trace = Trace(self.name, self.collect_params(), names, form, symbol, nested)

    def _make_params(self, symbol: Symbol, inputs: Sequence[str]) -> None:
        """Create parameters for variables that are not inputs. Attributes are named without the prefix that all names share."""
        attributes = symbol.attr_dict()
        arguments, states = symbol.list_arguments(), symbol.list_auxiliary_states()
        dtypes = dict(zip([*arguments, *states], [k for kinds in declared_dtypes(symbol)[::2] for k in kinds], strict=True))
        for name in [*arguments, *states]:
            if name in inputs:
                continue
            known: ParameterAttributes = {"allow_deferred_init": True}
            # A dtype that inference merely assumes would contradict the file that the parameters are loaded from.
            dtype = dtypes[name]
            if dtype is not None and "__dtype__" in attributes.get(name, {}):
                known["dtype"] = dtype
            if name in states:
                known["grad_req"] = "null"
            self._params.get(name, **known)
        prefix = _common_prefix(list(self._params.keys()))
        self._reg_params = {name[len(prefix) :]: param for name, param in self._params.items()}

    @staticmethod
    def imports(
        symbol_file: str | PathLike[str],
        input_names: str | Sequence[str],
        param_file: str | PathLike[str] | None = None,
        ctx: Contexts = None,
        allow_missing: bool = False,
        ignore_extra: bool = False,
    ) -> "SymbolBlock":
        """Load a block from files written by `HybridBlock.export` or MXNet.

        Parameters
        ----------
        symbol_file
            The file of the graph.
        input_names
            Name or names of the input variables.
        param_file
            The file of the parameters. If None, the block is not initialized.
        ctx
            The device or devices; the CPU if None.
        allow_missing
            Whether parameters may be missing from the file.
        ignore_extra
            Whether to ignore other parameters in the file.

        Raises
        ------
        MXNetError
            If a parameter is missing from the file.
        """
        symbol = sym.load(fspath(symbol_file))
        names = [input_names] if isinstance(input_names, str) else list(input_names)
        block = SymbolBlock(symbol, [sym.var(name) for name in names])
        if param_file is not None:
            try:
                block.collect_params().load(param_file, ctx, allow_missing, ignore_extra, cast_dtype=True, dtype_source="saved")
            except InvalidValue as error:
                # the input whose name was misspelt counts as a parameter, which the file does not have
                arguments = symbol.list_arguments()
                for name in set(names).difference(arguments):
                    todo = did_you_mean(name, arguments, "see list_arguments() of the graph")
                    raise InvalidValue(f"SymbolBlock.imports: the graph has no input '{name}'", f"input_names {names}", todo) from error
                labels = [n for n in arguments if n.endswith("label") and n not in names]
                if any(f"'{label}' is missing" in error.what for label in labels):
                    todo = f"a label is an input: pass {names + labels}, or leave the loss out: {_without_loss(symbol, labels[0])}"
                    raise InvalidValue(error.what, f"input_names {names}", todo) from error
                raise
        return block

    def _graph(self) -> Trace:
        """The trace: unlike other blocks, it always has one."""
        assert self._trace is not None
        return self._trace

    def __repr__(self) -> str:
        graph = self._graph()
        return f"{type(self).__name__}(\n{graph.symbol!r} : {len(graph.names)} -> {len(graph.symbol.heads)}\n)"

    def _compose(self, *args: Any) -> Any:
        graph = self._graph()
        flat, _ = flatten(args, (Symbol,), "input")
        inputs: dict[str, Any] = dict(zip(graph.names, flat, strict=True))
        new = graph.symbol(**inputs)
        return new if len(new.heads) == 1 else list(new)

    def _run(self, device: Device, *args: Any) -> Any:
        return self._run_compiled(device, args)

    def _clear_cached_op(self) -> None:
        """Drop what was compiled. The symbol stays: it is the block's definition."""
        old = self._trace
        if old is not None:  # None while the constructor registers parameters
            given = old.names, old.inputs, old.symbol, old.outputs
            self._trace = Trace(self.name, self.collect_params(), *given, self._mirror, self._is_static)

    def reset_ctx(self, ctx: Contexts) -> None:
        """Move the parameters to other devices."""
        self.collect_params().reset_ctx(ctx)


def _common_prefix(names: Sequence[str]) -> str:
    """The common prefix of several names; empty for a single one."""
    if len(names) < 2:
        return ""
    first, last = min(names), max(names)
    return first[: next((k for k, (a, b) in enumerate(zip(first, last, strict=False)) if a != b), min(len(first), len(last)))]


def symbol_of(block: Block, shape: Mapping[str, Sequence[int]]) -> Symbol:
    """The graph of a block for drawing: the last trace, or one composed of symbols named like the given shapes."""
    parameters = block.collect_params()
    names = [name for name in shape if name not in parameters]
    if isinstance(block, HybridBlock) and block._trace is not None and set(names) <= set(block._trace.names):
        return block._trace.symbol
    # separate names, so that drawing a block does not change the numbers of operators that are made later
    with NameManager():
        outputs = block(*map(sym.var, names or ["data"]))
    heads, _ = flatten(outputs, (Symbol,), "output")
    return heads[0] if len(heads) == 1 else sym.Group(heads)


def _without_loss(symbol: Symbol, label: str) -> str:
    """How to make a block of a graph without the operator that reads a label."""
    readers = [c.list_outputs() for s in symbol.get_internals() if (c := s.get_children()) is not None and label in c.list_outputs()]
    last = next(name for operands in readers for name in operands if name != label)
    return f"SymbolBlock(mx.sym.load(file).get_internals()[{last!r}], inputs), then collect_params().load(params_file)"
