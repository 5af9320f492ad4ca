"""Rules of which nodes become one kernel, each with the change that removes it: see `tests.mutants`."""

from tests.mutant_rules import FUSE, Mutant

KERNEL_MUTANTS = (
    Mutant(
        "a kernel ends before what reads it",
        FUSE,
        "if space is not None or any(i in group.members for i in n.operands):",
        "if space is not None:",
    ),
    Mutant(
        "a kernel has one shape",
        FUSE,
        "if self.space_of(n) == self.space:\n            return True\n        row",
        "if self.space_of(n) is not None:\n            return True\n        row",
    ),
    Mutant(
        "additional results of a kernel are read only by results of rows",
        FUSE,
        "(n not in outputs and all(u in found for u in users[n]))",
        "True",
    ),
    Mutant("additional results of a kernel are known", FUSE, "or any(i in taken and i not in found for i in n.inputs):", "or False:"),
    Mutant(
        "additional results of a kernel read no view of their own",
        FUSE,
        "is_known and self.views.keys().isdisjoint(n.inputs) and",
        "is_known and",
    ),
    Mutant("only what is of the rows joins by a row", FUSE, "self.rows and below and n.shape == row and", "self.rows and below and"),
)
