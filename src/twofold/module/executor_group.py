"""``DataParallelExecutorGroup``: `DeviceGroup` with the constructor and the methods of MXNet's class, which scripts subclass or create."""

import logging
from collections.abc import Sequence
from types import ModuleType
from typing import Any

from ..device import Device
from ..io.iterator import Shapes, describe
from ..symbol.symbol import Symbol
from .data_shapes import Arrays, Requests
from .device_group import DeviceGroup
from .placement import GroupLayout, Groups, groups_by_device

__all__ = ["DataParallelExecutorGroup"]


class DataParallelExecutorGroup(DeviceGroup):
    """Executors of one symbol on several devices.

    Parameters
    ----------
    symbol
        The symbol.
    contexts, workload
        The devices, and their shares of the work.
    data_shapes, label_shapes
        Descriptions of whole batches; a symbol may have no labels.
    param_names
        The arguments that are parameters.
    for_training, inputs_need_grad
        Whether gradients of parameters, and of data, are needed.
    shared_group
        A group on the same devices with which to share parameters and states.
    logger
        For messages.
    fixed_param_names
        Parameters without a gradient.
    grad_req
        ``"write"``, ``"add"`` or ``"null"``: one for all, one per argument in order, or by name.
    state_names
        The arguments that are states.
    group2ctxs
        The devices of each ``ctx_group``.
    """

    def __init__(
        self,
        symbol: Symbol,
        contexts: Sequence[Device],
        workload: Sequence[float] | None,
        data_shapes: Shapes,
        label_shapes: Shapes | None,
        param_names: Sequence[str],
        for_training: bool,
        inputs_need_grad: bool,
        shared_group: DeviceGroup | None = None,
        logger: logging.Logger | ModuleType = logging,
        fixed_param_names: Sequence[str] | None = None,
        grad_req: Requests = "write",
        state_names: Sequence[str] | None = None,
        group2ctxs: Groups | None = None,
    ) -> None:
        data, labels = describe(data_shapes), describe(label_shapes or [])
        group_layout = GroupLayout(
            symbol,
            contexts,
            [1] * len(contexts) if workload is None else workload,
            param_names,
            [x.name for x in data],
            [x.name for x in labels],
            state_names or (),
            fixed_param_names or (),
            for_training,
            inputs_need_grad,
            grad_req,
            groups_by_device(group2ctxs, len(contexts)) if group2ctxs else (),
        )
        self.logger = logger
        super().__init__(group_layout, data, labels, shared_group)

    @property
    def for_training(self) -> bool:
        """Whether gradients of parameters are computed."""
        return self.group_layout.for_training

    @property
    def workload(self) -> Sequence[float]:
        """The devices' shares of the work."""
        return self.group_layout.workload

    @property
    def grad_req(self) -> dict[str, str]:
        """The gradient request of each argument."""
        return self.group_layout.requests()

    @property
    def arg_names(self) -> list[str]:
        """The symbol's arguments."""
        return self.symbol.list_arguments()

    def get_output_shapes(self) -> list[tuple[str, tuple[int, ...]]]:
        """(name, shape) pairs of the outputs for the whole batch."""
        return self.output_shapes

    def get_states(self, merge_multi_context: bool = True) -> Any:
        """The states for the whole batch, or for each a list of its arrays on the devices."""
        parts = super().get_states()
        return self._merge(parts, [0] * len(parts)) if merge_multi_context else parts

    def get_input_grads(self, merge_multi_context: bool = True) -> Arrays:
        """Gradients with respect to the data for the whole batch, or a list of the devices' parts of each.

        Raises
        ------
        AssertionError
            Unless the group was created with ``inputs_need_grad``.
        """
        assert self.group_layout.inputs_need_grad, "get_input_grads: create the group with inputs_need_grad=True"
        return super().get_input_grads(merge_multi_context)
