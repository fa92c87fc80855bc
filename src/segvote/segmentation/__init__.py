"""Segmenters: an image in, a label map and its tree out.

Every segmenter is a function ``segment_*(image, n_segments=...) -> segvote.types.Segmentation`` of an (h, w, 3) uint8
RGB image at working size; `n_segments` is the most segments that come out. The tree is the rest of the merging, or the
Ward tree of the segments.
"""

from segvote.registry import Registry

__all__ = ["SEGMENTERS"]

SEGMENTERS = Registry(
    "segmenter",
    {
        "felzenszwalb": "segvote.segmentation.scikit_image:segment_felzenszwalb",
        "gpb": "segvote.segmentation.gpb:segment_gpb",
        "slic": "segvote.segmentation.scikit_image:segment_slic",
        "supervoxels": "segvote.segmentation.supervoxels:segment_supervoxels",
        "ward": "segvote.segmentation.ward:segment_ward",
    },
)
