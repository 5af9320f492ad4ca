"""Which operators compute in which precision: the lists for a 16-bit dtype, and a user's own choice among them."""

from collections.abc import Callable, Sequence
from typing import NamedTuple

from ...dtype import DTypeLike, dtype_name
from ...errors import InvalidValue
from ...opdef import NAMES
from ...ops.precision import JOINING
from .lists import symbol_bf16, symbol_fp16

Conditions = Sequence[tuple[str, str, Sequence[str]]]


def _is_brain(target_dtype: DTypeLike) -> bool:
    name = dtype_name(target_dtype)
    if name not in ("float16", "bfloat16"):
        raise InvalidValue("amp: not supported type", name, "pass float16 or bfloat16")
    return name == "bfloat16"


def list_lp16_ops(target_dtype: DTypeLike) -> list[str]:
    """The operators that compute in the 16-bit dtype, ``"float16"`` or ``"bfloat16"``."""
    return symbol_bf16.BF16_FUNCS if _is_brain(target_dtype) else symbol_fp16.FP16_FUNCS


def list_fp32_ops(target_dtype: DTypeLike) -> list[str]:
    """The operators that compute in float32."""
    return symbol_bf16.FP32_FUNCS if _is_brain(target_dtype) else symbol_fp16.FP32_FUNCS


def list_lp16_fp32_ops(target_dtype: DTypeLike) -> list[str]:
    """The operators that compute in the dtype of their inputs."""
    return symbol_bf16.BF16_FP32_FUNCS if _is_brain(target_dtype) else symbol_fp16.FP16_FP32_FUNCS


def list_conditional_fp32_ops(target_dtype: DTypeLike) -> list[tuple[str, str, list[str]]]:
    """The operators that compute in float32 for some values of a parameter: (operator, parameter, values)."""
    return symbol_bf16.CONDITIONAL_FP32_FUNCS if _is_brain(target_dtype) else symbol_fp16.CONDITIONAL_FP32_FUNCS


def list_widest_type_cast(target_dtype: DTypeLike) -> list[str]:
    """The operators that compute in the widest dtype of their inputs."""
    return symbol_bf16.WIDEST_TYPE_CASTS if _is_brain(target_dtype) else symbol_fp16.WIDEST_TYPE_CASTS


def list_loss_output_functions(target_dtype: DTypeLike) -> list[str]:
    """The operators at which gradients start."""
    return symbol_bf16.LOSS_OUTPUT_FUNCTIONS if _is_brain(target_dtype) else symbol_fp16.LOSS_OUTPUT_FUNCTIONS


def list_lp16_use_fp32_params(target_dtype: DTypeLike) -> dict[str, list[str]] | None:
    """The inputs that remain float32 beside 16-bit data, by operator; None for float16."""
    return symbol_bf16.BF16_USE_FP32_PARAMS if _is_brain(target_dtype) else None


class Rules(NamedTuple):
    """The registered names of the operators that are cast, by kind. All are the operators' first names, not aliases."""

    dtype: str
    half: frozenset[str]
    single: frozenset[str]
    widest: frozenset[str]
    #: (parameter, values) for which an operator computes in float32.
    conditional: dict[str, list[tuple[str, frozenset[str]]]]

    def kind(self, name: str, parameter: Callable[[str], str | None]) -> str:
        """``"half"``, ``"single"``, ``"widest"`` or ``""`` for an operator, whose parameters ``parameter(name)`` returns as text."""
        if name in self.half:
            return "half"
        if name in self.single or any(parameter(key) in values for key, values in self.conditional.get(name, ())):
            return "single"
        return "widest" if name in self.widest else ""


def _own_names(names: Sequence[str], others: Sequence[str] = ()) -> frozenset[str]:
    """The operators of those names that Twofold has, by their first names; without those whose first names are in another list.

    Updates of weights are left out: they write into arrays, which keep their dtypes.
    """
    titles = {n: NAMES[n].title for n in names if n in NAMES and not n.endswith("_update")}
    return frozenset(title for name, title in titles.items() if name == title or title not in others)


def rules_for(
    target_dtype: DTypeLike, half: Sequence[str] | None, single: Sequence[str] | None, conditional: Conditions | None, half_name: str
) -> Rules:
    """The rules for a 16-bit dtype, with a user's lists in place of MXNet's.

    Parameters
    ----------
    target_dtype
        The dtype.
    half, single, conditional
        The user's lists; None for the default.
    half_name
        The function's name for the first list, for errors.

    Raises
    ------
    InvalidValue
        If a list is none, names an operator in two lists, or one that is in no list of MXNet.
    """
    for name, given in ((half_name, half), ("fp32_ops", single)):
        if given is not None and (isinstance(given, str) or not all(isinstance(n, str) for n in given)):
            raise InvalidValue(f"{name} should be a list of strs", repr(given), "pass the names of operators")
    if conditional is not None and (isinstance(conditional, str) or not all(_is_condition(c) for c in conditional)):
        raise InvalidValue(
            "conditional_fp32_ops should be a list of (str, str, list of str)", repr(conditional), "pass (operator, parameter, values)"
        )
    low = list_lp16_ops(target_dtype) if half is None else list(half)
    full = list_fp32_ops(target_dtype) if single is None else list(single)
    some = list_conditional_fp32_ops(target_dtype) if conditional is None else conditional
    _check_lists(target_dtype, half, single, low, full, {c[0] for c in some}, half_name)
    cases: dict[str, list[tuple[str, frozenset[str]]]] = {}
    for op, parameter, values in some:
        if op in NAMES:
            cases.setdefault(NAMES[op].title, []).append((parameter, frozenset(values)))
    widest = _own_names([*list_widest_type_cast(target_dtype), *JOINING])
    # for bfloat16, `relu` is not cast, but its alias `_sparse_relu` is listed for float32: what a user lists counts by any name
    wide = _own_names(full, list_lp16_fp32_ops(target_dtype) if single is None else ())
    return Rules(dtype_name(target_dtype), _own_names(low), wide, widest, cases)


def _is_condition(given: object) -> bool:
    return isinstance(given, (tuple, list)) and len(given) == 3 and isinstance(given[0], str) and isinstance(given[2], (tuple, list))


def _check_lists(
    dtype: DTypeLike,
    half: Sequence[str] | None,
    single: Sequence[str] | None,
    low: Sequence[str],
    full: Sequence[str],
    some: set[str],
    half_name: str,
) -> None:
    allowed = {*list_lp16_ops(dtype), *list_fp32_ops(dtype), *list_lp16_fp32_ops(dtype)}
    unknown = sorted({*(half or ()), *(single or ())} - allowed)
    if unknown:
        raise InvalidValue(
            "Can only choose ops from one of the three lists for lp16_ops and fp32_ops",
            ", ".join(unknown),
            "see amp.list_lp16_ops, amp.list_fp32_ops and amp.list_lp16_fp32_ops",
        )
    pairs = ((half_name, low, "fp32_ops", full), (half_name, low, "conditional_fp32_ops", some), ("fp32_ops", full, "conditional", some))
    for one, first, other, second in pairs:
        common = sorted({*first} & {*second})
        if common:
            raise InvalidValue(f"Ops cannot be in two or more lists. Common ops in {one} and {other}", ", ".join(common), "keep one")
