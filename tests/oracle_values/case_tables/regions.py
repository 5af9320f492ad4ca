"""Regions of images pooled or sampled, and convolutions at displaced places."""

from __future__ import annotations

import numpy as np

from .declare import case, given, real

NAN = float("nan")
DATA = real((2, 3, 8, 10))
WIDE = real((2, 8, 8, 10))
ROIS = given([[0, 2, 3, 9, 12], [1, 0, 0, 19, 15], [0, 5.4, 2.6, 5.8, 3], [1, 12, 10, 30, 40], [0, -6, -4, 3, 5]])
EXACT = given([[0, 1.25, 1.5, 14.5, 11.25], [1, 3.5, 0.75, 17.25, 13.5], [1, 4.5, 5.25, 5.5, 5.75]])
HALF = {"spatial_scale": 0.5, "pooled_size": (2, 3)}

POOLING = [
    case("ROIPooling", DATA, ROIS, **HALF),
    case("ROIPooling", DATA, ROIS, pooled_size=(1, 1), spatial_scale=1.0),
    case("ROIPooling", DATA, ROIS, pooled_size=(6, 7), spatial_scale=0.25),
    case("ROIPooling", real((2, 3, 8, 10), dtype="float64"), ROIS.astype("float64"), **HALF),
    case("ROIPooling", np.zeros((1, 1, 4, 4), "float32"), given([[0, 0, 0, 3, 3]]), pooled_size=(2, 2), spatial_scale=1.0, note="ties"),
    case("ROIPooling", DATA, given([[0, 100, 100, 120, 120]]), note="outside", **HALF),
    case("ROIPooling", DATA, given([[0, 9, 9, 2, 2]]), note="turned over", **HALF),
    case("ROIPooling", DATA, given([[0, 2, 3, 9]]), note="four numbers", **HALF),
    case("ROIPooling", DATA, ROIS, pooled_size=(2, 3), spatial_scale=2.0, note="a scale above 1"),
    case("_contrib_PSROIPooling", WIDE, ROIS, spatial_scale=0.5, output_dim=2, pooled_size=2),
    case("_contrib_PSROIPooling", WIDE, ROIS, spatial_scale=0.5, output_dim=2, pooled_size=2, group_size=2),
    case("_contrib_PSROIPooling", WIDE, ROIS, spatial_scale=0.5, output_dim=2, pooled_size=4, group_size=2),
]
ALIGN = [
    case("_contrib_ROIAlign", DATA, EXACT, **HALF),
    case("_contrib_ROIAlign", DATA, ROIS, **HALF),
    case("_contrib_ROIAlign", DATA, EXACT, sample_ratio=2, **HALF),
    case("_contrib_ROIAlign", DATA, EXACT, sample_ratio=3, aligned=True, **HALF),
    case("_contrib_ROIAlign", DATA, ROIS, aligned=True, **HALF),
    case("_contrib_ROIAlign", WIDE, EXACT, pooled_size=(2, 2), spatial_scale=0.5, position_sensitive=True, sample_ratio=2),
    case("_contrib_ROIAlign", WIDE, EXACT, pooled_size=(2, 2), spatial_scale=0.5, position_sensitive=True),
    case("_contrib_ROIAlign", real((2, 3, 8, 10), dtype="float64"), EXACT.astype("float64"), sample_ratio=2, **HALF),
    case("_contrib_ROIAlign", DATA, given([[0, 100, 100, 120, 120], [0, 9, 9, 2, 2]]), note="outside and turned over", **HALF),
    case("_contrib_ROIAlign", DATA, EXACT[:, :4], note="four numbers", **HALF),
    case("_contrib_ROIAlign", DATA, EXACT, pooled_size=(2, 2), spatial_scale=0.5, position_sensitive=True, note="three channels"),
]
TURNED = given([[0, 8, 7, 9, 6, 0], [1, 8, 7, 9, 6, 30], [1, 3, 2, 10, 8, -45], [0, 9.5, 8, 0.5, 0.5, 90]])
ROTATED = [
    case("_contrib_RROIAlign", DATA, TURNED, **HALF),
    case("_contrib_RROIAlign", DATA, TURNED, sampling_ratio=2, **HALF),
    case("_contrib_RROIAlign", DATA, ROIS, note="five numbers", **HALF),
]
PART = {"spatial_scale": 0.5, "output_dim": 2, "group_size": 2, "pooled_size": 2}
SHIFT = real((3, 2, 2, 2), -1, 1)
DISPLACED = [
    case("_contrib_DeformablePSROIPooling", WIDE, EXACT, no_trans=True, outputs=1, **PART),
    case("_contrib_DeformablePSROIPooling", WIDE, EXACT, no_trans=True, outputs=1, sample_per_part=3, **PART),
    case("_contrib_DeformablePSROIPooling", WIDE, EXACT, SHIFT, outputs=1, part_size=2, sample_per_part=2, trans_std=0.1, **PART),
    case("_contrib_DeformablePSROIPooling", WIDE, EXACT, real((3, 4, 2, 2), -1, 1), outputs=1, sample_per_part=2, trans_std=0.1, **PART),
    case(
        "_contrib_DeformablePSROIPooling",
        WIDE,
        ROIS,
        real((5, 2, 2, 2), -1, 1),
        outputs=1,
        part_size=2,
        sample_per_part=4,
        trans_std=0.2,
        **PART,
    ),
]
MAP, WEIGHT, BIAS = real((2, 4, 5, 6)), real((4, 4, 3, 3), -1, 1), real((4,))
KERNEL = {"kernel": (3, 3), "num_filter": 4}
CONVOLUTION = [
    case("_contrib_DeformableConvolution", MAP, real((2, 18, 3, 4), -1.5, 1.5), WEIGHT, BIAS, **KERNEL),
    case("_contrib_DeformableConvolution", MAP, real((2, 18, 5, 6), -1.5, 1.5), WEIGHT, BIAS, pad=(1, 1), **KERNEL),
    case("_contrib_DeformableConvolution", MAP, real((2, 18, 3, 3), -1.5, 1.5), WEIGHT, BIAS, pad=(1, 1), stride=(2, 2), **KERNEL),
    case("_contrib_DeformableConvolution", MAP, real((2, 18, 3, 4), -1.5, 1.5), WEIGHT, BIAS, pad=(1, 1), dilate=(2, 2), **KERNEL),
    case("_contrib_DeformableConvolution", MAP, real((2, 36, 3, 4), -1.5, 1.5), WEIGHT, BIAS, num_deformable_group=2, **KERNEL),
    case("_contrib_DeformableConvolution", MAP, real((2, 18, 3, 4), -1.5, 1.5), real((4, 2, 3, 3), -1, 1), BIAS, num_group=2, **KERNEL),
    case("_contrib_DeformableConvolution", MAP, real((2, 18, 3, 4), -9, 9), WEIGHT, no_bias=True, **KERNEL),
    case(
        "_contrib_DeformableConvolution", MAP, np.zeros((2, 18, 5, 6), "float32"), WEIGHT, no_bias=True, pad=(1, 1), grad=(0, 2), **KERNEL
    ),
    case("_contrib_DeformableConvolution", MAP, real((2, 16, 3, 4)), WEIGHT, BIAS, note="too few offsets", **KERNEL),
    *(
        case("_contrib_ModulatedDeformableConvolution", MAP, *more, WEIGHT, BIAS, **KERNEL, **attrs)
        for more, attrs in (
            ((real((2, 18, 3, 4), -1.5, 1.5), real((2, 9, 3, 4), 0, 1)), {}),
            ((real((2, 18, 5, 6), -1.5, 1.5), real((2, 9, 5, 6), 0, 1)), {"pad": (1, 1)}),
            ((real((2, 18, 3, 3), -1.5, 1.5), real((2, 9, 3, 3), 0, 1)), {"pad": (1, 1), "stride": (2, 2)}),
            ((real((2, 36, 3, 4), -1.5, 1.5), real((2, 18, 3, 4), 0, 1)), {"num_deformable_group": 2}),
            ((real((2, 18, 3, 4), -9, 9), real((2, 9, 3, 4), 0, 1)), {"im2col_step": 1}),
        )
    ),
    case("_contrib_ModulatedDeformableConvolution", MAP, real((2, 18, 3, 4)), real((2, 8, 3, 4)), WEIGHT, BIAS, note="masks", **KERNEL),
]
CASES = [*POOLING, *ALIGN, *ROTATED, *DISPLACED, *CONVOLUTION]
