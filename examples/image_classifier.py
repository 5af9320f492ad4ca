"""Trains an image classifier from a file of records, by Module and by Gluon; a run that is killed goes on from its last checkpoint.

    python -m twofold run examples/image_classifier.py [FOLDER] [--picture FILE]

The images have six classes: patches of the two photographs that scikit-learn bundles, its handwritten digits in random colors, and drawn
disks, squares and triangles. `im2rec` packs them into files of records. Module reads these by `ImageRecordIter`, Gluon by `DataLoader`
with transforms and two worker processes. Each trains twice: once undisturbed, and once in a process that is killed (`kill -9`) in the
middle of an epoch and started again. Both must end with the same weights, bit for bit. With FILE some of the images are drawn, and what the
network that Gluon trained takes them for.
"""

import argparse
import json
import os
import pathlib
import signal
import subprocess
import sys
import tempfile
import time

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon
from mxnet.gluon.data.vision import ImageRecordDataset, transforms

SIDE, STORED, BATCH, EPOCHS = 32, 36, 32, 3
TRAINING, HELD_OUT = int(os.environ.get("IMAGES", "128")), 40  # images of each class
WAYS = os.environ.get("WAYS", "module gluon").split()
CLASSES = ("china", "digit", "disk", "flower", "square", "triangle")  # in the order of their folders
SAVED_EVERY = 4  # batches
#: Batches after which a run is killed: in the middle of the second epoch.
KILLED_AFTER = TRAINING * len(CLASSES) // BATCH * 3 // 2
MEAN, DEVIATION = 120.0, 60.0


# ------------------------------------------------------------------------------------------------------------------ images


def photograph(image: np.ndarray, rng: np.random.Generator, held_out: bool) -> np.ndarray:
    """A patch of a photograph; held-out ones are from its right third."""
    height, width = image.shape[:2]
    left, right = (2 * width // 3, width) if held_out else (0, 2 * width // 3)
    size = rng.integers(40, 100)
    y, x = rng.integers(height - size), rng.integers(left, right - size)
    rows = np.arange(STORED) * size // STORED
    return image[y + rows[:, None], x + rows]


def digit(image: np.ndarray, rng: np.random.Generator) -> np.ndarray:
    """A handwritten digit in a random color on a dark one."""
    ink = np.kron(image / 16, np.ones((4, 4)))[..., None]
    paper = np.full((STORED, STORED, 3), rng.integers(0, 80, 3), "float64")
    paper[2:34, 2:34] = paper[2:34, 2:34] * (1 - ink) + rng.integers(130, 256, 3) * ink
    return paper


def shape(kind: str, rng: np.random.Generator) -> np.ndarray:
    """A drawn shape of a random color, size and place."""
    image = rng.integers(0, 80, (STORED, STORED, 3))
    radius = rng.integers(8, 14)
    y, x = rng.integers(radius, STORED - radius, 2)
    rows, columns = np.mgrid[:STORED, :STORED] - np.array([y, x])[:, None, None]
    inside = {
        "disk": np.hypot(rows, columns) <= radius,
        "square": np.maximum(abs(rows), abs(columns)) <= radius * 0.8,
        "triangle": (rows <= radius * 0.8) & (rows >= 2 * abs(columns) - radius),
    }[kind]
    image[inside] = rng.integers(130, 256, 3)
    return image


def write_images(folder: pathlib.Path, count: int, held_out: bool) -> None:
    """Write PNG files, a folder for each class."""
    from sklearn.datasets import load_digits, load_sample_images

    rng = np.random.default_rng(held_out)
    photographs = dict(zip(("china", "flower"), load_sample_images().images, strict=True))
    digits = load_digits().images
    digits = digits[1400:] if held_out else digits[:1400]
    for name in CLASSES:
        (folder / name).mkdir(parents=True)
        for k in range(count):
            if name in photographs:
                image = photograph(photographs[name], rng, held_out)
            else:
                image = digit(digits[rng.integers(len(digits))], rng) if name == "digit" else shape(name, rng)
            pixels = np.clip(image, 0, 255).astype("uint8")[..., ::-1]
            packed = mx.recordio.pack_img(mx.recordio.IRHeader(0, 0, k, 0), pixels, quality=1, img_fmt=".png")
            (folder / name / f"{k}.png").write_bytes(mx.recordio.unpack(packed)[1])


def make_records(folder: pathlib.Path) -> None:
    """Make the files of records, as on the command line."""
    for name, count in (("train", TRAINING), ("test", HELD_OUT)):
        write_images(folder / name, count, name == "test")
        im2rec = [sys.executable, "-m", "twofold", "im2rec", str(folder / name), str(folder / name)]
        subprocess.run([*im2rec, "--list", "--recursive"], check=True, capture_output=True)
        subprocess.run([*im2rec, "--encoding", ".png", "--quality", "1"], check=True, capture_output=True)


# ------------------------------------------------------------------------------------------------------------- checkpoints


def save(folder: pathlib.Path, step: int, place: dict, write: object) -> None:
    """Save a run: files with the step in their names first, and last, in one piece, the file that says which of them count."""
    write(f"{folder}/{step}")
    kind, keys, *rest = np.random.get_state()  # noqa: NPY002  (what shuffles)
    state = {"step": step, **place, "numpy": [kind, keys.tolist(), *rest], "random": mx.random.get_state()}
    (folder / "run.new").write_text(json.dumps(state))
    (folder / "run.new").replace(folder / "run.json")


def saved(folder: pathlib.Path) -> dict | None:
    """Where a run is to go on; None for one that begins."""
    if not (folder / "run.json").exists():
        return None
    state = json.loads((folder / "run.json").read_text())
    np.random.set_state(tuple(state["numpy"]))  # noqa: NPY002
    mx.random.set_state(state["random"])
    return state


# ----------------------------------------------------------------------------------------------------------------- Module


def batches(path: pathlib.Path, **options: object) -> mx.io.DataIter:
    """Batches of a file of records, normalized."""
    scale = {f"{what}_{color}": value for what, value in (("mean", MEAN), ("std", DEVIATION)) for color in "rgb"}
    shape = {"data_shape": (3, SIDE, SIDE), "batch_size": BATCH}
    return mx.io.ImageRecordIter(path_imgrec=str(path), preprocess_threads=2, **shape, **scale, **options)


def symbol() -> mx.sym.Symbol:
    """Three convolutions and a linear layer."""
    net = mx.sym.Variable("data")
    for k, channels in enumerate((16, 32, 32)):
        net = mx.sym.Convolution(net, kernel=(3, 3), pad=(1, 1), num_filter=channels, name=f"convolution{k}")
        net = mx.sym.BatchNorm(net, fix_gamma=False, name=f"norm{k}")
        net = mx.sym.Pooling(mx.sym.relu(net), kernel=(2, 2), stride=(2, 2), pool_type="max")
    return mx.sym.SoftmaxOutput(mx.sym.FullyConnected(net, num_hidden=len(CLASSES), name="classes"), name="softmax")


def train_by_module(folder: pathlib.Path, run: pathlib.Path) -> tuple[dict[str, mx.nd.NDArray], float]:
    """Train, from the last checkpoint if there is one; the weights, and the share of held-out images that are classified right."""
    data = batches(folder / "train.rec", shuffle=True, rand_crop=True, rand_mirror=True, seed=5)
    module = mx.mod.Module(symbol(), context=mx.cpu())
    module.bind(data.provide_data, data.provide_label)
    module.init_params(mx.init.Xavier())
    module.init_optimizer(optimizer="adam", optimizer_params={"learning_rate": 0.003})
    state = saved(run) or {"step": 0, "epoch": 0}
    step = state["step"]
    if step:
        _, args, auxiliaries = mx.model.load_checkpoint(f"{run}/{step}", 0)
        module.set_params(args, auxiliaries)
        module.load_optimizer_states(f"{run}/{step}-0000.states")
        data.load_state_dict(state["batches"])
    for epoch in range(state["epoch"], EPOCHS):
        for batch in data:
            module.forward_backward(batch)
            module.update()
            step += 1
            if step % SAVED_EVERY == 0:
                place = {"epoch": epoch, "batches": data.state_dict()}
                save(run, step, place, lambda prefix: module.save_checkpoint(prefix, 0, save_optimizer_states=True))
        data.reset()
    args, auxiliaries = module.get_params()
    return {**args, **auxiliaries}, module.score(batches(folder / "test.rec", round_batch=False), "acc")[0][1]


# ------------------------------------------------------------------------------------------------------------------ Gluon


NORMALIZED = [transforms.ToTensor(), transforms.Normalize(MEAN / 255, DEVIATION / 255)]
MIDDLE = transforms.Compose([transforms.CenterCrop(SIDE), *NORMALIZED])


def network() -> gluon.nn.HybridSequential:
    """The same network as blocks."""
    net = gluon.nn.HybridSequential(prefix="net_")
    with net.name_scope():
        for channels in (16, 32, 32):
            net.add(gluon.nn.Conv2D(channels, 3, padding=1), gluon.nn.BatchNorm(), gluon.nn.Activation("relu"), gluon.nn.MaxPool2D())
        net.add(gluon.nn.Dense(len(CLASSES)))
    net.initialize(mx.init.Xavier())
    net.hybridize()
    return net


def train_by_gluon(folder: pathlib.Path, run: pathlib.Path) -> tuple[dict[str, mx.nd.NDArray], float]:
    """As `train_by_module`."""
    change = transforms.Compose([transforms.RandomResizedCrop(SIDE, (0.7, 1.0)), transforms.RandomFlipLeftRight(), *NORMALIZED])
    images = ImageRecordDataset(str(folder / "train.rec")).transform_first(change)
    data = gluon.data.DataLoader(images, BATCH, shuffle=True, num_workers=2)
    net, loss = network(), gluon.loss.SoftmaxCrossEntropyLoss()
    net(mx.nd.zeros((1, 3, SIDE, SIDE)))
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.003})
    state = saved(run) or {"step": 0, "epoch": 0}
    step = state["step"]
    if step:
        net.load_parameters(f"{run}/{step}.params")
        trainer.load_states(f"{run}/{step}.states")
        data.load_state_dict(state["batches"])

    def write(prefix: str) -> None:
        net.save_parameters(f"{prefix}.params")
        trainer.save_states(f"{prefix}.states")

    for epoch in range(state["epoch"], EPOCHS):
        for x, y in data:
            with autograd.record():
                value = loss(net(x), y)
            value.backward()
            trainer.step(len(x))
            step += 1
            if step % SAVED_EVERY == 0:
                save(run, step, {"epoch": epoch, "batches": data.state_dict()}, write)
    held_out = ImageRecordDataset(str(folder / "test.rec")).transform_first(MIDDLE)
    accuracy = mx.metric.Accuracy()
    for x, y in gluon.data.DataLoader(held_out, BATCH):
        accuracy.update(y, net(x))
    return {name: parameter.data() for name, parameter in net.collect_params().items()}, accuracy.get()[1]


def plot(file: str, folder: pathlib.Path) -> None:
    """Draw held-out images, and what the network takes them for: in red where it is wrong."""
    import matplotlib.pyplot as plt

    net = network()
    net.collect_params().load(str(folder / "gluon-calm" / "weights"))
    data = ImageRecordDataset(str(folder / "test.rec"))
    figure, places = plt.subplots(3, 6, figsize=(7, 4), layout="constrained")
    for place, (image, label) in zip(places.flat, data, strict=False):
        found = int(net(MIDDLE(image).expand_dims(0)).argmax(axis=1).asscalar())
        place.imshow(image.asnumpy())
        place.set_title(CLASSES[found], fontsize=10, color="black" if found == label else "red")
        place.set(xticks=[], yticks=[])
    figure.savefig(file, dpi=80)


# ------------------------------------------------------------------------------------------------------------------- runs


def train(way: str, folder: str, run: str) -> None:
    """One run in a process of its own: train, store the weights, and print the accuracy."""
    mx.random.seed(1)
    np.random.seed(1)  # noqa: NPY002
    began = time.perf_counter()
    weights, accuracy = {"module": train_by_module, "gluon": train_by_gluon}[way](pathlib.Path(folder), pathlib.Path(run))
    mx.nd.save(f"{run}/weights", weights)
    images = EPOCHS * TRAINING * len(CLASSES)
    print(f"accuracy {accuracy:.3f}, {images / (time.perf_counter() - began):.0f} images/s")


def process(way: str, folder: pathlib.Path, run: pathlib.Path) -> subprocess.Popen:
    """Begin or continue a run."""
    run.mkdir(exist_ok=True)
    command = [sys.executable, "-m", "twofold", "run", __file__, "--train", way, str(folder), str(run)]
    # machine code from the first use on, not after some uses: some of its functions have other last bits
    return subprocess.Popen(command, stdout=subprocess.PIPE, text=True, env=os.environ | {"TWOFOLD_JIT_EAGER": "1"})


def kill(training: subprocess.Popen, run: pathlib.Path) -> int:
    """Kill a run in the middle of its second epoch; return the step of its last checkpoint."""
    file = run / "run.json"
    while training.poll() is None and not (file.exists() and json.loads(file.read_text())["step"] >= KILLED_AFTER):
        time.sleep(0.01)
    training.send_signal(signal.SIGKILL)
    training.wait()
    return json.loads(file.read_text())["step"]


def main(folder: pathlib.Path, picture: str | None) -> None:
    """Make the images, train by both ways with and without being killed, and compare."""
    make_records(folder)
    for way in WAYS:
        calm, killed = folder / f"{way}-calm", folder / f"{way}-killed"
        printed = process(way, folder, calm).communicate()[0].strip()
        step = kill(process(way, folder, killed), killed)
        process(way, folder, killed).communicate()
        one, other = (mx.nd.load(str(run / "weights")) for run in (calm, killed))
        same = one.keys() == other.keys() and all((one[name].asnumpy() == other[name].asnumpy()).all() for name in one)
        print(f"{way}: {printed}; killed after step {step} of {EPOCHS * TRAINING * len(CLASSES) // BATCH}, same weights: {same}")
    if picture:
        plot(picture, folder)


if __name__ == "__main__":
    if sys.argv[1:2] == ["--train"]:
        train(*sys.argv[2:])
    else:
        parser = argparse.ArgumentParser()
        parser.add_argument("folder", nargs="?", type=pathlib.Path)
        parser.add_argument("--picture")
        given = parser.parse_args()
        with tempfile.TemporaryDirectory() as temporary:
            main(given.folder or pathlib.Path(temporary), given.picture)
