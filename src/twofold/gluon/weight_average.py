"""`WeightAverage`: a running average of parameters, to be used in their place."""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any

from ..errors import ParameterError
from .parameter import Parameter


class WeightAverage:
    """The exponential moving average of parameters, which often predicts better than the last values.

    Parameters
    ----------
    params
        Initialized parameters, such as ``net.collect_params()``. Only those with a gradient are averaged.
    decay
        Share of the average that an update keeps, in [0, 1).
    warm_up
        Whether the share starts small, as ``(1 + updates) / (10 + updates)``, so that the first values are soon forgotten.

    Raises
    ------
    ParameterError
        If ``decay`` is outside of [0, 1).

    Examples
    --------
    >>> import twofold as mx
    >>> net = mx.gluon.nn.Dense(1, in_units=1, use_bias=False)
    >>> net.initialize(mx.init.One())
    >>> average = mx.gluon.WeightAverage(net.collect_params(), decay=0.5)
    >>> net.weight.set_data(mx.nd.array([[3.0]]))
    >>> average.update()
    >>> with average.applied():
    ...     float(net(mx.nd.ones((1, 1))).asscalar())
    2.0
    >>> float(net(mx.nd.ones((1, 1))).asscalar())
    3.0
    """

    def __init__(self, params: Mapping[str, Parameter], decay: float = 0.999, warm_up: bool = False) -> None:
        if not 0 <= decay < 1:
            raise ParameterError("WeightAverage: decay is a share", decay, "pass a number in [0, 1)")
        self._decay, self._warm_up, self._updates = decay, warm_up, 0
        # copies on every device, so that an update needs no transfer
        self._params = [p for p in params.values() if p.grad_req != "null"]
        self._averages: list[list[Any]] = [[a.copy() for a in p.list_data()] for p in self._params]

    def update(self) -> None:
        """Move the average towards the present values. Call it after each step of training."""
        self._updates += 1
        # early on, the first values would dominate: (1 + n) / (10 + n) is the share that TensorFlow's averages keep
        keep = min(self._decay, (1 + self._updates) / (10 + self._updates)) if self._warm_up else self._decay
        for parameter, averages in zip(self._params, self._averages, strict=True):
            for data, average in zip(parameter.list_data(), averages, strict=True):
                average[:] = keep * average + (1 - keep) * data

    @contextmanager
    def applied(self) -> Iterator[None]:
        """A scope in which the parameters have the averages as values."""
        before = [[a.copy() for a in p.list_data()] for p in self._params]
        try:
            self._write(self._averages)
            yield
        finally:
            self._write(before)

    def _write(self, values: list[list[Any]]) -> None:
        for parameter, arrays in zip(self._params, values, strict=True):
            own: Any = parameter.list_data()
            for data, value in zip(own, arrays, strict=True):
                data[:] = value
