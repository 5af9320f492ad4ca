"""``mx.contrib.tensorboard``: metrics as curves of TensorBoard."""

from importlib import import_module
from importlib.util import find_spec
from os import PathLike
from typing import Any

from ..checkpoint import BatchEndParam
from ..errors import MissingDependency

__all__ = ["LogMetricsCallback"]

#: Packages whose ``SummaryWriter`` writes TensorBoard's files, in order of preference; MXNet used the first.
WRITERS = ("mxboard", "tensorboardX")


class LogMetricsCallback:
    """A callback that writes the metric to TensorBoard's files, for the end of batches or of an evaluation.

    Parameters
    ----------
    logging_dir
        The folder of the files; a new one for each run, so that TensorBoard shows runs side by side.
    prefix
        Prefix of the metrics' names, such as ``"train"``.

    Raises
    ------
    MissingDependency
        If neither ``mxboard`` nor ``tensorboardX`` is installed.

    Notes
    -----
    The horizontal axis is the epoch. ``tensorboard --logdir=…`` shows the curves.
    """

    def __init__(self, logging_dir: str | PathLike[str], prefix: str | None = None) -> None:
        self.prefix = prefix
        package = next((name for name in WRITERS if find_spec(name) is not None), None)
        if package is None:
            raise MissingDependency.of("tensorboardX", "LogMetricsCallback", "tensorboardX")
        self.summary_writer: Any = import_module(package).SummaryWriter(logging_dir)

    def __call__(self, param: BatchEndParam) -> None:
        """Write the metric's values."""
        if param.eval_metric is None:
            return
        for name, value in param.eval_metric.get_name_value():
            tag = name if self.prefix is None else f"{self.prefix}-{name}"
            self.summary_writer.add_scalar(tag, value, global_step=param.epoch)
