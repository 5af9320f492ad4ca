"""Calls of libraries with large arrays of a script, whose results the script prints: ``everyday_calls.py pandas scipy …``.

It runs with NumPy and with folding arrays. Each function is named after the library that it calls. With ``--passes=3`` it prints the least
seconds that each call took in so many passes after a first one, as JSON.
"""

import hashlib
import io
import json
import os
import pickle
import sys
import tempfile
import time
from concurrent.futures import ThreadPoolExecutor

import numpy as np

N = 300_000
x = np.linspace(0.0, 10.0, N)
y = np.sin(x) * 2.0 + x
z = (x * 7.0).astype(np.int64)
flat = (np.abs(y) * 10.0).astype(np.uint8)
image = flat[: 400 * 600].reshape(400, 600)
square = y[:250_000].reshape(500, 500)
folder = tempfile.mkdtemp()


def path(name):
    return os.path.join(folder, name)


def pandas():
    import pandas as pd

    frame = pd.DataFrame({"y": y, "z": z})
    yield "cut", pd.cut(y, 10).codes
    yield "qcut", pd.qcut(y, 4, labels=False)
    yield "frame", frame.groupby("z").y.mean()
    yield "series", pd.Series(y).rolling(5).mean().to_numpy()
    frame["w"] = y * 2.0
    frame.loc[3:5, "w"] = 0.0
    yield "column", frame.w
    yield "merge", frame.head(500).merge(pd.DataFrame({"z": np.arange(70), "v": y[:70]}), on="z")
    yield "factorize", pd.factorize(z)[0]
    yield "testing", pd.testing.assert_frame_equal(frame, pd.DataFrame({"y": y, "z": z, "w": frame.w}))
    yield "mask", frame[y > 5.0].sum()
    wanted = np.arange(0, 2 * N, 2)  # noqa: F841  (pandas reads it)
    yield "query", frame.query("z in @wanted and y > @y.mean()").w.sum()
    yield "categorical", pd.Categorical.from_codes(z % 3, ["a", "b", "c"])
    yield "index", pd.Index(y).searchsorted(y[:9])
    yield "date", pd.to_datetime(z, unit="s")[-1]
    yield "written", pd.read_csv(io.StringIO(frame.head(5).to_csv()))


def polars():
    import polars as pl

    frame = pl.DataFrame({"y": y, "z": z})
    yield "group", np.round(frame.group_by("z").agg(pl.col("y").sum()).sort("z")["y"].to_numpy(), 6)  # sums of threads differ
    yield "series", pl.Series("y", y).sum()
    yield "from_numpy", pl.from_numpy(square).shape
    yield "with_columns", frame.with_columns(w=y * 2.0)["w"].to_numpy()
    yield "filter", frame.filter(y > 5.0).height


def pyarrow():
    import pyarrow as pa
    import pyarrow.compute as pc
    import pyarrow.parquet as pq

    yield "array", pa.array(y).to_numpy()
    yield "mean", pc.mean(pa.array(y)).as_py()
    pq.write_table(pa.table({"y": y, "z": z * 2}), path("a.parquet"))
    yield "parquet", pq.read_table(path("a.parquet"))["z"].to_numpy()
    yield "tensor", pa.Tensor.from_numpy(square).to_numpy()
    yield "buffer", pa.py_buffer(y * 3.0).size
    yield "masked", pa.array(y, mask=y > 5.0).null_count


def scipy():
    from scipy import fft, integrate, interpolate, io, linalg, ndimage, optimize, signal, sparse, spatial, special, stats

    yield "gaussian_filter", ndimage.gaussian_filter(square, 2.0)
    yield "label", ndimage.label(square > 5.0)[0]
    yield "map_coordinates", ndimage.map_coordinates(square, [x[:9] * 10.0, x[:9]])
    yield "lfilter", signal.lfilter([1.0, 2.0], [1.0, 0.5], y)
    yield "find_peaks", signal.find_peaks(y)[0]
    yield "welch", signal.welch(y)[1]
    yield "interp1d", interpolate.interp1d(x, y)(x[:9] + 0.5)
    yield "spline", interpolate.CubicSpline(x[::100], y[::100])(x[:9])
    yield "simpson", integrate.simpson(y, x=x)
    yield "curve_fit", np.round(optimize.curve_fit(lambda t, a, b: a * np.sin(t) + b * t, x, y)[0], 6)
    yield "least_squares", np.round(optimize.least_squares(lambda p: p[0] * x - y, [1.0]).x, 6)
    yield "minimize", np.round(optimize.minimize(lambda p: ((p[0] * x - y) ** 2).mean(), [1.0]).x, 4)
    yield "solve", linalg.solve(square + 500.0 * np.eye(500), y[:500])
    yield "lu", linalg.lu_factor(square + 500.0 * np.eye(500))[1]
    yield "csr", (sparse.csr_matrix(square) @ y[:500])
    yield "coo", sparse.coo_matrix((y, (z % 500, z % 400))).tocsr().sum()
    yield "cKDTree", spatial.cKDTree(y[:3000].reshape(-1, 3)).query(y[:3])[0]
    yield "cdist", spatial.distance.cdist(square, square[:3])
    yield "expit", special.expit(y)
    yield "ttest", stats.ttest_ind(x, y).statistic
    yield "rankdata", stats.rankdata(z)
    yield "zscore", stats.zscore(y)
    yield "fft", fft.rfft(y)
    io.savemat(path("a.mat"), {"y": y})
    yield "mat", io.loadmat(path("a.mat"))["y"]


def sklearn():
    from sklearn import cluster, decomposition, linear_model, metrics, preprocessing, tree

    rows = y.reshape(-1, 3)
    yield "scaler", preprocessing.StandardScaler().fit_transform(rows)
    yield "ridge", np.round(linear_model.Ridge().fit(rows, x[::3]).coef_, 8)
    yield "kmeans", np.sort(np.round(cluster.KMeans(2, n_init=1, random_state=0).fit(rows).cluster_centers_, 6), axis=0)
    yield "pca", np.round(np.abs(decomposition.PCA(2).fit(rows).components_), 8)
    yield "tree", tree.DecisionTreeRegressor(max_depth=3, random_state=0).fit(rows, x[::3]).predict(rows)
    yield "metrics", metrics.mean_squared_error(x, y), metrics.accuracy_score(z, z % 5)


def matplotlib():
    import matplotlib

    matplotlib.use("agg")
    from matplotlib import pyplot as plt

    figure, (left, right) = plt.subplots(1, 2)
    left.plot(x, y)
    left.fill_between(x[::1000], y[::1000])
    yield "imshow", right.imshow(square).get_array()
    yield "hist", right.hist(y, bins=20)[0]
    yield "contour", len(right.contour(square).levels)
    figure.savefig(path("a.png"))
    yield "saved", plt.imread(path("a.png"))
    yield "scatter", left.scatter(x[:500], y[:500], c=y[:500] * 2.0).get_offsets()


def PIL():
    from PIL import Image

    yield "fromarray", np.asarray(Image.fromarray(image).resize((60, 40)))
    Image.fromarray(image).save(path("b.png"))
    yield "png", np.asarray(Image.open(path("b.png")))
    yield "putdata", np.asarray(Image.frombuffer("L", (600, 400), image, "raw", "L", 0, 1))
    yield "point", Image.fromarray(square).getextrema()


def cv2():
    import cv2 as cv

    yield "blur", cv.GaussianBlur(image, (5, 5), 1.0)
    yield "canny", cv.Canny(image, 50, 100)
    yield "resize", cv.resize(square, (100, 100))
    yield "threshold", cv.threshold(image, 50, 255, cv.THRESH_BINARY)[1]
    yield "contours", len(cv.findContours((image > 50).astype(np.uint8), cv.RETR_TREE, cv.CHAIN_APPROX_SIMPLE)[0])
    drawn = np.zeros((600, 600, 3), np.uint8)
    cv.circle(drawn, (100, 100), 50, (255, 0, 0), -1)
    yield "in place", drawn
    yield "filter2D", cv.filter2D(square, -1, np.ones((3, 3)) / 9.0)
    yield "calcHist", cv.calcHist([image], [0], None, [16], [0, 256])
    yield "remap", cv.remap(image, x[:240_000].reshape(400, 600).astype("f4"), y[:240_000].reshape(400, 600).astype("f4"), cv.INTER_LINEAR)


def shapely():
    import shapely as sh

    points = sh.points(x, y)
    yield "points", sh.get_x(points)
    yield "polygon", sh.Polygon(np.column_stack([x, y])).area
    yield "contains_xy", sh.contains_xy(sh.box(1, 1, 4, 4), x, y)
    yield "linestrings", sh.length(sh.linestrings(np.stack([x, y], axis=1)))


def sympy():
    import sympy as sp

    t = sp.symbols("t")
    yield "lambdify", sp.lambdify(t, sp.sin(t) * t**2, "numpy")(y)
    yield "matrix", sp.Matrix(z[:4].reshape(2, 2)).det()
    yield "array", sp.Array(z[:3])
    yield "times", (sp.Integer(2) * z[1]).is_integer


def tables():
    import tables as tb

    with tb.open_file(path("a.h5"), "w") as file:
        yield "array", file.create_array("/", "y", y).read()
        chunked = file.create_earray("/", "e", obj=square)
        chunked.append(square * 2.0)
        yield "appended", chunked[500:503]
        yield "carray", file.create_carray("/", "c", obj=z)[:]


def zarr():
    import zarr as za

    group = za.open_group(path("a.zarr"), mode="w")
    made = group.create_array("y", shape=y.shape, dtype=y.dtype, chunks=(100_000,))
    made[:] = y
    made[5:9] = y[:4] * 2.0
    yield "array", made[:]
    yield "from", za.array(square)[3:5]


def h5py():
    import h5py as h5

    with h5.File(path("b.h5"), "w") as file:
        yield "dataset", file.create_dataset("y", data=y)[:]
        file["z"] = z
        read = np.zeros(N)
        file["y"].read_direct(read)
        yield "read_direct", read
        file["y"].write_direct(y * 2.0)
        yield "write_direct", file["y"][:]
        file.attrs["a"] = y[:9]
        order = np.arange(N)
        yield "mask", file["y"][y > 9.0], file["y"][order], file["y"][order, ...]


def numba():
    import numba as nb

    @nb.njit
    def total(a):
        s = 0.0
        for v in a:
            s += v
        return s

    @nb.vectorize
    def half(a):
        return a / 2.0

    yield "njit", total(y)
    yield "njit of an expression", total(y * 2.0 + 1.0)
    yield "vectorize", half(y)
    yield "list", total(nb.typed.List(y[:9]))


def numexpr():
    import numexpr as ne

    out = np.empty(N)
    ne.evaluate("y * 2 + x", out=out)
    yield "out", out
    yield "named", ne.evaluate("a + b", {"a": x, "b": y * 2.0})


def bottleneck():
    import bottleneck as bn

    held = y * 1.0
    bn.replace(held, held[0], 1.0)
    yield "replace", held
    yield "median", bn.move_median(y, 5)


def joblib():
    import joblib as jl

    jl.dump(y, path("y.joblib"))
    yield "dump", jl.load(path("y.joblib"))
    yield "hash", jl.hash(y)
    yield "parallel", jl.Parallel(2, prefer="threads")(jl.delayed(np.sum)(a) for a in (x, y, y * 2.0))
    yield "memory", jl.Memory(folder, verbose=0).cache(np.sum)(y)


def torch():
    import torch as th

    yield "from_numpy", th.from_numpy(y).sum().item()
    shared = np.zeros(N)
    th.from_numpy(shared).add_(1.0)
    yield "shared", shared * 2.0
    yield "as_tensor", th.as_tensor(square).T.numpy()
    yield "tensor", th.tensor(y * 2.0).mean().item()
    yield "stack", th.stack([th.from_numpy(a) for a in (x, y)]).numpy()
    yield "dlpack", th.from_dlpack(y).sum().item()
    yield "index", th.arange(float(N))[z].numpy()


def xarray():
    import xarray as xa

    data = xa.DataArray(square, dims=("a", "b"), coords={"a": x[:500]})
    yield "mean", data.mean("b").values
    yield "interp", data.interp(a=x[:3]).values
    yield "dataset", xa.Dataset({"s": data, "t": ("a", y[:500])}).to_array().values


def dask():
    import dask.array as da

    lazy = da.from_array(y, chunks=100_000)
    yield "sum", (lazy * 2.0 + 1.0).sum().compute()
    yield "blocks", lazy.map_blocks(np.sqrt).compute()


def skimage():
    from skimage import filters, measure, transform

    yield "sobel", filters.sobel(square)
    yield "otsu", filters.threshold_otsu(image)
    yield "hough", transform.hough_line(image > 50)[0]
    yield "regionprops", [r.area for r in measure.regionprops((image // 60).astype(int))]


def astropy():
    from astropy import units as u
    from astropy.table import Table

    yield "quantity", (y * u.m).to_value(u.km)
    yield "table", Table({"y": y, "z": z})["z"][:9]


def networkx():
    import networkx as nx

    yield "graph", sorted(nx.from_numpy_array(square[:20, :20] > 1.0).degree)


def statsmodels():
    from statsmodels import api

    yield "ols", np.round(api.OLS(y, api.add_constant(x)).fit().params, 8)


def python():
    import ctypes
    import mmap
    import multiprocessing
    import struct

    yield "memoryview", memoryview(y)[3], memoryview(y * 2.0).nbytes
    yield "struct", struct.unpack("3d", y[:3]), struct.unpack_from("d", y, 16)
    yield "pickle", pickle.loads(pickle.dumps({"y": y}))["y"]
    buffers = []
    data = pickle.dumps(y, 5, buffer_callback=buffers.append)
    yield "out of band", pickle.loads(data, buffers=buffers)
    with multiprocessing.get_context("fork").Pool(1) as pool:
        yield "pool", pool.map(np.sum, [y, y * 2.0])
    with mmap.mmap(-1, y.nbytes) as memory:
        memory.write(y)
        yield "mmap", memory[:8]
    held = y * 1.0
    ctypes.memset(held.ctypes.data, 0, 16)
    yield "ctypes", held, (ctypes.c_double * 3).from_buffer(held)[2]
    yield "md5", hashlib.md5(y * 2.0).hexdigest()
    with ThreadPoolExecutor(2) as threads:
        yield "threads", list(threads.map(np.sum, (y, y + 1.0)))
    with open(path("raw"), "wb") as file:
        file.write(y)
    yield "file", np.fromfile(path("raw"))


def shown(found):
    """A result as text: for arrays their dtype, shape and bytes."""
    if isinstance(found, (tuple, list)):
        return str([shown(part) for part in found])
    kind = type(found)
    if kind.__module__.startswith("pandas") or isinstance(found, np.ndarray):
        found = np.ascontiguousarray(found)
        text = found.tobytes() if found.dtype != object else str(found.tolist()).encode()
        return f"{kind.__name__} {found.dtype} {found.shape} {hashlib.md5(text).hexdigest()}"
    return f"{kind.__name__} {found}"


def timed(library, passes):
    """The least seconds of each call and what the script does before it."""
    least = {}
    for number in range(passes + 1):
        calls, begin = globals()[library](), time.perf_counter()
        for name, *found in calls:
            for part in found:
                if isinstance(part, np.ndarray) and part.size:
                    part.item(0)  # now it is computed
            taken = time.perf_counter() - begin
            if number:  # the first pass imports
                least[name] = min(least.get(name, taken), taken)
            begin = time.perf_counter()
    return least


def main():
    passes, *libraries = sys.argv[1:]
    if passes.startswith("--passes="):
        print(json.dumps({library: timed(library, int(passes.partition("=")[2])) for library in libraries}))
        return
    for library in sys.argv[1:]:
        for name, *found in globals()[library]():
            print(library, name, *map(shown, found), sep=": ")


if __name__ == "__main__":
    main()
