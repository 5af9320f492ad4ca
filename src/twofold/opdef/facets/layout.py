"""The positions of operands' and results' elements in memory: views, orders of axes, images."""

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any

from ..rules import Rule


@dataclass(frozen=True, eq=False)
class Layout:
    """The facts about an operator that writes, the memory plan and the choice of memory layouts use."""

    #: An adapter may write the result over an operand: it reads all operands of an element first.
    may_overwrite: bool = True
    #: An adapter's result is in row-major order (C-contiguous), as every element-wise primitive's is.
    packed: bool = False

    # -- views
    #: A view that keeps the order of elements: that of an array in row-major order is in row-major order too.
    keeps_order: bool = False
    #: A view with the axes in the order of its parameter ``axes``.
    permutes: bool = False
    #: The key with which NumPy's indexing gives this view, from the parameters.
    selects: Callable[..., Any] | None = None
    #: ``strides``: the memory layout of a view, ``(view, **params) -> view``, None if the operation must copy; ``view`` is an
    #: `imperative.strided_view.StridedView`.
    strides_rule: Rule | None = None
    #: ``put_back``: how a write through a view reaches the viewed array, ``(shape of that array, **params) -> bound_op``. The bound
    #: operator is applied to the view's new contents, or to the array and those contents if it takes two arrays. A view without the
    #: rule is read-only.
    put_back_rule: Rule | None = None

    # -- images
    #: Which inputs of a convolution are images (n, c, d…), rather than weights.
    images: tuple[int, ...] = ()
    #: If the operands are images, so is the result.
    gives_image: bool = True
    #: ``channels_last``: the parameters that change for images (n, d…, c), ``(last, *inputs, **params) -> params``, None if there is no
    #: such form. ``last`` moves item 1 of a sequence to the end. Element-wise operators need no rule.
    channels_rule: Rule | None = None
