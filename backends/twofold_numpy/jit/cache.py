"""Object code on disk: one file per kernel and target."""

from twofold.backend.disk_cache import DiskCache

CACHE = DiskCache("jit", 64 << 20)
