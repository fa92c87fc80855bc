"""Files of one video: a mask for each frame, the film under its masks, the track for CVAT and the time line."""

from __future__ import annotations

import time
from collections.abc import Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, nullcontext
from dataclasses import asdict, dataclass, replace
from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np
from PIL import Image

from segvote.errors import BadInputError, DamagedFileError, UnreadableImageError
from segvote.io.exports.coco import Shape, measure_shape
from segvote.io.exports.cvat import open_track_file
from segvote.io.files import open_scratch
from segvote.io.images import resize_image, resize_labels
from segvote.io.masks import write_mask
from segvote.io.overlays import blend_heat, blend_mask, write_jpeg
from segvote.io.tables import read_json, write_json
from segvote.io.video.files import Frame, open_film_writer
from segvote.io.video.reading import VideoStream
from segvote.pipeline.video.draw import DrawnFrame, draw_video
from segvote.progress import Progress, watch
from segvote.run.run_folder import RunFolder
from segvote.run.videos import TRACK, KeyFrames, list_frame_stems
from segvote.settings import Settings
from segvote.types import Annotation, Part

if TYPE_CHECKING:
    from segvote.pipeline.write import WriteTask

HEATMAP_SIZE = 640  # longest side of heat-map pictures
FILM_SIZE = 960  # longest side of the overlay film


@dataclass(frozen=True)
class Moment:
    """One frame on the time line."""

    time: float  # seconds from the start of the video
    area: float  # share of the frame that the mask covers
    heat: float  # mean over the mask, or the highest where the mask is empty; the decision is at .5
    flicker: float = 0.0  # share of the mask that changed although the flow does not explain it


def get_film_path(run: RunFolder, stem: str) -> Path:
    """The film of a video under its mask."""
    return run.path / "films" / f"{stem}.mp4"


def get_timeline_path(run: RunFolder, stem: str) -> Path:
    """The moments of a video."""
    return run.path / "tracks" / f"{stem}.timeline.json"


def write_video(run: RunFolder, task: WriteTask, settings: Settings) -> tuple[float, tuple[Shape | None, ...]]:
    """Write everything of one video but the COCO file.

    Returns the share of its pixels that the masks cover, and the COCO entry of each frame, None if its mask is empty.
    """
    record = task.record
    keys = KeyFrames.open(run, record.segments, record.features)
    stems = list_frame_stems(task.image_path, keys.arrays["frame_indices"])
    frames = draw_video(keys, task.image_path, task.heat, task.selection, along_superpixels=settings.draw != "segments")
    moments, shapes, size = [], [], (record.height, record.width)
    track_path = run.path / "tracks" / f"{record.stem}.cvat.xml"
    with (
        open_film_writer(get_film_path(run, record.stem)) as film,
        open_track_file(track_path, record.name, settings.label, size) as add_to_track,
    ):
        for stem, drawn in zip(stems, frames, strict=False):
            write_mask(run.mask_path(f"{record.stem}/{stem}"), drawn.mask, durable=False)
            add_to_track(drawn.frame.index, drawn.mask)
            shown = resize_image(drawn.frame.image, FILM_SIZE)
            film.write(blend_mask(shown, resize_labels(drawn.mask, shown.shape[:2])), drawn.frame.time)
            part = Part(settings.label, drawn.mask, track_id=TRACK)
            shapes.append(measure_shape(part, [settings.label]) if drawn.mask.any() else None)
            moments.append(measure_moment(drawn))
            if drawn.frame.index == keys.arrays["poster"]:
                _write_poster(run, record.stem, drawn)
        if len(moments) < len(stems):
            raise UnreadableImageError(f"{task.image_path}: changed since it was segmented; repeat the command")
    write_json(get_timeline_path(run, record.stem), {"frames": [asdict(moment) for moment in moments]})
    return round(float(np.mean([moment.area for moment in moments])), 6), tuple(shapes)


def report_frames(run: RunFolder, tasks: Sequence[WriteTask], progress: Progress) -> AbstractContextManager[None]:
    """While videos are drawn, report how many of their frames have a new mask."""
    videos, started = [task.record for task in tasks if task.record.n_frames], time.time()

    def count() -> tuple[int, int]:
        masks = [path for record in videos for path in run.mask_path(f"{record.stem}/0").parent.glob("*.png")]
        return sum(path.stat().st_mtime >= started for path in masks), sum(record.n_frames for record in videos)

    return watch("draw frames", count, progress) if videos else nullcontext()


def _write_poster(run: RunFolder, video: str, drawn: DrawnFrame) -> None:
    """Write mask and heat map of the poster at the paths of an image's, so that pages show a video like an image."""
    write_mask(run.mask_path(video), drawn.mask)
    picture = resize_image(drawn.frame.image, HEATMAP_SIZE)
    write_jpeg(run.heatmap_path(video), blend_heat(picture, resize_labels(drawn.heat, picture.shape[:2])))


def measure_moment(drawn: DrawnFrame) -> Moment:
    """The moment of a frame."""
    mask = resize_labels(drawn.mask, drawn.heat.shape)
    heat = drawn.heat[mask].mean() if mask.any() else drawn.heat.max()
    area = np.count_nonzero(drawn.mask) / drawn.mask.size
    return Moment(round(drawn.frame.time, 4), round(area, 6), round(float(heat), 4), round(drawn.flicker, 4))


def read_timeline(run: RunFolder, stem: str) -> list[Moment]:
    """The moments of a video; empty where the file is absent or damaged."""
    try:
        return [Moment(**frame) for frame in read_json(get_timeline_path(run, stem))["frames"]]
    except (BadInputError, DamagedFileError, KeyError, TypeError):
        return []


def add_frame_pictures(annotations: Iterable[Annotation]) -> Iterator[Annotation]:
    """Give each frame of a film file a picture, a PNG that exists until the next annotation is requested."""
    film: Path | None = None
    frames: Iterator[Frame] = iter(())
    with open_scratch() as scratch:
        picture = scratch / "frame.png"
        for annotation in annotations:
            source = annotation.properties.get("source")
            if annotation.image_path is not None or not isinstance(source, Path):
                yield annotation
                continue
            if source != film:
                film, frames = source, iter(VideoStream(source))
            picture.unlink(missing_ok=True)  # an export may have linked it: writing into it would change that file
            shown = next((frame for frame in frames if frame.index == annotation.properties["frame"]), None)
            if shown is None:
                raise UnreadableImageError(f"{annotation.name}: is not in the video any more; annotate again")
            Image.fromarray(shown.image).save(picture, compress_level=1)
            yield replace(annotation, image_path=picture)
