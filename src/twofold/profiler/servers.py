"""Profiling the servers of a key-value store: the controls travel to them as a command."""

import json
from collections.abc import Mapping
from typing import Protocol
from weakref import ref

from ..errors import MXNetError

#: The number of the command; programs number theirs from 0.
COMMAND = -1


class CommandStore(Protocol):
    """A store that sends commands to its servers."""

    def send_command_to_servers(self, head: int, body: str) -> None:
        """Send a number and a text to all servers."""
        ...


_store: ref[CommandStore] | None = None


def set_kvstore_handle(handle: CommandStore | None) -> None:
    """Choose the store whose servers ``profile_process="server"`` means. A store with servers is chosen when it is created.

    Parameters
    ----------
    handle
        The store, or None for none. One without servers is as none.
    """
    global _store
    _store = ref(handle) if handle is not None and hasattr(handle, "send_command_to_servers") else None


def send(function: str, arguments: Mapping[str, object]) -> None:
    """Have all servers call a function of the profiler.

    Raises
    ------
    MXNetError
        If there is no store with servers, or the function fails there.
    """
    store = _store() if _store is not None else None
    if store is None:
        raise MXNetError(
            "profiler: there is no server process", None, "create a store with servers first: launch -s 1, kv.create('dist_sync')"
        )
    store.send_command_to_servers(COMMAND, json.dumps([function, dict(arguments)]))
