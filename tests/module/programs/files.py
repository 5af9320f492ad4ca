"""Checkpoints and parameter files."""

from __future__ import annotations

import os
import tempfile
from typing import Any

from .samples import batch, batches, bound, normalized, params, perceptron
from tests.oracle_programs import fails, files_in
from tests.training.programs.callbacks import _Log as Log

SGD = {"learning_rate": 0.5, "momentum": 0.9}


def checkpoints(mx: Any) -> Any:
    module = mx.mod.Module(perceptron(mx))
    module.fit(batches(mx), num_epoch=1, arg_params=params(mx), aux_params={}, optimizer_params=SGD)
    with tempfile.TemporaryDirectory() as folder, Log() as lines:
        prefix = os.path.join(folder, "m")
        module.save_checkpoint(prefix, 7, save_optimizer_states=True)
        logged, names = [line.replace(folder, "") for line in lines], files_in(folder)
        again = mx.mod.Module.load(prefix, 7, load_optimizer_states=True)
        state = [again.params_initialized, again.binded, again.get_params()]
        again.fit(batches(mx), begin_epoch=7, num_epoch=8, optimizer_params=SGD)
        missing = fails(lambda: mx.mod.Module.load(prefix, 8))
    return [logged, names, state, again.get_params(), missing, module.predict(batches(mx))]


def files_of_parameters(mx: Any) -> Any:
    module = bound(mx, normalized(mx))
    module.init_optimizer()
    module.forward_backward(batch(mx))
    module.update()
    with tempfile.TemporaryDirectory() as folder:
        path = os.path.join(folder, "p")
        module.save_params(path)
        names = sorted(mx.nd.load(path))
        again = bound(mx, normalized(mx))
        again.load_params(path)
        mx.nd.save(path, {"a": mx.nd.ones((1,))})
        return [names, again.get_params(), fails(lambda: again.load_params(path)), fails(lambda: again.load_params(path + "x"))]


def resume_from_the_best_epoch(mx: Any) -> Any:
    module, figures = mx.mod.Module(perceptron(mx)), []
    with tempfile.TemporaryDirectory() as folder, Log():
        prefix = os.path.join(folder, "m")
        module.fit(
            batches(mx),
            eval_data=batches(mx),
            eval_metric="ce",
            num_epoch=5,
            arg_params=params(mx),
            aux_params={},
            optimizer_params={"learning_rate": 2.0},
            epoch_end_callback=mx.callback.do_checkpoint(prefix),
            eval_end_callback=lambda param: figures.append(param.eval_metric.get()[1]),
        )
        best = min(range(5), key=figures.__getitem__) + 1
        symbol, arg_params, aux_params = mx.model.load_checkpoint(prefix, best)
        again = mx.mod.Module(symbol)
        again.fit(
            batches(mx),
            num_epoch=best + 1,
            begin_epoch=best,
            arg_params=arg_params,
            aux_params=aux_params,
            optimizer_params={"learning_rate": 0.1},
        )
    return [figures, best, again.score(batches(mx), "ce"), again.get_params()[0]]
