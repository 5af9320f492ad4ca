"""`SequentialModule`: modules one after the other."""
