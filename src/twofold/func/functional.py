"""Blocks as functions of their parameters."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager

from ..dtype import dtype_name
from ..errors import ParameterError, ShapeError, WrongArgument
from ..gluon.block import Block
from ..gluon.copies import RENEWALS, Copies
from ..gluon.parameter import Parameter
from ..imperative.cell import wrap
from ..ndarray.array import NDArray
from ..plurals import counted
from .pytree import Tree
from .traced_calls import as_array, cell_value


def functional_call(block: Block, params: Mapping[str, object], *args: Tree, **options: Tree) -> Tree:
    """Call a block with other arrays in place of its parameters.

    Parameters
    ----------
    block
        The block, hybridized or not.
    params
        Arrays by the names in ``block.collect_params()``, each of the parameter's shape. Parameters that are not named keep their own.
        The block computes in the arrays' dtype, whatever that of its parameters.
    *args, **options
        What the block is called with.

    Returns
    -------
    pytree
        What the block returns. States that it writes, such as moving averages, are written in copies of these arrays and lost.

    Raises
    ------
    ParameterError
        If the block has no parameter of a name.
    ShapeError
        If an array has another shape than the parameter.

    Examples
    --------
    >>> import twofold as mx
    >>> net = mx.gluon.nn.Dense(1, in_units=2, use_bias=False, prefix="line_")
    >>> net.initialize()
    >>> def loss(params, x):
    ...     return mx.func.functional_call(net, params, x).sum()
    >>> mx.func.grad(loss)({"line_weight": mx.nd.ones((1, 2))}, mx.nd.array([[3, 4]]))
    {'line_weight':
    [[3. 4.]]
    <NDArray 1x2 @cpu(0)>}
    """
    own = dict(block.collect_params().items())
    if unknown := [name for name in params if name not in own]:
        raise ParameterError("functional_call: the block has no such parameter", ", ".join(unknown), f"it has {', '.join(own)}")
    lent = {own[name]: wrap(NDArray, cell_value(as_array("functional_call", value))) for name, value in params.items()}
    with _lent(lent):
        try:
            return block(*args, **options)
        except (ParameterError, TypeError) as error:
            if len(args) != 1 or not isinstance(args[0], tuple):
                raise
            # as `torch.func.functional_call` takes them
            given = f"a tuple of {counted(len(args[0]), 'object')}"
            what = "functional_call: the block does not take its inputs in a tuple"
            raise WrongArgument(what, given, "pass them one by one: functional_call(net, params, x)") from error


@contextmanager
def _lent(arrays: Mapping[Parameter, NDArray]) -> Iterator[None]:
    """A scope in which parameters have other arrays."""
    for parameter, array in arrays.items():
        shape = parameter.shape
        if shape is not None and all(n > 0 for n in shape) and array.shape != (shape or (1,)):
            raise ShapeError(f"functional_call: {parameter.name} has another shape", f"{array.shape} for {shape}", "pass one of its shape")
    before = {parameter: (parameter._copies, parameter._dtype) for parameter in arrays}
    try:
        for parameter, array in arrays.items():
            parameter._copies = Copies.lent(array)
            if dtype_name(parameter._dtype) != array._dtype:
                parameter.var()  # made before, so that a graph traced here says the parameter's own dtype
                parameter._dtype = array._dtype  # blocks cast their inputs to the dtype of their parameters
        yield
    finally:
        # hybridized blocks hold the parameters' arrays, too: the count tells them to look again
        for parameter, (copies, dtype) in before.items():
            parameter._copies, parameter._dtype = copies, dtype
        RENEWALS.count += 1
