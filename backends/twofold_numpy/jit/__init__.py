"""Fused kernels as machine code of LLVM, used where llvmlite is installed (the extra ``jit``) and the setting ``jit`` is on.

`compiled` decides when, `kernel` prints a row program as LLVM's text, `primitives` and `functions` its steps, `compiler` compiles,
`cache` keeps object code on disk.
"""
