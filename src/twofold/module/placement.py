"""`GroupLayout`: the graph and the devices of a module's executors, which do not depend on the shapes of batches."""

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field

from ..device import Device, devices_of
from ..errors import ParameterError
from ..symbol.symbol import Symbol
from .data_shapes import Requests

#: Devices by ``ctx_group``, or one such dict per device of a module.
Groups = Mapping[str, Device | Sequence[Device]] | Sequence[Mapping[str, Device]]


@dataclass(frozen=True, eq=False)
class GroupLayout:
    """The part of a group's description that does not depend on shapes.

    Attributes
    ----------
    symbol
        The symbol to compute.
    contexts, workload
        The devices, and their shares of the work.
    param_names, data_names, label_names, state_names, fixed_param_names
        The roles of the symbol's arguments; fixed parameters get no gradient.
    for_training, inputs_need_grad
        Whether gradients of parameters, and of data, are needed.
    grad_req
        ``"write"``, ``"add"`` or ``"null"``: one for all, one per argument in order, or by name.
    groups
        For each device of the module, the device of each ``ctx_group``.
    """

    symbol: Symbol
    contexts: Sequence[Device]
    workload: Sequence[float]
    param_names: Sequence[str]
    data_names: Sequence[str]
    label_names: Sequence[str]
    state_names: Sequence[str] = ()
    fixed_param_names: Sequence[str] = ()
    for_training: bool = True
    inputs_need_grad: bool = False
    grad_req: Requests = "write"
    groups: Sequence[Mapping[str, Device]] = field(default=())

    def requests(self) -> dict[str, str]:
        """The gradient request of each argument.

        Raises
        ------
        ParameterError
            If ``grad_req`` is a list whose length differs from the number of arguments.
        """
        arguments = self.symbol.list_arguments()
        if not self.for_training:
            return dict.fromkeys(arguments, "null")
        if isinstance(self.grad_req, (list, tuple)):
            if len(self.grad_req) != len(arguments):
                raise ParameterError(
                    "module: the numbers of grad_req entries and arguments differ",
                    f"{len(self.grad_req)}",
                    f"pass one for each of {', '.join(arguments)}",
                )
            return dict(zip(arguments, self.grad_req, strict=True))
        wanted = {n for n in self.param_names if n not in self.fixed_param_names}
        wanted |= set(self.data_names) if self.inputs_need_grad else set()
        given = self.grad_req if isinstance(self.grad_req, Mapping) else {}
        default = self.grad_req if isinstance(self.grad_req, str) else "write"
        return {n: given.get(n, default if n in wanted else "null") for n in arguments}


def groups_by_device(groups: Groups | None, count: int) -> list[dict[str, Device]]:
    """For each device of a module, the devices of the groups.

    Raises
    ------
    ParameterError
        If the length of a list differs from the number of devices.
    """
    if not groups:
        return []
    if not isinstance(groups, Mapping):
        found = [dict(each) for each in groups]
    else:
        columns = {name: devices_of(place, f"the group {name!r}") for name, place in groups.items()}
        columns = {name: column * count if len(column) == 1 else column for name, column in columns.items()}
        if any(len(column) != count for column in columns.values()):
            raise ParameterError(
                "Module: the lengths of group2ctxs and context differ", repr(groups), f"pass {count} devices for each group"
            )
        found = [{name: column[k] for name, column in columns.items()} for k in range(count)]
    if len(found) != count:
        raise ParameterError(
            "Module: the lengths of group2ctxs and context differ", f"{len(found)} for {count}", "pass one dict per device"
        )
    return found
