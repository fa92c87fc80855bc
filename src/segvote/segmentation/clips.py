"""SLIC in space-time: for clips short enough to lie in memory, and as a yardstick for the streaming supervoxels."""

from __future__ import annotations

from collections.abc import Iterable, Iterator

import numpy as np

from segvote.errors import BadInputError, TooLargeError
from segvote.segmentation.flow import measure_flow
from segvote.segmentation.labels import relabel_connected
from segvote.segmentation.slic import ASKED_FOR_ONE
from segvote.segmentation.supervoxels import SupervoxelFrame

LONGEST_CLIP = 200  # frames; at working size some 200 MB


def stream_slic_clip(frames: Iterable[np.ndarray], n_in_frame: int = 400) -> Iterator[SupervoxelFrame]:
    """Segment a short clip; takes and gives what `stream_supervoxels` does, but reads all frames first.

    Parameters
    ----------
    frames
        (h, w, 3) uint8 RGB each, all of one size, `LONGEST_CLIP` of them at most.
    n_in_frame
        Supervoxels to be seen in a frame, about.
    """
    clip = []
    for frame in frames:
        clip.append(frame)
        if len(clip) > LONGEST_CLIP:
            raise TooLargeError(
                f"SLIC holds a whole clip in memory, {LONGEST_CLIP} frames at most; this video has more: "
                "take the default segmenter, or fewer frames with --every"
            )
    labels = segment_slic_clip(np.stack(clip), _count_for_clip(len(clip), clip[0].shape[:2], n_in_frame))
    before = clip[0]
    for index, (image, numbers) in enumerate(zip(clip, labels, strict=True)):
        flow = measure_flow(image, before) if index else np.zeros((*image.shape[:2], 2), np.float32)
        yield SupervoxelFrame(index, numbers, flow)
        before = image


def _count_for_clip(n_frames: int, shape: tuple[int, int], n_in_frame: int) -> int:
    """Supervoxels of a clip that shows so many per frame, if they are as long as they are wide."""
    side = np.sqrt(shape[0] * shape[1] / n_in_frame)
    return max(n_in_frame, round(n_in_frame * n_frames / side))


def segment_slic_clip(
    frames: np.ndarray, n_segments: int = 1000, *, compactness: float = 10.0, frame_distance: float = 1.0
) -> np.ndarray:
    """SLIC in space-time, for clips short enough to lie in memory.

    Parameters
    ----------
    frames
        (frames, h, w, 3) uint8 RGB.
    n_segments
        About how many supervoxels in the whole clip.
    compactness
        How much place counts against colour.
    frame_distance
        Distance of neighbouring frames, in pixels: larger means shorter supervoxels.

    Returns
    -------
    (frames, h, w) int32, numbers 0 .. n-1, every supervoxel connected.
    """
    from skimage.segmentation import slic

    if frames.ndim != 4 or frames.shape[3] != 3 or frames.dtype != np.uint8 or frames.size == 0:
        raise BadInputError(f"expected a clip (frames, h, w, 3) of uint8, got {frames.dtype} of shape {frames.shape}")
    asked = round(n_segments * ASKED_FOR_ONE)
    spacing = (frame_distance, 1.0, 1.0)
    return relabel_connected(
        slic(frames, asked, compactness=compactness, spacing=spacing, start_label=0, channel_axis=-1)
    )
