"""Compares Twofold with other libraries, each in its own process, in alternating turns: `make bench-peers`.

`contest` is the parent and drives `worker` processes through pipes. `items` lists the workloads, `inputs` and `chains` their data and
formulas, `libraries` each library's implementations, `targets` the figures to reach; `report` and `plot` show the results. `inputs`,
`chains`, `worker` and `libraries` run in the interpreter of the measured library, which for MXNet is Python 3.9.
"""
