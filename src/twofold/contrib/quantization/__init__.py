"""``mx.contrib.quantization``: models with 8-bit weights and values, whose products are those of integers.

Their files and weights take a quarter of the memory. They are not faster than float32 models: the products are computed as exact sums of
float32 numbers by the BLAS library, which has no routine for 8-bit integers.
"""

from .calibration import combine_histogram
from .conversion import calib_graph, quantize_graph, quantize_model, quantize_model_mkldnn
from .networks import quantize_net, quantize_net_v2

__all__ = [
    "calib_graph",
    "combine_histogram",
    "quantize_graph",
    "quantize_model",
    "quantize_model_mkldnn",
    "quantize_net",
    "quantize_net_v2",
]
