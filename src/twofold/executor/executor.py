"""``Executor``: a graph bound to arrays. Forward, backward, arrays by name, and reports on its programs."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Any, Protocol, TypeAlias, TypeVar

import numpy as np

from ..assembly import inlined
from ..errors import DTypeError, ParameterError, ShapeError, WrongArgument
from ..extension_points import shown_as_text, shown_in_notebooks
from ..graph.memory_plan import MemoryPlans
from ..imperative.array import Array
from ..imperative.cell import ALWAYS, Value
from ..imperative.invoke import data_of, device_of
from ..imperative.storage import SparseValue, array_of, dense_array
from ..imperative.transfer import store
from ..ndarray.array import NDArray
from ..plurals import counted
from ..program.compile import Program
from ..strictness import tolerate
from ..suggestions import ByName, did_you_mean
from .part import Key, MonitoredName, Part
from .transport import add_contents

Monitor = Callable[[str, NDArray], None]
#: Head gradients: of the only output, in the order of the outputs, or by name; None means ones.
Heads: TypeAlias = Array | Sequence[Array | None] | Mapping[str, Array | None] | None
ArrayT = TypeVar("ArrayT", bound=Array)


def head_gradients(given: ArrayT | Sequence[ArrayT | None] | None, outputs: int) -> list[ArrayT | None]:
    """One head gradient for each output, None where there is none. What is left over is ignored with a warning, as MXNet ignores it."""
    heads: list[ArrayT | None] = [given] if isinstance(given, Array) else list(given or ())
    if len(heads) > outputs:
        tolerate("backward: more head gradients than outputs", f"{len(heads)} for {outputs}", "pass one for each output")
    return [*heads[:outputs], *[None] * (outputs - len(heads))]


class GraphRunner(Protocol):
    """Runs an executor's graph: a `part_runner.PartRunner` if all shapes are known, else a `symbol.segment_runner.SegmentRunner`."""

    def parts(self, training: bool) -> list[Part]:
        """The parts that are compiled, none if the graph cannot be typed before it runs."""
        ...

    def blank(self, keys: Sequence[Key]) -> list[NDArray]:
        """The outputs before the first run: zeros."""
        ...

    def forward(self, training: bool, keep: bool) -> dict[Key, object]:
        """Compute the values that others read, by key; with ``keep`` for a later `backward`."""
        ...

    def backward(self, training: bool, heads: Iterable[tuple[Key, object]]) -> dict[Key, object]:
        """The gradients of the values that the graph reads, by key, for given head gradients; None means ones."""
        ...

    def internals(self, training: bool) -> Iterator[tuple[str, bool, NDArray]]:
        """(name, whether a node reads it, value) of all inner values."""
        ...

    def gradients(self, training: bool, heads: Iterable[tuple[Key, object]]) -> Iterator[tuple[str, NDArray]]:
        """(name, value) of all gradients inside the graph, as `backward` computes them for the same head gradients."""
        ...


class BoundGraph(Protocol):
    """The interface through which an executor calls the layer of symbols, which it must not import."""

    def runner(
        self, arguments: Mapping[str, NDArray], gradients: Mapping[str, NDArray | None], states: Mapping[str, NDArray]
    ) -> GraphRunner:
        """What runs the graph on arrays."""
        ...

    def reshape(
        self, executor: "Executor", shapes: Mapping[str, Sequence[int]], partial_shaping: bool, allow_up_sizing: bool
    ) -> "Executor":
        """An executor of the same graph for other shapes."""
        ...

    def debug_str(self) -> str:
        """The graph as text."""
        ...

    def symbol(self) -> object:
        """The graph as a symbol."""
        ...


def _always() -> bool:
    return True


class _Arguments(ByName, what="arg_dict"): ...


class _Gradients(ByName, what="grad_dict"): ...


class _States(ByName, what="aux_dict"): ...


class _Outputs(ByName, what="output_dict"): ...


class Executor:
    """A graph bound to arrays, created by ``Symbol.bind`` and ``Symbol.simple_bind``.

    Parameters
    ----------
    source
        Provides the typed graph.
    arguments, gradients, states
        Arrays by name, in order; None for arguments without a gradient.
    requests
        ``"write"``, ``"add"`` or ``"null"`` for each argument.
    outputs
        Names of the outputs, and the exchanged values that they are.

    Attributes
    ----------
    arg_dict, grad_dict, aux_dict
        The arrays by name. Every run reads them: write new values into them.
    arg_arrays, grad_arrays, aux_arrays
        The same arrays in the order of the arguments and auxiliary states; None for arguments without a gradient.
    grad_req
        The requests by argument.
    """

    # descriptors of the class, as MXNet's properties are, without the frame of a property
    __slots__ = ("__dict__", "__weakref__", "arg_arrays", "arg_dict", "aux_arrays", "aux_dict", "grad_arrays", "grad_dict", "grad_req")
    arg_dict: dict[str, NDArray]
    grad_dict: dict[str, NDArray | None]
    aux_dict: dict[str, NDArray]

    def __init__(
        self,
        source: BoundGraph,
        arguments: dict[str, NDArray],
        gradients: dict[str, NDArray | None],
        states: dict[str, NDArray],
        requests: dict[str, str],
        outputs: Sequence[tuple[str, Key]],
    ) -> None:
        self.arg_dict, self.grad_dict = _Arguments(arguments), _Gradients(gradients)
        self.aux_dict, self.grad_req = _States(states), requests
        self.arg_arrays, self.grad_arrays, self.aux_arrays = [*arguments.values()], [*gradients.values()], [*states.values()]
        self._source, self._names, self._keys = source, [name for name, _ in outputs], [key for _, key in outputs]
        self._run = source.runner(self.arg_dict, self.grad_dict, self.aux_dict)
        wanted = [(name, gradients[name]) for name, request in requests.items() if request != "null"]
        self._targets = [(("arg", name), target) for name, target in wanted if target is not None]
        self._has_backward = bool(wanted)  # backward also updates states, whether or not there are arrays for the gradients
        # a symbol may name one value as two outputs, and each of their arrays may be written
        self._repeated = {key for key in self._keys if self._keys.count(key) > 1}
        #: Created by the first run or read. From then on each run rebinds the same cells, which callers may hold.
        self._outputs: list[NDArray] | None = None
        self._output_dict: dict[str, NDArray] | None = None  # MXNet's programs read it
        self._monitor: tuple[Monitor, bool] | None = None
        #: Whether the monitor wants this run's values, which are computed for it alone.
        self._is_monitored: Callable[[], bool] = _always
        #: The requests and devices of groups as they were passed.
        self._grad_req: object = requests
        self._group2ctx: object = None

    __repr__ = shown_as_text("executor")
    _repr_html_ = shown_in_notebooks("executor")

    @property
    def outputs(self) -> list[NDArray]:
        """The outputs: the same array objects after every run, zeros before the first."""
        if self._outputs is None:
            self._outputs = self._run.blank(self._keys)
        return self._outputs

    @property
    def output_dict(self) -> dict[str, NDArray]:
        """The outputs by name."""
        self._output_dict = _Outputs(zip(self._names, self.outputs, strict=True))
        return self._output_dict

    def forward(self, is_train: bool = False, **kwargs: NDArray | np.ndarray) -> list[NDArray]:
        """Compute the outputs.

        Parameters
        ----------
        is_train
            Whether operators run in training mode; `backward` then needs no second pass.
        **kwargs
            New values of arguments, by name: arrays of the arguments' shapes.

        Returns
        -------
        list
            The outputs.

        Raises
        ------
        DTypeError
            If a name is not an argument, or a value not an array.
        ShapeError
            If the shape of a value differs from that of its argument.
        """
        for name, value in kwargs.items():
            self._feed(name, value)
        made = self._run.forward(bool(is_train), keep=bool(is_train) and self._has_backward)
        # an output that occurs twice is one content: as a shared Value, a write into one of its arrays does not change the other
        for key in self._repeated:
            if made[key].__class__ is not SparseValue:
                made[key] = Value(data_of(made[key]), None, None, device_of(made[key]), ALWAYS)
        if self._outputs is None:
            self._outputs = [array_of(made[key]) for key in self._keys]
        else:
            for cell, key in zip(self._outputs, self._keys, strict=True):  # rebound, since callers hold these array objects
                cell._held = made[key]
        if self._monitor is not None and self._is_monitored():
            callback, everything = self._monitor
            for name, is_input, value in self._run.internals(bool(is_train)):
                if everything or not is_input:
                    callback(MonitoredName(name), value)
        return self._outputs

    def _feed(self, name: str, value: object) -> None:
        if name not in self.arg_dict:
            raise DTypeError(
                f"Unknown argument {name}", None, did_you_mean(name, self.arg_dict, f"the arguments are {', '.join(self.arg_dict)}")
            )
        target = self.arg_dict[name]
        if not isinstance(value, (Array, np.ndarray)):
            raise WrongArgument(
                "forward: only accepts NDArray and numpy.ndarray", f"{name}: {type(value).__name__}", "convert it to an array"
            )
        if tuple(value.shape) != target.shape:
            raise ShapeError(f"Shape not match! Argument {name}, need: {target.shape}", str(value.shape), "reshape the executor")
        target[:] = value

    @inlined
    def backward(self, out_grads: Heads = None, is_train: bool = True) -> None:
        """Compute the gradients of the arguments into the gradient arrays, and update states such as moving averages.

        Parameters
        ----------
        out_grads
            Head gradients: one array, a list with one for each output, or a dictionary by output name. Missing ones, and None, mean
            ones. Loss operators such as SoftmaxOutput ignore theirs.
        is_train
            Whether to differentiate in training mode. If the last forward ran in the other mode, it is rerun.

        Raises
        ------
        ShapeError
            If the shape of a head gradient differs from that of its output.
        """
        heads = [None] * len(self._names) if out_grads is None else self._heads(out_grads)
        if not self._has_backward:
            return
        if self._monitor is not None and self._is_monitored():
            for name, value in self._run.gradients(bool(is_train), zip(self._keys, heads, strict=True)):
                self._monitor[0](MonitoredName(name), value)
        grads = self._run.backward(bool(is_train), zip(self._keys, heads, strict=True))
        for key, target in self._targets:
            content = grads.get(key)
            if content is None:
                # outputs that are integers carry no gradient, which is zero; beside those with one, masks keep what their arrays hold
                integers = all(grads.get(k) is None for k, _ in self._targets)
                if integers and self.grad_req[key[1]] == "write" and target.stype == "default":
                    target[:] = 0
                continue
            if self.grad_req[key[1]] == "add":
                content = add_contents(target._content, content)
            store(target, content)

    def _heads(self, given: Heads) -> list[Value | None]:
        """The content of one head gradient, or None, for each output."""
        if isinstance(given, Mapping):
            unknown = ", ".join(sorted(set(given) - set(self._names)))
            if unknown:
                raise ParameterError("backward: unknown output", unknown, f"the outputs are {', '.join(self._names)}")
            given = [given.get(name) for name in self._names]
        heads = head_gradients(given, len(self._names))
        for head, name, out in zip(heads, self._names, self.outputs, strict=True):
            if head is not None and head.shape != out.shape:
                raise ShapeError(
                    f"backward: the head gradient of {name} has a different shape",
                    f"{head.shape} for {out.shape}",
                    "pass one of the same shape",
                )
        dense: list[Array | None] = [dense_array(h) for h in heads]
        return [None if h is None else h.astype(o.dtype, copy=False)._capture() for h, o in zip(dense, self.outputs, strict=True)]

    def copy_params_from(
        self, arg_params: Mapping[str, NDArray], aux_params: Mapping[str, NDArray] | None = None, allow_extra_params: bool = False
    ) -> None:
        """Copy values into the arguments' and states' arrays.

        Parameters
        ----------
        arg_params, aux_params
            Arrays by name; they are cast to the dtypes of their targets.
        allow_extra_params
            Whether to ignore names that the executor lacks.

        Raises
        ------
        ParameterError
            If there is such a name and it is not to be ignored.
        """
        for what, given, own in (("arguments", arg_params, self.arg_dict), ("auxiliary states", aux_params or {}, self.aux_dict)):
            for name, array in given.items():
                if name in own:
                    array.astype(own[name].dtype, copy=False).copyto(own[name])
                elif not allow_extra_params:
                    raise ParameterError(f'Find name "{name}" that is not in the {what}', None, "pass allow_extra_params=True to ignore it")

    def reshape(self, partial_shaping: bool = False, allow_up_sizing: bool = False, **kwargs: Sequence[int]) -> "Executor":
        """Create an executor of the same graph for other shapes. Arrays whose shape stays the same are shared.

        Parameters
        ----------
        partial_shaping
            Whether arguments that are not named may change their shapes.
        allow_up_sizing
            Whether arrays may become larger.
        **kwargs
            New shapes of arguments.

        Raises
        ------
        ShapeError
            If an argument would change in a way that is not allowed.
        """
        return self._source.reshape(self, kwargs, partial_shaping, allow_up_sizing)

    def set_monitor_callback(self, callback: Monitor | None, monitor_all: bool = False) -> None:
        """Set a function to be called with the name and value of every inner output in each forward, and of every gradient in backward.

        Parameters
        ----------
        callback
            ``callback(name, array)``; None removes it. The name is a string with a method ``decode``, as MXNet passes bytes.
        monitor_all
            Whether to report the inputs of nodes too, as ``<node>_<input>`` or, of operators whose inputs have no names in MXNet,
            ``<node>_input0``.
        """
        self._monitor, self._is_monitored = None if callback is None else (callback, monitor_all), _always

    # inspection

    def get_optimized_symbol(self) -> Any:
        """The symbol that is bound. Its optimization happens later, on typed graphs: `explain` shows the programs that run."""
        return self._source.symbol()

    def debug_str(self) -> str:
        """The graph as text."""
        return self._source.debug_str()

    def programs(self) -> Iterator[tuple[str, Program]]:
        """The compiled programs with their titles, such as ``"forward on cpu(0)"``."""
        for number, part in enumerate(self._run.parts(False)):
            yield f"forward on {part.device}" + (f", part {number}" if number else ""), part.inference
        for number, part in enumerate(self._run.parts(True) if self._has_backward else ()):
            place = f"{part.device}" + (f", part {number}" if number else "")
            yield f"training forward on {place}", part.forward
            kinds = tuple([1 if part.makes[k][0] in self._keys else None for k in part.training.heads])
            yield f"backward on {place}", part.backward(kinds)

    def result_names(self) -> dict[str, list[str]]:
        """The names of the first results of each program, by its title: outputs, gradients and states; empty if a result has no name."""
        outputs = dict(zip(self._keys, self._names, strict=True))
        parts = [*self._run.parts(False), *(self._run.parts(True) if self._has_backward else ())]
        made = [[outputs.get(key, "") for key, _ in part.makes] + [name for name, _ in part.written] for part in parts]
        backward = [[f"gradient of {key[1]}" for key in part.wanted] + [name for name, _ in part.updates] for part in parts]
        # in the order of `programs`: of each part that trains, backward follows forward
        first = len(self._run.parts(False))
        found = made[:first] + [names for pair in zip(made[first:], backward[first:], strict=True) for names in pair]
        return {title: names for (title, _), names in zip(self.programs(), found, strict=True)}

    def explain(self) -> str:
        """A report of what runs: for each direction and device the steps, fused ones joined by ``+``, and their memory."""
        rewritten = sum(part.stabilised for part in self._run.parts(self._has_backward))
        lines = [f"{counted(rewritten, 'formula')} rewritten to stable ones"] if rewritten else []
        for name, program in self.programs():
            lines.append(f"{name}: {counted(len(program.steps), 'step')}, {counted(len(program.kernels), 'fused kernel')}")
            lines += [] if program.launcher is None else [f"  {program.launcher.state}"]
            lines += [f"  {line}" for line in [*program.explain().splitlines(), *str(program.plan).splitlines()]]
        return "\n".join(lines)

    def memory_plan(self) -> MemoryPlans:
        """The memory plans of the programs by title, such as ``"forward on cpu(0)"``: a dict that prints as tables."""
        return MemoryPlans({name: program.plan for name, program in self.programs()})
