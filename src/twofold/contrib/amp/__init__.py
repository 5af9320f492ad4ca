"""``mx.contrib.amp``: automatic mixed precision. Products in 16 bits, what needs the range in float32, and a scale for the loss."""

from . import lists, loss_scaler
from .conversion import convert_bucketing_module, convert_hybrid_block, convert_model, convert_symbol
from .listing import (
    list_conditional_fp32_ops,
    list_fp32_ops,
    list_loss_output_functions,
    list_lp16_fp32_ops,
    list_lp16_ops,
    list_lp16_use_fp32_params,
    list_widest_type_cast,
)
from .start import init
from .training import init_trainer, scale_loss, unscale

__all__ = [
    "convert_bucketing_module",
    "convert_hybrid_block",
    "convert_model",
    "convert_symbol",
    "init",
    "init_trainer",
    "list_conditional_fp32_ops",
    "list_fp32_ops",
    "list_loss_output_functions",
    "list_lp16_fp32_ops",
    "list_lp16_ops",
    "list_lp16_use_fp32_params",
    "list_widest_type_cast",
    "lists",
    "loss_scaler",
    "scale_loss",
    "unscale",
]
