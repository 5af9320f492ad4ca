"""Bytes at which windows are full, unless the setting ``window_bytes`` says so: more where devices have more memory.

Chains of operations end where windows end. An array of results that no one refers to by then is never in memory. But what operations read
is in memory until then, even if no one else refers to it any more: it counts, too.
"""

from ..backend.loader import backend_for
from ..device import Device

#: The least, and all of them by the serial number of their device.
LEAST = 1 << 30
ROOM: dict[int, int] = {}


def room_of(device: Device) -> int:
    """The bytes for a device: an eighth of a GPU's memory if that is more than the least."""
    memory = 0 if device.is_host else backend_for(device).memory_info(device)[1]
    return ROOM.setdefault(device.serial, max(LEAST, memory // 8))
