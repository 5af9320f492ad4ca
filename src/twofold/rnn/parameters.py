"""`RNNParams`: the variables of a cell, created on first use and shared by all steps."""

from typing import Any

from ..symbol import Variable
from ..symbol.symbol import Symbol


class RNNParams:
    """The variables of one or more cells, by name.

    Parameters
    ----------
    prefix
        Prefix of the variables' names.

    Examples
    --------
    >>> import twofold as mx
    >>> params = mx.rnn.RNNParams("encoder_")
    >>> params.get("i2h_weight") is params.get("i2h_weight")
    True
    >>> params.get("i2h_weight").name
    'encoder_i2h_weight'
    """

    def __init__(self, prefix: str = "") -> None:
        self._prefix = prefix
        self._params: dict[str, Symbol] = {}

    def get(self, name: str, **kwargs: Any) -> Symbol:
        """The variable of a name, created on first use.

        Parameters
        ----------
        name
            Its name, without the prefix.
        **kwargs
            Arguments of `twofold.sym.Variable` for a new variable, such as ``init`` or ``shape``.
        """
        full = self._prefix + name
        if full not in self._params:
            self._params[full] = Variable(full, **kwargs)
        return self._params[full]
