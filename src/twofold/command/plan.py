"""``twofold launch --plan``: the cost model's predictions for numbers of workers on a network, before any machine is used.

`job_plan` prints those for a job of some days.
"""

import argparse
import math
from collections.abc import Iterator, Mapping

from .. import symbol
from ..dtype import ITEMSIZE, dtype_name
from ..errors import LaunchError, MXNetError
from ..kvstore.cost_model import Network, TrainingStep, efficiency, network, seconds
from ..ndarray.saving import load
from .job_plan import ENOUGH, job_plan


def print_plan(given: argparse.Namespace) -> int:
    """Print the table of numbers of workers, and a warning where they would mostly wait; return 0.

    Parameters
    ----------
    given
        The parsed arguments.

    Raises
    ------
    LaunchError
        If the network, the model or its size is missing or unknown.
    """
    try:
        over = network(given.network or "10GbE")
        step = TrainingStep(_nbytes(given), (given.step_ms or 0.0) / 1e3)
    except LaunchError:
        raise
    except MXNetError as error:
        raise LaunchError(f"launch: --plan: {error}") from error
    asked: int = given.workers or 0
    if given.days:
        for line in job_plan(given, step, over):
            print(line)
        return 0
    for line in _table(step, over, asked, given.servers or 0):
        print(line)
    if asked > 1 and step.computing:
        best = _best(step, over, asked, given.servers or 0)
        if best < ENOUGH:
            print(f"warning: {asked} workers would compute {best:.0%} of the time: use fewer, a larger batch, or a faster network")
    return 0


def _table(step: TrainingStep, over: Network, asked: int, servers: int) -> Iterator[str]:
    yield f"{step.nbytes / 1e6:g} MB of gradients, {over.name}: {over.latency * 1e6:g} us, {over.bandwidth / 1e9:g} GB/s"
    columns = ["ring", "Rabenseifner", "recursive doubling", "servers = workers", "servers = workers / 4"]
    if servers:
        columns.append(f"{servers} server{'' if servers == 1 else 's'}")
    what = (
        "ms of a step's sums, and the share of the step that computes" if step.computing else "ms of a step's sums (--step-ms for shares)"
    )
    yield what
    yield "workers" + "".join(f"{name:>24}" for name in columns)
    numbers = {2, 4, 8, 16, 32, 64} | ({asked} if asked > 1 else set())
    for workers in sorted(numbers):
        yield f"{workers:7}" + "".join(f"{_cell(step, over, workers, name, servers):>24}" for name in columns)


def _cell(step: TrainingStep, over: Network, workers: int, column: str, servers: int) -> str:
    algorithm, count = _algorithm(column, workers, servers)
    time = f"{seconds(algorithm, workers, step.nbytes, over, count) * 1e3:.3g} ms"
    return f"{time} {efficiency(step, algorithm, workers, over, count):5.0%}" if step.computing else time


def _algorithm(column: str, workers: int, servers: int) -> tuple[str, int]:
    """The algorithm of a column, and its number of servers."""
    if "server" not in column:
        return column, 0
    return "servers", {"servers = workers": workers, "servers = workers / 4": max(1, workers // 4)}.get(column, servers)


def _best(step: TrainingStep, over: Network, workers: int, servers: int) -> float:
    """The share of computing with the given servers, or by MPI's best algorithm."""
    if servers:
        return efficiency(step, "servers", workers, over, servers)
    return max(efficiency(step, name, workers, over) for name in ("ring", "Rabenseifner", "recursive doubling"))


# ---------------------------------------------------------------------------------------------------------- model sizes


def _nbytes(given: argparse.Namespace) -> int:
    if given.bytes:
        return int(given.bytes)
    if not given.model:
        raise LaunchError("launch: --plan: the size of the model is missing", None, "pass --model FILE or --bytes N")
    return _of_symbol(given.model, dict(given.shape)) if given.model.endswith(".json") else _of_parameters(given.model)


def _of_parameters(path: str) -> int:
    arrays = load(path)
    named = arrays.items() if isinstance(arrays, dict) else enumerate(arrays)
    # auxiliary states, such as moving means, have no gradients
    return sum(a.size * ITEMSIZE[dtype_name(a.dtype)] for name, a in named if not str(name).startswith("aux:"))


def _of_symbol(path: str, shapes: Mapping[str, tuple[int, ...]]) -> int:
    net = symbol.load(path)
    unknown = set(shapes) - set(net.list_arguments())
    if unknown:
        todo = f"its inputs and parameters: {', '.join(net.list_arguments()[:5])} …"
        raise LaunchError("launch: --shape: the model has no such input", ", ".join(sorted(unknown)), todo)
    found, _, _ = net.infer_shape_partial(**shapes)
    if found is None or not all(shape and all(shape) for shape in found):
        raise LaunchError("launch: --plan: shapes of inputs are missing", path, "pass --shape data=32,3,224,224")
    # without shapes, all arguments are taken to be float32; with shapes, the parameters' dtypes follow from those of the inputs
    kinds, _, _ = net.infer_type(**dict.fromkeys(shapes or net.list_arguments(), "float32"))
    return sum(
        math.prod(shape) * ITEMSIZE[dtype_name(kind)]
        for name, shape, kind in zip(net.list_arguments(), found, kinds or [], strict=True)
        # the remaining arguments are the parameters, whose gradients are summed
        if name not in shapes and not name.endswith("label")
    )
