"""``mx.operator``: operators written by users in Python (``CustomOp``). The public face of `twofold.ndarray.custom`."""

from .ndarray.custom import CustomOp, CustomOpProp, get_all_registered_operators, register

__all__ = ["CustomOp", "CustomOpProp", "get_all_registered_operators", "register"]
