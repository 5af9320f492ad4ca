"""On which machines the processes of a cluster run, for messages: ``on_hosts([1])`` is " (on node2)" if there are several machines."""

from collections.abc import Iterable, Sequence

#: The machine's name of each process by its number; empty until they have connected.
_names: list[str] = []


def note_hosts(names: Sequence[str]) -> None:
    """Note the machine of each process."""
    _names[:] = names


def on_hosts(processes: Iterable[int]) -> str:
    """The machines of some processes in parentheses, with a space before; empty if all processes run on one machine.

    Examples
    --------
    >>> from twofold.kvstore.process_hosts import note_hosts, on_hosts
    >>> note_hosts(["node1", "node1", "node2"])
    >>> on_hosts([1, 2])
    ' (on node1, node2)'
    >>> note_hosts([])
    >>> on_hosts([1, 2])
    ''
    """
    found = dict.fromkeys(_names[process] for process in processes if process < len(_names))
    return f" (on {', '.join(found)})" if found and len(set(_names)) > 1 else ""
