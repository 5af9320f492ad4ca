"""The items of the comparison, each a workload of one size, in groups that ``--only`` selects."""

from __future__ import annotations

from dataclasses import dataclass, field

CHAINS = ("black_scholes", "gelu", "clip", "adam", "cross_entropy")
#: Sizes of the chains, and those that measure the overhead of small arrays.
SIZES, SMALL = (10**4, 10**6, 10**7), (4, 100)
CONVOLUTIONS = (64, 128, 256)


@dataclass(frozen=True)
class Item:
    """A workload at one size.

    Attributes
    ----------
    group
        Group for ``--only``.
    work, size
        The workload and its size (see `inputs.drawn`).
    text
        Title in the tables.
    tolerance
        Largest allowed difference relative to the largest magnitude of NumPy's result.
    products
        Whether matrix products dominate, so that OpenBLAS' kernel matters.
    quick
        Whether ``--quick`` includes it.
    only
        The libraries to include; all if empty.
    without
        Variants to exclude.
    unit
        ``s`` for time, ``B`` for the memory of a step, or ``launches``.
    single
        Whether each call must be new to the library, so that there are no warm-up calls.
    """

    group: str
    work: str
    size: int
    text: str
    tolerance: float = 1e-5
    products: bool = False
    quick: bool = True
    only: tuple[str, ...] = ()
    without: tuple[str, ...] = field(default=())
    unit: str = "s"
    single: bool = False

    @property
    def key(self) -> str:
        """The item's name in results."""
        return f"{self.work} {short(self.size)}"


def short(size: int) -> str:
    """Format a size, from 1e4 on as a power of ten."""
    return f"{size:.0e}".replace("e+0", "e") if size >= 10**4 else str(size)


def _chains() -> list[Item]:
    own = ("numpy", "twofold", "twofold jit")
    small = [
        Item("small", name, size, f"{name}, {size} elements", only=own, without=("hybridized",), quick=size == 4)
        for name in CHAINS[:3]
        for size in SMALL
    ]
    large = [Item("chains", name, size, f"{name}, {short(size)}", 2e-5, quick=size == 10**6) for size in SIZES for name in CHAINS]
    return small + large


def _networks() -> list[Item]:
    return [
        Item("networks", "perceptron", 32, "perceptron 32x64x10, forward and backward", 1e-4, products=True),
        Item("networks", "mlp", 64, "perceptron 784-128-64-10, step of 64", 1e-3, products=True),
        Item("networks", "lenet", 64, "LeNet, step of 64", 2e-3, products=True),
        Item("networks", "lstm", 32, "LSTM 2x200, T 35, step of 32", 2e-3, products=True),
    ]


def _convolutions() -> list[Item]:
    heights = dict(zip(CONVOLUTIONS, (56, 28, 14), strict=True))
    return [
        Item("convolutions", "convolution", c, f"3x3 convolution 8x{c}x{h}x{h}, f + b", 1e-3, products=True, quick=c == 256)
        for c, h in heights.items()
    ]


ITEMS = (
    Item("overhead", "add", 4, "x + x, 4 elements"),
    Item("overhead", "add_recorded", 4, "x + x recorded, 4 elements"),
    *_chains(),
    Item("new", "new_chain", 10**5, "a new chain of 6 operations, first 3 calls, 1e5", 2e-5, single=True),
    *_networks(),
    *_convolutions(),
    Item("memory", "deep", 30, "memory of 30 layers' forward and backward", 1e-3, products=False, quick=False, unit="B"),
)
GROUPS = tuple(dict.fromkeys(item.group for item in ITEMS))


def selected(groups: tuple[str, ...], quick: bool) -> list[Item]:
    """Select the items of the groups (all if empty), optionally only the quick ones."""
    return [item for item in ITEMS if (not groups or item.group in groups) and (item.quick or not quick)]
