"""The table of searches."""

from __future__ import annotations

from tests.campaign import beside_mxnet, graphs, guided, processes, programs
from tests.campaign.files import KINDS, trial_of
from tests.campaign.saves import SAVES, full_disks, kills
from tests.campaign.trials import Search

#: How the reader of a file may end.
READ = ("right", "different", "refused")

#: How a save may end.
SAVED = ("old", "new", "some old, some new", "none left")

SEARCHES = {f"file {name}": Search(f"files: {kind.title}", trial_of(kind), READ) for name, kind in KINDS.items()}
SEARCHES |= {
    "guided": Search("files: 2,000 inputs of a kind, guided by coverage", guided.trials, ("none failed", "none left"), 2 * 1900, 19, 1),
    "kill": Search("saves, killed at each system call", kills, SAVED, 500 * len(SAVES), 200, 60),
    "full disk": Search("saves, a full disk at each size", full_disks, SAVED, 6000 * len(SAVES), 200, 60),
}

#: How a graph may end.
INFERRED = ("accepted", "refused", "none left")
#: How an interrupted call may end, after which the program goes on.
INTERRUPTED = ("interrupted", "told with its cause", "went on", "not reached", "none left", "raised MXNetError", "raised DeviceOutOfMemory")
#: How a forked process may end.
FORKED = ("right", "documented error", "none left")
#: Small arrays wait, too.
SMALL = {"TWOFOLD_FOLD_ELEMENTS": "24", "TWOFOLD_DEFER_ELEMENTS": "24"}

SEARCHES |= {
    "symbol parameters": Search("symbols of one operator with hostile parameters", graphs.single_symbols, INFERRED, 100_000, 10_000, 300),
    "symbol grammar": Search("symbols of several operators", graphs.symbols, INFERRED, 100_000, 5_000, 100),
    "onnx grammar": Search("ONNX graphs", graphs.onnx_graphs, INFERRED, 100_000, 5_000, 100),
    "interrupts": Search("calls, interrupted at each line", processes.interrupted_lines, INTERRUPTED, 60_000, 2_000, 20),
    "forks": Search("programs, forked at a line", processes.forks, FORKED, 20_000, 200, 15),
    "full memory": Search("large arrays in limited memory", processes.full_memory, FORKED, 5_000, 100, 5),
    "allocations": Search("calls in which an allocation fails", processes.failing_allocations, FORKED, 50_000, 1_000, 20),
    "threads": Search("eight threads", processes.threads, ("right",), 20_000, 1_000, 24),
    "programs": Search("random programs in every mode", programs.in_modes, ("right",), 200_000, 1_000, 5),
    "three ways": Search("random NumPy programs, folding and `twofold.np`", programs.three_ways, ("right",), 200_000, 1_000, 5, SMALL),
    "folding": Search("random NumPy programs, bit by bit", programs.folding, ("right",), 200_000, 1_000, 5, SMALL),
    "beside mxnet": Search("whole programs beside MXNet 1.9.1", beside_mxnet.programs, beside_mxnet.AGREES, 20_000, 250, 8),
    "leaks": Search("loops, 600 steps each", programs.leaks, ("level",), 4_600, 23, 23, SMALL),
}
