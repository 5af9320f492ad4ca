"""``gluon.contrib.data``: a sampler that visits samples at intervals."""

from .sampler import IntervalSampler

__all__ = ["IntervalSampler"]
