"""`PythonOp`, `NumpyOp`, `NDArrayOp`: operators written by users as instances, from before `CustomOp`."""

from collections.abc import Callable, Sequence
from itertools import count
from typing import Any, ClassVar

import numpy as np

from ..device import Device
from ..errors import Undefined
from ..ndarray.array import NDArray
from ..ndarray.custom import REGISTERED, CustomOp, CustomOpProp
from .custom import Custom
from .naming import NameManager
from .symbol import Symbol

__all__ = ["NDArrayOp", "NumpyOp", "PythonOp"]

#: Numbers the classes made by `PythonOp._node`, each of which is registered under a different name.
_numbers = count()
Shapes = list[list[int]]


class PythonOp:
    """Base class of operators that are instances: subclass `NumpyOp` or `NDArrayOp`, and call the instance with symbols.

    Parameters
    ----------
    need_top_grad
        Whether `backward` reads head gradients (False for losses).
    """

    def __init__(self, need_top_grad: bool = True) -> None:
        self.need_top_grad_ = need_top_grad

    def __call__(self, *args: Symbol, **kwargs: object) -> Symbol:
        """A node that applies the operator; see `NumpyOp.get_symbol`."""
        return self.get_symbol(*args, **kwargs)

    def get_symbol(self, *args: Symbol, **kwargs: object) -> Symbol:
        """A node that applies the operator; defined by `NumpyOp` and `NDArrayOp`."""
        raise Undefined("Must override this", type(self).__name__, "derive it from NumpyOp, NDArrayOp or CustomOp")

    def _node(self, prefix: str, args: Sequence[Symbol], kwargs: dict[str, Any]) -> Symbol:
        # each node gets a separate class, because the class refers to this instance
        prop = type(f"{type(self).__name__}Prop", (_Prop,), {"own": self})
        op_type = f"_{type(self).__name__}{next(_numbers)}"
        REGISTERED[op_type] = prop
        name = NameManager.current.get(kwargs.pop("name", None), prefix)
        return Custom(*args, op_type=op_type, name=name, **kwargs)

    def forward(self, in_data: Sequence[Any], out_data: Sequence[Any]) -> None:
        """Compute the results and write them into ``out_data``; the first operand by default."""
        out_data[0][:] = in_data[0]

    def backward(self, out_grad: Sequence[Any], in_data: Sequence[Any], out_data: Sequence[Any], in_grad: Sequence[Any]) -> None:
        """Compute the gradients of the operands and write them into ``in_grad``; ones by default."""
        in_grad[0][:] = 1.0

    def infer_shape(self, in_shape: Shapes) -> tuple[Sequence[Sequence[int]], Sequence[Sequence[int]]]:
        """Shapes of the operands and of the results, given those of the operands."""
        return in_shape, [in_shape[0]]

    def list_outputs(self) -> list[str]:
        """Names of the results."""
        return ["output"]

    def list_arguments(self) -> list[str]:
        """Names of the operands."""
        return ["data"]

    def need_top_grad(self) -> bool:
        """Whether `backward` reads head gradients."""
        return self.need_top_grad_

    def _run(self, compute: Callable[..., None], given: Sequence[Sequence[NDArray]], results: Sequence[NDArray]) -> None:
        """Call `forward` or `backward`."""
        compute(*given, results)


class NumpyOp(PythonOp):
    """An operator on NumPy arrays: `forward` and `backward` get them, and write into the last of their arguments.

    Examples
    --------
    >>> import numpy as np
    >>> import twofold as mx
    >>> class Softmax(mx.operator.NumpyOp):
    ...     def __init__(self):
    ...         super().__init__(need_top_grad=False)
    ...
    ...     def list_arguments(self):
    ...         return ["data", "label"]
    ...
    ...     def infer_shape(self, in_shape):
    ...         return [in_shape[0], in_shape[0][:1]], [in_shape[0]]
    ...
    ...     def forward(self, in_data, out_data):
    ...         e = np.exp(in_data[0] - in_data[0].max(axis=1, keepdims=True))
    ...         out_data[0][:] = e / e.sum(axis=1, keepdims=True)
    ...
    ...     def backward(self, out_grad, in_data, out_data, in_grad):
    ...         in_grad[0][:] = out_data[0]
    ...         in_grad[0][np.arange(len(in_data[1])), in_data[1].astype(int)] -= 1
    >>> softmax = Softmax()(mx.sym.Variable("data"), name="softmax")
    >>> softmax.list_arguments()
    ['data', 'softmax_label']
    >>> executor = softmax.simple_bind(mx.cpu(), data=(1, 2))
    >>> executor.forward(is_train=True)[0].asnumpy().tolist()
    [[0.5, 0.5]]
    >>> executor.backward()
    >>> executor.grad_dict["data"].asnumpy().tolist()
    [[-0.5, 0.5]]
    """

    def get_symbol(self, *args: Symbol, **kwargs: object) -> Symbol:
        """A node that applies the operator.

        Parameters
        ----------
        *args
            Its operands, in the order of `list_arguments`; or by keyword. Variables are created for those left out.
        **kwargs
            Operands by name, and ``name`` and ``attr`` of the node.
        """
        return self._node("_native", args, kwargs)

    def _run(self, compute: Callable[..., None], given: Sequence[Sequence[NDArray]], results: Sequence[NDArray]) -> None:
        host = [np.zeros(array.shape, array.dtype) for array in results]
        compute(*[[array.asnumpy() for array in part] for part in given], host)
        # The user's method has written into NumPy arrays of the same shapes; the device's arrays get copies.
        for target, array in zip(results, host, strict=True):
            target[:] = array


class NDArrayOp(PythonOp):
    """An operator on arrays of ``mx.nd``: `forward` and `backward` get them, and write to the last ones."""

    def get_symbol(self, *args: Symbol, **kwargs: object) -> Symbol:
        """A node that applies the operator; see `NumpyOp.get_symbol`."""
        return self._node("_ndarray", args, kwargs)

    def declare_backward_dependency(self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]) -> list[int]:
        """The arrays that `backward` reads, by the numbers given here; all of them by default."""
        return [*(out_grad if self.need_top_grad() else ()), *in_data, *out_data]


class _Prop(CustomOpProp):
    """The interface of an instance as that of a custom operator."""

    own: ClassVar[PythonOp]

    def __init__(self) -> None:
        super().__init__(need_top_grad=self.own.need_top_grad())

    def list_arguments(self) -> list[str]:
        return list(self.own.list_arguments())

    def list_outputs(self) -> list[str]:
        return list(self.own.list_outputs())

    def infer_shape(self, in_shape: Shapes) -> tuple[Sequence[Sequence[int]], ...]:
        operands, results = self.own.infer_shape(in_shape)
        return operands, results, []

    def declare_backward_dependency(self, out_grad: Sequence[int], in_data: Sequence[int], out_data: Sequence[int]) -> list[int]:
        if isinstance(self.own, NDArrayOp):
            return self.own.declare_backward_dependency(out_grad, in_data, out_data)
        return super().declare_backward_dependency(out_grad, in_data, out_data)

    def create_operator(self, ctx: Device, in_shapes: list[list[int]], in_dtypes: list[int]) -> CustomOp:
        return _Computation(self.own)


class _Computation(CustomOp):
    """Calls an instance."""

    def __init__(self, own: PythonOp) -> None:
        self._own = own

    def forward(self, is_train: bool, req: list[str], in_data: list[NDArray], out_data: list[NDArray], aux: list[NDArray]) -> None:
        self._own._run(self._own.forward, [in_data], out_data)

    def backward(
        self,
        req: list[str],
        out_grad: list[NDArray],
        in_data: list[NDArray],
        out_data: list[NDArray],
        in_grad: list[NDArray],
        aux: list[NDArray],
    ) -> None:
        self._own._run(self._own.backward, [out_grad, in_data, out_data], in_grad)
