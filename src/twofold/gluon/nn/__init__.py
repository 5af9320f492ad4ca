"""``gluon.nn``: layers of neural networks."""

from ...suggestions import lookup as _lookup
from ..block import Block
from ..hybrid_block import HybridBlock
from ..symbol_block import SymbolBlock
from .activations import ELU, GELU, SELU, Activation, LeakyReLU, PReLU, SiLU, Swish
from .attention import KeyValueCache, LearnedPositions, MultiHeadAttention, RotaryPositions
from .basic_layers import Dense, Dropout, Embedding, Flatten
from .containers import HybridLambda, HybridSequential, Lambda, Sequential
from .convolution import Conv1D, Conv1DTranspose, Conv2D, Conv2DTranspose, Conv3D, Conv3DTranspose, DepthwiseSeparableConv2D
from .normalization import BatchNorm, BatchNormReLU, GroupNorm, InstanceNorm, LayerNorm, RMSNorm
from .pooling import (
    AdaptiveAvgPool1D,
    AdaptiveAvgPool2D,
    AvgPool1D,
    AvgPool2D,
    AvgPool3D,
    GlobalAvgPool1D,
    GlobalAvgPool2D,
    GlobalAvgPool3D,
    GlobalMaxPool1D,
    GlobalMaxPool2D,
    GlobalMaxPool3D,
    MaxPool1D,
    MaxPool2D,
    MaxPool3D,
    ReflectionPad2D,
)
from .transformer import DropPath, SwiGLU, TransformerDecoderLayer, TransformerEncoderLayer

__all__ = [
    "ELU",
    "GELU",
    "SELU",
    "Activation",
    "AdaptiveAvgPool1D",
    "AdaptiveAvgPool2D",
    "AvgPool1D",
    "AvgPool2D",
    "AvgPool3D",
    "BatchNorm",
    "BatchNormReLU",
    "Block",
    "Conv1D",
    "Conv1DTranspose",
    "Conv2D",
    "Conv2DTranspose",
    "Conv3D",
    "Conv3DTranspose",
    "Dense",
    "DepthwiseSeparableConv2D",
    "DropPath",
    "Dropout",
    "Embedding",
    "Flatten",
    "GlobalAvgPool1D",
    "GlobalAvgPool2D",
    "GlobalAvgPool3D",
    "GlobalMaxPool1D",
    "GlobalMaxPool2D",
    "GlobalMaxPool3D",
    "GroupNorm",
    "HybridBlock",
    "HybridLambda",
    "HybridSequential",
    "InstanceNorm",
    "KeyValueCache",
    "Lambda",
    "LayerNorm",
    "LeakyReLU",
    "LearnedPositions",
    "MaxPool1D",
    "MaxPool2D",
    "MaxPool3D",
    "MultiHeadAttention",
    "PReLU",
    "RMSNorm",
    "ReflectionPad2D",
    "RotaryPositions",
    "Sequential",
    "SiLU",
    "SwiGLU",
    "Swish",
    "SymbolBlock",
    "TransformerDecoderLayer",
    "TransformerEncoderLayer",
]

__getattr__ = _lookup(__name__, __all__, "gluon.nn")
