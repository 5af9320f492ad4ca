"""The facets of an operator: the facts that one part of the package reads, apart from the core that all of them read.

A fact is declared like those of the core, as a keyword of ``@op`` or by a decorator beside the rule, and read as ``op.layout.keeps_order``.
"""
