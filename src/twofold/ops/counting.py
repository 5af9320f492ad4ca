"""Counts of values: histograms, on the host."""

from ..errors import ParameterError, ShapeError
from ..opdef import Floats, op


def _counts(np, data, edges):
    return np.histogram(data, edges)[0]


@op("_histogram", "_npi_histogram", outputs=2, output_names=("output0", "output1"), differentiable=False)
def histogram(xp, data, bins=None, *, bin_cnt: int | None = None, range: Floats | None = None):
    """The number of values (int64) in each bin, and the bins' edges.

    The edges are ``bins`` (n + 1,), or those of ``bin_cnt`` equal bins over ``range``, in the dtype of ``data``. Each bin includes its
    lower edge, the last one both; values outside are not counted.
    """
    if bins is None:
        if bin_cnt is None or bin_cnt < 1 or range is None or len(range) != 2 or not range[0] < range[1]:
            given = f"bin_cnt={bin_cnt}, range={range}"
            raise ParameterError("histogram: edges, or a number of bins and their range, are required", given, "pass bins")
        low, high = range
        # in float64, and rounded to the data's dtype once
        part = xp.iota(size=bin_cnt + 1, dtype="float64") / bin_cnt
        bins = xp.cast(low * (1 - part) + high * part, xp.dtype_of(data))  # exact at both ends
    if len(bins.shape) != 1 or bins.shape[0] < 2:
        raise ShapeError("histogram: the edges must be a vector of at least two", bins.shape, "pass bins (n + 1,)")
    like = xp.zeros((bins.shape[0] - 1,), "int64")
    return xp.host(_counts, data, bins, like=like), xp.contiguous(bins)


# the edges have the dtype of `bins` where these are given, and else that of the data
histogram.dtypes(lambda dtypes, **_: ["int64", dtypes[1] if len(dtypes) > 1 and dtypes[1] is not None else dtypes[0]])
histogram.sample(lambda draw: draw(draw.real((3, 4)), None, bin_cnt=3, range=(-1.0, 1.5), gradient=False))
