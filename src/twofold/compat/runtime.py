"""``mxnet.runtime``: what this installation can do, under the names of the options that MXNet was built with."""

import faulthandler
from collections import OrderedDict
from importlib.util import find_spec
from typing import ClassVar, NamedTuple

import numpy as np

from ..backend.loader import backend_for, gpu_count
from ..device import interned
from ..errors import ParameterError

__all__ = ["Feature", "Features", "feature_list"]


class Feature(NamedTuple):
    """One feature.

    Attributes
    ----------
    name
        MXNet's name for it.
    enabled
        Whether this installation has it.
    """

    name: str
    enabled: bool

    def __repr__(self) -> str:
        return f"{'✔' if self.enabled else '✖'} {self.name}"


#: The processor extensions in the groups that NumPy names.
_LEVELS = {"X86_V2": ("SSE", "SSE2", "SSE3", "SSE41", "SSE42"), "X86_V3": ("AVX", "AVX2", "F16C")}


def _cpu() -> set[str]:
    """The extensions of the processor that NumPy was built for or uses."""
    found = np.show_config(mode="dicts")
    extensions = found.get("SIMD Extensions", {}) if found else {}
    names = {*extensions.get("baseline", ()), *extensions.get("found", ())}
    return names.union(*(_LEVELS.get(name, ()) for name in names))


def _blas() -> str:
    """The name of the library with which NumPy multiplies matrices."""
    found = np.show_config(mode="dicts")
    return (found.get("Build Dependencies", {}).get("blas", {}).get("name", "") if found else "").lower()


def feature_list() -> list[Feature]:
    """All features, in MXNet's order.

    CUDA: there are GPUs and an adapter for them. The names of processors' extensions say what NumPy uses; SIGNAL_HANDLER,
    whether Python prints a traceback when the process crashes.
    """
    gpus, cpu, blas = gpu_count() > 0, _cpu(), _blas()
    enabled = {
        "CUDA": gpus,
        "CUDNN": gpus and find_spec("cudnn") is not None,
        "NCCL": gpus and backend_for(interned("gpu")).target.peering() is not None,
        "CUDA_RTC": gpus,
        "TENSORRT": False,
        "CPU_SSE": "SSE" in cpu,
        "CPU_SSE2": "SSE2" in cpu,
        "CPU_SSE3": "SSE3" in cpu,
        "CPU_SSE4_1": "SSE41" in cpu,
        "CPU_SSE4_2": "SSE42" in cpu,
        "CPU_SSE4A": False,
        "CPU_AVX": "AVX" in cpu,
        "CPU_AVX2": "AVX2" in cpu,
        "OPENMP": False,
        "SSE": "SSE" in cpu,
        "F16C": "F16C" in cpu,
        "JEMALLOC": False,
        "BLAS_OPEN": "openblas" in blas,
        "BLAS_ATLAS": "atlas" in blas,
        "BLAS_MKL": "mkl" in blas,
        "BLAS_APPLE": "accelerate" in blas,
        "LAPACK": True,
        "MKLDNN": False,
        "OPENCV": False,
        "CAFFE": False,
        "PROFILER": True,
        "DIST_KVSTORE": False,
        "CXX14": False,
        "INT64_TENSOR_SIZE": True,
        "SIGNAL_HANDLER": faulthandler.is_enabled(),
        "DEBUG": False,
        "TVM_OP": False,
    }
    return [Feature(*row) for row in enabled.items()]


class Features(OrderedDict[str, Feature]):
    """The features by name. There is one such object, made at the first call.

    Examples
    --------
    >>> Features().is_enabled("LAPACK")
    True
    """

    instance: ClassVar["Features | None"] = None

    def __new__(cls) -> "Features":
        """The one object."""
        if cls.instance is None:
            made = super().__new__(cls)
            OrderedDict.__init__(made, ((feature.name, feature) for feature in feature_list()))
            cls.instance = made
        return cls.instance

    def __init__(self) -> None:
        """Do nothing: a second call must not fill the list again."""

    def __repr__(self) -> str:
        return repr(list(self.values()))

    def is_enabled(self, feature_name: str) -> bool:
        """Whether a feature is enabled, by its name in upper or lower case.

        Raises
        ------
        ParameterError
            If there is no feature of that name.
        """
        name = feature_name.upper()
        if name not in self:
            raise ParameterError(f"Feature '{name}' is unknown", None, f"known features are: {list(self)}")
        return self[name].enabled
