"""`Optimizer`: per-weight learning rates and decays, update counts, float32 master copies of 16-bit weights; the registry."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import TYPE_CHECKING, Any, ClassVar, TypeAlias, TypeVar

from .. import ndarray as nd
from .. import registry
from ..dtype import HALVES
from ..errors import InvalidValue, MXNetError, ParameterError, Undefined, WrongType
from ..extension_points import shown_as_text, shown_in_notebooks
from ..lr_scheduler import LRScheduler
from ..ndarray.array import NDArray
from ..origin import warn
from ..suggestions import did_you_mean
from .argument_errors import check_arguments, check_arrays, check_numbers, classic, wrong_argument
from .attempt import Attempt
from .hyperparameters import Common, Scaling

if TYPE_CHECKING:
    from ..symbol.symbol import Symbol

#: Number or name of a weight.
Index = int | str
Indices = Index | Sequence[Index]
Weights = NDArray | Sequence[NDArray]
#: An optimizer's state for a weight, or for each weight in a list.
State: TypeAlias = "NDArray | tuple[State, ...] | list[State] | None"
Multipliers = Mapping[int, float] | Mapping[str, float] | Mapping[Index, float]

Kind = TypeVar("Kind", bound="type[Optimizer]")


class HasScheduler(ParameterError, UserWarning):
    """The learning rate cannot be set because a scheduler sets it; MXNet raises UserWarning."""


class Optimizer:
    """Base class of optimizers. Subclasses define `create_state` and `update`.

    Parameters
    ----------
    rescale_grad
        Factor applied to gradients first, such as 1 / batch size.
    param_idx2name
        Dict from parameter index to name. Parameters whose names do not end in ``_weight`` or ``_gamma`` get no weight decay.
    wd
        Weight decay: the multiple of the weight that is added to its gradient.
    clip_gradient
        Clip rescaled gradients to [-clip_gradient, clip_gradient]; None for no clipping.
    learning_rate
        The learning rate, 0.01 if None. With a scheduler, its base learning rate.
    lr_scheduler
        The learning rate as a function of the number of updates.
    sym
        Symbol whose variables' ``lr_mult`` and ``wd_mult`` attributes are used.
    begin_num_update
        Initial update count of every weight.
    multi_precision
        Keep a float32 master copy of each 16-bit weight and update that.
    param_dict
        Dict from index to parameter; a parameter's ``lr_mult`` and ``wd_mult`` take precedence over all others.
    """

    #: Optimizers by lower-case name.
    opt_registry: ClassVar[dict[str, type["Optimizer"]]] = {}
    #: How many weights an updater passes to `update` at once, as lists; 0 to pass them one at a time.
    aggregate_num: int = 0
    #: How many arrays of the weight's shape, zeros at first, `create_state` makes for a weight: none, one, or a tuple of several.
    _state_arrays: ClassVar[int] = 0
    #: Whether `_update_one` takes row-sparse gradients; for other optimizers they are made dense.
    takes_rows: bool = False
    __repr__ = shown_as_text("optimizer")
    _repr_html_ = shown_in_notebooks("optimizer")

    #: Names of the attributes that updates change. With them, states files of `Module` continue a run exactly.
    progress_attributes: ClassVar[tuple[str, ...]] = ("num_update", "_all_index_update_counts")

    def __init_subclass__(cls, **kwargs: object) -> None:
        super().__init_subclass__(**kwargs)
        # a user's subclass of an optimizer with lists rarely expects lists: unless it declares so, it gets one weight at a time
        if "update" in vars(cls) and "aggregate_num" not in vars(cls):
            cls.aggregate_num = 0

    def __init__(
        self,
        rescale_grad: float = 1.0,
        param_idx2name: Mapping[int, str] | None = None,
        wd: float = 0.0,
        clip_gradient: float | None = None,
        learning_rate: float | None = None,
        lr_scheduler: LRScheduler | None = None,
        sym: "Symbol | None" = None,
        begin_num_update: int = 0,
        multi_precision: bool = False,
        param_dict: Mapping[Any, object] | None = None,
    ) -> None:
        if param_idx2name is not None and not isinstance(param_idx2name, Mapping):
            raise InvalidValue("Optimizer: param_idx2name should be a dict of param indexes to names", repr(param_idx2name), "pass one")
        self.rescale_grad = rescale_grad
        self.lr_scheduler = lr_scheduler
        #: The rate without a scheduler; None if there is one and no rate was given.
        self.lr: Any = self._initial_rate(learning_rate)
        self.wd = wd
        self.begin_num_update = self.num_update = begin_num_update
        self._all_index_update_counts: dict[int, dict[Index, int]] = {0: {}}
        self._index_update_count = self._all_index_update_counts[0]  # an alias, which MXNet's state files keep
        self.clip_gradient = clip_gradient
        self.multi_precision = multi_precision
        self.aggregate_num = type(self).aggregate_num
        # Names decide on weight decay: `set_wd_mult` below exempts biases by the ends of their names.
        self.idx2name: dict[Index, str] = {**param_idx2name} if param_idx2name else {}
        self.sym_info = () if sym is None else (sym.attr_dict(), sym.list_arguments())
        self.param_dict = param_dict or {}
        self.lr_mult: dict[Any, float] = {}
        self.wd_mult: dict[Any, float] = {}
        # now that names and symbol are known: the multipliers of their attributes, and no decay of biases
        self.set_lr_mult({})
        self.set_wd_mult({})

    def _initial_rate(self, learning_rate: float | None) -> float | None:
        schedule = self.lr_scheduler
        if schedule is None or learning_rate is None:
            return 0.01 if schedule is None and learning_rate is None else learning_rate
        if not callable(schedule):
            raise wrong_argument(self, "lr_scheduler", schedule)
        # a rate that is given, or the optimizer's own, wins over the scheduler's, with a warning, as in MXNet; some schedules keep theirs
        if schedule.base_lr != learning_rate and not hasattr(schedule, "base_lr_orig"):
            warn(
                f"learning rate {schedule.base_lr} of lr_scheduler has been overwritten by learning_rate {learning_rate} of the optimizer: "
                "pass the rate as learning_rate",
            )
        if schedule.base_lr != learning_rate:
            schedule.base_lr = learning_rate
        return learning_rate

    @staticmethod
    def register(klass: Kind) -> Kind:
        """Class decorator: register a subclass under its lower-case name.

        Parameters
        ----------
        klass
            A subclass of `Optimizer`.
        """
        if not isinstance(klass, type):
            raise WrongType("optimizer.register: not a class", type(klass).__name__, "decorate a subclass of Optimizer")
        registry.enter(Optimizer.opt_registry, klass.__name__.lower(), klass, "optimizer")
        return klass

    @staticmethod
    def create_optimizer(name: str, **kwargs: Any) -> "Optimizer":
        """Create an optimizer by its registered name, ignoring case.

        Raises
        ------
        ParameterError
            If no optimizer has that name, or text is given as a number.
        """
        found = Optimizer.opt_registry.get(name.lower())
        if found is None:
            names = Optimizer.opt_registry
            todo = did_you_mean(name.lower(), names, f"use one of {', '.join(names)}, or register yours")
            raise ParameterError(f"Cannot find optimizer {name}", None, todo)
        check_arguments(found, kwargs)
        optimizer = found(**kwargs)
        check_numbers(optimizer, **kwargs)
        return optimizer

    # for subclasses to define

    def create_state(self, index: Index, weight: NDArray) -> State:
        """Create the state of a weight: None, an array, or a tuple of these.

        Parameters
        ----------
        index
            Index or name of the weight.
        weight
            The weight.
        """
        # MXNet's files hold a single array by itself, not as a tuple of one
        arrays = tuple(zeros_like(weight) for _ in range(self._state_arrays))
        return arrays if len(arrays) > 1 else next(iter(arrays), None)

    def update(self, index: Indices, weight: Weights, grad: Weights, state: State) -> None:
        """Update a weight and its state in place.

        Parameters
        ----------
        index, weight, grad, state
            Index or name of the weight, the weight, its gradient of the same shape, and its state from `create_state`. If
            ``aggregate_num`` is above 0, lists of up to that many of each.
        """
        for i, w, g, s in each(index, weight, grad, state):
            # a plain NDArray is dense, which most gradients are
            with Attempt(self, (i,)):
                self._update_one(i, w, g if g.__class__ is NDArray or self.takes_rows else g.tostype("default"), s)

    def _update_one(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        raise Undefined(f"{type(self).__name__} does not update weights", None, "define update(self, index, weight, grad, state) in it")

    def _aggregates_all(self) -> bool:
        """Whether `update` accepts all weights of one dtype in one call, regardless of `aggregate_num`."""
        return False

    # 16-bit weights

    def _has_master(self, weight: NDArray) -> bool:
        """Whether the state of a weight includes a float32 master copy."""
        return self.multi_precision and weight._dtype in HALVES

    def create_state_multi_precision(self, index: Index, weight: NDArray) -> State:
        """Like `create_state`; for a 16-bit weight with ``multi_precision``, (float32 master copy, its state)."""
        if self._has_master(weight):
            master = weight.astype("float32")
            return master, self.create_state(index, master)
        if weight._dtype in HALVES:
            warn(
                f"an optimizer that accumulates in {weight._dtype} can lead to poor accuracy or slow convergence; "
                "consider multi_precision=True",
            )
        return self.create_state(index, weight)

    def update_multi_precision(self, index: Indices, weight: Weights, grad: Weights, state: State) -> None:
        """Like `update`, for states from `create_state_multi_precision`."""
        weights: Any = weight if isinstance(weight, (list, tuple)) else (weight,)
        if not self.multi_precision or not any(map(self._has_master, weights)):
            self.update(index, weight, grad, state)
            return
        for i, w, g, s in each(index, weight, grad, state):
            if self._has_master(w):
                with Attempt(self, (i,)):
                    self._update_through_master(i, w, g, s)
            else:
                self.update(i, w, g, s)

    def _update_through_master(self, index: Index, weight: NDArray, grad: NDArray, state: Any) -> None:
        # steps much smaller than a 16-bit weight's last digit would vanish; they add up in the master copy
        master, own = state
        self.update(index, master, grad.astype("float32"), own)
        weight[:] = master.astype(weight._dtype)

    # learning rate and decay

    @property
    def learning_rate(self) -> float:
        """The learning rate at the current number of updates, before multipliers."""
        if self.lr_scheduler is None:
            return 0.01 if self.lr is None else self.lr  # the scheduler may have been removed
        if not callable(self.lr_scheduler):
            raise wrong_argument(self, "lr_scheduler", self.lr_scheduler)
        return self.lr_scheduler(self.num_update)

    def set_learning_rate(self, lr: float) -> None:
        """Set the learning rate.

        Raises
        ------
        ParameterError
            If the optimizer has a scheduler.
        """
        if self.lr_scheduler is not None:
            raise HasScheduler("set_learning_rate: the optimizer's lr_scheduler sets the learning rate", None, "set lr_scheduler.base_lr")
        self.lr = lr

    def set_lr_mult(self, args_lr_mult: Multipliers) -> None:
        """Set learning rate multipliers.

        Parameters
        ----------
        args_lr_mult
            Dict from parameter name or index to multiplier. Other parameters use the attribute of the symbol's variable, or 1.
        """
        self.lr_mult = {**self._attributes("__lr_mult__"), **args_lr_mult}

    def set_lr_scale(self, args_lrscale: Multipliers) -> None:
        """Removed in MXNet 0.9 in favor of `set_lr_mult`.

        Raises
        ------
        MXNetError
            Always.
        """
        raise MXNetError("set_lr_scale was removed in MXNet 0.9", str(dict(args_lrscale)), "use set_lr_mult")

    def set_wd_mult(self, args_wd_mult: Multipliers) -> None:
        """Set weight decay multipliers.

        Parameters
        ----------
        args_wd_mult
            Dict from parameter name or index to multiplier. Other parameters use the attribute of the symbol's variable;
            without one, 1 if the name ends in ``_weight`` or ``_gamma``, else 0.
        """
        # decay pulls towards 0, which makes no sense for a unit's offset
        without = {name: 0.0 for name in self.idx2name.values() if not self._is_decayed(name)}
        self.wd_mult = {**without, **self._attributes("__wd_mult__"), **args_wd_mult}

    def _is_decayed(self, name: str) -> bool:
        return name.endswith(("_weight", "_gamma"))

    def _attributes(self, key: str) -> dict[str, float]:
        if not self.sym_info:
            return {}
        attributes, names = self.sym_info
        return {name: float(attributes[name][key]) for name in names if key in attributes.get(name, {})}

    def _get_lr(self, index: Index) -> float:
        """The learning rate of a weight."""
        return self._get_lrs([index])[0]

    def _get_lrs(self, indices: Sequence[Index]) -> list[float]:
        """The learning rates of several weights."""
        # the schedule is called once: a user's scheduler may change its state with each call
        return self._multiples(self.learning_rate, indices, "lr_mult")

    def _get_wd(self, index: Index) -> float:
        """The weight decay of a weight."""
        return self._get_wds([index])[0]

    def _get_wds(self, indices: Sequence[Index]) -> list[float]:
        """The weight decays of several weights."""
        return self._multiples(self.wd, indices, "wd_mult")

    def _multiples(self, value: float, indices: Sequence[Index], which: str) -> list[float]:
        """The product of a value and each weight's multiplier: its parameter's, or else that of its index or name, or else 1."""
        # 0 times anything: most runs have no weight decay
        if not value:
            return [value] * len(indices)
        if isinstance(value, (str, LRScheduler)):
            raise wrong_argument(self, "wd" if which == "wd_mult" else "learning_rate", value)
        parameters, names = self.param_dict, self.idx2name
        multipliers: dict[Index, float] = getattr(self, which)
        found = []
        for index in indices:
            # Gluon's multipliers come first: a user may set them on a parameter at any time
            parameter = parameters.get(index)
            if parameter is not None:
                factor = getattr(parameter, which)
            elif index in multipliers:
                factor = multipliers[index]
            else:
                factor = multipliers.get(names.get(index, index), 1.0)
            found.append(value * factor)
        return found

    # update counts

    def _set_current_context(self, device_id: int) -> None:
        """Switch to the update counts of a device: each device counts the updates of its own copies."""
        self._index_update_count = self._all_index_update_counts.setdefault(device_id, {})

    def _update_count(self, index: Any) -> None:
        """Count an update of one weight or of each weight in a list."""
        counts = self._index_update_count
        for i in index if isinstance(index, (list, tuple)) else (index,):
            counts[i] = number = counts.get(i, self.begin_num_update) + 1
            # schedules read the largest count: devices, and weights that rarely get a gradient, count fewer updates
            if number > self.num_update:
                self.num_update = number

    def get_progress(self) -> dict[str, object]:
        """The attributes that updates have changed in the optimizer: the `progress_attributes` by name."""
        return {name: getattr(self, name) for name in self.progress_attributes}

    def set_progress(self, progress: Mapping[str, object]) -> None:
        """Continue after the updates of another run. Learning rate and other parameters do not change.

        Parameters
        ----------
        progress
            A result of `get_progress`; entries that this class does not use are ignored.
        """
        for name in self.progress_attributes:
            if name in progress:
                setattr(self, name, progress[name])
        # the alias again: `setattr` has replaced the table that it referred to
        self._index_update_count = self._all_index_update_counts.setdefault(0, {})

    def move_progress(self, rekeyed: Callable[[Mapping[Any, Any]], dict[Any, Any]], device_ids: Iterable[int]) -> None:
        """Adapt the progress to weights on other devices.

        Parameters
        ----------
        rekeyed
            Gives a table that is keyed by weights the keys that they have from now on.
        device_ids
            Ids of the devices.
        """
        # a weight that was moved before is still counted at its old place, with an old value
        counts: dict[Index, int] = {}
        for table in self._all_index_update_counts.values():
            for index, number in table.items():
                counts[index] = max(number, counts.get(index, 0))
        # Device 0 is always there, as in a new optimizer: `_index_update_count` starts as its table.
        self._all_index_update_counts = {device_id: rekeyed(counts) for device_id in {0, *device_ids}}
        self._index_update_count = self._all_index_update_counts[0]

    # shared by subclasses

    def _begin(self, index: Index) -> tuple[float, float, int]:
        """Count an update of a weight; return its learning rate, weight decay and update count."""
        self._update_count(index)
        return self._get_lr(index), self._get_wd(index), self._index_update_count[index]

    def _begin_all(self, indices: Sequence[Index]) -> list[tuple[float, float, int]]:
        """`_begin` for several weights."""
        if len(indices) == 1:
            return [self._begin(indices[0])]
        self._update_count(indices)
        return list(zip(self._get_lrs(indices), self._get_wds(indices), map(self._index_update_count.__getitem__, indices), strict=True))

    def _scaling(self) -> Scaling:
        # MXNet's operators read a negative bound as no bound, and its optimizers pass no bound for 0
        return {"rescale_grad": self.rescale_grad, "clip_gradient": self.clip_gradient or -1.0}

    def _common(self, lr: float, wd: float) -> Common:
        return {"lr": lr, "wd": wd, **self._scaling()}

    def _scaled(self, grad: NDArray) -> NDArray:
        """The gradient, rescaled and clipped."""
        return self._clipped(grad * self.rescale_grad)

    def _clipped(self, grad: NDArray) -> NDArray:
        bound = self.clip_gradient
        return grad if bound is None else nd.clip(grad, -bound, bound)

    def __getstate__(self) -> dict[str, object]:
        # parameters are not pickled with their optimizer: they are saved on their own
        return {name: value for name, value in vars(self).items() if name != "param_dict"}

    def __setstate__(self, state: dict[str, object]) -> None:
        vars(self).update(state)
        self.param_dict = {}


def each(index: Indices, weight: Weights, grad: Weights, state: State) -> Iterator[tuple[Index, NDArray, NDArray, Any]]:
    """(index, weight, gradient, state) of each weight, given one of each or lists of them."""
    columns: Any = (index, weight, grad, state) if isinstance(index, (list, tuple)) else ([index], [weight], [grad], [state])
    check_arrays(*columns[1], *columns[2])
    return zip(*map(classic, columns), strict=True)


def zeros_like(weight: NDArray) -> NDArray:
    """Zeros of the weight's shape and dtype, on its device."""
    return nd.zeros(weight.shape, ctx=weight.context, dtype=weight._dtype)


register = Optimizer.register
create = Optimizer.create_optimizer
