"""MXNet's lists of operators by precision, under MXNet's names; the lists themselves are in `ops.precision`."""

from . import symbol_bf16, symbol_fp16

__all__ = ["symbol_bf16", "symbol_fp16"]
