"""Products of arrays, contractions, polynomials; and linear algebra, ``np.linalg``."""

import math
from collections.abc import Sequence
from typing import Any

import numpy as np

from ..errors import ParameterError
from ..opdef import Op
from ..ops import einsum, mxnet_numpy_creation, mxnet_numpy_shapes, singular_values
from ..ops import mxnet_numpy_linear as ops
from ..ops import mxnet_numpy_reduction as norms
from .front import Array
from .row_functions import Face, Functions, attach_rows


class Products(Functions[Array]):
    """Products of arrays."""

    def tensordot(self, a: object, b: object, axes: Any = 2) -> Array:
        """The sum of products over axes: a number of them, or those of each array."""
        x, y = self.operand(a), self.operand(b)
        if np.isscalar(axes):
            return self.apply(ops.npi_tensordot_int_axes, (x, y), {"axes": axes})
        first, second = axes
        first, second = [list(k) if isinstance(k, (list, tuple)) else [k] for k in (first, second)]
        return self.apply(ops.npi_tensordot, (x, y), {"a_axes_summed": first, "b_axes_summed": second})

    def inner(self, a: object, b: object) -> Array:
        """The sum of products over the last axes."""
        return self.apply(ops.npi_tensordot, (self.operand(a), self.operand(b)), {"a_axes_summed": (-1,), "b_axes_summed": (-1,)})

    def outer(self, a: object, b: object) -> Array:
        """The products of all pairs of elements of two flattened arrays."""
        return self.tensordot(self._flat(a), self._flat(b), 0)

    def vdot(self, a: object, b: object) -> Array:
        """The sum of products of two flattened arrays."""
        return self.tensordot(self._flat(a), self._flat(b), 1)

    def _flat(self, a: object) -> Array:
        return self.apply(mxnet_numpy_shapes.np_reshape, (self.operand(a),), {"newshape": (-1,), "order": "C"})

    def einsum(self, subscripts: str, *operands: object, out: Array | None = None, optimize: object = False, **kwargs: object) -> Array:
        """The sum of products by Einstein's convention."""
        if kwargs:
            raise ParameterError("einsum: unknown arguments", ", ".join(kwargs), "pass subscripts, operands, out and optimize")
        return self.apply(einsum.einstein_sum, self.operands(operands), {"subscripts": subscripts, "optimize": int(bool(optimize))}, out)

    def diag_indices_from(self, arr: object) -> Sequence[Array]:
        """The coordinates of the main diagonal, an array for each axis."""
        return self._rows(self.apply(mxnet_numpy_creation.npi_diag_indices_from, (self.operand(arr),)))

    def _rows(self, found: Sequence[Array]) -> Sequence[Array]:
        """The result of a function that returns an array for each axis."""
        return found


class LinearAlgebra(Face[Array]):
    """``np.linalg``: decompositions, equations, norms of matrices."""

    def _apply(self, op: Op, *arrays: object, **params: object) -> Array:
        return self._front.apply(op, [self._front.operand(a) for a in arrays], params)

    def pinv(self, a: object, rcond: object = 1e-15, hermitian: bool = False) -> Array:
        """Pseudo-inverses, in which singular values below ``rcond`` times the largest count as 0."""
        if hermitian:
            raise ParameterError("pinv: hermitian is not supported", "hermitian=True", "leave hermitian out")
        if self._front.number(rcond) is None:
            return self._apply(singular_values.pinv, a, rcond, hermitian=False)
        return self._apply(singular_values.pinv_of_scalar, a, rcond=rcond, hermitian=False)

    def norm(self, x: object, ord: Any = None, axis: Any = None, keepdims: bool = False) -> Array:
        """The norm of vectors or matrices along axes.

        Parameters
        ----------
        x
            The array.
        ord
            The order: a number, an infinity, ``"fro"`` or ``"nuc"``; the square root of the sum of squares if None.
        axis
            One axis for vectors, two for matrices; all if None.
        keepdims
            Keep the axes, with size 1.
        """
        given: dict[str, Any] = {"axis": (axis,) if isinstance(axis, int) else axis, "keepdims": keepdims}
        if ord is None:
            flag = norms.FLAT if axis is None else norms.FROBENIUS
            return self._apply(norms.npi_norm, x, ord=2, flag=flag, **given)
        if ord == "fro":
            return self._apply(norms.npi_norm, x, ord=2, flag=norms.FROBENIUS, **given)
        if ord == "nuc":
            return self._apply(norms.npi_norm, x, ord=2, flag=norms.NUCLEAR, **given)
        order = {"inf": math.inf, "-inf": -math.inf}.get(ord, ord)
        if isinstance(order, str):
            raise ParameterError("norm: unknown order", repr(ord), "use a number, 'inf', 'fro' or 'nuc'")
        # 2 and -2 of matrices are their extreme singular values, of vectors ordinary orders
        two_axes = given["axis"] is not None and len(given["axis"]) == 2
        flag = norms.SPECTRAL if two_axes and order in (2, -2) else norms.BY_ORDER
        return self._apply(norms.npi_norm, x, ord=order, flag=flag, **given)


attach_rows(LinearAlgebra, "linalg")
