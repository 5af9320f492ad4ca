"""The fake adapter: simulated devices on NumPy, with streams that can run late and memory that can be poisoned."""

from .adapter import FakeBackend
from .adapter import FakeBackend as Backend

__all__ = ["Backend", "FakeBackend"]
