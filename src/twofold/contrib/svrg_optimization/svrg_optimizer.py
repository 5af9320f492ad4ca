"""MXNet's optimizers for `SVRGModule` on a key-value store, by the names under which they are registered.

`SVRGModule` needs neither: it corrects the gradients before the update. They serve programs that create them by name.
"""

import inspect
import re
from typing import Any

from ...ndarray.array import NDArray
from ...optimizer.base import Index, Optimizer, State, create, register

__all__: list[str] = []


@register
class _AssignmentOptimizer(Optimizer):
    """Assigns gradients to weights."""

    def create_state(self, index: Index, weight: NDArray) -> State:
        """None: there is no state."""
        return None

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Write the gradient into the weight."""
        weight[:] = grad


@register
class _SVRGOptimizer(Optimizer):
    """Updates weights by another optimizer; weights whose names end in ``_full`` get their gradients assigned.

    Parameters
    ----------
    default_optimizer
        The other optimizer, or its name.
    **kwargs
        Its parameters, among them ``param_idx2name`` with the names of the weights.
    """

    def __init__(self, default_optimizer: str | Optimizer, **kwargs: Any) -> None:
        own = inspect.signature(Optimizer.__init__).parameters
        super().__init__(**{name: value for name, value in kwargs.items() if name in own})
        self.default_opt = create(default_optimizer, **kwargs) if isinstance(default_optimizer, str) else default_optimizer
        self.aux_opt = _AssignmentOptimizer()

    def _optimizer_of(self, index: Index) -> Optimizer:
        name = index if isinstance(index, str) else self.idx2name[index]
        return self.aux_opt if re.search(r"_full$", name) else self.default_opt

    def create_state(self, index: Index, weight: NDArray) -> State:
        """The state that the weight's optimizer keeps."""
        return self._optimizer_of(index).create_state(index, weight)

    def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
        """Update a weight by its optimizer."""
        self._optimizer_of(index).update(index, weight, grad, state)
