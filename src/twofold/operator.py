"""``mx.operator``: operators written by users in Python (``CustomOp``), and the arguments of all operators. A public face."""

from .ndarray.custom import CustomOp, CustomOpProp, register
from .ndarray.operator_arguments import OperatorArguments, get_all_registered_operators, get_operator_arguments
from .symbol.python_op import NDArrayOp, NumpyOp, PythonOp

__all__ = [
    "CustomOp",
    "CustomOpProp",
    "NDArrayOp",
    "NumpyOp",
    "OperatorArguments",
    "PythonOp",
    "get_all_registered_operators",
    "get_operator_arguments",
    "register",
]
