"""The same work in Twofold and its peers, each library in a process of its own, alternating in one run: `make bench-peers`.

`contest` is the parent and drives `worker` processes over pipes; `items` says what is measured, `inputs` and `chains` what it is
about, `libraries` how each library does it, `targets` what should come out, `report` and `plot` show what did. `inputs`, `chains`,
`worker` and `libraries` run in the interpreter of the library that they measure, which for MXNet is Python 3.9.
"""
