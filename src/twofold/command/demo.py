"""``twofold demo``: x."""
def add_arguments(p): pass
def execute(g): return 0
