"""``mx.profiler``: what ran, when and for how long, as a Chrome trace, a table or a page; memory and work counters.

Nothing is recorded, and there is no overhead, until `set_state("run")`.
"""

from .cluster import merge_traces
from .control import (
    dump,
    dump_profile,
    dumps,
    pause,
    profiler_set_config,
    profiler_set_state,
    resume,
    set_config,
    set_state,
    state,
)
from .figures import DeviceMemory, counters, memory
from .objects import Counter, Domain, Event, Frame, Marker, Scope, Task, scope
from .profile import Profile, report
from .servers import set_kvstore_handle

__all__ = [
    "Counter",
    "DeviceMemory",
    "Domain",
    "Event",
    "Frame",
    "Marker",
    "Profile",
    "Scope",
    "Task",
    "counters",
    "dump",
    "dump_profile",
    "dumps",
    "memory",
    "merge_traces",
    "pause",
    "profiler_set_config",
    "profiler_set_state",
    "report",
    "resume",
    "scope",
    "set_config",
    "set_kvstore_handle",
    "set_state",
    "state",
]
