"""The files of one video: a mask for each frame, the poster's mask and heat map, an overlay film, a track for CVAT."""

from __future__ import annotations

from pathlib import Path
from typing import TYPE_CHECKING

import numpy as np

from segvote.io.arrays import read_arrays
from segvote.io.exports.cvat_tracks import TrackFile, open_track_file
from segvote.io.images import read_image, resize_image, resize_labels
from segvote.io.masks import write_mask
from segvote.io.overlays import blend_heat, blend_mask, write_jpeg
from segvote.io.video.files import FilmWriter, open_film_writer
from segvote.io.video.reading import open_video
from segvote.run.run_folder import RunFolder
from segvote.run.settings import Settings
from segvote.run.video.annotations import get_frame_mask_path
from segvote.run.video.frames import StoredFrame, get_poster_path, list_frame_stems, list_stored_frames, walk_frames
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
    segments = read_arrays(run.segments_path(record.segments))
    _write_poster(run, task, segments["labels"])
    stems = list_frame_stems(task.image_path, segments["frame_indices"])
    maps = list_stored_frames(run, record.segments, int(segments["n_files"]))
    moments, size = [], (record.height, record.width)
    with (
        open_film_writer(get_film_path(run, record.stem)) as film,
        open_track_file(get_track_path(run, record.stem), record.name, settings.label, size) as track,
    ):
        for stem, (image, stored) in zip(stems, walk_frames(open_video(task.image_path), maps), strict=False):
            _write_frame(run, task, stem, image, stored, film, track)
            moments.append(measure_moment(stored.time, stored.labels, task.decisions, task.heat))
    write_timeline(run, record.stem, moments)
    return round(float(np.mean([moment.area for moment in moments])), 6)


def _write_frame(
    run: RunFolder,
    task: WriteTask,
    stem: str,
    image: np.ndarray,
    stored: StoredFrame,
    film: FilmWriter,
    track: TrackFile,
) -> None:
    mask = resize_labels(task.decisions[stored.labels], image.shape[:2])
    write_mask(get_frame_mask_path(run, task.record.stem, stem), mask)
    track.add(stored.index, mask)
    shown = resize_image(image, FILM_SIZE)
    film.write(blend_mask(shown, resize_labels(mask, shown.shape[:2])), stored.time)


def _write_poster(run: RunFolder, task: WriteTask, labels: np.ndarray) -> None:
    """The poster's mask and heat map lie where an image's do: pages need not know that it is a video."""
    record = task.record
    write_mask(run.mask_path(record.stem), resize_labels(task.decisions[labels], (record.height, record.width)))
    picture = resize_image(read_image(get_poster_path(run, record.segments)), HEATMAP_SIZE)
    heat = resize_labels(task.heat[labels], picture.shape[:2])
    write_jpeg(run.heatmap_path(record.stem), blend_heat(picture, heat))
