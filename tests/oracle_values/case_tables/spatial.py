"""Images rearranged, sampled and resized: im2col, grids, transformers, correlation, adaptive pooling; masks and copies by index."""

from __future__ import annotations

from .declare import case, given, ramp, real, whole

NAN = float("nan")
IMAGE = real((2, 3, 4, 5))
LOC = real((2, 6), -1, 1)

COLUMNS = [
    case("im2col", IMAGE, kernel=(2, 2)),
    case("im2col", IMAGE, kernel=(3, 2), stride=(2, 1), pad=(1, 1)),
    case("im2col", IMAGE, kernel=(2, 2), dilate=(2, 3), pad=(0, 1)),
    case("im2col", real((2, 3, 4, 5), dtype="float64"), kernel=(2, 2)),
    case("im2col", IMAGE, kernel=(6, 2), note="larger than the image"),
    case("col2im", real((2, 12, 12)), output_size=(4, 5), kernel=(2, 2)),
    case("col2im", real((2, 18, 12)), output_size=(4, 5), kernel=(3, 2), stride=(2, 1), pad=(1, 1)),
    case("col2im", real((2, 12, 8)), output_size=(4, 5), kernel=(2, 2), dilate=(2, 3), pad=(0, 1)),
    case("col2im", real((2, 12, 11)), output_size=(4, 5), kernel=(2, 2), note="the wrong number of windows"),
    case("col2im", real((2, 11, 12)), output_size=(4, 5), kernel=(2, 2), note="the wrong number of channels"),
]
SAMPLERS = [
    case("GridGenerator", LOC, transform_type="affine", target_shape=(3, 4)),
    case("GridGenerator", LOC, transform_type="affine", note="without a target"),
    case("GridGenerator", real((2, 5)), transform_type="affine", target_shape=(3, 4), note="five parameters"),
    case("GridGenerator", LOC, transform_type="affine", target_shape=(1, 4), note="one row"),
    case("GridGenerator", real((2, 2, 3, 4)), transform_type="warp"),
    case("GridGenerator", real((2, 3, 3, 4)), transform_type="warp", note="three channels"),
    case("BilinearSampler", IMAGE, real((2, 2, 3, 4), -1.2, 1.2)),
    case("BilinearSampler", real((2, 3, 4, 5), dtype="float64"), real((2, 2, 3, 4), -1.2, 1.2, "float64")),
    case("BilinearSampler", IMAGE, given([[[[-1, 0, 1]], [[-1, 0, 1]]], [[[1, 1, 3]], [[-1, -3, 1]]]]), note="corners"),
    case("BilinearSampler", real((1, 1, 2, 2)), given([[[[NAN, 0]], [[0, NAN]]]]), grad=False, note="nan"),
    case("BilinearSampler", IMAGE, real((3, 2, 3, 4)), note="another number of grids"),
    case("SpatialTransformer", IMAGE, LOC, target_shape=(3, 4), transform_type="affine", sampler_type="bilinear"),
    case("SpatialTransformer", IMAGE, LOC, transform_type="affine", sampler_type="bilinear", note="without a target"),
    case("SpatialTransformer", IMAGE, real((2, 5)), target_shape=(3, 4), transform_type="affine", sampler_type="bilinear"),
]
PAIR = (real((2, 3, 6, 7)), real((2, 3, 6, 7)))
CORRELATION = [
    case("Correlation", *PAIR, outputs=1),
    case("Correlation", *PAIR, outputs=1, max_displacement=2, pad_size=2),
    case("Correlation", *PAIR, outputs=1, max_displacement=2, pad_size=2, stride2=2),
    case("Correlation", *PAIR, outputs=1, kernel_size=3, max_displacement=1, pad_size=2),
    case("Correlation", *PAIR, outputs=1, kernel_size=3, max_displacement=2, pad_size=3, stride1=2, stride2=2),
    case("Correlation", *PAIR, outputs=1, max_displacement=1, pad_size=1, is_multiply=False),
    case("Correlation", *PAIR, outputs=1, kernel_size=2, note="an even kernel"),
    case("Correlation", *PAIR, outputs=1, max_displacement=8, note="larger than the image"),
]
RESIZING = [
    case("_contrib_AdaptiveAvgPooling2D", real((2, 3, 5, 7))),
    case("_contrib_AdaptiveAvgPooling2D", real((2, 3, 5, 7)), output_size=(2, 3)),
    case("_contrib_AdaptiveAvgPooling2D", real((2, 3, 5, 7)), output_size=3),
    case("_contrib_AdaptiveAvgPooling2D", real((2, 3, 5, 7)), output_size=(7, 9), note="larger than the image"),
    case("_contrib_AdaptiveAvgPooling2D", real((3, 5, 7)), output_size=(2, 2), note="three axes"),
    case("_contrib_AdaptiveAvgPooling2D", real((2, 3, 4, 4), dtype="float64"), output_size=(2, 2)),
    case("_contrib_BilinearResize2D", real((2, 3, 4, 5)), height=7, width=3),
    case("_contrib_BilinearResize2D", real((2, 3, 4, 5)), height=7, width=3, align_corners=False),
    case("_contrib_BilinearResize2D", real((2, 3, 4, 5)), height=1, width=1),
    case("_contrib_BilinearResize2D", real((2, 3, 4, 5)), height=2, width=10, align_corners=False),
    case("_contrib_BilinearResize2D", real((2, 3, 4, 5), dtype="float64"), height=5, width=6),
    case("_contrib_BilinearResize2D", real((2, 3, 4, 5))),
    case("_contrib_BilinearResize2D", real((2, 3, 4, 5)), scale_height=1.5, scale_width=2.5),
    case("_contrib_BilinearResize2D", real((2, 3, 4, 5)), scale_height=0.5, scale_width=0.5, mode="odd_scale"),
    case("_contrib_BilinearResize2D", real((2, 3, 4, 5)), scale_height=2, scale_width=1.5, mode="odd_scale"),
    *(
        case("_contrib_BilinearResize2D", real((2, 3, 4, 5)), mode=mode)
        for mode in ("to_even_down", "to_even_up", "to_odd_down", "to_odd_up")
    ),
    *(
        case("_contrib_BilinearResize2D", real((2, 3, 5, 6)), mode=mode)
        for mode in ("to_even_down", "to_even_up", "to_odd_down", "to_odd_up")
    ),
    case("_contrib_BilinearResize2D", real((2, 3, 4, 5)), real((1, 1, 6, 3)), mode="like", grad=False),
    case("_contrib_BilinearResize2D", real((2, 3, 4, 5)), height=0, width=3, note="no rows"),
    case("_contrib_BilinearResize2D", real((3, 4, 5)), height=2, width=3, note="three axes"),
]
MASKS = [
    case("_contrib_boolean_mask", ramp(3, 2), given([1, 0, 1])),
    case("_contrib_boolean_mask", real((3, 2, 2)), given([0, 2, -1])),
    case("_contrib_boolean_mask", ramp(3, 2, dtype="int32"), given([1, 1, 0], "int32")),
    case("_contrib_boolean_mask", ramp(3, 2), given([1, 0]), note="the wrong length"),
    case("_contrib_index_copy", real((5, 2)), given([0, 3], "int64"), real((2, 2))),
    case("_contrib_index_copy", real((5, 2, 2)), given([4, 0, 2], "int32"), real((3, 2, 2))),
    case("_contrib_index_copy", real((4,)), given([1, 2], "int64"), real((2,))),
    case("_contrib_index_copy", real((4, 2)), given([1, 1], "int64"), real((2, 2)), grad=False, note="one place twice"),
    case("_contrib_index_copy", real((4, 2)), given([1, 1], "int64"), real((3, 2)), note="the wrong number of rows"),
    case("_contrib_index_copy", real((4, 2)), given([1, 2]), real((2, 2)), note="real indices"),
    case("_contrib_index_array", real((2, 3))),
    case("_contrib_index_array", real((2, 3, 2)), axes=(1,)),
    case("_contrib_index_array", real((2, 3, 2)), axes=(2, 0)),
    case("_contrib_index_array", real((2, 3, 2)), axes=(-1,)),
    case("_contrib_index_array", whole((2,), 0, 4, "int32")),
    case("_contrib_allclose", real((2, 3)), real((2, 3))),
    case("_contrib_allclose", given([1, 2, NAN]), given([1, 2, NAN])),
    case("_contrib_allclose", given([1, 2, NAN]), given([1, 2, NAN]), equal_nan=False),
    case("_contrib_allclose", given([1, 2]), given([1.01, 2]), rtol=0.1),
    case("_contrib_allclose", given([1, 2]), given([1.01, 2]), atol=0.001),
    case("_contrib_allclose", given([float("inf"), 2]), given([float("inf"), 2])),
    case("_contrib_allclose", given([1, 2]), given([1, 2, 3]), note="different shapes"),
    case("_contrib_allclose", given([1, 2], "int32"), given([1, 2], "int32")),
    case("_contrib_allclose", given([1, 2], "float64"), given([1, 2], "float64")),
]
STATISTICS = (real((3,)), real((3,)), real((3,)), real((3,), 0.5, 2))
CONV = (real((2, 4, 5, 6)), real((3, 4, 3, 3)), real((3,)))
FORMER = [
    case("Convolution_v1", *CONV, kernel=(3, 3), num_filter=3, pad=(1, 1)),
    case("Convolution_v1", CONV[0], real((4, 2, 2, 2)), kernel=(2, 2), num_filter=4, num_group=2, stride=(2, 1), no_bias=True),
    case("Convolution_v1", CONV[0], real((3, 4, 2, 2)), kernel=(2, 2), num_filter=3, dilate=(2, 2), no_bias=True),
    *(case("Pooling_v1", real((2, 3, 5, 6)), kernel=(2, 3), pool_type=kind, stride=(2, 2), pad=(1, 1)) for kind in ("max", "avg", "sum")),
    case("Pooling_v1", real((2, 3, 5, 6)), kernel=(2, 3)),
    case("Pooling_v1", real((2, 3, 5, 6)), kernel=(2, 2), stride=(2, 2), pooling_convention="full"),
    case("Pooling_v1", real((2, 3, 5, 6)), kernel=(3, 3), stride=(2, 2), pad=(1, 1), pool_type="avg", pooling_convention="full"),
    case("Pooling_v1", real((2, 3, 5, 6)), kernel=(4, 4), stride=(3, 3), pad=(1, 1), pool_type="avg", pooling_convention="full"),
    case("Pooling_v1", real((2, 3, 5, 6)), kernel=(2, 2), global_pool=True, pool_type="avg"),
    case("Pooling_v1", real((2, 3, 5, 6)), kernel=(2, 2), global_pool=True),
    case("Pooling_v1", real((2, 3, 5, 6)), global_pool=True, note="without a kernel"),
    case("Pooling_v1", real((2, 3, 6)), kernel=(2,), note="one axis"),
    case("Pooling_v1", real((2, 3, 4, 4, 4)), kernel=(2, 2, 2), note="three axes"),
    case("Pooling_v1", real((2, 3, 5, 6)), kernel=(6, 2), note="larger than the image"),
]
# with fixed scales MXNet writes them; outside training the gradients of SyncBatchNorm and of oneDNN are not those of the results
SYNCED = [
    *(
        case("_contrib_BatchNormWithReLU", real((2, 3, 2, 2)), *STATISTICS, outputs=1, onednn=True, fix_gamma=False, **attrs)
        for attrs in ({}, {"eps": 0.1, "momentum": 0.5}, {"train": False, "grad": False}, {"use_global_stats": True, "grad": False})
    ),
    case("_contrib_SyncBatchNorm", real((2, 3, 2, 2)), *STATISTICS, outputs=1, fix_gamma=False, key="first"),
    case("_contrib_SyncBatchNorm", real((2, 3, 2, 2)), *STATISTICS, outputs=1, fix_gamma=False, key="second", eps=0.1, momentum=0.5),
    case("_contrib_SyncBatchNorm", real((2, 3, 2, 2)), *STATISTICS, outputs=1, fix_gamma=False, key="third", train=False, grad=False),
]
CASES = [*COLUMNS, *SAMPLERS, *CORRELATION, *RESIZING, *MASKS, *FORMER, *SYNCED]
