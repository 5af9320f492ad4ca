"""The real CuPy on a machine without a GPU: its CUDA runtime, driver and compiler are replaced by parts that run on the host.

CuPy's compiled modules reach the runtime and the driver through Cython's capsules. `install` replaces these before anything else of
CuPy is imported by functions of ``cuda/runtime.cpp``, and NVRTC by g++ with ``cuda/device.h``: so the sources that are really
launched run, on poisoned memory, when a schedule lets them. There are no devices until `devices` says so.

CuPy's precompiled code (sort, FFT, solvers, random numbers) cannot run here.
"""

import ctypes
import hashlib
import importlib.metadata
import os
import re
import shutil
import subprocess
import sys
import sysconfig
import threading
from collections.abc import Iterator
from contextlib import contextmanager
from functools import cache
from pathlib import Path
from types import SimpleNamespace
from typing import Any, NamedTuple

#: The one version whose internals this module knows.
CUPY = "14.2.0"
PACKAGE = "cupy-cuda12x"
SOURCES = Path(__file__).parent / "cuda"
SCHEDULES = ("late", "eager", "random")
#: C types in capsules' signatures, as ctypes types.
C_TYPES: dict[str, Any] = {
    "intptr_t": ctypes.c_ssize_t,
    "size_t": ctypes.c_size_t,
    "int": ctypes.c_int,
    "unsigned int": ctypes.c_uint,
    "PyObject *": ctypes.py_object,
    "float": ctypes.c_float,
}
#: The start of a kernel's definition, and whether it is a template.
KERNEL = re.compile(
    r'(template\s*<[^;{}]*>\s*)?(?:TF_KERNEL|(?:extern\s+"C"\s*)?__global__\s+void)\s+(?:__launch_bounds__\([^)]*\)\s*)?(\w+)\s*\('
)


class Counts(NamedTuple):
    """Work issued since the process started; a graph is one launch. Work captured into graphs is counted separately."""

    launches: int
    copies: int
    synchronisations: int
    allocations: int
    legacy_uses: int
    waits: int
    graph_launches: int
    captured: int


def missing() -> str | None:
    """Why CuPy cannot be simulated here; None if it can."""
    try:
        version = importlib.metadata.version(PACKAGE)
    except importlib.metadata.PackageNotFoundError:
        return f"no {PACKAGE}: install twofold[gpu_sim]"
    if version != CUPY:
        return f"{PACKAGE} {version}, and the simulation knows the inside of {CUPY} alone"
    if sys.platform != "linux":
        return "the simulation needs Linux"
    if shutil.which("g++") is None:
        return "no g++"
    header = Path(sysconfig.get_paths()["include"], "Python.h")
    return None if header.exists() else "no Python.h"


class Simulation:
    """The installed simulation of this process.

    Attributes
    ----------
    sources
        Every source that was requested, with the names of its kernels.
    """

    def __init__(self) -> None:
        self.sources: dict[str, tuple[str, ...]] = {}
        self._kept: list[Any] = []
        self._library = ctypes.PyDLL(str(library("runtime.cpp", f"-I{sysconfig.get_paths()['include']}")), mode=ctypes.RTLD_GLOBAL)
        self._library.set_module.argtypes = [ctypes.py_object]
        self._library.set_module.restype = None
        self._library.set_locate.argtypes = [ctypes.py_object]
        self._library.set_locate.restype = None
        self._gathering = False
        #: All sources, those not compiled yet, and the libraries of the compiled ones, by key.
        self._texts: dict[str, KernelText] = {}
        self._waiting: dict[str, KernelText] = {}
        self._places: dict[str, tuple[str, str]] = {}
        self._lock = threading.RLock()  # several threads compile kernels
        os.register_at_fork(after_in_child=self._library.begin_child)
        self._library.set_schedule.argtypes = [ctypes.c_int, ctypes.c_ulonglong]

    def devices(self, count: int) -> None:
        """Set the number of devices."""
        self._library.set_devices(count)

    def schedule(self, name: str, seed: int = 0) -> None:
        """Set when issued work runs, see ``runtime.cpp``."""
        self._library.set_schedule(SCHEDULES.index(name), seed)

    def ignore_wait(self, number: int) -> None:
        """Omit the wait of that number, counted from now; -1: none."""
        self._library.set_ignored_wait(number)

    def fail(self, status: int) -> None:
        """Make every launch and every host wait report a CUDA status; 0: none."""
        self._library.set_failing_status(status)

    def counts(self) -> Counts:
        """The work issued so far."""
        out = (ctypes.c_long * len(Counts._fields))()
        self._library.counts(out)
        return Counts(*out)

    # installation

    def replace_modules(self) -> None:
        """Replace CUDA's functions with ours, and NVRTC with g++."""
        from cupy_backends.cuda.api import driver, runtime

        self._library.set_module(runtime)
        self._library.set_locate(self._locate)
        for module in (runtime, driver):
            for name in list(module.__pyx_capi__):
                if hasattr(self._library, f"sim_{name}"):
                    self._replace(module, name)
        self._replace_cublas()
        import cupy  # noqa: F401  (takes the capsules over)
        from cupy.cuda import compiler

        compiler._compile_using_nvrtc_no_warning = self._compile
        compiler._preprocess = lambda *given: ""

    def _replace(self, module: Any, name: str) -> None:
        api = ctypes.pythonapi
        api.PyCapsule_GetName.restype, api.PyCapsule_GetName.argtypes = ctypes.c_char_p, [ctypes.py_object]
        api.PyCapsule_New.restype = ctypes.py_object
        api.PyCapsule_New.argtypes = [ctypes.c_void_p, ctypes.c_char_p, ctypes.c_void_p]
        signature = api.PyCapsule_GetName(module.__pyx_capi__[name])
        text = ctypes.create_string_buffer(signature)
        self._kept.append(text)
        address = ctypes.cast(getattr(self._library, f"sim_{name}"), ctypes.c_void_p).value
        module.__pyx_capi__[name] = api.PyCapsule_New(address, ctypes.cast(text, ctypes.c_char_p), None)
        called = _python_function(address, signature.decode())
        if called is not None and hasattr(module, name):
            setattr(module, name, called)

    def _replace_cublas(self) -> None:
        from cuda import pathfinder

        built = library("cublas.cpp", "-Wl,-z,lazy")
        handle = ctypes.CDLL(str(built), mode=ctypes.RTLD_GLOBAL)
        self._kept.append(handle)
        found = pathfinder.load_nvidia_dynamic_lib

        def load(name: str) -> Any:
            return SimpleNamespace(abs_path=str(built), _handle_uint=handle._handle) if name.startswith("cublas") else found(name)

        pathfinder.load_nvidia_dynamic_lib = load

    def _compile(
        self,
        source: str,
        options: Any = (),
        arch: Any = None,
        filename: str = "kern.cu",
        name_expressions: Any = None,
        *more: Any,
        **others: Any,
    ) -> tuple[bytes, dict[str, str]]:
        """Stand in for NVRTC: the "binary" is the name of a library of host code."""
        names = [(m.group(2), m.group(2)) for m in KERNEL.finditer(source) if not m.group(1)]
        instances = {expression: f"instance_{k}" for k, expression in enumerate(name_expressions or ())}
        names += [(name, expression) for expression, name in instances.items()]
        self.sources[source] = tuple(name for name, _ in names)
        includes = tuple(o for o in options if (o.startswith(("-I", "-D")) and "_cccl" not in o) or o.endswith("libcudacxx"))
        text = KernelText(source, tuple(names), includes if "#include" in source.replace(_prelude(), "") else ())
        key = _hash(source, *text.options, _precompiled().name)
        with self._lock:
            self._waiting[key] = self._texts[key] = text
        try:
            if not self._gathering:
                self._locate(key)
        except subprocess.CalledProcessError as error:
            from cupy.cuda import compiler

            del self.sources[source]
            raise compiler.CompileException(error.stderr, source, filename, options, "g++") from None
        return f"HOST:{key}".encode() + b"\0", instances

    @contextmanager
    def gathering(self, compiles: bool = True) -> Iterator[None]:
        """Launch nothing in the block, and compile what it would have launched together later, in a fraction of the time.

        Without `compiles` it is compiled only if it is launched.
        """
        before = dict(self._waiting)
        self._gathering = True
        self._library.set_gathering(1)
        try:
            yield
        finally:
            self._gathering = False
            self._library.set_gathering(0)
            if not compiles:
                self._waiting = before

    def _locate(self, key: str) -> tuple[str, str]:
        """The library with a source's kernels, and the prefix of their names there; all waiting sources are compiled now."""
        if key not in self._places:
            with self._lock:
                self._places |= {k: place for k in self._waiting if (place := _place_of(k)) is not None}
                waiting = {k: t for k, t in self._waiting.items() if k not in self._places}
                self._waiting.clear()
            alone = {k: t for k, t in waiting.items() if t.options}
            for group in [{k: t} for k, t in alone.items()] + [{k: t for k, t in waiting.items() if k not in alone}]:
                self._places |= _compiled_if_right(group) if group else {}
            if key not in self._places:
                self._places |= _compiled_together({key: self._texts[key]})  # raises, and says why
        return self._places[key]


class KernelText(NamedTuple):
    """A source of kernels, their names and name expressions, and the options that headers need."""

    source: str
    names: tuple[tuple[str, str], ...]
    options: tuple[str, ...]


def _place_of(key: str) -> tuple[str, str] | None:
    note = cache_folder() / f"{key}.place"
    if not note.exists():
        return None
    library, prefix = note.read_text(encoding="utf-8").split()
    path = cache_folder() / library
    return (str(path), prefix) if path.exists() else None


def _compiled_if_right(texts: dict[str, KernelText]) -> dict[str, tuple[str, str]]:
    """Sources as one library; if one does not compile, a separate library for each of the others."""
    try:
        return _compiled_together(texts)
    except subprocess.CalledProcessError:
        if len(texts) == 1:
            return {}
    return {k: place for key, text in texts.items() for k, place in _compiled_if_right({key: text}).items()}


def _compiled_together(texts: dict[str, KernelText]) -> dict[str, tuple[str, str]]:
    """Sources as one library: each in its own namespace, with its key as prefix of its kernels' names."""
    parts = ['#include "device.h"']
    for key, text in texts.items():
        source = text.source.replace(_prelude(), "")
        parts += [source] if text.options else [f"namespace n{key} {{", source, "}"]
        space = "" if text.options else f"n{key}::"
        waits = "true" if "__sync" in source else "false"
        parts += [f"SIM_KERNEL(t{key}_{name}, {waits}, {space}{expression})" for name, expression in text.names]
    options = {o: None for text in texts.values() for o in text.options}
    built = compiled("\n".join([*parts, ""]), (f"-I{_precompiled()}", *HOST_OPTIONS, *options))
    for key in texts:
        note = cache_folder() / f"{key}.place"
        scratch = note.with_suffix(_own())
        scratch.write_text(f"{built.name} t{key}_", encoding="utf-8")
        os.replace(scratch, note)
    return {key: (str(built), f"t{key}_") for key in texts}


#: Casts of floats to integers that they do not fit, where CUDA and the host differ, call a function of ``runtime.cpp``.
CHECKED = "-fsanitize=float-cast-overflow"
HOST_OPTIONS = (
    *("-w", "-fpermissive", "-fwrapv", "-ffp-contract=off", CHECKED),
    *("-D__CUDACC_VER_MAJOR__=12", f"-I{SOURCES}", f"-I{SOURCES / 'stub'}"),
)


GXX = ("-std=c++17", "-fPIC")


def _hash(*parts: str) -> str:
    """The name of what is compiled. Headers count by content, not by path: every checkout uses what another has compiled."""
    text = "\0".join([*parts, _compiler(), _headers(SOURCES)])
    return hashlib.sha256(text.replace(str(SOURCES), "").encode()).hexdigest()[:32]


@cache
def _headers(folder: Path) -> str:
    return "\0".join(path.read_text(encoding="utf-8") for path in sorted(folder.rglob("*.h")))


@cache
def _compiler() -> str:
    return subprocess.run(["g++", "--version"], capture_output=True, text=True, check=True).stdout.partition("\n")[0]


def _python_function(address: int | None, signature: str) -> Any:
    """A function at a capsule's address for Python callers; None if its types have no equivalent."""
    match = re.match(r"(.*?) ?\((.*)\)$", signature)
    assert match
    result, given = match.group(1), [a.strip() for a in match.group(2).split(",")]
    result = "PyObject *" if result.endswith("PointerAttributes *") else result
    own = [a for a in given if "__pyx" not in a and a != "void"]
    hidden = [ctypes.c_void_p if "*" in a else ctypes.c_int for a in given if "__pyx" in a]
    if result not in C_TYPES or any(a not in C_TYPES for a in own):
        return None
    function = ctypes.PYFUNCTYPE(C_TYPES[result], *[C_TYPES[a] for a in own], *hidden)(address)
    rest = (0,) * len(hidden)
    return lambda *values: function(*values[: len(own)], *rest)


def cache_folder() -> Path:
    """The cache folder of compiled sources, by content."""
    root = Path(os.environ.get("XDG_CACHE_HOME", Path.home() / ".cache"))
    folder = root / "twofold" / "simulation"
    folder.mkdir(parents=True, exist_ok=True)
    return folder


def library(name: str, *options: str) -> Path:
    """A C++ file of this folder as a shared library."""
    return compiled((SOURCES / name).read_text(encoding="utf-8"), ("-O1", f"-I{SOURCES}", *options))


def _own() -> str:
    """A name suffix that no other process or thread uses."""
    return f".{os.getpid()}.{threading.get_ident()}"


def compiled(text: str, options: tuple[str, ...]) -> Path:
    """C++ source as a shared library, compiled unless cached.

    Raises
    ------
    subprocess.CalledProcessError
        If g++ rejects it.
    """
    target = cache_folder() / f"{_hash(text, *options)}.so"
    if not target.exists():
        scratch = target.with_suffix(_own())
        command = ["g++", "-x", "c++", *GXX, "-shared", *options, "-", "-o", str(scratch), "-ldl"]
        subprocess.run(command, input=text, capture_output=True, text=True, check=True)
        os.replace(scratch, target)
    return target


@cache
def _prelude() -> str:
    """The source in front of all kernels, which is compiled once."""
    from twofold.backend.c_text import header

    return header("c_prelude.h")


@cache
def _precompiled() -> Path:
    """A folder with a precompiled ``device.h`` that includes the kernels' prelude, which g++ reads in a tenth of the time of the source."""
    text = (SOURCES / "device.h").read_text(encoding="utf-8") + _prelude()
    folder = cache_folder() / _hash(text, *HOST_OPTIONS)
    target = folder / "device.h.gch"
    folder.mkdir(exist_ok=True)
    if not target.exists():
        scratch = folder / f"device{_own()}"
        scratch.write_text(text, encoding="utf-8")
        made = folder / f"device{_own()}.gch"
        command = ["g++", "-x", "c++-header", *GXX, *HOST_OPTIONS, str(scratch), "-o", str(made)]
        subprocess.run(command, capture_output=True, text=True, check=True)
        os.replace(scratch, folder / "device.h")
        os.replace(made, target)
    return folder


@cache
def install() -> Simulation:
    """Simulate CUDA in this process; CuPy must not have been imported before.

    Raises
    ------
    RuntimeError
        If CuPy was imported, or cannot be simulated (see `missing`).
    """
    reason = "CuPy was imported before" if "cupy" in sys.modules else missing()
    if reason:
        raise RuntimeError(f"simulation: {reason}")
    os.environ |= {"CUPY_ACCELERATORS": "", "CUPY_CACHE_IN_MEMORY": "1"}
    simulation = Simulation()
    simulation.replace_modules()
    return simulation
