"""What is measured on a GPU, in groups that ``--only`` selects; tiny where only is to be seen that all of it runs."""

from __future__ import annotations

from dataclasses import dataclass

from asv_benchmarks.gpu.table import OWN, WITH_CUDNN, WITHOUT_GRAPHS
from asv_benchmarks.peers.items import Item

CHAINS = ("black_scholes", "gelu", "clip")
#: Rows and norms, and those of them whose share of the copy's bandwidth is to be reached.
ROWS = ("softmax", "layer_norm", "layer_norm_gradient", "batch_norm_gradient", "cross_entropy")
DTYPES = ("float32", "float16", "bfloat16")
#: Tolerances of matrix products, and of what ResNet-50 gives untrained: roundings of 16-bit floats grow over its layers.
PRODUCT, RESNET = {"float32": 1e-5, "float16": 1e-2, "bfloat16": 1e-2}, {"float16": 0.25, "bfloat16": 0.6}
RIVALS = (OWN, "torch", "jax", "cupy")
#: How often all of an item's elements are read or written at least. Layer norm's gradients take x and dout and give dx; batch norm's
#: take both twice, first for sums over the batch; Adam reads four arrays and writes three.
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
    """Elements of chains, rows and weights; rows and columns of matrices; images in a step of LeNet and of ResNet-50."""

    chain: int
    rows: int
    weights: int
    matrix: int
    lenet: int
    resnet: int


FULL = Sizes(1 << 26, 1 << 26, 25_000_000, 8192, 64, 64)
SMOKE = Sizes(1 << 12, 1 << 13, 4000, 16, 2, 2)


class GpuItem(Item):
    """An item that is timed, or one whose launches are counted."""

    @property
    def key(self) -> str:
        """The item's name in results."""
        return self.work if self.unit == "s" else f"launches of {self.work}"


def items(sizes: Sizes) -> list[GpuItem]:
    """All items."""
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
    """Bytes that have to move at least; 0 where that is not what limits an item."""
    return 4 * item.size * PASSES.get(item.work, 0) if item.unit == "s" else 0
