"""Boxes: overlaps, suppression, matching, encoding, the anchors and targets of SSD, the proposals of Faster R-CNN."""

from __future__ import annotations

import numpy as np

from .declare import case, given, real

NAN = float("nan")


def boxes(*shape: int, seed: int = 0, size: float = 1, dtype: str = "float32") -> np.ndarray:
    """Random corner boxes (…, 4) inside a square."""
    generator = np.random.default_rng(seed)
    first = generator.integers(0, 700, (*shape, 2)) / 1024
    extent = generator.integers(60, 400, (*shape, 2)) / 1024
    return (np.concatenate([first, first + extent], -1) * size).astype(dtype)


def scored(count: int, classes: int, seed: int = 1, dtype: str = "float32") -> np.ndarray:
    """Rows (class, score, box) with distinct scores."""
    generator = np.random.default_rng(seed)
    scores = (generator.permutation(count) + 1) / (count + 1)
    ids = generator.integers(0, classes, count)
    return np.concatenate([ids[:, None], scores[:, None], boxes(count, seed=seed)], -1).astype(dtype)


def shares(*shape: int, seed: int = 0) -> np.ndarray:
    """Probabilities over axis 1."""
    weights = np.random.default_rng(seed).integers(1, 1000, shape)
    return (weights / weights.sum(1, keepdims=True)).astype("float32")


DETECTED = scored(12, 3)
TWICE = np.stack([scored(12, 3, 2), scored(12, 3, 3)])
CENTERED = np.concatenate([DETECTED[:, :2], (DETECTED[:, 2:4] + DETECTED[:, 4:]) / 2, DETECTED[:, 4:] - DETECTED[:, 2:4]], -1)
FLAT = given([[0, 0.9, 0, 0, 1, 1], [0, 0.8, 1, 1, 0, 0], [0, 0.7, 0.2, 0.2, 0.2, 0.6], [0, 0.6, 0.2, 0.2, 0.2, 0.6]])
BROKEN = given([[0, 0.9, 0, 0, 1, 1], [0, 0.8, NAN, 0, 1, 1], [0, 0.7, 0, 0.1, 1, 1]])
UNSCORED = given([[0, 0.9, 0, 0, 1, 1], [0, NAN, 0, 0, 1, 1], [0, 0.7, 0, 0.1, 1, 1]])
CLOSE = {"overlap_thresh": 0.1}

OVERLAPS = [
    case("_contrib_box_iou", boxes(3), boxes(4, seed=5)),
    case("_contrib_box_iou", boxes(2, 3), boxes(4, seed=5)),
    case("_contrib_box_iou", boxes(3), boxes(4, seed=5), format="center"),
    case("_contrib_box_iou", boxes(4), boxes(2, seed=5)[0]),
    case(
        "_contrib_box_iou",
        given([[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]]),
        given([[0, 0, 1, 1], [1, 1, 0, 0], [0, 0, 0, 0]]),
        note="empty",
    ),
    case("_contrib_box_iou", given([[NAN, 0, 1, 1]]), given([[0, 0, 1, 1]]), note="nan"),
    case("_contrib_box_iou", boxes(3, dtype="float64"), boxes(4, seed=5, dtype="float64")),
    case("_contrib_box_iou", real((3, 5)), boxes(4), note="five coordinates"),
]
SUPPRESSION = [
    case("_contrib_box_nms", DETECTED),
    case("_contrib_box_nms", DETECTED, **CLOSE),
    case("_contrib_box_nms", TWICE, **CLOSE),
    case("_contrib_box_nms", DETECTED, id_index=0, **CLOSE),
    case("_contrib_box_nms", DETECTED, id_index=0, force_suppress=True, **CLOSE),
    case("_contrib_box_nms", DETECTED, id_index=0, background_id=1, **CLOSE),
    case("_contrib_box_nms", DETECTED, valid_thresh=0.5, **CLOSE),
    case("_contrib_box_nms", DETECTED, topk=4, **CLOSE),
    case("_contrib_box_nms", DETECTED, topk=0, **CLOSE),
    case("_contrib_box_nms", DETECTED, topk=100, **CLOSE),
    case("_contrib_box_nms", DETECTED, out_format="center", **CLOSE),
    case("_contrib_box_nms", CENTERED, in_format="center", **CLOSE),
    case("_contrib_box_nms", CENTERED, in_format="center", out_format="center", **CLOSE),
    case("_contrib_box_nms", DETECTED[:, 1:], coord_start=1, score_index=0, **CLOSE),
    case("_contrib_box_nms", DETECTED[:, [2, 3, 4, 5, 1, 0]], coord_start=0, score_index=4, id_index=5, **CLOSE),
    case("_contrib_box_nms", DETECTED, valid_thresh=2.0),
    case("_contrib_box_nms", FLAT, overlap_thresh=0.2, note="boxes without area"),
    case("_contrib_box_nms", BROKEN, overlap_thresh=0.2, grad=False, note="nan"),
    case("_contrib_box_nms", scored(12, 3, dtype="float64"), **CLOSE),
    case("_contrib_box_nms", DETECTED[:, :5], note="too few columns"),
    case("_contrib_box_nms", DETECTED, coord_start=3, note="coordinates beyond the end"),
    case("_contrib_box_nms", DETECTED[0], note="one axis"),
    case("_contrib_box_nms", DETECTED, score_index=2, note="the score among the coordinates"),
    case("_contrib_box_nms", given([[0, 0.5, 0, 0, 1, 1], [1, 0.5, 0, 0, 1, 1], [2, 0.5, 2, 2, 3, 3]]), note="equal scores"),
    case("_contrib_box_non_maximum_suppression", DETECTED, **CLOSE),
]
MATRIX = given([[0.5, 0.6], [0.1, 0.2], [0.3, 0.4]])
MATCHING = [
    case("_contrib_bipartite_matching", MATRIX, threshold=1e-12),
    case("_contrib_bipartite_matching", MATRIX, threshold=0.35),
    case("_contrib_bipartite_matching", MATRIX, threshold=0.35, is_ascend=True),
    case("_contrib_bipartite_matching", MATRIX, threshold=1e-12, topk=1),
    case("_contrib_bipartite_matching", real((2, 4, 5), 0, 1), threshold=0.1),
    case("_contrib_bipartite_matching", real((2, 6, 3), 0, 1), threshold=0.9, is_ascend=True),
    case("_contrib_bipartite_matching", real((6, 6), 0, 1), threshold=0.1, topk=3),
    case("_contrib_bipartite_matching", given([[0.5, 0.5], [0.5, 0.5]]), threshold=0.1, note="ties"),
    case("_contrib_bipartite_matching", real((4,), 0, 1), threshold=0.1, note="one axis"),
]
SAMPLES, MATCHES = given([[1, -1, 0, 1], [0, 1, 1, -1]]), given([[0, 1, 1, 2], [2, 0, 1, 0]])
MEANS, STDS = given([0, 0.1, 0, 0.2]), given([0.1, 0.1, 0.2, 0.2])
ANCHORS = boxes(1, 4, seed=7)
CODING = [
    case("_contrib_box_encode", SAMPLES, MATCHES, boxes(2, 4, seed=7), boxes(2, 3, seed=8), MEANS, STDS),
    case("_contrib_box_encode", SAMPLES, MATCHES, boxes(2, 4, seed=7), boxes(2, 3, seed=8), MEANS[:3], STDS, note="three means"),
    case("_contrib_box_encode", SAMPLES, MATCHES, boxes(2, 5, seed=7), boxes(2, 3, seed=8), MEANS, STDS, note="another number of anchors"),
    case("_contrib_box_decode", real((2, 4, 4)), ANCHORS),
    case("_contrib_box_decode", real((2, 4, 4)), ANCHORS, format="corner"),
    case("_contrib_box_decode", real((2, 4, 4)), ANCHORS, std0=0.1, std1=0.1, std2=0.2, std3=0.3, format="corner"),
    case("_contrib_box_decode", real((2, 4, 4)), ANCHORS, clip=0.5),
    case("_contrib_box_decode", real((2, 4, 4)), boxes(1, 5), note="another number of anchors"),
    case("_contrib_box_decode", real((2, 4, 5)), ANCHORS, note="five coordinates"),
]
PICTURE = real((1, 2, 2, 3))
PRIOR = [
    case("_contrib_MultiBoxPrior", PICTURE),
    case("_contrib_MultiBoxPrior", PICTURE, sizes=(0.5, 0.25), ratios=(1, 2, 0.5)),
    case("_contrib_MultiBoxPrior", PICTURE, sizes=(0.5, 0.25), ratios=(2, 1, 0.5)),
    case("_contrib_MultiBoxPrior", PICTURE, sizes=(0.9, 0.25), ratios=(1, 3), clip=True),
    case("_contrib_MultiBoxPrior", PICTURE, sizes=(0.4,), steps=(0.3, 0.2), offsets=(0.25, 0.75)),
    case("_contrib_MultiBoxPrior", PICTURE, sizes=0.4),
    case("_contrib_MultiBoxPrior", real((2, 2, 2, 3)), sizes=(0.4,)),
    case("_contrib_MultiBoxPrior", real((2, 2, 3)), note="three axes"),
    case("_contrib_MultiBoxPrior", PICTURE, steps=(0.3, -1), note="one step"),
]
GRID = boxes(1, 10, seed=11)
LABEL = np.concatenate([given([[[0], [1], [-1]], [[2], [-1], [-1]]]), boxes(2, 3, seed=12)], -1)
LABEL[LABEL[..., 0] < 0] = -1
LABEL[1, 0, 1:] = GRID[0, 4] + np.float32(0.01)
TRUTH = (GRID, LABEL, real((2, 4, 10)))
TARGET = [
    case("_contrib_MultiBoxTarget", *TRUTH),
    case("_contrib_MultiBoxTarget", *TRUTH, overlap_threshold=0.2),
    case("_contrib_MultiBoxTarget", *TRUTH, overlap_threshold=0.2, variances=(0.2, 0.1, 0.3, 0.4)),
    case("_contrib_MultiBoxTarget", *TRUTH, overlap_threshold=0.2, negative_mining_ratio=2, negative_mining_thresh=0.15),
    case("_contrib_MultiBoxTarget", *TRUTH, overlap_threshold=0.2, negative_mining_ratio=1, negative_mining_thresh=0.5, ignore_label=-2),
    case("_contrib_MultiBoxTarget", *TRUTH, negative_mining_ratio=1, negative_mining_thresh=0.5, minimum_negative_samples=4),
    case("_contrib_MultiBoxTarget", GRID, np.full((2, 3, 5), -1, "float32"), TRUTH[2], note="no truth"),
    case("_contrib_MultiBoxTarget", GRID, np.full((2, 3, 5), -1, "float32"), TRUTH[2], negative_mining_ratio=3, note="no truth, mining"),
    case("_contrib_MultiBoxTarget", GRID, np.concatenate([LABEL, LABEL[..., :1]], -1), TRUTH[2], note="six columns"),
    case("_contrib_MultiBoxTarget", GRID, LABEL[..., :4], TRUTH[2], note="four columns"),
    case("_contrib_MultiBoxTarget", GRID, np.abs(LABEL), TRUTH[2], overlap_threshold=0.3, note="no padding"),
    case("_contrib_MultiBoxTarget", GRID[0], LABEL, TRUTH[2], note="anchors of two axes"),
    case("_contrib_MultiBoxTarget", GRID, LABEL, real((2, 4, 9)), note="another number of predictions"),
]
PREDICTED = (shares(2, 4, 10), real((2, 40), -0.5, 0.5), GRID)
DETECTION = [
    case("_contrib_MultiBoxDetection", *PREDICTED),
    case("_contrib_MultiBoxDetection", *PREDICTED, nms_threshold=0.1),
    case("_contrib_MultiBoxDetection", *PREDICTED, nms_threshold=0.1, force_suppress=True),
    case("_contrib_MultiBoxDetection", *PREDICTED, threshold=0.4),
    case("_contrib_MultiBoxDetection", *PREDICTED, clip=False, nms_threshold=0.1, variances=(0.2, 0.1, 0.3, 0.4)),
    case("_contrib_MultiBoxDetection", *PREDICTED, nms_topk=4, nms_threshold=0.1, force_suppress=True),
    case("_contrib_MultiBoxDetection", *PREDICTED, nms_threshold=0, note="no suppression"),
    case("_contrib_MultiBoxDetection", *PREDICTED, background_id=1, note="another background"),
    case("_contrib_MultiBoxDetection", *PREDICTED, threshold=2.0, note="nothing found"),
    case("_contrib_MultiBoxDetection", PREDICTED[0], real((2, 36)), GRID, note="too few locations"),
]
INFO = given([[64, 80, 1.5]])
RPN = (shares(1, 6, 4, 5), real((1, 12, 4, 5), -0.3, 0.3), INFO)
SMALL = {"scales": (2, 4, 8), "ratios": (1,), "rpn_pre_nms_top_n": 30, "rpn_post_nms_top_n": 8, "rpn_min_size": 4}
PAIR = (shares(2, 6, 4, 5, seed=1), real((2, 12, 4, 5), -0.3, 0.3), given([[64, 80, 1.5], [50, 60, 1]]))
PROPOSAL = [
    case("_contrib_Proposal", *RPN, **SMALL),
    case("_contrib_Proposal", *RPN, **SMALL, output_score=True),
    case("_contrib_Proposal", *RPN, **{**SMALL, "threshold": 0.3}),
    case("_contrib_Proposal", *RPN, **{**SMALL, "ratios": (0.5, 1, 2), "scales": (4,)}),
    case("_contrib_Proposal", *RPN, **{**SMALL, "rpn_min_size": 30}),
    case("_contrib_Proposal", *RPN, **SMALL, feature_stride=8),
    case("_contrib_Proposal", *RPN, **SMALL, iou_loss=True),
    case("_contrib_Proposal", *RPN, **{**SMALL, "rpn_post_nms_top_n": 40, "threshold": 0.5}, note="more than are kept"),
    case("_contrib_Proposal", *RPN, **{**SMALL, "rpn_pre_nms_top_n": -1}),
    case("_contrib_Proposal", *RPN, **{**SMALL, "rpn_pre_nms_top_n": 1000}),
    case("_contrib_Proposal", *PAIR, **SMALL, note="two images"),
    case("_contrib_Proposal", RPN[0], real((1, 8, 4, 5)), INFO, **SMALL, note="too few coordinates"),
    case("_contrib_MultiProposal", *RPN, **SMALL),
    case("_contrib_MultiProposal", *PAIR, **SMALL),
    case("_contrib_MultiProposal", *PAIR, **SMALL, output_score=True),
    case("_contrib_MultiProposal", *PAIR, **{**SMALL, "threshold": 0.3}),
]
CASES = [*OVERLAPS, *SUPPRESSION, *MATCHING, *CODING, *PRIOR, *TARGET, *DETECTION, *PROPOSAL]
