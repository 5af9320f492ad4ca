"""Rules of kernels as machine code, each with the edit that removes it: see `tests.mutant_rules`."""

from tests.edits import Edit, always, drop, in_file, never, replace, unwrap
from tests.mutant_rules import Mutant

#: Which tests must notice.
MACHINE_CODE = (
    *(f"tests/backend/test_jit{part}.py" for part in ("", "_halves", "_handoff", "_rows", "_strides", "_tiering")),
    "tests/backend/test_bfloat16_products.py",
    "tests/backend/test_products.py",
)
TILES = ("tests/backend/test_convolution.py",)


def _machine_code(name: str, place: str, edit: Edit, tests: tuple[str, ...] = MACHINE_CODE) -> Mutant:
    path = f"twofold_numpy/jit/{place}" if place.endswith(".ll") else f"twofold_numpy.jit.{place}"
    return Mutant(f"machine code: {name}", path, edit, tests)


MACHINE_CODE_MUTANTS = (
    _machine_code(
        "no pass comes before that of an earlier step", "row_passes:passes_of", replace("own = now = max(now, own)", "now = max(now, own)")
    ),
    _machine_code(
        "the result of a reduction is available in the next pass",
        "row_passes:passes_of",
        replace("at[r.value] + (steps[r.value].row and (not is_epilogue(step)))", "at[r.value]"),
    ),
    _machine_code("rows stay whole", "tiering:_bind", replace("space[:-1] if structure.has_rows else space", "space")),
    _machine_code(
        "long rows stay with the default kernel",
        "tiering:_JitKernel._choose",
        replace("not 0 < variant.extents.space[-1] <= BLOCK", "variant.extents.space[-1] <= 0"),
    ),
    _machine_code(
        "a piece that was begun is waited for",
        "llvm/board.ll",
        in_file("%is.first = icmp uge i64 %finished.first, %theirs", "%is.first = icmp uge i64 %finished.first, 0"),
    ),
    _machine_code(
        "one half that refuses is an error",
        "llvm/split.ll",
        in_file("%is.one = or i1 %here.well, %there.well", "%is.one = and i1 %here.well, %there.well"),
    ),
    _machine_code(
        "BLAS is given back", "llvm/pieces.ll", in_file("br i1 %gives, label %look, label %end", "br i1 false, label %look, label %end")
    ),
    _machine_code(
        "a limit of BLAS holds for helpers",
        "llvm/pieces.ll",
        in_file("%is.own = or i1 %is.limited, %is.whole", "%is.own = or i1 false, %is.whole"),
    ),
    _machine_code(
        "a half that was not started is run",
        "llvm/split.ll",
        in_file(
            "%own.returned = call ptr %code(ptr %there, ptr %arguments, i64 %count)", "%own.returned = select i1 true, ptr null, ptr null"
        ),
    ),
    _machine_code(
        "what both halves refuse is computed", "llvm/split.ll", in_file("label %full, label %alone\n", "label %full, label %full\n")
    ),
    _machine_code("a fork waits for a compilation", "tiering:_compile", unwrap("with BUILDING")),
    _machine_code("a fork waits for code between threads", "compiler:Compiler.built", unwrap("with BUILDING")),
    Mutant(
        "machine code: a fork takes locks when no lane is at work",
        "imperative.forks:_before_fork",
        replace("QUEUE.pause()\nfor lock in forks.LOCKS:\n    ...", "for lock in forks.LOCKS:\n    lock.acquire()\nQUEUE.pause()"),
        MACHINE_CODE,
    ),
    _machine_code("no thread waits in a child", "handoff:", drop("os.register_at_fork(after_in_child=forget)")),
    _machine_code(
        "refused arrays are copied",
        "tiering:_JitKernel._run_on_copies",
        never("any((a is not b for a, b in zip(packed, arrays, strict=True)))"),
    ),
    _machine_code("arrays of another size are refused", "llvm/contiguity_check.ll", in_file("  ret i1 %differs\n", "  ret i1 false\n")),
    _machine_code("strided arrays are refused", "llvm_text:contiguity_check", replace("PACKED | ALIGNED", "ALIGNED")),
    _machine_code(
        "arrays of another dtype are refused",
        "llvm/check_array.ll",
        in_file("%taken = and i1 %well, %same.type", "%taken = and i1 %well, true"),
    ),
    _machine_code(
        "arrays with other strides are refused",
        "llvm/layout_check.ll",
        in_file("%same = and i1 %same.n, %same.s", "%same = and i1 %same.n, true"),
    ),
    _machine_code(
        "strided arrays of another shape are refused",
        "llvm/layout_check.ll",
        in_file("%same = and i1 %same.n, %same.s", "%same = and i1 true, %same.s"),
    ),
    _machine_code(
        "inputs that lie where results do are refused",
        "kernel:Printer._check_strided",
        replace("f'br i1 {shared}, label %refused, label %taken'", "f'br i1 false, label %refused, label %taken'"),
    ),
    _machine_code(
        "inputs that lie where results do are copied",
        "strided:as_kernel_input",
        always("address_of(array) == address_of(o) or not np.may_share_memory(array, o)"),
    ),
    _machine_code(
        "what is left of eight columns is added last",
        "row_pass_printer:PassPrinter._out",
        replace("f'%{n}.left.groups = and i64 %{n}.left, -8'", "f'%{n}.left.groups = and i64 %{n}.left, -1'"),
    ),
    _machine_code("sums that wait are added", "reduction_loops:summation_leaves", replace("merges + 1", "merges")),
    _machine_code(
        "a sum begins with 0",
        "reduction_loops:Sum.result",
        replace(
            "f'{self.name}.total = fadd {self.kind} {self.name}.tree, 0.0'",
            "f'{self.name}.total = fadd {self.kind} {self.name}.tree, -0.0'",
        ),
    ),
    _machine_code(
        "NaN is the largest and the smallest",
        "primitives:_extreme",
        replace("a.compare('uno', a).choose(a, a.compare(condition, b).choose(a, b))", "a.compare(condition, b).choose(a, b)"),
    ),
    _machine_code("of two equally near numbers the even one", "halves:rounded", replace("bits >> 16 & 1", "1")),
    _machine_code(
        "NaN stays NaN in bfloat16",
        "halves:rounded",
        replace("value.compare('uno', value).choose(bits & _SIGN | _NAN, nearest)", "nearest"),
    ),
    _machine_code(
        "products of later channels are added to those of the first",
        "llvm/tile_product.ll",
        in_file("%adds = icmp ne i64 %channel, 0", "%adds = icmp ne i64 0, 0"),
        TILES,
    ),
    _machine_code(
        "the last tiles are tiles of the images",
        "llvm/tile_product.ll",
        in_file("%tile = call i64 @llvm.umin.i64(i64 %tile.number, i64 %last.tile)", "%tile = add i64 %tile.number, 0"),
        TILES,
    ),
    _machine_code(
        "results beyond the image are not stored",
        "tile_products:_stored_last",
        replace(
            "f'  %is.inside.{name} = and i1 %is.row.{name}, %is.column.{name}'", "f'  %is.inside.{name} = or i1 false, %is.row.{name}'"
        ),
        TILES,
    ),
    _machine_code(
        "sums of later tiles are added to those of the first",
        "llvm/tile_weight.ll",
        in_file("%adds.first = icmp ne i64 %is.first, 1", "%adds.first = icmp ne i64 1, 1"),
        TILES,
    ),
    _machine_code(
        "channels of the phases come in turn",
        "llvm/image_tiles.ll",
        in_file("%step.first = mul i64 %step, $ALL_PHASES", "%step.first = mul i64 %step, $STEP"),
        TILES,
    ),
    _machine_code(
        "each phase of the images has a kernel of its own",
        "llvm/tile_product.ll",
        in_file("%elements.q = add i64 %elements.offset, %q.elements", "%elements.q = add i64 %elements.offset, 0"),
        TILES,
    ),
    _machine_code(
        "the elements of each phase go to their places",
        "llvm/tile_weight.ll",
        in_file("%q.elements = add i64 %q.row.elements, %q.column", "%q.elements = add i64 %q.row.elements, 0"),
        TILES,
    ),
    _machine_code(
        "lines beyond the image are zeros",
        "llvm/image_tiles.ll",
        in_file("%is.inside = icmp ult i64 %y, %height", "%is.inside = icmp ult i64 0, %height"),
        TILES,
    ),
    Mutant(
        "machine code: half a pair is zero",
        "twofold_numpy.bfloat16_products:_pairs",
        drop("if inner % 2:\n    target[..., -1, 1] = 0"),
        MACHINE_CODE,
    ),
    _machine_code("large arguments go to the C library", "functions:_with_library_beyond", replace("end", "math.inf")),
)
