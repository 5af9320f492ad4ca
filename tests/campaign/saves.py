"""Every save, ended by SIGKILL at each of its system calls or stopped by a full disk at each size: the old file or the new one, whole."""

from __future__ import annotations

import ctypes
import itertools
import os
import resource
import signal
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any, NamedTuple

import numpy as np

import twofold as mx
from twofold.errors import MXNetError

from tests.campaign.files import told
from tests.campaign.trials import Ended, Trial, described

TRACE_ME, SYSTEM_CALL = 0, 24
SHAPE = (2, 3)


class Save(NamedTuple):
    """A save of one of two versions, and what its files hold."""

    write: Callable[[Path, int], object]
    files: tuple[str, ...]
    read: Callable[[str], Any]


def _array(version: int) -> mx.nd.NDArray:
    return mx.nd.array(np.arange(6, dtype="float32").reshape(SHAPE) + 10 * version)


def _net(version: int) -> mx.gluon.nn.HybridSequential:
    net = mx.gluon.nn.HybridSequential(prefix="net_")
    net.add(mx.gluon.nn.Dense(2, in_units=3, prefix="layer_"))
    net.initialize(mx.init.Constant(version + 0.5))
    net.hybridize()
    net(mx.nd.ones(SHAPE))
    return net


def _trainer(version: int) -> mx.gluon.Trainer:
    net = _net(0)
    trainer = mx.gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.1 + version}, kvstore=None)
    with mx.autograd.record():
        loss = net(mx.nd.ones(SHAPE)).sum()
    loss.backward()
    trainer.step(1)
    return trainer


def _symbol(version: int) -> mx.sym.Symbol:
    return mx.sym.FullyConnected(mx.sym.var("data"), num_hidden=version + 2, name="layer")


def _module(version: int) -> mx.mod.Module:
    module = mx.mod.Module(_symbol(0), label_names=None)
    module.bind([("data", SHAPE)])
    module.init_params(mx.init.Constant(version + 0.5))
    module.init_optimizer(optimizer="adam")
    return module


def _checkpoint(folder: Path, version: int) -> None:
    mx.kv.save_checkpoint(folder / "run", version, mx.kv.create("local"), {"w": _array(version)}, _trainer(version).save_states)


def _of_checkpoint(name: str) -> Any:
    return mx.kv.load_checkpoint(name).arrays


def _trace(folder: Path, version: int) -> None:
    mx.profiler.set_config(filename=str(folder / "trace.json"), profile_all=True)
    mx.profiler.set_state("run")
    for _ in range(version + 1):
        mx.nd.ones(SHAPE).wait_to_read()
    mx.profiler.set_state("stop")
    mx.profiler.dump()


def _is_trace(name: str) -> str:
    import json

    return type(json.loads(Path(name).read_text())["traceEvents"]).__name__


def _onnx(folder: Path, version: int) -> None:
    params = {"layer_weight": mx.nd.ones((version + 2, 3)), "layer_bias": mx.nd.ones((version + 2,))}
    mx.onnx.export_model(_symbol(version), params, [SHAPE], onnx_file_path=str(folder / "a.onnx"))


def _model(folder: Path, version: int) -> None:
    mx.model.save_checkpoint(str(folder / "m"), 1, _symbol(version), {"w": _array(version)}, {})


def _states(name: str) -> Any:
    trainer = _trainer(0)
    trainer.load_states(name)
    return trainer.learning_rate


def _bytes(name: str) -> bytes:
    return Path(name).read_bytes()


def _module_states(folder: Path, version: int) -> None:
    _module(version).save_checkpoint(str(folder / "m"), 1, save_optimizer_states=True)


def _kept_code(folder: Path, version: int) -> None:
    from twofold_numpy.jit.cache import CACHE

    os.environ["TWOFOLD_CACHE"] = str(folder)
    CACHE.store("key", b"machine code %d " % version * 20)


def _code(name: str) -> bytes | None:
    from twofold_numpy.jit.cache import CACHE

    os.environ["TWOFOLD_CACHE"] = str(Path(name).parents[1])
    return CACHE.load("key")


def _store(folder: Path, version: int) -> None:
    store = mx.kv.create("local")
    store.init(3, _array(0))
    store.set_optimizer(mx.optimizer.SGD(learning_rate=0.5 + version, momentum=0.5))
    store.push(3, _array(version))
    store.save_optimizer_states(str(folder / "kv.states"), dump_optimizer=True)


SAVES = {
    "nd.save": Save(lambda f, v: mx.nd.save(str(f / "a.params"), {"w": _array(v)}), ("a.params",), mx.nd.load),
    "nd.save, safetensors": Save(lambda f, v: mx.nd.save(str(f / "a.safetensors"), {"w": _array(v)}), ("a.safetensors",), mx.nd.load),
    "Symbol.save": Save(lambda f, v: _symbol(v).save(str(f / "a.json")), ("a.json",), lambda name: mx.sym.load(name).tojson()),
    "Block.save_parameters": Save(lambda f, v: _net(v).save_parameters(str(f / "b.params")), ("b.params",), mx.nd.load),
    "Block.save": Save(lambda f, v: _net(v).save(str(f / "n")), ("n-model.json", "n-model.params"), _bytes),
    "HybridBlock.export": Save(lambda f, v: _net(v).export(str(f / "e")), ("e-symbol.json", "e-0000.params"), _bytes),
    "Module.save_checkpoint": Save(_module_states, ("m-symbol.json", "m-0001.params", "m-0001.states"), _bytes),
    "model.save_checkpoint": Save(_model, ("m-symbol.json", "m-0001.params"), _bytes),
    "Trainer.save_states": Save(lambda f, v: _trainer(v).save_states(str(f / "t.states")), ("t.states",), _states),
    "KVStore.save_optimizer_states": Save(_store, ("kv.states",), _bytes),
    "kv.save_checkpoint": Save(_checkpoint, ("run",), _of_checkpoint),
    "npx.save": Save(lambda f, v: mx.npx.save(str(f / "a.npy"), mx.np.array([v, 2])), ("a.npy",), mx.npx.load),
    "onnx.export_model": Save(_onnx, ("a.onnx",), _bytes),
    "profiler.dump": Save(_trace, ("trace.json",), _is_trace),
    "machine code": Save(_kept_code, ("jit/key.kept",), _code),
}


def values(save: Save, folder: Path) -> list[Any]:
    """What the files of a save hold."""
    return [told(save.read(str(folder / name))) for name in save.files]


def in_child(action: Callable[[], object], stopped: Callable[[int], None]) -> int:
    """Run an action in a process of its own, which first stops; returns its status, 10 or 11 after a documented or another error."""
    child = os.fork()
    if not child:
        status = 11
        try:
            _LIBRARY.ptrace(TRACE_ME, 0, None, None)
            os.kill(os.getpid(), signal.SIGSTOP)
            action()
            status = 0
        except (MXNetError, KeyboardInterrupt):
            status = 10
        finally:
            os._exit(status)  # whatever happens: this process must not go on as its parent
    os.waitpid(child, 0)
    stopped(child)
    return os.waitstatus_to_exitcode(_wait(child))


_LIBRARY = ctypes.CDLL(None)
_LIBRARY.ptrace.argtypes = [ctypes.c_long, ctypes.c_long, ctypes.c_void_p, ctypes.c_void_p]
_STATUS: dict[int, int] = {}


def _wait(child: int) -> int:
    """The status of a child at its end."""
    if child in _STATUS:
        return _STATUS.pop(child)
    return os.waitpid(child, 0)[1]


def killed_at(number: int, passed: list[int]) -> Callable[[int], None]:
    """Let a stopped child run to its system call of a number, and kill it there; ``passed`` has how many it has begun."""

    def run(child: int) -> None:
        entering, signaled = True, 0
        for count in itertools.count():
            _LIBRARY.ptrace(SYSTEM_CALL, child, None, signaled)
            _, status = os.waitpid(child, 0)
            if not os.WIFSTOPPED(status):
                _STATUS[child] = status
                return
            at = os.WSTOPSIG(status)
            signaled = 0 if at == signal.SIGTRAP else at
            if signaled:
                continue
            if entering:
                passed[:] = [len(passed) and passed[0] + 1]
                if passed[0] == number:
                    os.kill(child, signal.SIGKILL)
                    return
            entering = not entering
            del count

    return run


def _detach(child: int) -> None:
    _LIBRARY.ptrace(17, child, None, None)


class Saves:
    """Tries the saves in turn, each at one place more in each round."""

    def __init__(self, folder: Path, ended: Callable[[Save, Path, int], tuple[int, bool]]) -> None:
        self.folder, self.ended = folder, ended
        self.known: dict[str, tuple[list[Any], list[Any], set[str]]] = {}

    def trial(self, seed: int) -> Ended:
        """End one save at one place, look at its files, and save again."""
        name = [*SAVES][seed % len(SAVES)]
        save, place = SAVES[name], self.folder / str(seed)
        if name not in self.known:
            self.known[name] = self._without(save, self.folder / name.replace("/", " "))
        old, new, entries = self.known[name]
        place.mkdir()
        save.write(place, 0)
        status, is_past = self.ended(save, place, seed // len(SAVES))
        if is_past:
            return Ended("none left")
        try:
            found = values(save, place)
        except Exception as error:
            return Ended("lost", f"{name}: {described(error)}")
        for k, value in enumerate(found):
            if value not in (old[k], new[k]):
                return Ended("neither old nor new", f"{name}: {save.files[k]}: {value!r:.100}")
        if status == 0 and found != new:
            return Ended("saved without a file", name)
        if status == 11:
            return Ended("undocumented error", name)
        left = _entries(place) - entries if status >= 0 else set()
        if left:
            return Ended("file left", f"{name}: {left}")
        save.write(place, 1)
        if values(save, place) != new:
            return Ended("the next save fails", name)
        # a killed process leaves its temporary file of machine code, which counts in the cache and is pruned like the others
        if (more := _entries(place) - entries) and name != "machine code":
            return Ended("file left", f"{name}: {more}")
        return Ended("new" if found == new else "old" if found == old else "some old, some new")

    @staticmethod
    def _without(save: Save, place: Path) -> tuple[list[Any], list[Any], set[str]]:
        place.mkdir()
        save.write(place, 0)
        old = values(save, place)
        save.write(place, 1)
        return old, values(save, place), _entries(place)


def _entries(folder: Path) -> set[str]:
    return {str(path.relative_to(folder)) for path in folder.rglob("*")}


def kills(folder: Path) -> Trial:
    """Trials that kill a save at a system call."""

    def ended(save: Save, place: Path, number: int) -> tuple[int, bool]:
        passed: list[int] = []
        status = in_child(lambda: save.write(place, 1), killed_at(number, passed))
        return status, status >= 0

    return Saves(folder, ended).trial


def full_disks(folder: Path) -> Trial:
    """Trials in which files cannot grow beyond a size."""

    def ended(save: Save, place: Path, size: int) -> tuple[int, bool]:
        largest = max(path.stat().st_size for path in place.rglob("*") if path.is_file())
        if save is SAVES["machine code"]:  # a cache may stay without a file
            return 0, True

        def limited() -> None:
            resource.setrlimit(resource.RLIMIT_FSIZE, (size, size))
            save.write(place, 1)

        if size > largest + 64:
            return 0, True
        return in_child(limited, _detach), False

    return Saves(folder, ended).trial


def can_trace() -> str:
    """Why processes cannot be traced here; empty if they can."""
    if sys.platform != "linux":
        return "system calls are traced on Linux only"
    passed: list[int] = []
    status = in_child(os.getpid, killed_at(0, passed))
    return "" if status == -signal.SIGKILL else "this process may not trace others (ptrace)"
