"""The networks of `examples/architectures` beside their published implementations."""
