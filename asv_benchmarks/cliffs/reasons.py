"""Operations that are slower than NumPy at some sizes, and why. Delete a line when it is mended: the gate then holds it."""

_WINDOW = "a window of several operations on 1e5 elements costs about 25 µs"
_SHORT = "NumPy takes a few µs for 1e5 elements, of which the call costs about 1 µs more"
_ELEMENT = "an element takes 0.4 µs in one Python function (recorded 1.7), NumPy 0.04"
_CONTRACTION = "einsum's products are rounded alike in every mode: the call of opt_einsum takes 5 µs"

#: Operations that are slow while they are recorded, on few elements: NumPy takes 0.3 to 2 µs, and each of so many Python functions that
#: they enter 0.15 to 0.25 µs. The functions of an operation by `mx.np` look at every argument, those of a gather at its places too; a
#: record is one function, and so is a cell's content. A test holds the counts.
RECORDED_FUNCTIONS = {
    "x[j]": 18, "f[j]": 18, "A[k]": 19, "A[:, k]": 19, "A[k, k]": 20, "x[j[:8]]": 26, "x[m]": 24, "x[x > 0.5]": 29, "np.take(x, j)": 28,
    "gathers": 48, "sort by key": 52,
    "x.copy()": 16, "np.array(x)": 27, "x.astype(\"float32\")": 19, "A.T.copy()": 24, "np.repeat(x, 2)": 26, "np.tile(x, 2)": 26,
    "np.concatenate([x, y])": 37, "np.stack([x, y])": 35, "np.vstack([A, A])": 46, "np.diff(x)": 38, "np.roll(x, 1)": 98,
    "np.outer(c, c)": 29, "np.dot(x, y)": 16, "A.T @ c": 21, "W.T @ t": 21, "T.T @ x8": 21, "gradient of least squares": 29,
    "A.T @ A": 26, "A @ A.T": 27, "A.T @ A.T": 36, "T.T @ T": 26, "F.T @ F": 26, "F @ F.T": 27, "W @ W.T": 27, "T @ T.T[:, :8]": 32,
    "x[1:] - x[:-1]": 20, "x[::2] + y[::2]": 20, "x[::-1] + y": 13, "m & (x > 0.3)": 22, "np.maximum(x, 0.5)": 10,
    "np.where(m, x, y)": 26, "np.where(x > 0.5, x, 0.0)": 52, "np.clip(x, 0.2, 0.8)": 45,
    "x.sum()": 18, "f.sum()": 18, "x.max()": 21, "x.argmax()": 21, "x.std()": 47, "A.sum(0)": 23, "A.sum(1)": 23, "A.T.sum(0)": 34,
    "A.T.sum(1)": 34, "A.max(0)": 26, "A.max(1)": 26, "A.T.max(1)": 37, "A.argmax(1)": 29, "D.sum(0)": 23, "D.sum(1)": 23, "D.sum(2)": 23,
    "W.sum(0)": 23, "W.sum(1)": 24, "T.sum(0)": 24, "T.sum(1)": 23, "np.cumsum(x)": 29, "np.cumsum(A, axis=0)": 27, "np.cumprod(x)": 30,
    "np.sort(x)": 31, "np.sort(f)": 31, "np.sort(A, axis=0)": 32, "np.searchsorted(s, y)": 84,
    "softmax of rows": 74, "pairwise distances": 46, "prefix sums": 52,
}  # fmt: skip

_OTHERS: dict[str, str] = {
    **dict.fromkeys(("growing list of sums", "scalar recurrence", "prefix sums", "standardise columns", "m & (x > 0.3)"), _WINDOW),
    **dict.fromkeys(("loop until convergence", "loop with a read each iteration"), _WINDOW),
    **dict.fromkeys(("3-d stencil", "3-d stencil in place", "2-d stencil", "2-d stencil in place", "1-d stencil in place"), _WINDOW),
    **dict.fromkeys(("np.logical_and(m, m)", "~m", "m.any()", "np.clip(x, 0.2, 0.8)"), _SHORT),
    **dict.fromkeys(("x[0]", "x[-1]"), _ELEMENT),
    **dict.fromkeys(("np.einsum('i,i->', x, y)", "np.einsum('ij,jk->ik', A, A)"), _CONTRACTION),
    "np.matmul(A, A, out=C)": "short calls take no `out`: NumPy writes it from the general path: 4 µs for few elements",
    "B @ B.transpose(0, 2, 1)": "a view by axes is made and copied the general way: 5 µs for few elements",
    "A[:, k]": "NumPy leaves the result in the order of columns; in row-major order, which all arrays have, it takes one more copy",
    "np.nonzero(m)": "a tuple of arrays is wrapped in 1 µs",
}
#: Titles of operations to reasons.
REASONS: dict[str, str] = {
    title: "; ".join(
        [
            *([_OTHERS[title]] if title in _OTHERS else []),
            *([f"recorded, {RECORDED_FUNCTIONS[title]} Python functions"] if title in RECORDED_FUNCTIONS else []),
        ]
    )
    for title in (*_OTHERS, *RECORDED_FUNCTIONS)
}
