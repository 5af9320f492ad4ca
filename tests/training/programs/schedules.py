"""Learning rates of 15 updates, under every schedule and warm-up."""

from __future__ import annotations

from typing import Any

from tests.oracle_programs import fails

UPDATES = range(15)


def _rates(schedule: Any) -> list[float]:
    return [schedule(k) for k in UPDATES]


def factor_multiplies_the_rate_every_few_updates(mx: Any) -> Any:
    return _rates(mx.lr_scheduler.FactorScheduler(3, 0.5, base_lr=1.0))


def factor_stops_at_the_lowest_rate(mx: Any) -> Any:
    return _rates(mx.lr_scheduler.FactorScheduler(2, 0.5, stop_factor_lr=0.3, base_lr=1.0))


def factor_warms_up(mx: Any) -> Any:
    make = mx.lr_scheduler.FactorScheduler
    return [_rates(make(3, 0.5, base_lr=1.0, warmup_steps=4, warmup_begin_lr=0.2, warmup_mode=mode)) for mode in ("linear", "constant")]


def factor_can_be_asked_for_a_late_update_first(mx: Any) -> Any:
    schedule = mx.lr_scheduler.FactorScheduler(3, 0.5, base_lr=1.0)
    return [schedule(14), schedule(2), schedule.count, schedule.base_lr]


def multi_factor_multiplies_the_rate_after_given_updates(mx: Any) -> Any:
    make = mx.lr_scheduler.MultiFactorScheduler
    return [_rates(make([2, 5, 9], 0.5, base_lr=1.0)), _rates(make([2, 5, 9], 0.5, base_lr=1.0, warmup_steps=4))]


def poly_descends_along_a_power(mx: Any) -> Any:
    make = mx.lr_scheduler.PolyScheduler
    return [_rates(make(10, 1.0, 2, 0.1)), _rates(make(10, 1.0, 2, 0.1, 3, 0.05)), _rates(make(10, pwr=0.9))]


def cosine_descends_along_half_a_wave(mx: Any) -> Any:
    make = mx.lr_scheduler.CosineScheduler
    return [_rates(make(10, 1.0, 0.1)), _rates(make(10, 1.0, 0.1, 3, 0.05, "constant"))]


def attributes_have_names_that_state_files_hold(mx: Any) -> Any:
    make = mx.lr_scheduler
    schedules = [
        make.FactorScheduler(3, 0.5),
        make.MultiFactorScheduler([2, 5]),
        make.PolyScheduler(10),
        make.CosineScheduler(10, warmup_steps=2),
    ]
    return [dict(sorted(vars(schedule).items())) for schedule in schedules]


def wrong_parameters_raise(mx: Any) -> Any:
    make = mx.lr_scheduler
    return [
        fails(lambda: make.LRScheduler(0.3)(0)),
        fails(lambda: make.FactorScheduler(0)),
        fails(lambda: make.FactorScheduler(1, 2.0)),
        fails(lambda: make.MultiFactorScheduler([3, 2])),
        fails(lambda: make.MultiFactorScheduler([0, 2])),
        fails(lambda: make.MultiFactorScheduler((1, 2))),
        fails(lambda: make.MultiFactorScheduler([])),
        fails(lambda: make.MultiFactorScheduler([1, 2], 1.5)),
        fails(lambda: make.PolyScheduler(0)),
        fails(lambda: make.PolyScheduler(1.5)),
        fails(lambda: make.CosineScheduler(0)),
        fails(lambda: make.LRScheduler(0.1, warmup_steps=-1)),
        fails(lambda: make.LRScheduler(0.1, warmup_steps=1.5)),
        fails(lambda: make.LRScheduler(0.1, 5, 0.2)),
        fails(lambda: make.LRScheduler(0.1, 5, 0.05, "x")),
    ]
