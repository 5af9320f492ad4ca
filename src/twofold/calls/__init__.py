"""From an operator to a callable: the generated functions and methods of all array classes, and the general path that they fall back to.

* `contents`: fragments that take NumPy's array out of an operand, and put one into a new array;
* `arithmetic`: Python's operators and functions of one or two operands;
* `items`: ``x[key]``, ``x[key] = value``, ``reshape`` and ``T``;
* `short`: NumPy's own functions on small arrays;
* `row_functions`: functions of NumPy's namespaces that apply one operator;
* `general`: parameters, checks, ``out=`` and storage, for MXNet's generated functions.

The templates are real functions; `assembly` says how they become code. Tests of contents are `imperative.guards`.
"""
