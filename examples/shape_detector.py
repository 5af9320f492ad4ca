"""Trains a small single-shot detector on images of drawn shapes, from a file of records.

    python -m twofold run examples/shape_detector.py [--picture FILE]

The program draws squares and disks of random colors and sizes, packs them with their boxes, reads them by `ImageDetRecordIter` with random
mirroring and padding, trains the network, and prints how many of the objects in images that it has not seen it finds. With FILE it draws
some of these images and the boxes that were found.

Source: Liu and others, "SSD: single shot multibox detector", ECCV 2016.
"""

import argparse
import tempfile

import mxnet as mx
import numpy as np
from mxnet import autograd, gluon, nd
from mxnet.gluon import nn

SIDE, BATCH, EPOCHS, TRAINING, HELD_OUT = 64, 32, 12, 512, 64
CLASSES = ("square", "disk")
SIZES, RATIOS = ((0.2, 0.28), (0.36, 0.46), (0.55, 0.7)), (1, 2, 0.5)
ANCHORS = len(SIZES[0]) + len(RATIOS) - 1


def drawn(rng: np.random.Generator) -> tuple[np.ndarray, list[list[float]]]:
    """An image (h, w, 3) with one or two shapes, and the class and box of each."""
    image = rng.integers(0, 60, (SIDE, SIDE, 3))
    rows, columns = np.mgrid[:SIDE, :SIDE]
    objects = []
    for left in (0, SIDE // 2)[: rng.integers(1, 3)]:
        kind, radius = rng.integers(2), rng.integers(7, 15)
        x, y = left + rng.integers(radius, SIDE // 2 - radius + 1), rng.integers(radius, SIDE - radius)
        far = np.hypot(columns - x, rows - y) if kind else np.maximum(abs(columns - x), abs(rows - y))
        image[far <= radius] = rng.integers(120, 256, 3)
        box = np.array([x - radius, y - radius, x + radius + 1, y + radius + 1]) / SIDE
        objects.append([float(kind), *box])
    return image.astype("uint8"), objects


def pack(path: str, count: int, seed: int) -> None:
    """Write a file of records."""
    rng = np.random.default_rng(seed)
    file = mx.recordio.MXIndexedRecordIO(path.replace(".rec", ".idx"), path, "w")
    for k in range(count):
        image, objects = drawn(rng)
        header = mx.recordio.IRHeader(0, [2, 5, *np.ravel(objects)], k, 0)
        file.write_idx(k, mx.recordio.pack_img(header, image[..., ::-1], quality=9, img_fmt=".png"))
    file.close()


def batches(path: str, **options: object) -> mx.io.DataIter:
    """The images and labels of a file of records."""
    scale = {"mean_r": 60, "mean_g": 60, "mean_b": 60, "std_r": 60, "std_g": 60, "std_b": 60}
    return mx.io.ImageDetRecordIter(path_imgrec=path, data_shape=(3, SIDE, SIDE), batch_size=BATCH, label_pad_width=12, **scale, **options)


def objects_of(label: mx.nd.NDArray) -> mx.nd.NDArray:
    """The objects (n, most of an image, 5) of a batch's labels: class and box, -1 where there is none."""
    return label[:, 6:16].reshape((0, -1, 5))


class Detector(gluon.HybridBlock):
    """Convolutions, and at each of their last three scales the classes and boxes of the anchors at each place."""

    def __init__(self) -> None:
        super().__init__()
        with self.name_scope():
            self.stages = nn.HybridSequential()
            for channels in ((16, 32, 32), (64,), (64,)):
                stage = nn.HybridSequential()
                for c in channels:
                    stage.add(nn.Conv2D(c, 3, padding=1), nn.BatchNorm(), nn.Activation("relu"), nn.MaxPool2D())
                self.stages.add(stage)
            self.classes, self.boxes = nn.HybridSequential(), nn.HybridSequential()
            for _ in SIZES:
                self.classes.add(nn.Conv2D(ANCHORS * (len(CLASSES) + 1), 3, padding=1))
                self.boxes.add(nn.Conv2D(ANCHORS * 4, 3, padding=1))

    def hybrid_forward(self, F, x):
        """Anchors (1, m, 4), scores (n, classes + 1, m) and offsets (n, 4 m)."""
        anchors, scores, offsets = [], [], []
        for stage, classes, boxes, sizes in zip(self.stages, self.classes, self.boxes, SIZES, strict=True):
            x = stage(x)
            anchors.append(F.contrib.MultiBoxPrior(x, sizes=sizes, ratios=RATIOS))
            scores.append(F.transpose(classes(x), (0, 2, 3, 1)).reshape((0, -1, len(CLASSES) + 1)))
            offsets.append(F.flatten(F.transpose(boxes(x), (0, 2, 3, 1))))
        return F.concat(*anchors, dim=1), F.concat(*scores, dim=1).transpose((0, 2, 1)), F.concat(*offsets, dim=1)


def train(net: Detector, path: str) -> None:
    """Train with Adam on random changes of the images."""
    class_loss = gluon.loss.SoftmaxCrossEntropyLoss(axis=1)
    trainer = gluon.Trainer(net.collect_params(), "adam", {"learning_rate": 0.004})
    data = batches(path, shuffle=True, rand_mirror_prob=0.5, rand_pad_prob=0.3, max_pad_scale=1.5, fill_value=30)
    for epoch in range(EPOCHS):
        if epoch == EPOCHS * 2 // 3:
            trainer.set_learning_rate(0.001)
        data.reset()
        for batch in data:
            with autograd.record():
                anchors, scores, offsets = net(batch.data[0])
                with autograd.pause():
                    targets, masks, classes = nd.contrib.MultiBoxTarget(
                        anchors, objects_of(batch.label[0]), scores, negative_mining_ratio=3, negative_mining_thresh=0.5
                    )
                counted = classes >= 0
                loss = class_loss(scores, classes, counted.expand_dims(1)).mean() * 10
                loss = loss + nd.smooth_l1((offsets - targets) * masks, scalar=1).mean() * 30
            loss.backward()
            trainer.step(1)


def detected(net: Detector, images: mx.nd.NDArray) -> np.ndarray:
    """What is found in images: class, score and box of each, class -1 for none."""
    anchors, scores, offsets = net(images)
    return nd.contrib.MultiBoxDetection(nd.softmax(scores, axis=1), offsets, anchors, nms_threshold=0.45, threshold=0.4).asnumpy()


def overlap(a: np.ndarray, b: np.ndarray) -> float:
    """The intersection of two boxes over their union."""
    sides = np.minimum(a[2:], b[2:]) - np.maximum(a[:2], b[:2])
    common = max(sides[0], 0) * max(sides[1], 0)
    return common / (np.prod(a[2:] - a[:2]) + np.prod(b[2:] - b[:2]) - common)


def plot(file: str, records: str, net: Detector) -> None:
    """Draw images of a file of records, with the boxes and classes that the network finds."""
    import matplotlib.pyplot as plt

    batch = next(batches(records)).data[0]
    images = np.clip(batch.asnumpy() * 60 + 60, 0, 255).astype("uint8").transpose(0, 2, 3, 1)
    figure, places = plt.subplots(2, 5, figsize=(7, 3.1), layout="constrained")
    for place, image, rows in zip(places.flat, images, detected(net, batch), strict=False):
        found = rows[rows[:, 0] >= 0]
        place.imshow(image, interpolation="nearest")
        place.set_title(", ".join(CLASSES[int(kind)] for kind in found[:, 0]), fontsize=10)
        place.set(xticks=[], yticks=[])
        for left, top, right, bottom in found[:, 2:] * SIDE:
            place.add_patch(plt.Rectangle((left - 0.5, top - 0.5), right - left, bottom - top, fill=False, edgecolor="lime", linewidth=2))
    figure.savefig(file, dpi=80)


def main(picture: str | None) -> None:
    """Draw, train, and print how many objects of held-out images are found, and how many findings are none."""
    mx.random.seed(1)
    with tempfile.TemporaryDirectory() as folder:
        training, held_out = f"{folder}/training.rec", f"{folder}/held-out.rec"
        pack(training, TRAINING, 1)
        pack(held_out, HELD_OUT, 2)
        net = Detector()
        net.initialize(mx.init.Xavier())
        net.hybridize()
        train(net, training)
        right = objects = findings = 0
        for batch in batches(held_out):
            for rows, labels in zip(detected(net, batch.data[0]), objects_of(batch.label[0]).asnumpy(), strict=True):
                found, real = rows[rows[:, 0] >= 0], labels[labels[:, 0] >= 0]
                objects, findings = objects + len(real), findings + len(found)
                right += sum(any(f[0] == r[0] and overlap(f[2:], r[1:]) > 0.5 for f in found) for r in real)
        print(f"found {right} of {objects} objects, with {findings} boxes")
        if picture:
            plot(picture, held_out, net)


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--picture")
    main(**vars(parser.parse_args()))
