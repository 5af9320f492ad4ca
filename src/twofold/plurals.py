"""Counts of things in reports."""


def counted(count: int, noun: str) -> str:
    """A number and a noun, in the plural unless there is one: ``1 step``, ``1,024 steps``."""
    return f"{count:,} {noun}{'' if count == 1 else 's'}"
