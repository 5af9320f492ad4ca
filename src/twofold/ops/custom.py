"""Operators that run user code: forward and backward calls of a Python object, the ``handle``, that is passed in at run time.

The handle is an ordinary input, so calls of the same structure share a program but not their state.
"""

from ..errors import AutogradError
from ..opdef import Static, primitive


@primitive(
    outputs=lambda types, needs, label: len(types), dynamic_shape=True, run_by_program=True, user_method="forward", adds_gradient=True
)
def user_forward(xp, handle, *arrays, types: Static, needs: Static, label: str):
    """``handle.forward(arrays)``: results of the given ``types``.

    Parameters
    ----------
    handle, arrays
        The object and its operands.
    types
        (shape, dtype) of each result.
    needs
        The arrays that the object's backward reads besides the head gradients: positions among the operands, then the results.
    label
        Its name in messages.
    """


user_forward.type(lambda handle, *arrays, types, needs, label: list(types))


@user_forward.grad
def _(xp, dout, out, handle, arrays, *, types, needs, label):
    outs = out if isinstance(out, tuple) else (out,)
    douts = dout if isinstance(dout, tuple) else (dout,)
    # user code expects an array for every result, also for one that has no gradient
    heads = [xp.zeros(o.shape, o.dtype) if d is None else d for d, o in zip(douts, outs, strict=True)]
    # `needs` numbers the operands first and then the results
    saved = (*arrays, *outs)
    operands = [*heads, *(saved[k] for k in needs)]
    grads = xp.user_backward(handle, *operands, types=tuple((a.shape, a.dtype) for a in arrays), label=label)
    return None, *(grads if isinstance(grads, tuple) else (grads,))


@primitive(outputs=lambda types, label: len(types), dynamic_shape=True, run_by_program=True, user_method="backward")
def user_backward(xp, handle, *arrays, types: Static, label: str):
    """``handle.backward(head gradients, operands, results)``: a gradient for each operand of the forward call."""


user_backward.type(lambda handle, *arrays, types, label: list(types))


@user_backward.grad
def _(xp, dout, *, label):
    given = "the gradient of a gradient"
    raise AutogradError(f"{label}: its gradients cannot be differentiated", given, "write it with operators, or without create_graph")
