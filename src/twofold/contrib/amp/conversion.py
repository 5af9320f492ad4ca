"""Trained models in mixed precision: `convert_symbol`, `convert_model`, `convert_hybrid_block`, `convert_bucketing_module`."""

from collections.abc import Mapping, Sequence

from ... import symbol as sym
from ...context import gpu
from ...device import Device
from ...dtype import MXNET_CODES, DTypeLike, dtype_name
from ...errors import InvalidValue, MXNetError, WrongType
from ...gluon.hybrid_block import HybridBlock
from ...gluon.symbol_block import SymbolBlock
from ...module.bucketing_module import BucketingModule
from ...ndarray.array import NDArray
from ...symbol.naming import NameManager
from ...symbol.symbol import Symbol
from .casting import cast_graph
from .listing import Conditions, Rules, rules_for

Arrays = Mapping[str, NDArray]


def _rules(target_dtype: DTypeLike, half: Sequence[str] | None, single: Sequence[str] | None, conditional: Conditions | None) -> Rules:
    if dtype_name(target_dtype) not in ("float16", "bfloat16"):
        raise InvalidValue("Only target_dtype float16 and bfloat16 are supported currently", dtype_name(target_dtype), "pass one of them")
    return rules_for(target_dtype, half, single, conditional, "target_dtype_ops")


def convert_symbol(
    sym: Symbol,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    data_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> Symbol:
    """A symbol that computes the same in mixed precision: a copy with casts. Its outputs are float32.

    Parameters
    ----------
    sym
        The symbol.
    target_dtype
        The 16-bit dtype, ``"float16"`` or ``"bfloat16"``.
    target_dtype_ops, fp32_ops
        Names of operators that compute in that dtype and in float32, instead of `list_lp16_ops` and `list_fp32_ops`.
    conditional_fp32_ops
        (operator, parameter, values) for which operators compute in float32, instead of `list_conditional_fp32_ops`.
    excluded_sym_names
        Names of nodes that compute in float32.
    data_names
        The variables that are inputs; the dtypes of all others are then written into the symbol.
    cast_optional_params
        Whether parameters that only 16-bit operators read are 16-bit variables, instead of being cast in each pass.

    Raises
    ------
    WrongType
        If ``sym`` is not a symbol.
    InvalidValue
        If the dtype is another one, or a list is invalid.
    ParameterError
        If the symbol has no variable of a name in ``data_names``.

    Examples
    --------
    >>> import twofold as mx
    >>> net = mx.sym.FullyConnected(mx.sym.Variable("data"), num_hidden=2, name="fc")
    >>> mx.contrib.amp.convert_symbol(net).list_outputs()
    ['fc_output_amp_cast_float32_output']
    """
    if not isinstance(sym, Symbol):
        raise WrongType("First argument to convert_symbol should be Symbol", type(sym).__name__, "pass the symbol to convert")
    rules = _rules(target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops)
    excluded = _names("excluded_sym_names", excluded_sym_names)
    data = None if data_names is None else _names("data_names", data_names)
    unknown = sorted(set(data or ()) - {*sym.list_inputs()})
    if unknown:
        raise InvalidValue("convert_symbol: keyword argument name not found", ", ".join(unknown), f"it has {', '.join(sym.list_inputs())}")
    return Symbol(cast_graph(sym.heads, rules, excluded, data, cast_optional_params))


def _names(what: str, given: Sequence[str] | None) -> list[str]:
    if isinstance(given, str) or not all(isinstance(n, str) for n in given or ()):
        raise InvalidValue(f"{what} should be a list of strs", repr(given), "pass names")
    return list(given or ())


def convert_model(
    sym: Symbol,
    arg_params: Arrays,
    aux_params: Arrays,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> tuple[Symbol, dict[str, NDArray], dict[str, NDArray]]:
    """A model in mixed precision: `convert_symbol`, with its parameters.

    Parameters
    ----------
    sym, arg_params, aux_params
        The model, as `mx.model.load_checkpoint` returns it.
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params
        See `convert_symbol`. With ``cast_optional_params`` the arrays of 16-bit variables are cast.

    Raises
    ------
    WrongType
        If the arguments are not a symbol and dicts of arrays.
    InvalidValue
        See `convert_symbol`.
    """
    if not isinstance(sym, Symbol):
        raise WrongType("First argument to convert_model should be Symbol", type(sym).__name__, "pass the symbol to convert")
    for place, given in (("Second", arg_params), ("Third", aux_params)):
        if not isinstance(given, Mapping) or not all(isinstance(a, NDArray) for a in given.values()):
            what = f"{place} argument to convert_model should be a dict of name to ndarray"
            raise WrongType(what, type(given).__name__, "pass the dicts that load_checkpoint returns")
    # Inputs without an array are data; only the dtypes of parameters are written into the symbol.
    data = [n for n in sym.list_inputs() if n not in arg_params and n not in aux_params]
    lists = (target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names)
    new = convert_symbol(sym, target_dtype, *lists, data, cast_optional_params)
    dtypes = {name: attrs["__dtype__"] for name, attrs in new.attr_dict().items() if "__dtype__" in attrs}
    return new, _as_declared(arg_params, dtypes), _as_declared(aux_params, dtypes)


def _as_declared(arrays: Arrays, codes: Mapping[str, str]) -> dict[str, NDArray]:
    """Float arrays in the dtypes whose codes the symbol holds."""
    by_code = {str(MXNET_CODES[name]): name for name in ("float32", "float16", "bfloat16")}
    found = {}
    for name, array in arrays.items():
        target = by_code.get(codes.get(name, ""))
        is_cast = target is not None and array._dtype in by_code.values() and array._dtype != target
        found[name] = array.astype(target) if is_cast else array
    return found


def convert_hybrid_block(
    block: HybridBlock,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    ctx: Device | Sequence[Device] | None = None,
    cast_optional_params: bool = False,
) -> SymbolBlock:
    """A block in mixed precision, with copies of the parameters.

    Parameters
    ----------
    block
        A block that was hybridized and has run once.
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params
        See `convert_model`.
    ctx
        Where the new block runs; ``mx.gpu(0)`` if None.

    Raises
    ------
    WrongType
        If it is not a HybridBlock.
    MXNetError
        If it has not been traced.
    DeviceError
        If there is no such device.
    """
    if not isinstance(block, HybridBlock):
        raise WrongType("block input should be a HybridBlock", type(block).__name__, "pass the network, not its class or its symbol")
    if block._trace is None:
        raise MXNetError(
            "Please first call block.hybridize() and then run forward with this block at least once before calling convert_hybrid_block",
            block.name,
            "it converts the traced graph",
        )
    traced = block._trace
    known = block.collect_params()
    arrays = {name: known[name]._reduce() for name in traced.symbol.list_inputs() if name in known}
    lists = (target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names)
    new, params, _ = convert_model(traced.symbol, arrays, {}, target_dtype, *lists, cast_optional_params)
    converted = SymbolBlock(new, [sym.var(name) for name in traced.names])
    where = gpu(0) if ctx is None else ctx
    for name, param in converted.collect_params().items():
        # Before the array is loaded: a parameter refuses arrays of another dtype.
        param.cast(params[name].dtype)
        param._load_init(params[name], where)
        if name in known:
            param.grad_req = known[name].grad_req
    return converted


def convert_bucketing_module(
    bucketing_mod: BucketingModule,
    target_dtype: DTypeLike = "float16",
    target_dtype_ops: Sequence[str] | None = None,
    fp32_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    excluded_sym_names: Sequence[str] | None = None,
    cast_optional_params: bool = False,
) -> BucketingModule:
    """A bucketing module in mixed precision; its parameters are to be set, such as by ``set_params(*old.get_params())``.

    Parameters
    ----------
    bucketing_mod
        The module.
    target_dtype, target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names, cast_optional_params
        See `convert_symbol`.

    Raises
    ------
    WrongType
        If it is not a bucketing module.
    """
    if not isinstance(bucketing_mod, BucketingModule):
        raise WrongType("module should be instance of bucketing module", type(bucketing_mod).__name__, "pass a BucketingModule")
    lists = (target_dtype_ops, fp32_ops, conditional_fp32_ops, excluded_sym_names)

    def sym_gen(key: object) -> tuple[Symbol, Sequence[str] | None, Sequence[str] | None]:
        # Names begin anew for each bucket, so that the parameters of all buckets have equal names.
        with NameManager():
            found = bucketing_mod._sym_gen(key)
        symbol, data, labels = found if isinstance(found, tuple) else (found, ("data",), ("softmax_label",))
        present = [n for n in (*(data or ()), *(labels or ())) if n in symbol.list_inputs()]
        return convert_symbol(symbol, target_dtype, *lists, present, cast_optional_params), data, labels

    return BucketingModule(sym_gen, bucketing_mod._default_bucket_key, **bucketing_mod._options)
