"""Notices between processes of which one dies: those of the others arrive."""

from __future__ import annotations

from types import SimpleNamespace

import numpy as np
import pytest

from twofold.kvstore.transports import mpi


class Gone(Exception):
    """What MPI raises about a process that has died."""


class Status:
    """The sender of a message that a probe has found."""

    source = -1

    def Get_source(self):
        return self.source


class Comm:
    """A communicator of three processes, as process 0 sees it under ULFM: what a dead process has sent is found, but never received."""

    rank, size = 0, 3

    def __init__(self, sent):
        self.sent, self.dead, self.known = sent, set(), set()

    def Iprobe(self, source=None, status=None):
        if source is None and self.dead - self.known:
            raise Gone
        found = [k for k, _ in self.sent if source in (None, k)]
        if found and status is not None:
            status.source = found[0]
        return bool(found)

    def Recv(self, words, source):
        if source == self.dies_at_recv:
            self.dead.add(source)
        if source in self.dead:
            raise Gone
        at = next(k for k, (sender, _) in enumerate(self.sent) if sender == source)
        words[:] = self.sent.pop(at)[1]

    dies_at_recv = None

    def Ack_failed(self):
        self.known |= self.dead

    def Get_failed(self):
        return SimpleNamespace(numbers=sorted(self.known))


@pytest.mark.parametrize("dies", ["before the look", "after the look"])
def test_a_notice_of_a_dead_process_does_not_hide_those_of_others(dies, monkeypatch):
    monkeypatch.setattr(mpi, "mpi_module", lambda: SimpleNamespace(Exception=Gone, Status=Status))
    monkeypatch.setattr(mpi, "numbers_of", lambda group, comm: group.numbers)
    words = np.arange(mpi.WORDS)
    comm = Comm([(1, words), (2, words + 1), (2, words + 2)])
    if dies == "before the look":
        comm.dead.add(1)
    else:
        comm.dies_at_recv = 1
    channel = mpi.NoticeChannel(comm)
    found = [notice for _ in range(4) if (notice := channel.poll()) is not None]
    assert found == [(2, (words + 1).tolist()), (2, (words + 2).tolist())]
    assert channel.dead == {1}
