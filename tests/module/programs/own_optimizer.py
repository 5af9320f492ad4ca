"""Modules whose optimizer, store and updater a program assigns, as libraries' subclasses of `Module` with an `init_optimizer` do."""

from __future__ import annotations

import tempfile
from pathlib import Path
from typing import Any

from .samples import batch, bound, params, perceptron


def _module(mx: Any, store: str | None, on_store: bool, devices: int = 1) -> Any:
    """A bound module with an `init_optimizer` of its own."""

    class Own(mx.mod.Module):
        def init_optimizer(self, kvstore: Any = None, optimizer: Any = "sgd", optimizer_params: Any = (), force_init: bool = False) -> None:
            made = mx.optimizer.create(optimizer, **dict(optimizer_params))
            kept = None if kvstore is None else mx.kv.create(kvstore)
            self._optimizer, self._kvstore, self._update_on_kvstore, self._updater = made, kept, on_store, None
            for name, arrays in zip(self._param_names, self._exec_group.param_arrays) if kept is not None else ():  # noqa: B905 (older Python)
                kept.init(name, self._arg_params[name])
                if on_store:
                    kept.pull(name, arrays)
            if on_store:
                kept.set_optimizer(made)
            else:
                self._updater = mx.optimizer.get_updater(made)
            self.optimizer_initialized = True

    module = Own(perceptron(mx), context=[mx.cpu(k) for k in range(devices)])
    module.bind([("data", (4, 4))], [("softmax_label", (4,))])
    module.init_params(arg_params=params(mx), aux_params={})
    module.init_optimizer(store, "sgd", {"learning_rate": 0.1, "momentum": 0.9})
    return module


def _file() -> str:
    return str(Path(tempfile.mkdtemp()) / "module.states")


def _step(mx: Any, *modules: Any) -> Any:
    for module in modules:
        module.forward_backward(batch(mx))
        module.update()
    return {k: v.copy() for k, v in modules[-1].get_params()[0].items()}


def _life(mx: Any, *given: Any) -> Any:
    """Two steps; a third after the states are read back; one of another module that borrows the optimizer."""
    module, again = _module(mx, *given), _module(mx, *given)
    found = [_step(mx, module, module)]
    file = _file()
    module.save_optimizer_states(file)
    again.set_params(*module.get_params())
    if not given[1]:
        again.load_optimizer_states(file)
        found.append(_step(mx, again))
    other = bound(mx, context=[mx.cpu(k) for k in range(len(module._context))])
    other.borrow_optimizer(module)
    names = ("_optimizer", "_kvstore", "_updater", "_update_on_kvstore")
    found.append([getattr(other, name) is getattr(module, name) for name in names])
    found += [_step(mx, other), other.optimizer_initialized]
    other._updater = None
    return [*found, module._updater is None]


def without_a_store(mx: Any) -> Any:
    return _life(mx, None, False)


def with_a_store(mx: Any) -> Any:
    return _life(mx, "local", False)


def in_a_store(mx: Any) -> Any:
    return _life(mx, "local", True)


def on_two_devices(mx: Any) -> Any:
    return [_life(mx, "device", False, 2), _life(mx, "local", True, 2)]


def before_there_is_an_optimizer(mx: Any) -> Any:
    module = mx.mod.Module(perceptron(mx))
    before = [module._optimizer, module._kvstore, module._updater, module._update_on_kvstore]
    module._optimizer, module._updater, module._kvstore, module._update_on_kvstore = 1, 2, 3, True
    return [before, module._optimizer, module._updater, module._kvstore, module._update_on_kvstore, module.optimizer_initialized]


def a_function_as_updater(mx: Any) -> Any:
    module, calls = bound(mx, context=[mx.cpu(0), mx.cpu(1)]), []
    module.init_optimizer(kvstore=None)

    def descend(index: Any, grad: Any, weight: Any) -> None:
        calls.append([type(index).__name__, list(index)])
        for g, w in zip(grad, weight):  # noqa: B905 (older Python)
            w -= 0.1 * g

    module._updater = descend
    return [_step(mx, module, module), calls]


class _Updater:
    def __init__(self) -> None:
        self.read: list[Any] = []

    def __call__(self, index: Any, grad: Any, weight: Any) -> None:
        self.read.append(len(index))

    def get_states(self) -> bytes:
        return b"abc"

    def set_states(self, states: bytes) -> None:
        self.read.append(states.decode())


def an_object_as_updater(mx: Any) -> Any:
    module = bound(mx)
    module.init_optimizer(kvstore=None)
    module._updater = _Updater()
    file = _file()
    module.save_optimizer_states(file)
    module.load_optimizer_states(file)
    _step(mx, module)
    return module._updater.read


def another_updater_and_another_optimizer(mx: Any) -> Any:
    module = bound(mx)
    module.init_optimizer(kvstore=None, optimizer_params={"learning_rate": 0.1})
    module._updater = mx.optimizer.get_updater(mx.optimizer.SGD(learning_rate=0.5))
    found = [_step(mx, module), module._optimizer.learning_rate]
    module._optimizer = mx.optimizer.SGD(learning_rate=5.0)
    return [*found, _step(mx, module), module._optimizer.learning_rate]


def without_an_updater(mx: Any) -> Any:
    module = bound(mx)
    module.init_optimizer(kvstore=None)
    module._updater = None
    try:
        _step(mx, module)
    except TypeError:
        return "TypeError"
    return None
