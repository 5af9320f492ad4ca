"""``mx.contrib.autograd``: the interface of ``mx.autograd`` before MXNet 1.0, in which recording and training are one state."""

from collections.abc import Callable, Sequence
from functools import wraps
from typing import Any

from ..autograd import Arrays, HeadGrads, is_recording, is_training, mark_variables, set_recording, set_training
from ..autograd import backward as _backward
from ..errors import WrongType
from ..ndarray.array import NDArray
from ..ndarray.new_arrays import zeros

__all__ = [
    "TrainingStateScope",
    "backward",
    "compute_gradient",
    "grad",
    "grad_and_loss",
    "mark_variables",
    "set_is_training",
    "test_section",
    "train_section",
]


def set_is_training(is_train: bool) -> bool:
    """Turn recording and training mode on or off for this thread; return whether recording was on.

    Parameters
    ----------
    is_train
        Whether to turn them on.
    """
    before = is_recording()
    set_recording(is_train)
    set_training(is_train)
    return before


class TrainingStateScope:
    """A scope in which recording and training mode are on or off.

    Parameters
    ----------
    enter_state
        Whether they are on.
    """

    def __init__(self, enter_state: bool) -> None:
        self._enter_state = enter_state
        self._prev: tuple[bool, bool] | None = None

    def __enter__(self) -> None:
        self._prev = is_recording(), is_training()
        set_is_training(self._enter_state)

    def __exit__(self, ptype: object, value: object, trace: object) -> None:
        if self._prev is not None:
            set_recording(self._prev[0])
            set_training(self._prev[1])


def train_section() -> TrainingStateScope:
    """A scope in which operations are recorded, in training mode.

    Examples
    --------
    >>> import twofold as mx
    >>> x, dx = mx.nd.array([1.0, 2.0]), mx.nd.zeros((2,))
    >>> mx.contrib.autograd.mark_variables([x], [dx])
    >>> with mx.contrib.autograd.train_section():
    ...     y = x * x
    >>> mx.contrib.autograd.backward([y])
    >>> dx.asnumpy().tolist()
    [2.0, 4.0]
    """
    return TrainingStateScope(True)


def test_section() -> TrainingStateScope:
    """A scope in which nothing is recorded, in inference mode; for evaluation inside of `train_section`."""
    return TrainingStateScope(False)


def backward(outputs: Arrays, out_grads: HeadGrads = None, retain_graph: bool = False) -> None:
    """Compute the gradients of recorded arrays with respect to marked ones; see `twofold.autograd.backward`."""
    _backward(outputs, out_grads, retain_graph)


def compute_gradient(outputs: Arrays) -> None:
    """Compute the gradients of recorded arrays. Deprecated; call `backward`."""
    backward(outputs)


def grad_and_loss(func: Callable[..., Any], argnum: int | Sequence[int] | None = None) -> Callable[..., tuple[list[NDArray], Any]]:
    """A function that returns the gradients of ``func`` and its value.

    Parameters
    ----------
    func
        A function of arrays.
    argnum
        The position or positions of the arguments to differentiate with respect to; all if None.

    Returns
    -------
    function
        It takes the same arguments and returns a list of gradients and the value of ``func``.

    Examples
    --------
    >>> import twofold as mx
    >>> gradients, loss = mx.contrib.autograd.grad_and_loss(lambda x: x * x)(mx.nd.array([1.0, 2.0]))
    >>> gradients[0].asnumpy().tolist(), loss.asnumpy().tolist()
    ([2.0, 4.0], [1.0, 4.0])
    """

    @wraps(func)
    def wrapped(*args: NDArray) -> tuple[list[NDArray], Any]:
        places = range(len(args)) if argnum is None else [argnum] if isinstance(argnum, int) else argnum
        variables = [args[place] for place in places]
        for variable in variables:
            if not isinstance(variable, NDArray):
                raise WrongType("type of autograd input should NDArray", type(variable).__name__, "pass arrays")
        gradients = [zeros(variable.shape, ctx=variable.context, dtype=variable.dtype) for variable in variables]
        mark_variables(variables, gradients)
        with train_section():
            outputs = func(*args)
        # Outside of the section, as in MXNet: the gradients themselves are not recorded.
        backward(outputs if isinstance(outputs, (list, tuple)) else [outputs])
        return gradients, outputs

    return wrapped


def grad(func: Callable[..., object], argnum: int | Sequence[int] | None = None) -> Callable[..., list[NDArray]]:
    """A function that returns the gradients of a function; see `grad_and_loss`."""
    both = grad_and_loss(func, argnum)

    @wraps(both)
    def wrapped(*args: NDArray) -> list[NDArray]:
        return both(*args)[0]

    return wrapped
