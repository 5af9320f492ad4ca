"""Operations that are far slower than NumPy at some sizes, and why. Delete a line when it is mended: the gate then holds it."""

_WINDOW = "a window of several operations on 1e5 elements costs about 25 µs"
_SHORT = "NumPy takes a few µs for 1e5 elements, of which the call costs about 1 µs more"

#: Titles of operations to reasons.
REASONS: dict[str, str] = {
    **dict.fromkeys(
        ("np.einsum('i,i->', x, y)", "growing list of sums", "scalar recurrence", "prefix sums", "standardise columns"), _WINDOW
    ),
    **dict.fromkeys(("3-d stencil", "3-d stencil in place", "2-d stencil", "2-d stencil in place", "1-d stencil in place"), _WINDOW),
    **dict.fromkeys(("A[k, k]", "A[:, k]"), "index arrays in some axes only go the general way"),
    **dict.fromkeys(("np.logical_and(m, m)", "~m", "m.any()", "np.clip(x, 0.2, 0.8)"), _SHORT),
}
