"""The options of ``twofold launch --plan``."""

import argparse

from .arguments import fraction_and_factor, named_shape, positive_integer, positive_number


def add_plan_arguments(parser: argparse.ArgumentParser) -> None:
    """Declare the options of ``--plan``, and those of its ``--days``."""
    plan = parser.add_argument_group("plan")
    plan.add_argument("--plan", action="store_true", help="print how many workers pay off, and start nothing")
    plan.add_argument("--network", metavar="NAME", help="10GbE (default), 25GbE, IB100, or latency and bandwidth: a=40us,B=1.17GB/s")
    size = plan.add_mutually_exclusive_group()
    size.add_argument("--model", metavar="FILE", help="the model: its .params file, or its -symbol.json with --shape")
    size.add_argument("--bytes", type=positive_number, metavar="N", help="or the bytes of its gradients, such as 102e6")
    plan.add_argument(
        "--shape",
        type=named_shape,
        action="append",
        default=[],
        metavar="NAME=N,N",
        help="with a -symbol.json: shape of an input; repeatable",
    )
    plan.add_argument(
        "--step-ms", type=positive_number, metavar="MS", help="what one worker computes in a step, forward and backward, in milliseconds"
    )
    days = parser.add_argument_group("plan of a job of days")
    add = days.add_argument
    add("--days", type=positive_number, metavar="D", help="with --plan: forecast a job of so many days, and say what to choose")
    add("--per-machine", type=positive_integer, metavar="N", help="workers on each machine, which share its link (default: 1)")
    add("--storage", type=positive_number, metavar="B", help="bytes a second that the storage of checkpoints takes (default: 2e9)")
    add("--checkpoint", type=positive_number, metavar="B", help="bytes of a checkpoint (default: three times those of gradients)")
    add("--restart", type=positive_number, metavar="S", help="seconds until a job that has failed runs again (default: 180)")
    add("--failures", type=positive_number, metavar="N", help="failures of a process in a day (default: that of a GPU, 4.7e-4)")
    add("--slow", type=fraction_and_factor, metavar="SHARE,FACTOR", help="how often a worker is slow, and how much (default: 0.01,1.34)")


def check_plan_arguments(given: argparse.Namespace) -> None:
    """Refuse options that would be ignored."""
    if not given.plan and (given.bytes or given.model or given.shape or given.step_ms or given.days or given.network):
        given.usage_error("--network, --bytes, --model, --shape, --step-ms and --days need --plan")
    of_days = given.per_machine, given.storage, given.checkpoint, given.restart, given.failures, given.slow
    if not given.days and any(of_days):
        given.usage_error("--per-machine, --storage, --checkpoint, --restart, --failures and --slow need --days")
    if given.days and not given.step_ms:
        given.usage_error("--days needs --step-ms")
