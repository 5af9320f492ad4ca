"""The one graph: interned typed nodes, and passes over them. Pure: imports no array library."""
