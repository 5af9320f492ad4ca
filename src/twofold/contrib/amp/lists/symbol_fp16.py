"""The lists for float16."""

from ....ops.precision import CONDITIONAL as CONDITIONAL_FP32_FUNCS
from ....ops.precision import EITHER as FP16_FP32_FUNCS
from ....ops.precision import HALF as FP16_FUNCS
from ....ops.precision import LOSSES as LOSS_OUTPUT_FUNCTIONS
from ....ops.precision import SINGLE as FP32_FUNCS
from ....ops.precision import WIDEST as WIDEST_TYPE_CASTS

__all__ = ["CONDITIONAL_FP32_FUNCS", "FP16_FP32_FUNCS", "FP16_FUNCS", "FP32_FUNCS", "LOSS_OUTPUT_FUNCTIONS", "WIDEST_TYPE_CASTS"]
