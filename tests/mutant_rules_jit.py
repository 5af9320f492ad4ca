"""Rules of kernels as machine code, each with the change that removes it: see `tests.mutant_rules`."""

from tests.mutant_rules import Mutant

#: Which tests must notice.
MACHINE_CODE = (
    *(f"tests/backend/test_jit{part}.py" for part in ("", "_handoff", "_rows", "_strides", "_tiering")),
    "tests/backend/test_products.py",
)


def _machine_code(name: str, file: str, text: str, replacement: str) -> Mutant:
    path = file if file.endswith(".ll") else f"{file}.py"
    return Mutant(f"machine code: {name}", f"backends/twofold_numpy/jit/{path}", text, replacement, MACHINE_CODE)


MACHINE_CODE_MUTANTS = (
    _machine_code("no pass comes before that of an earlier step", "row_passes", "own = now = max(now, own)", "now = max(now, own)"),
    _machine_code(
        "the result of a reduction is available in the next pass", "row_passes", "+ (steps[r.value].row and not is_epilogue(step))", ""
    ),
    _machine_code("rows stay whole", "tiering", "_axis_to_cut(space[:-1] if structure.has_rows else space)", "_axis_to_cut(space)"),
    _machine_code(
        "long rows stay with the default kernel", "tiering", "not 0 < variant.extents.space[-1] <= BLOCK", "variant.extents.space[-1] <= 0"
    ),
    _machine_code(
        "a piece that was begun is waited for",
        "llvm/board.ll",
        "%is.first = icmp uge i64 %finished.first, %theirs",
        "%is.first = icmp uge i64 %finished.first, 0",
    ),
    _machine_code(
        "one half that refuses is an error",
        "llvm/split.ll",
        "%is.one = or i1 %here.well, %there.well",
        "%is.one = and i1 %here.well, %there.well",
    ),
    _machine_code("BLAS is given back", "llvm/pieces.ll", "br i1 %gives, label %look, label %end", "br i1 false, label %look, label %end"),
    _machine_code(
        "a limit of BLAS holds for helpers", "llvm/pieces.ll", "%is.own = or i1 %is.limited, %is.whole", "%is.own = or i1 false, %is.whole"
    ),
    _machine_code(
        "a half that was not started is run",
        "llvm/split.ll",
        "%own.returned = call ptr %code(ptr %there, ptr %arguments, i64 %count)",
        "%own.returned = select i1 true, ptr null, ptr null",
    ),
    _machine_code("what both halves refuse is computed", "llvm/split.ll", "label %full, label %alone\n", "label %full, label %full\n"),
    _machine_code("a fork waits for a compilation", "tiering", "        with BUILDING:\n", "        if True:\n"),
    _machine_code("a fork waits for code between threads", "compiler", "        with BUILDING:\n", "        if True:\n"),
    Mutant(
        "machine code: a fork takes locks when no lane is at work",
        "src/twofold/imperative/forks.py",
        "    QUEUE.pause()\n    for lock in forks.LOCKS:\n        lock.acquire()\n",
        "    for lock in forks.LOCKS:\n        lock.acquire()\n    QUEUE.pause()\n",
        MACHINE_CODE,
    ),
    _machine_code("no thread waits in a child", "handoff", "os.register_at_fork(after_in_child=forget)\n", ""),
    _machine_code("refused arrays are copied", "tiering", "if any(a is not b for a, b in zip(packed, arrays, strict=True)):", "if False:"),
    _machine_code("arrays of another size are refused", "llvm/contiguity_check.ll", "  ret i1 %differs\n", "  ret i1 false\n"),
    _machine_code("strided arrays are refused", "checks", "head, PACKED | ALIGNED)", "head, ALIGNED)"),
    _machine_code(
        "arrays of another dtype are refused", "llvm/check_array.ll", "%taken = and i1 %well, %same.type", "%taken = and i1 %well, true"
    ),
    _machine_code(
        "arrays with other strides are refused", "llvm/layout_check.ll", "%same = and i1 %same.n, %same.s", "%same = and i1 %same.n, true"
    ),
    _machine_code(
        "strided arrays of another shape are refused",
        "llvm/layout_check.ll",
        "%same = and i1 %same.n, %same.s",
        "%same = and i1 true, %same.s",
    ),
    _machine_code(
        "inputs that lie where results do are refused", "kernel", 'f"br i1 {shared}, label %refused', 'f"br i1 false, label %refused'
    ),
    _machine_code(
        "inputs that lie where results do are copied",
        "strided",
        "address_of(array) == address_of(o) or not np.may_share_memory(array, o)",
        "True",
    ),
    _machine_code("what is left of eight columns is added last", "row_pass_printer", "= and i64 %{n}.left, -8", "= and i64 %{n}.left, -1"),
    _machine_code(
        "sums that wait are added", "reductions", "[*first, *second[:-1], (end, merges + 1)]", "[*first, *second[:-1], (end, merges)]"
    ),
    _machine_code("a sum begins with 0", "reductions", "{self.name}.tree, 0.0", "{self.name}.tree, -0.0"),
    _machine_code(
        "NaN is the largest and the smallest",
        "primitives",
        'return a.compare("uno", a).choose(a, a.compare("ogt", b).choose(a, b))',
        'return a.compare("ogt", b).choose(a, b)',
    ),
    _machine_code("large arguments go to the C library", "functions", 'size.compare("uge", end)', 'size.compare("uge", math.inf)'),
)
