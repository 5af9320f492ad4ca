"""``mx.contrib.quantization``: models with 8-bit weights and values, which multiply integers.

Files and weights take a quarter of the memory. With the extra ``jit``, on x86 processors with instructions for 8-bit integers (VNNI),
layers take a half to a sixth of the time of float32 layers. Elsewhere the products are exact sums of float32 numbers, which save no
time.
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
