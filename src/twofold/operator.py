"""``mx.operator``: operators written by users in Python (``CustomOp``), and the arguments of all operators. A public face."""

from .ndarray.custom import CustomOp, CustomOpProp, get_all_registered_operators, register
from .ndarray.operator_arguments import OperatorArguments, get_operator_arguments

__all__ = ["CustomOp", "CustomOpProp", "OperatorArguments", "get_all_registered_operators", "get_operator_arguments", "register"]
