"""Networks by the names of their published files."""

from typing import Any

from ....errors import ParameterError
from ....suggestions import did_you_mean
from ...hybrid_block import HybridBlock
from ..model_store import NETWORKS


def get_model(name: str, **kwargs: Any) -> HybridBlock:
    """A network by name.

    Parameters
    ----------
    name
        Such as ``"resnet50_v1"``; capital letters count as small ones.
    **kwargs
        ``pretrained``, ``ctx``, ``root`` and ``classes``, as the network's own function takes them.

    Raises
    ------
    ParameterError
        If there is no network of that name, or the file of its trained parameters is not to be found.

    Examples
    --------
    >>> net = get_model("squeezenet1.1", classes=10)
    >>> len(list(net.collect_params().keys()))
    52
    """
    found = NETWORKS.get(name.lower())
    if found is None:
        names = "".join(f"\n\t{n}" for n in sorted(NETWORKS))
        likely = did_you_mean(name.lower(), NETWORKS, "use one of these")
        raise ParameterError(f"Model {name.lower()} is not supported. Available options are{names}", None, likely)
    return found(**kwargs)
