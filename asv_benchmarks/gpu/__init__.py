"""Compares Twofold, CuPy, torch and JAX on a GPU with the machinery of `peers`: `make bench-gpu`.

`items` lists the workloads, `table` the libraries, `libraries` their implementations, `targets` the figures to reach; `report` and
`plot` show the results. A call issues its work without waiting; after a number of calls each library synchronizes once in its usual
way. Nothing keeps the results of a call.
"""
