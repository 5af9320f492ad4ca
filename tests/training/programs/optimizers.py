"""Weights after updates by every optimizer, their states, rates, decays and counts."""

from __future__ import annotations

from typing import Any

import numpy as np

from tests.oracle_programs import fails

RANDOM = np.random.RandomState(1)
WEIGHT = RANDOM.uniform(-1, 1, (3, 4)).astype("float32")
GRADIENTS = [RANDOM.uniform(-2, 2, (3, 4)).astype("float32") for _ in range(4)]
PLAIN: dict[str, Any] = {}
ALL = {"wd": 0.03, "rescale_grad": 0.5, "clip_gradient": 0.4}


def _numbers(state: Any) -> Any:
    if isinstance(state, (list, tuple)):
        return [_numbers(part) for part in state]
    return state


def _trained(mx: Any, name: str, index: Any = 0, dtype: str = "float32", **parameters: Any) -> Any:
    """The weight after each of four updates, and the state after the last."""
    updater = mx.optimizer.get_updater(mx.optimizer.create(name, **parameters))
    weight, weights = mx.nd.array(WEIGHT, dtype=dtype), []
    for gradient in GRADIENTS:
        updater(index, mx.nd.array(gradient, dtype=dtype), weight)
        weights.append(weight.copy())
    return [weights, _numbers(updater.states[index])]


def _variants(mx: Any, name: str, *variants: dict[str, Any]) -> Any:
    return [_trained(mx, name, **dict(learning_rate=0.1, **{**common, **own})) for own in variants or (PLAIN,) for common in (PLAIN, ALL)]


def sgd(mx: Any) -> Any:
    return _variants(mx, "sgd", PLAIN, {"momentum": 0.9})


def nag(mx: Any) -> Any:
    return _variants(mx, "nag", PLAIN, {"momentum": 0.9})


def signum(mx: Any) -> Any:
    return _variants(mx, "signum", PLAIN, {"momentum": 0.0}, {"wd_lh": 0.02})


def dcasgd(mx: Any) -> Any:
    return _variants(mx, "dcasgd", PLAIN, {"lamda": 0.2})


def adam(mx: Any) -> Any:
    return _variants(mx, "adam", PLAIN, {"beta1": 0.5, "beta2": 0.9, "epsilon": 1e-3})


def adamax(mx: Any) -> Any:
    return _variants(mx, "adamax", PLAIN, {"beta1": 0.5, "beta2": 0.9})


def nadam(mx: Any) -> Any:
    return _variants(mx, "nadam", PLAIN, {"beta1": 0.5, "beta2": 0.9, "epsilon": 1e-3, "schedule_decay": 0.1})


def adagrad(mx: Any) -> Any:
    return _variants(mx, "adagrad", PLAIN, {"eps": 1e-3})


def group_adagrad(mx: Any) -> Any:
    scaled = {"rescale_grad": 0.5, "clip_gradient": 0.4, "learning_rate": 0.1}
    return [_trained(mx, "groupadagrad", **scaled), fails(lambda: _trained(mx, "groupadagrad", wd=0.1))]


def rmsprop(mx: Any) -> Any:
    return _variants(mx, "rmsprop", PLAIN, {"gamma1": 0.5}, {"centered": True, "gamma2": 0.8}, {"clip_weights": 0.5})


def adadelta(mx: Any) -> Any:
    return _variants(mx, "adadelta", PLAIN, {"rho": 0.5, "epsilon": 1e-3})


def ftrl(mx: Any) -> Any:
    return _variants(mx, "ftrl", PLAIN, {"lamda1": 0.5, "beta": 0.3})


def ftml(mx: Any) -> Any:
    return _variants(mx, "ftml", PLAIN, {"beta1": 0.3, "beta2": 0.9, "epsilon": 1e-3})


def lars(mx: Any) -> Any:
    names = {0: "fc_weight", 1: "fc_bias"}
    ours = [_trained(mx, "lars", index, learning_rate=1.0, eta=0.01, wd=0.1, param_idx2name=names, momentum=0.9) for index in names]
    return [_variants(mx, "lars", PLAIN, {"momentum": 0.9, "eta": 0.1, "eps": 0.5}), ours]


def lars_corrects_momentum_as_the_rate_changes(mx: Any) -> Any:
    def schedule() -> Any:
        return mx.lr_scheduler.FactorScheduler(1, 0.5, base_lr=1.0)

    rates = {"learning_rate": 1.0, "eta": 0.01, "momentum": 0.9}
    return [_trained(mx, "lars", lr_scheduler=schedule(), momentum_correction=correct, **rates) for correct in (True, False)]


def lamb(mx: Any) -> Any:
    bounds = {"lower_bound": 2.5, "upper_bound": 3.0}
    return _variants(mx, "lamb", PLAIN, bounds, {"upper_bound": 0.7}, {"bias_correction": False, "epsilon": 1e-3})


def lbsgd(mx: Any) -> Any:
    parts = {"batch_scale": 2, "updates_per_epoch": 4, "warmup_epochs": 1}
    strategies = [{"warmup_strategy": strategy, **parts} for strategy in ("linear", "power2", "sqrt", "lars", "other")]
    return _variants(mx, "lbsgd", PLAIN, {"momentum": 0.9}, *strategies, {"momentum": 0.9, "begin_epoch": 1, **parts})


def test_adds_gradients(mx: Any) -> Any:
    return _trained(mx, "test", rescale_grad=0.5)


def weights_of_16_bits(mx: Any) -> Any:
    names = ["sgd", "nag", "adam", "rmsprop", "signum", "lamb"]
    momenta = [_trained(mx, name, dtype="float16", multi_precision=True, learning_rate=0.1, momentum=0.9) for name in ("sgd", "nag")]
    return [[_trained(mx, name, dtype="float16", multi_precision=True, learning_rate=0.1, wd=0.01) for name in names], momenta]


def several_weights_at_once(mx: Any) -> Any:
    found = []
    for name in ("sgd", "adam", "lamb"):
        updater = mx.optimizer.get_updater(mx.optimizer.create(name, learning_rate=0.1, wd=0.1))
        weights = [mx.nd.array(WEIGHT * k) for k in range(1, 8)]
        for gradient in GRADIENTS[:2]:
            updater(list(range(7)), [mx.nd.array(gradient * k) for k in range(7)], weights)
        found.append([weights, updater.optimizer.num_update, updater.aggregate_updates])
    return found


def rates_and_decays_of_weights(mx: Any) -> Any:
    names = {0: "a_weight", 1: "a_bias", 2: "g_gamma", 3: "b_beta", 4: "x"}
    o = mx.optimizer.SGD(learning_rate=0.5, param_idx2name=names, wd=0.1)
    facts = [[o._get_lr(k) for k in range(6)], [o._get_wd(k) for k in range(6)], o._get_lrs([0, 1]), o._get_wds([0, 1])]
    o.set_wd_mult({"a_bias": 2.0, 4: 3.0})
    o.set_lr_mult({0: 2.0, "x": 3.0})
    return [*facts, [o._get_lr(k) for k in range(6)], [o._get_wd(k) for k in range(6)], fails(lambda: mx.optimizer.SGD(param_idx2name=[1]))]


def rates_of_parameters_go_first(mx: Any) -> Any:
    class Parameter:
        lr_mult = 2.0
        wd_mult = 3.0

    o = mx.optimizer.SGD(learning_rate=0.5, wd=0.1, param_dict={0: Parameter()})
    o.set_lr_mult({0: 9.0})
    return [o._get_lr(0), o._get_wd(0), o._get_lr(1), o._get_wd(1)]


def rates_of_a_symbol(mx: Any) -> Any:
    x, w = mx.sym.Variable("x", lr_mult=3, wd_mult=4), mx.sym.Variable("w_weight", lr_mult=0.5)
    symbol = mx.sym.FullyConnected(x, weight=w, num_hidden=2, name="fc")
    o = mx.optimizer.SGD(learning_rate=0.5, param_idx2name={0: "w_weight", 1: "fc_bias", 2: "x"}, wd=0.1, sym=symbol)
    return [[o._get_lr(k) for k in range(3)], [o._get_wd(k) for k in range(3)], o.lr_mult, o.wd_mult]


def rates_of_schedules(mx: Any) -> Any:
    def schedule() -> Any:
        return mx.lr_scheduler.FactorScheduler(2, 0.5, base_lr=0.7)

    o = mx.optimizer.SGD(lr_scheduler=schedule())
    facts = [o.lr_scheduler.base_lr, o.learning_rate, fails(lambda: o.set_learning_rate(0.2))]
    p = mx.optimizer.SGD(learning_rate=0.2)
    p.set_learning_rate(0.3)
    return [facts, p.learning_rate, p.lr, _trained(mx, "sgd", lr_scheduler=schedule())]


def counts_of_updates(mx: Any) -> Any:
    o = mx.optimizer.SGD(learning_rate=1.0, begin_num_update=5)
    updater = mx.optimizer.get_updater(o)
    weight = mx.nd.array([1.0, 2])
    for index in (0, 0, "k"):
        updater(index, mx.nd.array([1.0, 1]), weight)
    facts = [o.num_update, dict(o._index_update_count), dict(updater.states_synced)]
    o._set_current_context(1)
    o._update_count([0, 1])
    return [facts, o._all_index_update_counts, weight]


def creation(mx: Any) -> Any:
    create = mx.optimizer.create
    later = {"adafactor", "adamw", "lion", "muon", "radam"}
    names = sorted(name for name in mx.optimizer.Optimizer.opt_registry if not name.startswith(("_", "mine")) and name not in later)
    defaults = {
        name: {key: value for key, value in vars(create(name)).items() if isinstance(value, (int, float, str, bool)) or value is None}
        for name in names
    }
    for name in ("lars", "lbsgd"):  # never read, but kept elsewhere
        for key in ("skip", "adaptive", "admult", "lbmult"):
            defaults[name].pop(key, None)
    for each in defaults.values():
        each.pop("allow_np_array", None)
    return [names, defaults, create("SGD", learning_rate=3).lr, fails(lambda: create("nope")), fails(lambda: create("sgd", bogus=3))]


def a_user_written_optimizer(mx: Any) -> Any:
    @mx.optimizer.register
    class Mine(mx.optimizer.Optimizer):
        def create_state(self, index: Any, weight: Any) -> Any:
            return mx.nd.zeros(weight.shape)

        def update(self, index: Any, weight: Any, grad: Any, state: Any) -> None:
            self._update_count(index)
            state += 1
            weight -= self._get_lr(index) * grad

    found = _trained(mx, "mine")
    base = mx.optimizer.Optimizer()
    weight = mx.nd.ones((1,))
    return [found, base.create_state(0, weight), fails(lambda: base.update(0, weight, weight, None))]


def states_survive_a_file(mx: Any) -> Any:
    found = []
    for dump_optimizer in (False, True):
        first = mx.optimizer.get_updater(mx.optimizer.create("adam", learning_rate=0.1))
        weight = mx.nd.array(WEIGHT)
        for gradient in GRADIENTS[:2]:
            first(0, mx.nd.array(gradient), weight)
        second = mx.optimizer.get_updater(mx.optimizer.create("adam", learning_rate=0.2))
        second.set_states(first.get_states(dump_optimizer))
        second(0, mx.nd.array(GRADIENTS[2]), weight)
        found.append([weight, second.optimizer.num_update, second.optimizer.lr, _numbers(second.states[0])])
    return found


def states_move_to_a_device(mx: Any) -> Any:
    updater = mx.optimizer.get_updater(mx.optimizer.create("sgd"))
    first, nothing, (inner,) = updater.sync_state_context((mx.nd.ones((1,)), None, [mx.nd.ones((1,))]), mx.cpu(1))
    return [str(first.context), nothing, str(inner.context), updater.sync_state_context(3, mx.cpu(1))]
