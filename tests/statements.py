"""Statements given as text: the Python functions that they enter, and what they do in several modules."""

from typing import Any

from asv_benchmarks.timing import frames


def frames_of(text: str, names: dict[str, Any]) -> int:
    """How many Python functions a statement enters, from its fourth run on."""
    code = compile(text, "<text>", "exec")
    for _ in range(3):
        exec(code, names)
    return frames(lambda: exec(code, names)) - 1


def run_in(text: str, *modules: dict[str, Any]) -> None:
    """Run a statement with each module's names; the value of an expression becomes ``r`` there."""
    try:
        code = compile(f"r = {text}", "<text>", "exec")
    except SyntaxError:  # an assignment
        code = compile(f"r = None; {text}", "<text>", "exec")
    for names in modules:
        exec(code, names)
