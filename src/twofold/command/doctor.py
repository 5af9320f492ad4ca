"""``twofold doctor``: show what is installed, what is in use, and what could be added.

``--check`` runs a script with checks; ``--names`` says which names of MXNet sources mention that Twofold lacks.
"""

import argparse
import os
import platform
import shutil
import sys
from collections.abc import Iterator
from dataclasses import fields
from importlib.metadata import PackageNotFoundError, version
from importlib.util import find_spec
from pathlib import Path
from typing import Any

import numpy as np

from ..backend.loader import GROUP, backend_for, entry_points
from ..backend.protocol import Target
from ..config import SETTINGS, TABLE
from ..device import interned
from ..errors import MXNetError
from . import missing_names
from .advice import print_advice

#: Environment variables that have an effect, besides those of the settings.
VARIABLES = {
    "TWOFOLD_ALLOW": "set by `launch --allow`: optimizers that servers may import",
    "TWOFOLD_ARRAY_API": "which library the adapter array_api uses, by its namespace",
    "TWOFOLD_BACKEND_CPU": "which adapter serves the CPU",
    "TWOFOLD_BACKEND_GPU": "which adapter serves GPUs",
    "TWOFOLD_CACHE": "folder of compiled kernels and of plans, instead of ~/.cache/twofold",
    "TWOFOLD_DATA": "folder of datasets: the demo and gluon.data.vision read mnist/, cifar10/ and so on in it",
    "TWOFOLD_FAKE_GPUS": "number of simulated GPUs, backed by NumPy arrays, for trying programs without a GPU",
    "TWOFOLD_FAKE_SCHEDULE": "when the operations of simulated GPUs run",
    "TWOFOLD_FAULT_TOLERANT": "set by `launch --ft`: the others go on after a process has died",
    "TWOFOLD_JOB": "set by `launch`: the run that a process belongs to",
    "TWOFOLD_MACHINES": "set by `launch --ft` on several machines: their names",
    "TWOFOLD_RUN_FOLDER": "set by `launch`: folder of notes to it",
    "TWOFOLD_SERVERS": "set by `launch`: number of server processes",
    "TWOFOLD_SPARES": "set by `launch --spares`: number of processes that wait to take the place of a worker",
    "TWOFOLD_TELL": "set by `launch --ft` on several machines: processes tell it when they have connected and ended",
    "TWOFOLD_TRACE": "set by `launch --trace`: folder into which each process writes its trace",
    "TWOFOLD_TRACEBACK": "full: tracebacks of uncaught errors show the library's frames too",
    "TWOFOLD_WORKERS": "set by `launch`: number of worker processes",
    "MXNET_BACKWARD_DO_MIRROR": "1: training keeps about √n of n values for backward and recomputes the others",
    "MXNET_ENGINE_TYPE": "NaiveEngine: same as TWOFOLD_ENGINE=naive; TWOFOLD_ENGINE takes precedence",
    "MXNET_GPU_MEM_POOL_RESERVE": "same as TWOFOLD_GPU_MEMORY_RESERVE, which takes precedence",
    "MXNET_GLUON_REPO": "server of trained parameters, instead of the one that MXNet used",
    "MXNET_HOME": "folder of datasets and models, instead of ~/.mxnet",
    "MXNET_KVSTORE_BIGARRAY_BOUND": "number of elements from which an array is divided over servers",
    "MXNET_PROFILER_AUTOSTART": "1: mx.profiler starts on import, and writes profile.json at exit",
    "MXNET_STORAGE_FALLBACK_LOG_VERBOSE": "0: no warning where an operator makes sparse arrays dense",
    "MXNET_UPDATE_AGGREGATION_SIZE": "number of parameters that some private functions of MXNet's pass to a store at a time",
    "MXNET_UPDATE_ON_KVSTORE": "0: gluon's Trainer updates each device's copy of the weights",
}
#: The purpose of each optional package, which has a name to install and a name to import.
OPTIONAL = {
    ("cupy-cuda12x", "cupy"): "NVIDIA GPUs",
    ("fsspec", "fsspec"): "files at URLs such as s3://…",
    ("graphviz", "graphviz"): "drawings of networks by mx.viz.plot_network, laid out by Graphviz and in its formats",
    ("llvmlite", "llvmlite"): "fused kernels on the CPU as machine code",
    ("nvidia-cudnn-frontend", "cudnn"): "convolutions on GPUs with cuDNN",
    ("mpi4py", "mpi4py"): "stores that span processes and machines; openmpi starts them",
    ("ray", "ray"): "jobs that are started again on the machines of a cluster, by `launch --ray`",
    ("rich", "rich"): "progress bars, and the tables of `show`",
    ("simplejpeg", "simplejpeg"): "JPEGs decoded faster than by Pillow, to the same pixels",
    ("scikit-learn", "sklearn"): "the demo's digits, if MNIST's files are missing",
}


def add_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the program's arguments."""
    words = "run a script, as `twofold run` does, with TWOFOLD_CHECK=1: labels and indices out of range are errors"
    parser.add_argument("--check", nargs=argparse.REMAINDER, metavar=("SCRIPT", "ARGUMENT"), help=words)
    words = (
        "read the Python sources in a folder, a file or an installed package, without importing them, and print the names of MXNet and "
        "the private attributes of its objects that they mention and Twofold lacks"
    )
    parser.add_argument("--names", metavar="PATH", help=words)


def execute(given: argparse.Namespace) -> int:
    """Print the report, or that of ``--names``, or run a script with checks in place of this process.

    Returns
    -------
    int
        0 if arrays can be created on the CPU, else 1; of ``--names`` 1 if a name is missing that no ``try`` guards.
    """
    if given.names is not None:
        return missing_names.report(given.names)
    if given.check == []:
        given.usage_error("--check: pass a script")
    if given.check:
        # the settings of this process have been read, and its children would not see a change of them
        os.execve(sys.executable, [sys.executable, "-m", "twofold", "run", *given.check], {**os.environ, "TWOFOLD_CHECK": "1"})
    print_advice(has_driver=_driver() is not None)
    sections = {
        "Python and NumPy": _libraries(),
        "Adapters": _adapters(),
        "CPU": _cpu(),
        "GPU": _gpu(),
        "Settings": _settings(),
        "Other environment variables": _variables(),
        "Optional packages": _packages(),
    }
    for title, rows in sections.items():
        print(title)
        for name, text in rows:
            print(f"  {name:<26} {text}")
        print()
    try:
        backend_for(interned("cpu", 0))
    except MXNetError as error:
        print(f"not usable: {error}")
        return 1
    return 0


Rows = Iterator[tuple[str, str]]


def _installed(package: str) -> str | None:
    try:
        return version(package)
    except PackageNotFoundError:
        return None


def _libraries() -> Rows:
    yield "Twofold", _installed("twofold") or "not installed; running from source"
    yield "Python", f"{platform.python_version()} ({sys.executable})"
    yield "machine", f"{platform.machine()}, {os.cpu_count()} cores, {platform.system()}"
    yield "NumPy", np.__version__
    configured: Any = np.show_config(mode="dicts")
    blas = configured["Build Dependencies"]["blas"]
    yield "BLAS", f"{blas['name']} {blas['version']}"
    yield "SIMD of NumPy", " ".join(configured["SIMD Extensions"].get("found", ())) or "only the baseline"


def _adapters() -> Rows:
    for entry in sorted(entry_points(group=GROUP), key=lambda entry: entry.name):
        try:  # an adapter whose library is missing or broken is a line of the report, not its end
            backend = entry.load()()
        except (ImportError, MXNetError) as error:
            yield entry.name, f"not usable: {error}"
        else:
            yield entry.name, capabilities(backend.target)


def capabilities(target: Target) -> str:
    """An adapter's description and capabilities, in a line."""
    # the kind and name are printed first
    given = ((f.name.replace("_", " "), getattr(target, f.name)) for f in fields(target)[2:])
    able = [name for name, value in given if value is True]
    able += [f"epilogues {', '.join(sorted(target.epilogues))}"] if target.epilogues else []
    return f"serves {target.kind}: {target.name}" + (f" ({'; '.join(able)})" if able else "")


def _cpu() -> Rows:
    """The threads and libraries that the CPU's adapter uses."""
    try:
        yield from backend_for(interned("cpu", 0)).target.libraries()
    except (MXNetError, RuntimeError) as error:
        yield "mx.cpu(0)", f"not usable: {error}"


DRIVER = Path("/proc/driver/nvidia/version")


def _driver() -> str | None:
    """NVIDIA's driver, or the program that comes with it; None if there is neither."""
    return DRIVER.read_text(encoding="utf-8").splitlines()[0] if DRIVER.exists() else shutil.which("nvidia-smi")


def _gpu() -> Rows:
    """The components needed for GPUs: driver, array library, devices."""
    driver = _driver()
    yield "NVIDIA driver", f"found: {driver}" if driver else "not found: no NVIDIA GPU is visible on this machine"
    # each CUDA version has a package of its own, which all import as `cupy`
    cupy = next((f"{name} {_installed(name)}" for name in ("cupy-cuda13x", "cupy-cuda12x", "cupy") if _installed(name)), None)
    missing = "; pip install 'twofold[cuda12]' to use the GPU (cuda13 for drivers from 580)" if driver else ""
    yield "CuPy", cupy or f"not installed{missing}"
    yield (
        "visible devices",
        os.environ.get("CUDA_VISIBLE_DEVICES", "all (CUDA_VISIBLE_DEVICES is not set)") or "none: CUDA_VISIBLE_DEVICES is empty",
    )
    try:
        backend = backend_for(interned("gpu", 0))
    except (MXNetError, RuntimeError) as error:
        yield "mx.gpu(0)", f"not usable: {error}"
        return
    yield from backend.target.libraries()
    for number in range(backend.device_count()):
        device = interned("gpu", number)
        try:
            free, total = backend.memory_info(device)
        except (MXNetError, RuntimeError) as error:
            yield f"mx.{device}", f"not usable: {error}"
        else:
            yield f"mx.{device}", f"served by {backend.target.name}; {free / 2**30:.1f} of {total / 2**30:.1f} GiB free"


def _settings() -> Rows:
    for setting in TABLE:
        origin = "set" if setting.variable in os.environ else "default"
        yield setting.variable, f"{getattr(SETTINGS, setting.name)} ({origin}): {setting.meaning}"


def _variables() -> Rows:
    for name, meaning in VARIABLES.items():
        yield name, f"{os.environ.get(name, 'not set')}: {meaning}"
    known = {*VARIABLES, *(setting.variable for setting in TABLE)}
    for name in sorted(os.environ):
        # a misspelled variable is otherwise silent, and MXNet has many that mean nothing here
        if name.startswith(("TWOFOLD_", "MXNET_")) and name not in known:
            yield name, "set, but has no effect: unknown to Twofold"


def _packages() -> Rows:
    for (install, package), purpose in OPTIONAL.items():
        found = find_spec(package) is not None
        yield package, f"{_installed(install) or 'installed'}: {purpose}" if found else f"not installed: {purpose} (pip install {install})"
