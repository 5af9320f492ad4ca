"""What files contain, as ``twofold show`` finds it: read into plain data, then printed, drawn or written as JSON."""

__all__: list[str] = []
