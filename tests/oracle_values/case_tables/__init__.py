"""Tables of cases, one file per family of operators."""
