"""The fake adapter: several devices that are none, on NumPy, whose streams run late and whose memory can be poisoned."""

from .adapter import FakeBackend
from .adapter import FakeBackend as Backend

__all__ = ["Backend", "FakeBackend"]
