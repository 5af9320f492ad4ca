"""The keyword arguments that optimizers have in common, and those of the operators that update weights."""

from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypedDict

from ..lr_scheduler import LRScheduler

if TYPE_CHECKING:
    from ..symbol.symbol import Symbol


class UndecayedOptions(TypedDict, total=False):
    """`Options` without the weight decay, for which some optimizers have another default."""

    rescale_grad: float
    param_idx2name: Mapping[int, str] | None
    clip_gradient: float | None
    lr_scheduler: LRScheduler | None
    sym: "Symbol | None"
    begin_num_update: int
    multi_precision: bool
    param_dict: Mapping[Any, object] | None


class Options(UndecayedOptions, total=False):
    """The arguments that every optimizer passes to `Optimizer`, besides the learning rate: some optimizers have another default for it."""

    wd: float


class RateOptions(Options, total=False):
    """All arguments of `Optimizer`."""

    learning_rate: float | None


class Scaling(TypedDict):
    """The parameters that every update operator takes."""

    rescale_grad: float
    clip_gradient: float


class Common(Scaling):
    """The parameters that nearly every update operator takes."""

    lr: float
    wd: float
