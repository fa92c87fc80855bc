"""The files of one video: a mask for each frame, the poster's mask and heat map, an overlay film, a track for CVAT."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from segvote.errors import UnreadableImageError
from segvote.io.exports.cvat import TrackFile, open_track_file
from segvote.io.images import resize_image, resize_labels
from segvote.io.masks import write_mask
from segvote.io.overlays import blend_heat, blend_mask, write_jpeg
from segvote.io.video.files import FilmWriter, open_film_writer
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings
from segvote.run.video.annotations import get_frame_mask_path
from segvote.run.video.frames import list_frame_stems
from segvote.steps.video.carry import SegmentedVideo
from segvote.steps.video.draw import DrawnFrame, VideoDrawer
from segvote.steps.video.timeline import measure_moment, write_timeline

if TYPE_CHECKING:
    from segvote.steps.write import WriteTask

HEATMAP_SIZE = 640
FILM_SIZE = 960  # longest side of the overlay film, enough to judge it


def get_film_path(run: RunFolder, stem: str) -> Path:
    """The film of a video under its mask."""
    return run.path / "films" / f"{stem}.mp4"


def get_track_path(run: RunFolder, stem: str) -> Path:
    """The outline through time, for CVAT."""
    return run.path / "tracks" / f"{stem}.cvat.xml"


def write_video(run: RunFolder, task: WriteTask, settings: Settings) -> float:
    """Write everything of one video; returns the share of its pixels that the masks cover."""
    record = task.record
    video = SegmentedVideo.open(run, record.segments, task.image_path)
    drawer = VideoDrawer(video, task.heat, task.decisions, task.fixed, settings.draw != "segments")
    stems = list_frame_stems(task.image_path, video.segments["frame_indices"])
    moments, size = [], (record.height, record.width)
    with (
        open_film_writer(get_film_path(run, record.stem)) as film,
        open_track_file(get_track_path(run, record.stem), record.name, settings.label, size) as track,
    ):
        for stem, drawn in zip(stems, drawer.draw(), strict=False):
            _write_frame(run, record.stem, stem, drawn, film, track)
            moments.append(measure_moment(drawn))
            if drawn.frame.index == video.segments["poster"]:
                _write_poster(run, record.stem, drawn)
        if len(moments) < len(stems):
            raise UnreadableImageError(f"{task.image_path}: changed since it was segmented; repeat the command")
    write_timeline(run, record.stem, moments)
    return round(float(np.mean([moment.area for moment in moments])), 6)


def _write_frame(run: RunFolder, video: str, stem: str, drawn: DrawnFrame, film: FilmWriter, track: TrackFile) -> None:
    write_mask(get_frame_mask_path(run, video, stem), drawn.mask, durable=False)
    track.add(drawn.frame.index, drawn.mask)
    shown = resize_image(drawn.frame.image, FILM_SIZE)
    film.write(blend_mask(shown, resize_labels(drawn.mask, shown.shape[:2])), drawn.frame.time)


def _write_poster(run: RunFolder, video: str, drawn: DrawnFrame) -> None:
    """The poster's mask and heat map lie where an image's do, so that pages show a video like an image."""
    write_mask(run.mask_path(video), drawn.mask)
    picture = resize_image(drawn.frame.image, HEATMAP_SIZE)
    write_jpeg(run.heatmap_path(video), blend_heat(picture, resize_labels(drawn.heat, picture.shape[:2])))
