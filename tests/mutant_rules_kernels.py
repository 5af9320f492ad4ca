"""Rules of which nodes become one kernel, each with the edit that removes it: see `tests.mutants`."""

from tests.edits import always, never, replace
from tests.mutant_rules import Mutant

KERNEL_MUTANTS = (
    Mutant(
        "a kernel ends before what reads it",
        "graph.fuse:steps_of",
        replace("space is not None or not group.members.isdisjoint(n.operands)", "space is not None"),
    ),
    Mutant("a kernel has one shape", "graph.fuse:_Group.takes", replace("self.space_of(n) == self.space", "self.space_of(n) is not None")),
    Mutant(
        "additional results of a kernel are read only by results of rows",
        "graph.fuse:_Group.also",
        always("n not in outputs and all((u in found for u in users[n]))"),
    ),
    Mutant(
        "additional results of a kernel are known",
        "graph.fuse:_Group.also",
        never("any((i in taken and i not in found for i in n.inputs))"),
    ),
    Mutant(
        "additional results of a kernel read no view of their own",
        "graph.fuse:_Group.also",
        always("self.views.keys().isdisjoint(n.inputs)"),
    ),
    Mutant(
        "only what is of the rows joins by a row",
        "graph.fuse:_Group.takes",
        never("n.shape != row"),
    ),
)
