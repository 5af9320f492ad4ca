"""Running operations on cells: inline, recorded for gradients, or deferred into a window."""
