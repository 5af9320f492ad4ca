"""Fused kernels as machine code, by LLVM: used where llvmlite is installed (the extra ``jit``) and the setting ``jit`` is on.

`tiering` decides when to compile; machine code depends on the facts in `structure`. `kernel` and `row_pass_printer` print LLVM IR, `checks`
the checks of arguments, `primitives`, `functions` and `reduction_loops` the steps. `strided` describes strided inputs to a kernel,
`compiler` compiles, `cache` stores object code on disk, `callables` makes Python functions of it, `handoff` splits a kernel over two
threads.
"""
