"""A process that trains by one library: ``python -m asv_benchmarks.trained.worker --worker mxnet --threads 1``."""

from __future__ import annotations

import argparse
from typing import Any

import numpy as np

from asv_benchmarks.workers import answer_commands, many, memory, seconds

from . import STEPS


def made(library: str, name: str) -> Any:
    """A network that is ready to be trained."""
    if library.startswith("torch"):
        from .by_torch import trained as by_torch

        return by_torch(name, library == "torch.compile")
    from .by_gluon import trained as by_gluon

    return by_gluon(__import__(library), name)


def peak(library: str, name: str) -> float:
    """The growth of the resident memory in MB by a network and some steps of its training; the library itself is not counted."""
    __import__(library.partition(".")[0])
    before = memory("VmHWM")
    net = made(library, name)
    for _ in range(5):
        net.step()
    return (memory("VmHWM") - before) / 1e6


def work(library: str) -> None:
    """Answer ``peak NAME``, ``train NAME FILE`` by the losses from the file's weights, and ``COUNT`` by the times of so many steps."""
    net: Any = None

    def answer(line: str) -> Any:
        nonlocal net
        word, *rest = line.split()
        if word == "peak":
            return peak(library, *rest)
        if word == "train":
            net = made(library, rest[0])
            with np.load(rest[1]) as file:
                net.take([file[f"arr_{k}"] for k in range(len(file.files))])
            return [net.step() for _ in range(STEPS)]
        return seconds(many(net.step, int(word)))

    answer_commands(answer)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--worker")
    parser.add_argument("--threads")
    work(parser.parse_args().worker)
