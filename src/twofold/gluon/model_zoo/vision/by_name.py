"""Networks by the names of their published files."""

from collections.abc import Callable
from typing import Any

from ....errors import ParameterError
from ...hybrid_block import HybridBlock
from .alexnet import alexnet
from .densenet import densenet121, densenet161, densenet169, densenet201
from .inception import inception_v3
from .mobilenet import (
    mobilenet0_5,
    mobilenet0_25,
    mobilenet0_75,
    mobilenet1_0,
    mobilenet_v2_0_5,
    mobilenet_v2_0_25,
    mobilenet_v2_0_75,
    mobilenet_v2_1_0,
)
from .resnet import (
    resnet18_v1,
    resnet18_v2,
    resnet34_v1,
    resnet34_v2,
    resnet50_v1,
    resnet50_v2,
    resnet101_v1,
    resnet101_v2,
    resnet152_v1,
    resnet152_v2,
)
from .squeezenet import squeezenet1_0, squeezenet1_1
from .vgg import vgg11, vgg11_bn, vgg13, vgg13_bn, vgg16, vgg16_bn, vgg19, vgg19_bn

__all__ = ["get_model"]

#: The functions that create networks, by the names of the published files.
_MODELS: dict[str, Callable[..., HybridBlock]] = {
    "alexnet": alexnet,
    "densenet121": densenet121,
    "densenet161": densenet161,
    "densenet169": densenet169,
    "densenet201": densenet201,
    "inceptionv3": inception_v3,
    "mobilenet0.25": mobilenet0_25,
    "mobilenet0.5": mobilenet0_5,
    "mobilenet0.75": mobilenet0_75,
    "mobilenet1.0": mobilenet1_0,
    "mobilenetv2_0.25": mobilenet_v2_0_25,
    "mobilenetv2_0.5": mobilenet_v2_0_5,
    "mobilenetv2_0.75": mobilenet_v2_0_75,
    "mobilenetv2_1.0": mobilenet_v2_1_0,
    "resnet18_v1": resnet18_v1,
    "resnet34_v1": resnet34_v1,
    "resnet50_v1": resnet50_v1,
    "resnet101_v1": resnet101_v1,
    "resnet152_v1": resnet152_v1,
    "resnet18_v2": resnet18_v2,
    "resnet34_v2": resnet34_v2,
    "resnet50_v2": resnet50_v2,
    "resnet101_v2": resnet101_v2,
    "resnet152_v2": resnet152_v2,
    "squeezenet1.0": squeezenet1_0,
    "squeezenet1.1": squeezenet1_1,
    "vgg11": vgg11,
    "vgg13": vgg13,
    "vgg16": vgg16,
    "vgg19": vgg19,
    "vgg11_bn": vgg11_bn,
    "vgg13_bn": vgg13_bn,
    "vgg16_bn": vgg16_bn,
    "vgg19_bn": vgg19_bn,
}


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
    found = _MODELS.get(name.lower())
    if found is None:
        names = "".join(f"\n\t{n}" for n in sorted(_MODELS))
        raise ParameterError(f"Model {name.lower()} is not supported. Available options are{names}")
    return found(**kwargs)
