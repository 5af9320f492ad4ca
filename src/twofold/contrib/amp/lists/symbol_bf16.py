"""The lists for bfloat16."""

from ....ops.precision import BRAIN_EITHER as BF16_FP32_FUNCS
from ....ops.precision import BRAIN_HALF as BF16_FUNCS
from ....ops.precision import BRAIN_SINGLE as FP32_FUNCS
from ....ops.precision import BRAIN_WIDE_INPUTS as BF16_USE_FP32_PARAMS
from ....ops.precision import BRAIN_WIDEST as WIDEST_TYPE_CASTS
from ....ops.precision import CONDITIONAL as CONDITIONAL_FP32_FUNCS
from ....ops.precision import LOSSES as LOSS_OUTPUT_FUNCTIONS

__all__ = [
    "BF16_FP32_FUNCS",
    "BF16_FUNCS",
    "BF16_USE_FP32_PARAMS",
    "CONDITIONAL_FP32_FUNCS",
    "FP32_FUNCS",
    "LOSS_OUTPUT_FUNCTIONS",
    "WIDEST_TYPE_CASTS",
]
