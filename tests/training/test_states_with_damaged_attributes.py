"""An optimizer in a states file must have attributes with which the next update works; others are refused at loading."""

import numpy as np
import pytest

import twofold as mx
from twofold import nd
from twofold.errors import FormatError
from twofold.formats.pickle_records import load_pickle
from twofold.formats.pickle_writer import dump_states
from twofold.formats.records import NumpyRecord, ObjectRecord
from twofold.optimizer import states

CLASSES = states.MXNET_CLASSES
NAN = float("nan")


def records(scheduler=None):
    updater = mx.optimizer.get_updater(mx.optimizer.Adam(learning_rate=0.01, lr_scheduler=scheduler))
    updater(0, nd.ones(3), nd.ones(3))
    return load_pickle(updater.get_states(True), classes=CLASSES)


def changed(record, **attributes):
    return ObjectRecord(record.module, record.name, (), {**record.state, **attributes})


OPTIMIZERS = [
    {"update": 5},
    {"create_state": None},
    {"learning_rate": 0.1},
    {"__class__": "x"},
    {"num_update": -1},
    {"num_update": 10**60},
    {"num_update": NAN},
    {"begin_num_update": -5},
    {"_all_index_update_counts": {0: {0: -1}}},
    {"_all_index_update_counts": {0: {0: 10**60}}},
    {"_index_update_count": {0: -1}},
    {"lr": NAN},
    {"lr": None},
    {"beta1": NAN},
    {"lr_mult": {0: "x"}},
    {"wd_mult": {0: NAN}},
    {"lr_scheduler": 0.1},
]
FACTOR = [
    {"step": 0},
    {"step": -1},
    {"step": 1e-300},
    {"step": NAN},
    {"count": -1},
    {"count": NAN},
    {"count": float("inf")},
    {"factor": NAN},
]
STEPS = [{"cur_step_ind": -(10**9)}, {"cur_step_ind": 0.5}, {"step": [None, 5]}, {"step": [5, 5]}, {"step": []}, {"count": -1}]
WARMUP = [{"warmup_mode": "other"}, {"warmup_steps": -1}, {"warmup_steps": 0.5}, {"base_lr": "x"}, {"__call__": 5}]


@pytest.mark.parametrize("damage", OPTIMIZERS, ids=str)
def test_an_optimizer_that_could_not_update_is_refused(damage):
    found, optimizer = records()
    updater = mx.optimizer.get_updater(mx.optimizer.Adam())
    with pytest.raises(FormatError):
        updater.set_states(dump_states((found, changed(optimizer, **damage))))
    updater(0, nd.ones(3), nd.ones(3))
    assert updater.optimizer.num_update == 1


CASES = [
    *((mx.lr_scheduler.FactorScheduler(5, 0.5), damage) for damage in FACTOR + WARMUP),
    *((mx.lr_scheduler.MultiFactorScheduler([5, 9], 0.5), damage) for damage in STEPS + WARMUP),
    *((mx.lr_scheduler.PolyScheduler(5), damage) for damage in [{"max_update": 0}, {"power": NAN}, {"final_lr": "x"}, *WARMUP]),
]


@pytest.mark.parametrize(("scheduler", "damage"), CASES, ids=lambda x: str(x) if isinstance(x, dict) else type(x).__name__)
def test_a_schedule_that_the_constructor_would_refuse_is_refused(scheduler, damage):
    found, optimizer = records(scheduler)
    optimizer = changed(optimizer, lr_scheduler=changed(optimizer.state["lr_scheduler"], **damage))
    with pytest.raises(FormatError):
        states.load(dump_states((found, optimizer)))


@pytest.mark.parametrize("name", ["FactorScheduler", "MultiFactorScheduler", "PolyScheduler", "CosineScheduler"])
def test_schedules_round_trip_after_changes_of_the_rate(name):
    scheduler = getattr(mx.lr_scheduler, name)([2, 5] if name.startswith("Multi") else 4, base_lr=0.1)
    assert [scheduler(k) for k in range(8)]
    _, optimizer, _ = states.load(states.dump({}, mx.optimizer.SGD(lr_scheduler=scheduler)))
    assert vars(optimizer.lr_scheduler) == vars(scheduler)


def test_numbers_of_numpy_become_numbers():
    found, optimizer = records(mx.lr_scheduler.FactorScheduler(5, 0.5))
    step = NumpyRecord("int64", (), np.int64(5).tobytes(), is_scalar=True)
    scheduler = changed(optimizer.state["lr_scheduler"], step=step)
    optimizer = changed(optimizer, lr_scheduler=scheduler, lr=NumpyRecord("float32", (), b"\0" * 4, is_scalar=True))
    _, loaded, _ = states.load(dump_states((found, optimizer)))
    assert (loaded.lr_scheduler.step, loaded.lr, type(loaded.lr)) == (5, 0.0, float)


def test_an_infinite_step_never_changes_the_rate():
    scheduler = mx.lr_scheduler.FactorScheduler(float("inf"), 0.5, base_lr=0.1)
    assert [scheduler(k) for k in (1, 10, 100)] == [0.1, 0.1, 0.1]
