"""The workloads of the GPU comparison, in groups that ``--only`` selects, and their sizes."""

from __future__ import annotations

from dataclasses import dataclass

from asv_benchmarks.gpu.table import OWN, WITH_CUDNN, WITHOUT_GRAPHS
from asv_benchmarks.peers.items import Item

CHAINS = ("black_scholes", "gelu", "clip")
#: Row operations and norms.
ROWS = ("softmax", "layer_norm", "layer_norm_gradient", "batch_norm_gradient", "cross_entropy")
DTYPES = ("float32", "float16", "bfloat16")
#: Tolerances of matrix products and of an untrained ResNet-50, over whose layers the rounding errors of 16-bit floats grow.
PRODUCT, RESNET = {"float32": 1e-5, "float16": 1e-2, "bfloat16": 1e-2}, {"float16": 0.25, "bfloat16": 0.6}
RIVALS = (OWN, "torch", "jax", "cupy")
#: Minimum number of times that all elements are read or written. The gradients of layer norm read x and dout and write dx; those of
#: batch norm read both twice, first for sums over the batch; Adam reads four arrays and writes three.
PASSES = {
    "copy": 2,
    "black_scholes": 4,
    "gelu": 2,
    "clip": 2,
    "softmax": 2,
    "layer_norm": 2,
    "layer_norm_gradient": 3,
    "batch_norm_gradient": 5,
    "cross_entropy": 2,
    "adam_many": 7,
}


@dataclass(frozen=True)
class Sizes:
    """Elements of chains, rows and weights; rows and columns of matrices; batch sizes of LeNet and ResNet-50."""

    chain: int
    rows: int
    weights: int
    matrix: int
    lenet: int
    resnet: int


FULL = Sizes(1 << 26, 1 << 26, 25_000_000, 8192, 64, 64)
SMOKE = Sizes(1 << 12, 1 << 13, 4000, 16, 2, 2)


class GpuItem(Item):
    """An item that is timed, or whose launches are counted."""

    @property
    def key(self) -> str:
        """The item's name in results."""
        return self.work if self.unit == "s" else f"launches of {self.work}"


def items(sizes: Sizes) -> list[GpuItem]:
    """List all items."""
    nets, counted = (OWN, WITH_CUDNN, WITHOUT_GRAPHS, "torch", "jax"), (OWN, WITHOUT_GRAPHS)
    return [
        GpuItem("overhead", "add", 4, "x + 0.5, 4 elements, each operation", only=RIVALS),
        GpuItem("bandwidth", "copy", sizes.chain, "copy from the device to itself", 0.0, only=RIVALS),
        *[GpuItem("chains", name, sizes.chain, name.replace("_", " "), 2e-5, only=RIVALS) for name in CHAINS],
        *[GpuItem("rows", name, sizes.rows, name.replace("_", " "), 1e-3, only=RIVALS) for name in ROWS],
        GpuItem("optimizer", "adam_many", sizes.weights, "Adam, many weights", 1e-3, only=RIVALS),
        *[GpuItem("products", f"matmul_{d}", sizes.matrix, f"matrix product, {d}", PRODUCT[d], only=RIVALS) for d in DTYPES],
        GpuItem("networks", "lenet", sizes.lenet, "LeNet, step", 2e-3, only=nets),
        *[GpuItem("networks", f"resnet50_{d}", sizes.resnet, f"ResNet-50, {d}, step", RESNET[d], only=nets) for d in DTYPES[1:]],
        *[GpuItem("launches", name, 1 << 12, f"launches of {name.replace('_', ' ')}", only=counted, unit="launches") for name in CHAINS],
        GpuItem("launches", "mlp", sizes.lenet, "launches of a step of the MNIST perceptron", 1e-3, only=counted, unit="launches"),
    ]


GROUPS = tuple(dict.fromkeys(item.group for item in items(FULL)))


def nbytes(item: Item) -> int:
    """Minimum number of bytes to move; 0 if the item is not limited by memory bandwidth."""
    return 4 * item.size * PASSES.get(item.work, 0) if item.unit == "s" else 0
