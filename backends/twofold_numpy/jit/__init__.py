"""Fused kernels as machine code of LLVM, used where llvmlite is installed (the extra ``jit``) and the setting ``jit`` is on.

`compiled` decides when, `structure` says what decides a text, `kernel` prints it, `checks` how it looks at arrays, `primitives` and
`functions` its steps; `strided` has the numbers for strided inputs, `compiler` compiles, `cache` keeps object code on disk.
"""
