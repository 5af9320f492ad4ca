"""NumPy itself, with large arrays folded: what a script run by ``python -m twofold run --numpy`` sees as ``numpy``.

`face.numpy` builds the module; `array.FoldingArray` is the class of its large arrays; `explain.report` says which lines fold.
"""
