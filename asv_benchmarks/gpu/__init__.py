"""The same work on a GPU by Twofold, CuPy, torch and JAX, by the contest of `peers`: `make bench-gpu`.

`items` says what is measured, `table` who takes part, `libraries` how each does it, `targets` what should come out, `report` and
`plot` show what did. A call issues its work and waits for nothing; after so many calls each library waits once, as it does that.
Nothing of a call's results is kept by anybody.
"""
