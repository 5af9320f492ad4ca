"""Operations that are far slower than NumPy at some sizes, and why. Delete a line when it is mended: the gate then holds it."""

_VIEW = "NumPy's takes 0.1 µs, whatever the size; a view of a large array is a view operation that may join a window"
_OUT = "computed apart, then copied"
_TRANSPOSED = "the view is copied before it is read"
_SMALL = "a small result of a large array waits in a window, which costs about 25 µs"

#: Titles of operations to reasons.
REASONS: dict[str, str] = {
    **dict.fromkeys(
        ("x[::2]", "x[1:-1]", "A[1:-1, 1:-1]", "A.T", "A.T[0]", "A[:, 0]", "np.flip(x)", "A.ravel()", "x.reshape(1, -1)"),
        _VIEW,
    ),
    **dict.fromkeys(("np.sqrt(x, out=z)", "np.add(x, y, out=z)", "np.multiply(x, 2.0, out=x)"), _OUT),
    **dict.fromkeys(
        (
            *(
                "A.T.sum(0)",
                "A.T.sum(1)",
                "A.T.max(1)",
                "A.T.copy()",
                "A.T.ravel()",
                "A.T @ c",
                "W.T @ t",
                "T.T @ x8",
                "T.T @ T",
                "F.T @ F",
            ),
            *("A.T @ A.T", "A.T @ A", "W @ W.T", "gradient of least squares"),
        ),
        _TRANSPOSED,
    ),
    **dict.fromkeys(
        ("np.einsum('i,i->', x, y)", "m.any()", "x.sum()", "i.sum()", "f.sum()", "growing list of sums", "scalar recurrence"), _SMALL
    ),
    **dict.fromkeys(("A[:, 0] += 1.0", "A.T[0] += 1.0"), "a part of a large array is read, changed and written by three operations"),
    **dict.fromkeys(("A[k, k]", "A[:, k]"), "index arrays in some axes only go the general way"),
    "np.roll(x, 1)": "composed of slices and a concatenation",
    **dict.fromkeys(
        ("np.logical_and(m, m)", "~m", "np.clip(x, 0.2, 0.8)", "np.diff(x)", "x[::2] += 1.0"),
        "one operation of 1e5 elements takes 10 µs in NumPy; a window of one operation costs about 25 µs",
    ),
    **dict.fromkeys(
        ("3-d stencil", "3-d stencil in place", "2-d stencil in place", "1-d stencil in place"),
        "windows of a few operations on 1e5 elements",
    ),
}
