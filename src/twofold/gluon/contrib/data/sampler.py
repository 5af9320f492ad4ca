"""The sampler that MXNet 1.x has here; it is `twofold.gluon.data`'s."""

from ...data.sampler import IntervalSampler

__all__ = ["IntervalSampler"]
