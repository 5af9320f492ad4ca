"""`init`: from then on, the functions of ``mx.nd`` and new symbols cast their operands.

The casts are installed once, where functions are looked up: programs without mixed precision pay nothing. Functions of arrays are
replaced in their namespaces; symbols get casts as nodes when they are composed, so that compiled blocks and files have them.
"""

import functools
import gc
import inspect
import logging
import sys
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Any

from ... import ndarray as nd
from ...context import num_gpus
from ...dtype import DTypeLike, dtype_name
from ...errors import InvalidValue
from ...func.compiled import trace_again
from ...gluon.hybrid_block import HybridBlock
from ...gluon.symbol_block import SymbolBlock
from ...ndarray.array import NDArray
from ...ndarray.namespace import NAMESPACES, registered_name
from ...ndarray.operators import ARITHMETIC, COMPARISON, UNARY
from ...opdef import NAMES
from ...ops.mixed_precision import CAST, amp_cast, amp_multicast
from ...origin import warn
from ...symbol.compose import REWRITES
from ...symbol.naming import NameManager
from ...symbol.node import Head, SymbolNode
from ...symbol.rebuild import copied
from .listing import Conditions, Rules, list_loss_output_functions, rules_for
from .loss_scaler import LossScaler


@dataclass
class _State:
    """What this process has switched on."""

    rules: Rules | None = None
    scaler: LossScaler | None = None


STATE = _State()


def is_initialized() -> bool:
    """Whether `init` has been called."""
    return STATE.rules is not None


def init(
    target_dtype: DTypeLike = "float16",
    target_precision_ops: Sequence[str] | None = None,
    conditional_fp32_ops: Conditions | None = None,
    fp32_ops: Sequence[str] | None = None,
) -> None:
    """Switch automatic mixed precision on for this process; later calls have no effect.

    It holds for operations on arrays, new symbols, and hybridized blocks and functions of `func.jit`, which are traced again if they have
    run before. Symbols that exist, networks from files, and functions that `compile` has traced keep their precision: see
    `convert_symbol`, `convert_hybrid_block`.

    Parameters
    ----------
    target_dtype
        The 16-bit dtype, ``"float16"`` or ``"bfloat16"``.
    target_precision_ops, fp32_ops
        Names of operators that compute in that dtype and in float32, instead of `list_lp16_ops` and `list_fp32_ops`.
    conditional_fp32_ops
        (operator, parameter, values) for which operators compute in float32, instead of `list_conditional_fp32_ops`.

    Raises
    ------
    InvalidValue
        If the dtype is another one, or a list is invalid.

    Notes
    -----
    On a CPU no 16-bit dtype makes networks faster: bfloat16 takes about the time of float32, and float16 three to five times as long.
    Without a GPU, ``"float16"`` gives a warning.
    """
    if is_initialized():
        return
    if dtype_name(target_dtype) not in ("float16", "bfloat16"):
        raise InvalidValue(
            "AMP currently supports only float16 or bfloat16 as a target_dtype", dtype_name(target_dtype), "pass one of them"
        )
    rules = rules_for(target_dtype, target_precision_ops, fp32_ops, conditional_fp32_ops, "target_precision_ops")
    if dtype_name(target_dtype) == "float16" and not num_gpus():
        warn("amp.init: on a CPU float16 is several times slower than float32; leave AMP out, or pass 'bfloat16', which is about as fast")
    STATE.rules = rules
    logging.info("Using AMP")
    names = {*rules.half, *rules.single, *rules.widest, *rules.conditional}
    losses = {NAMES[n].title for n in list_loss_output_functions(target_dtype)}
    for name in names | losses:
        REWRITES[name] = functools.partial(_with_casts, rules, name in losses)
    _replace_functions(rules, names, losses)
    _trace_again()


def _trace_again() -> None:
    """Drop the graphs of compiled blocks and functions, which have no casts: the next call traces each again."""
    trace_again()
    for found in gc.get_objects():
        # by the class alone: asking a proxy would ask what it stands for. A `SymbolBlock` is its graph
        if issubclass(type(found), HybridBlock) and not issubclass(type(found), SymbolBlock):
            found._clear_cached_op()


#: Functions of arrays or numbers that are written by hand; the operators that they apply are named after them.
_OF_TWO = (
    *("maximum", "minimum", "equal", "not_equal", "greater", "greater_equal", "lesser", "lesser_equal"),
    *("logical_and", "logical_or", "logical_xor"),
)


# symbols


def _with_casts(rules: Rules, is_loss: bool, node: SymbolNode) -> SymbolNode:
    """The node, with its operands cast."""
    if is_loss:
        logging.warning("%s does not support dynamic loss scaling in symbolic and hybridized execution.", node.op_name)
    params = node.bind().params
    kind = rules.kind(node.op_name, lambda key: str(params.get(key)))
    # A state that the operator writes stays the variable itself: writes to a cast would be lost.
    cast = [k for k in range(len(node.inputs)) if k not in node.written]
    if not kind or not cast:
        return node
    inputs = list(node.inputs)
    if kind == "widest":
        if len(cast) < 2:
            return node
        name = NameManager.current.get(None, amp_multicast.title)
        several = SymbolNode(amp_multicast.title, name, {"num_outputs": str(len(cast))}, [inputs[k] for k in cast])
        for place, k in enumerate(cast):
            inputs[k] = Head(several, place)
    else:
        dtype = rules.dtype if kind == "half" else "float32"
        for k in cast:
            name = NameManager.current.get(None, amp_cast.title)
            inputs[k] = Head(SymbolNode(amp_cast.title, name, {"dtype": dtype}, [inputs[k]]), 0)
    return copied(node, tuple(inputs))


# arrays


def _replace_functions(rules: Rules, names: Iterable[str], losses: Iterable[str]) -> None:
    """Replace the functions of these operators everywhere that they can be found, and the methods of arrays."""
    names, losses = {*names}, {*losses}
    replaced: dict[Callable[..., object], Callable[..., object]] = {}
    for space, module in NAMESPACES.items():
        for name in dir(module):
            title = _title(space, name)
            if title in names or title in losses:
                old = getattr(module, name)
                replaced[old] = _casting(old, title, rules, title in losses)
    for name in dir(nd):
        if name in NAMES and not name.startswith("_") and NAMES[name].title in names | losses:
            old = getattr(nd, name)
            # One wrapper for each function, however many names it has.
            replaced.setdefault(old, _casting(old, NAMES[name].title, rules, NAMES[name].title in losses))
    for name in _OF_TWO:
        function = getattr(nd, name)
        replaced[function] = _casting_two(function, (f"broadcast_{name}", f"_{name}_scalar", f"_{name}_scalar"), rules)
    # the proxies of `import mxnet` remember the functions that scripts have used
    proxies = [module for name, module in list(sys.modules.items()) if name.partition(".")[0] == "mxnet"]
    for module in (nd, *NAMESPACES.values(), *proxies):
        for name, value in list(vars(module).items()):
            if inspect.isroutine(value) and value in replaced:
                setattr(module, name, replaced[value])
    _replace_operators(rules, names)
    for title in names:
        method = NAMES[title].method_name
        if method and title not in losses:
            setattr(NDArray, method, _casting(getattr(NDArray, method), title, rules, False))


def _replace_operators(rules: Rules, names: set[str]) -> None:
    """Replace Python's operators of arrays."""
    for name, op in (ARITHMETIC | COMPARISON).items():
        operators = op.symbolic.symbol
        if not operators:
            continue  # of whole numbers
        for special, reverse in ((f"__{name}__", False), (f"__r{name}__", True)):
            if hasattr(NDArray, special):
                setattr(NDArray, special, _casting_two(getattr(NDArray, special), operators, rules, reverse))
        if hasattr(NDArray, f"__i{name}__"):
            setattr(NDArray, f"__i{name}__", _casting_into(getattr(NDArray, f"__i{name}__")))
    for name, op in UNARY.items():
        if op.title in names:
            setattr(NDArray, f"__{name}__", _casting(getattr(NDArray, f"__{name}__"), op.title, rules, False))


def _title(space: str, name: str) -> str:
    found = registered_name(space, name)
    return "" if found is None else NAMES[found].title


def _casting(function: Callable[..., object], title: str, rules: Rules, is_loss: bool) -> Callable[..., object]:
    """The function with its operands cast."""
    names = list(inspect.signature(function).parameters)
    # Only rules that depend on a parameter must be looked up in each call.
    constant = rules.kind(title, lambda key: None) if title not in rules.conditional else None

    @functools.wraps(function)
    def cast_first(*args: Any, **kwargs: Any) -> object:
        kind = constant
        if kind is None:
            bound = {**dict(zip(names, args, strict=False)), **kwargs}
            kind = rules.kind(title, lambda key: str(bound.get(key)))
        if is_loss and STATE.scaler is not None:
            # These operators make their own gradients and ignore that of the scaled loss, so the factor is passed as a parameter.
            kwargs["grad_scale"] = float(kwargs.get("grad_scale", 1.0)) * STATE.scaler.loss_scale
        keys = [k for k, v in kwargs.items() if k != "out" and isinstance(v, NDArray)]
        places = [k for k, v in enumerate(args) if isinstance(v, NDArray)]
        arrays = _cast([*(args[k] for k in places), *(kwargs[k] for k in keys)], kind, rules.dtype)
        new = list(args)
        for k, array in zip(places, arrays, strict=False):
            new[k] = array
        kwargs.update(zip(keys, arrays[len(places) :], strict=True))
        return function(*new, **kwargs)

    return cast_first


def _casting_two(function: Callable[..., object], names: Sequence[str], rules: Rules, reverse: bool = False) -> Callable[..., object]:
    """A function of two arrays or numbers with its operands cast.

    ``names`` are the operators for two arrays, for an array and a number, and for a number and an array; of `dot`, only the first.
    """
    of_arrays, *beside_number = [rules.kind(NAMES[n].title, lambda key: None) for n in names]
    before_number, after_number = beside_number or ("", "")

    @functools.wraps(function)
    def cast_first(*args: Any, **kwargs: Any) -> object:
        operands = [*args, *kwargs.values()]
        arrays = [v for v in operands if isinstance(v, NDArray)]
        if len(arrays) == 2:
            kind = of_arrays
        else:
            kind = after_number if reverse or not isinstance((*operands, None)[0], NDArray) else before_number
        cast = iter(_cast(arrays, kind, rules.dtype))
        new = [next(cast) if isinstance(v, NDArray) else v for v in operands]
        return function(*new[: len(args)], **dict(zip(kwargs, new[len(args) :], strict=True)))

    return cast_first


def _casting_into(function: Callable[[NDArray, object], object]) -> Callable[[NDArray, object], object]:
    """An operator in place with its operand cast to the dtype that the array keeps."""

    @functools.wraps(function)
    def cast_first(self: NDArray, other: object) -> object:
        if isinstance(other, NDArray) and other._dtype != self._dtype and {self._dtype, other._dtype} <= {*CAST}:
            other = nd.amp_cast(other, dtype=self._dtype)
        return function(self, other)

    return cast_first


def _cast(arrays: list[NDArray], kind: str, half: str) -> list[NDArray]:
    if kind == "widest":
        dtypes = {a._dtype for a in arrays if a._dtype in CAST}
        return list(nd.amp_multicast(*arrays, num_outputs=len(arrays))) if len(dtypes) > 1 else arrays
    if not kind:
        return arrays
    dtype = half if kind == "half" else "float32"
    return [nd.amp_cast(a, dtype=dtype) if a._dtype in CAST and a._dtype != dtype else a for a in arrays]
