"""`load_weights`: arrays of another library, under its names and in its layouts, become the parameters of a block."""

import os
import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import NamedTuple, Protocol, TypeAlias, runtime_checkable

import numpy as np

from .. import ndarray as nd
from ..errors import DTypeError, MXNetError, ParameterError
from ..formats.shards import INDEX
from ..imperative.array import Array
from ..ndarray.array import NDArray
from ..ndarray.torch_files import load_torch
from .block import Block
from .numpy_arrays import as_legacy
from .parameter import Parameter
from .parameter_dict import brief_list, load_all


class WeightRule(NamedTuple):
    r"""One step from the name and layout of an array elsewhere to those of parameters here; see `load_weights`.

    Attributes
    ----------
    pattern
        A regular expression. The rule applies to names that contain it.
    to
        What replaces it, with groups as ``\1``; None: such arrays are left out. A tuple: the array is cut into that many equal parts along
        its first axis, each with a name of its own.
    transpose
        Whether the array's axes are reversed, before it is cut.

    Examples
    --------
    >>> import twofold as mx
    >>> mx.gluon.WeightRule(r"c_attn", ("query", "key", "value"), transpose=True).transpose
    True
    """

    pattern: str
    to: str | tuple[str, ...] | None
    transpose: bool = False


@runtime_checkable
class HostArray(Protocol):
    """An array of another library that NumPy can read."""

    def __array__(self) -> np.ndarray: ...


#: What `load_weights` takes as arrays, and as rules.
Source: TypeAlias = str | os.PathLike[str] | Mapping[str, NDArray | HostArray]
Rules: TypeAlias = Mapping[str, str | tuple[str, ...] | None] | Sequence[WeightRule | tuple[str, str | tuple[str, ...] | None]]


def load_weights(block: Block, source: Source, rules: Rules = (), allow_missing: bool = False, ignore_extra: bool = False) -> None:
    r"""Set a block's parameters to arrays that have other names or layouts.

    Parameters
    ----------
    block
        The block, initialized or not. Its parameters are named by the attributes that lead to them, such as
        ``0.weight`` or ``l0_i2h_weight``; the paths that `Block.save_parameters` writes are known too.
    source
        The arrays by name, Twofold's, NumPy's, or others that NumPy can read, such as tensors of torch on the CPU; or a file of
        safetensors, the index or the folder of a model in several of them, or a file of torch (`twofold.load_torch`).
    rules
        How names become paths: each rule whose regular expression occurs in a name replaces it there, one rule after the other. A dict from
        expressions to replacements, or a list of `WeightRule` or of pairs.
    allow_missing
        Whether to leave parameters that have no array unchanged.
    ignore_extra
        Whether to ignore arrays that belong to no parameter.

    Raises
    ------
    ParameterError
        If names or shapes do not match. The error lists all that are missing, left over, given twice or of another shape, and no parameter
        is changed.

    Notes
    -----
    Arrays are converted to the dtype of their parameters: for those of the file, call ``block.cast`` first.

    Examples
    --------
    >>> import twofold as mx
    >>> net = mx.gluon.nn.HybridSequential()
    >>> net.add(mx.gluon.nn.Dense(2, in_units=3))
    >>> arrays = {"fc.kernel": mx.nd.ones((3, 2)), "fc.bias": mx.nd.zeros(2), "step": mx.nd.ones(1)}
    >>> rules = [("^step$", None), (r"^fc\.", "0."), mx.gluon.WeightRule("kernel", "weight", transpose=True)]
    >>> mx.gluon.load_weights(net, arrays, rules)
    >>> net[0].weight.shape
    (2, 3)
    """
    arrays = source if isinstance(source, Mapping) else _read(source)
    pairs = rules.items() if isinstance(rules, Mapping) else rules
    steps = [rule if isinstance(rule, WeightRule) else WeightRule(rule[0], rule[1]) for rule in pairs]
    by_attribute = _by_attribute(block)
    params = by_attribute | block._collect_params_with_prefix()  # recurrent layers have other paths in files than in Python
    found: dict[str, NDArray] = {}
    faults: list[str] = []
    for name, array in arrays.items():
        for path, part in _renamed(name, array, steps):
            if path in found:
                faults.append(f"{path} is given twice, by {name} as well")
            elif path in params and not params[path]._is_compatible(params[path]._own_shape(part)):
                faults.append(f"{path} has shape {params[path].shape}, and {name} gives {part.shape}")
            found[path] = part
    extra = [path for path in found if path not in params]
    # a parameter that several layers share needs one array
    given = {params[path] for path in found if path in params}
    missing = [path for path, param in by_attribute.items() if param not in given]
    if missing and not allow_missing:
        faults.append(f"no arrays for {brief_list(missing)}")
    if extra and not ignore_extra:
        faults.append(f"no parameters for {brief_list(extra)}")
    if faults:
        raise ParameterError("load_weights: names or shapes do not match", "; ".join(faults), "add rules, allow_missing or ignore_extra")
    load_all([(params[path], part) for path, part in found.items() if path in params], None, cast_dtype=True)


def _by_attribute(block: Block, prefix: str = "") -> dict[str, Parameter]:
    """The parameters by the attributes that lead to them, such as ``0.weight``, or ``l0_i2h_weight`` of a recurrent layer."""
    found = {prefix + name: param for name, param in block._reg_params.items()}
    for name, child in block._children.items():
        found |= _by_attribute(child, f"{prefix}{name}.")
    return found


def _read(source: str | os.PathLike[str]) -> Mapping[str, NDArray]:
    name = os.fspath(source)
    is_safe = name.endswith((".safetensors", ".safetensors" + INDEX)) or os.path.isdir(name)
    arrays = nd.load(source) if is_safe else load_torch(source)
    if not isinstance(arrays, dict):
        raise DTypeError(f"load_weights: {name} is no dict of arrays", type(arrays).__name__, "pass a file of a state_dict")
    return arrays


def _renamed(name: str, array: NDArray | HostArray, rules: Sequence[WeightRule]) -> Iterator[tuple[str, NDArray]]:
    """What becomes of an array: its paths, with the array or its parts."""
    for place, rule in enumerate(rules):
        try:
            if re.search(rule.pattern, name) is None:
                continue
            if rule.to is None:
                return
            names = [re.sub(rule.pattern, to, name) for to in ([rule.to] if isinstance(rule.to, str) else rule.to)]
        except (re.error, IndexError) as error:
            raise ParameterError(f"load_weights: the rule {rule} cannot be applied: {error}", None, "see Python's module re") from None
        for path, part in zip(names, _parts(name, array, rule, len(names)), strict=True):
            yield from _renamed(path, part, rules[place + 1 :])
        return
    yield name, _to_array(name, array)


def _to_array(name: str, value: NDArray | HostArray) -> NDArray:
    """An array of Twofold, from one of any library that NumPy can read.

    Raises
    ------
    DTypeError
        If it is no array.
    """
    if isinstance(value, Array):
        return as_legacy(value)
    if isinstance(value, HostArray):
        host = np.asarray(value)
        return nd.array(host, dtype=host.dtype)
    todo = "pass the dict in it that has the arrays, such as mx.load_torch(path)['state_dict'], or a rule to None"
    raise DTypeError(f"load_weights: {name} is no array", type(value).__name__, todo)


def _parts(name: str, given: NDArray | HostArray, rule: WeightRule, count: int) -> Iterable[NDArray]:
    array = _to_array(name, given)
    array = array.T if rule.transpose else array
    if count == 1:
        return [array]
    try:
        return nd.split(array, count, axis=0)
    except MXNetError as error:
        raise ParameterError(
            f"load_weights: {name} cannot be cut into {count} parts", f"shape {array.shape}", "correct the rule"
        ) from error
