"""``mx.profiler``: what ran, when and for how long, as a Chrome trace and as a table; counts of memory and of work.

Nothing is recorded, and nothing is slower, until `set_state("run")`.
"""

from .control import (
    dump,
    dump_profile,
    dumps,
    pause,
    profiler_set_config,
    profiler_set_state,
    resume,
    set_config,
    set_kvstore_handle,
    set_state,
    state,
)
from .figures import DeviceMemory, counters, memory
from .objects import Counter, Domain, Event, Frame, Marker, Scope, Task, scope

__all__ = [
    "Counter",
    "DeviceMemory",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Scope",
    "Task",
    "counters",
    "dump",
    "dump_profile",
    "dumps",
    "memory",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "resume",
    "scope",
    "set_config",
    "set_kvstore_handle",
    "set_state",
    "state",
]
