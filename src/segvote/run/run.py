"""A finished run, opened for reading: bags, masks, scores, annotations, each read on access."""

from __future__ import annotations

import contextlib
import json
import shlex
from collections.abc import Collection, Iterator, Mapping, Sequence
from functools import cached_property
from pathlib import Path
from typing import Any

import numpy as np
from msgspec.structs import asdict

from segvote.errors import BadInputError, DamagedFileError, MissingPartError, SegvoteError
from segvote.io.addresses import split_uri
from segvote.io.arrays import read_arrays
from segvote.io.exports.base import measure_box
from segvote.io.images import hash_file, list_images, read_image
from segvote.io.masks import read_mask
from segvote.io.names import encode_name
from segvote.io.objects import Store
from segvote.io.picture_formats import choose_window, split_name
from segvote.io.stores import fetch_folder, find_local_path, is_uri, name_path_or_uri, open_folders
from segvote.io.tables import read_json
from segvote.masks import Drawing
from segvote.progress import Progress, ignore_progress
from segvote.run.estimate import format_estimate
from segvote.run.record import BagRecord
from segvote.run.run_folder import RunFolder, read_drawing
from segvote.run.videos import get_poster_path, list_frame_annotations
from segvote.selection import DEFAULT_EXTENT
from segvote.settings import read_settings
from segvote.types import WITH, Annotation, Part


def format_confidence(record: Mapping[str, Any]) -> str:
    """The confidence of a record as one line; empty for a voter other than the method."""
    level, reason, advice = (str(record.get(name, "")) for name in ("level", "reason", "advice"))
    return level and f"confidence {level}" + (f": {reason}; {advice}" if reason else "")


def format_command(folder: Path, *words: object) -> str:
    """A command on a run folder, to be pasted into a shell: `words` are the command and what follows the folder."""
    name, *rest = map(str, words)
    return shlex.join(["segvote", name, name_path_or_uri(folder), *rest])


class Run:
    """A finished run.

    Parameters
    ----------
    folder : path or str
        The ``-o`` folder of `segvote annotate`.

    Examples
    --------
    >>> import segvote
    >>> run = segvote.Run("out")
    >>> len(run), run.bags[0].bag_label, run.read_mask(0).dtype
    (12, 'with', dtype('bool'))
    """

    def __init__(self, folder: Path | str) -> None:
        self.folder = RunFolder(folder)
        self.record = self.folder.read_record()
        if not self.record.complete:
            raise BadInputError(f"the run in {self.folder.path} is not finished; repeat the same `segvote annotate`")
        self.settings = read_settings(self.record.settings, self.folder.record_path)
        self.bags, self.inputs = self.record.bags, self.record.inputs
        self.all_bags = [*self.bags, *self.record.predicted]  # those that did not vote behind those that did

    def __len__(self) -> int:
        return len(self.bags)

    def __repr__(self) -> str:
        n_with = sum(bag.bag_label == WITH for bag in self.bags)
        predicted = f", {len(self.record.predicted)} predicted" if self.record.predicted else ""
        counts = f"{n_with} with, {len(self) - n_with} without{predicted}"
        return f"<Run {self.folder.path}: {counts}, voter {self.settings.voter}>"

    @property
    def confidence(self) -> dict[str, Any]:
        """How far to trust the run: ``level`` (high, fair, low), ``reason``, ``advice`` and the figures behind them.

        Empty for a voter other than the method.
        """
        return dict(self.record.confidence)

    def format_confidence(self) -> str:
        """The same as one line of text."""
        return format_confidence(self.confidence)

    def format_estimate(self) -> str:
        """The expected IoU of the images that were not finished, as one line of text; empty where it is not known."""
        text = format_estimate(self.record.estimate) if self.record.estimate else ""
        # Images are left out at the default extent.
        return text and text + (f", at extent {DEFAULT_EXTENT}" if self.extent != DEFAULT_EXTENT else "")

    def format_sample(self) -> str:
        """How many images voted and how many were predicted, as one line of text; empty where all voted."""
        if not self.record.predicted:
            return ""
        return f"voted    {len(self):,} of {len(self.all_bags):,} images; the model of their vote predicted the others"

    @property
    def extent(self) -> int:
        """Which of the nested selections the masks show, from 1 to 6; single images may have another."""
        return self.record.extent or self.settings.extent

    @property
    def alternative(self) -> int:
        """Number of the alternative that the masks show, see `segvote.choose`; 0: the vote itself."""
        return self.record.alternative

    @cached_property
    def drawing(self) -> Drawing:
        """How the masks are drawn."""
        return read_drawing(self.folder.model_path)

    @cached_property
    def offsets(self) -> np.ndarray:
        """(n_bags + 1,) where each bag's segments begin in the flat arrays."""
        return np.concatenate([[0], np.cumsum([bag.n_segments for bag in self.bags])]).astype(np.int64)

    @cached_property
    def votes(self) -> dict[str, np.ndarray]:
        """Flat arrays over all segments: scores, votes, weights, selected; and thresholds per bag."""
        arrays = read_arrays(self.folder.votes_path)
        lengths = {
            **dict.fromkeys(("scores", "votes", "weights", "selected"), self.offsets[-1]),
            "thresholds": len(self),
        }
        if any(arrays.get(name, np.empty(0)).shape != (length,) for name, length in lengths.items()):
            raise DamagedFileError(f"{self.folder.votes_path} does not belong to this run.json; annotate again")
        return arrays

    def get_slice(self, index: int) -> slice:
        return slice(int(self.offsets[index]), int(self.offsets[index + 1]))

    def find(self, name: str) -> int:
        """Number of a bag that voted, by its name, its file name, or its stem."""
        index = self.find_any(name)
        if index >= len(self):
            raise BadInputError(
                f"expected an image that voted; {name!r} was predicted by the vote of {len(self)} others: its mask and "
                f"heat map are in {self.folder.path}; it votes once it is corrected ({self.format_review()})"
            )
        return index

    def format_review(self) -> str:
        """The command that opens the run for corrections."""
        return format_command(self.folder.path, "review")

    def find_any(self, name: str) -> int:
        """Number of a bag, whether it voted or was predicted, by its name, its file name, or its stem."""
        exact = [index for index, bag in enumerate(self.all_bags) if name == bag.name]
        numbers = exact or [index for index, bag in enumerate(self.all_bags) if name in _list_spellings(bag)]
        if len(numbers) != 1:
            raise BadInputError(f"expected the name of one image of the run; {name!r} fits {len(numbers)} of them")
        return numbers[0]

    def read_scores(self, index: int) -> np.ndarray:
        """(n_segments,) scores of a bag; those of a bag that did not vote are by the model."""
        return self.read_bag_votes(index)["scores"]

    def read_bag_votes(self, index: int) -> dict[str, np.ndarray]:
        """Of a bag: scores and selected segments (n_segments,), and thresholds (1,)."""
        if index < len(self):
            part, votes = self.get_slice(index), self.votes
            own = {name: votes[name][part] for name in ("scores", "selected")}
            return {**own, "thresholds": votes["thresholds"][index : index + 1]}
        bag = self.all_bags[index]
        arrays = read_arrays(self.folder.scores_path(bag.features))
        lengths = {"scores": bag.n_segments, "selected": bag.n_segments, "thresholds": 1}
        if any(arrays.get(name, np.empty(0)).shape != (length,) for name, length in lengths.items()):
            raise DamagedFileError(f"{self.folder.path}: scores of {bag.name} do not belong to it; annotate again")
        return arrays

    def read_segments(self, index: int) -> dict[str, np.ndarray]:
        """Label map, tree and geometry of a bag, as `segvote.pipeline.extract` wrote them."""
        return read_arrays(self.folder.segments_path(self.all_bags[index].segments))

    def read_mask(self, index: int) -> np.ndarray:
        """(h, w) bool at the displayed size."""
        return read_mask(self.folder.mask_path(self.all_bags[index].stem)) == 255

    def find_image(self, index: int) -> Path:
        """Path of the picture; of a video, of a frame that the run keeps."""
        bag = self.all_bags[index]
        return get_poster_path(self.folder, bag.segments) if bag.n_frames else self.find_source(index)

    def find_source(self, index: int) -> Path:
        """The user's file with its intensity window, or folder of frames."""
        # By the name, not by the bag label, which a correction may have changed.
        bag = self.all_bags[index]
        path = self.inputs.find_source(bag.name)
        if not path.exists():
            path = self._renamed.get(bag.digest, path)
        return path if bag.n_frames else choose_window(path, self.settings.window)

    @cached_property
    def _renamed(self) -> dict[str, Path]:
        """Digest to path of the images in the folders of the run that have another name than in the run."""
        folders = [find_local_path(one) for one in (self.inputs.with_folder, self.inputs.without_folder)]
        known = {self.inputs.find_source(bag.name) for bag in self.all_bags}
        files = [path for folder in folders if folder.is_dir() for path in list_images(folder) if path not in known]
        found: dict[str, Path] = {}
        for path in files:
            with contextlib.suppress(SegvoteError, OSError):
                found.setdefault(hash_file(path), path)
        return found

    def check_images(self) -> None:
        """Raise where not one image of the run is in its folders, before a command changes anything."""
        if not any(self.find_source(index).exists() or self._is_page(index) for index in range(len(self))):
            raise BadInputError(
                f"expected the images of {self.folder.path} in {self.inputs.with_folder} and "
                f"{self.inputs.without_folder}, found none; tell where they are: "
                f"{format_command(self.folder.path, 'update', '--with', 'NEW', '--without', 'NEW')}"
            )

    def _is_page(self, index: int) -> bool:
        """Whether an image is a page or a window of a file that exists."""
        return split_name(self.find_source(index))[0].exists()

    def read_image(self, index: int) -> np.ndarray:
        return read_image(self.find_image(index))

    def to_supervision(self) -> Any:
        """A ``supervision.DetectionDataset`` of all images, if that package is installed; without video files."""
        try:
            import supervision
        except ImportError as error:
            raise MissingPartError(f"supervision cannot be imported ({error}); pip install supervision") from error
        found = [one for one in self.list_annotations() if one.image_path is not None]
        detections = {str(one.image_path): _make_detections(supervision, one) for one in found}
        return supervision.DetectionDataset(
            classes=[self.settings.label], images=list(detections), annotations=detections
        )

    def to_table(self) -> list[dict[str, Any]]:
        """One row per bag, the fields of `BagRecord`, for ``pandas.DataFrame``."""
        return [asdict(bag) for bag in self.all_bags]

    def list_annotations(self, left_out: Collection[int] = ()) -> Iterator[Annotation]:
        """One annotation per image and per frame of a video, read one at a time; without some images by number."""
        for index in sorted(set(range(len(self.all_bags))) - set(left_out)):
            yield from self.list_bag_annotations(index)

    def list_bag_annotations(self, index: int) -> Iterator[Annotation]:
        """The annotation of an image, or those of a video's frames; one with an empty mask has no parts."""
        bag, label = self.all_bags[index], self.settings.label
        if bag.n_frames:
            yield from list_frame_annotations(self.folder, bag, self.find_source(index), label)
        else:
            mask = self.read_mask(index)
            parts = (Part(label, mask, bag.score),) if mask.any() else ()
            yield Annotation(bag.name, bag.height, bag.width, parts, image_path=self.find_image(index))


def _list_spellings(bag: BagRecord) -> set[str]:
    """Names by which a user can refer to a bag."""
    names = {bag.name, bag.stem, encode_name(bag.name), encode_name(bag.stem)}
    return names | {name.rsplit("/", 1)[-1] for name in names}


def _make_detections(supervision: Any, annotation: Annotation) -> Any:
    if not annotation.parts:
        return supervision.Detections.empty()
    [part] = annotation.parts
    x, y, width, height = measure_box(part.mask)
    # Both corners are pixels of the object, as supervision measures masks.
    boxes = np.array([[x, y, x + width - 1, y + height - 1]], dtype=np.float64)
    return supervision.Detections(
        xyxy=boxes, mask=part.mask[None], confidence=np.array([part.score]), class_id=np.zeros(1, dtype=int)
    )


@contextlib.contextmanager
def open_run(run: Any, progress: Progress = ignore_progress) -> Iterator[Any]:
    """Fetch a run folder from a store, and its images from the same bucket; send the folder back afterwards.

    Yields the local folder, or `run` itself if it is not an address.
    """
    with open_folders(outs=[run], progress=progress) as (_, (folder,)):
        for uri in _keep_own(run, _list_sources(folder)) if is_uri(run) else ():
            fetch_folder(uri, progress)
        yield folder


def list_stored_sources(run: str) -> list[str]:
    """Addresses of the images of a run in a store, in the same bucket, by its record there."""
    data = Store("".join(split_uri(run))).read("run.json") or b"{}"
    with contextlib.suppress(ValueError, TypeError, KeyError, AttributeError):
        return _keep_own(run, [one for one in json.loads(data)["inputs"].values() if is_uri(one)])
    return []


def _keep_own(run: str, uris: Sequence[str]) -> list[str]:
    """Addresses in the bucket of a run: an untrusted run must not make this machine read any other."""
    protocol, bucket = run.split("://")[0], run.split("/")[2]
    return [uri for uri in uris if uri.startswith(f"{protocol}://{bucket}/")]


def _list_sources(folder: Path) -> list[str]:
    """Addresses of the images of a run, or of a run on classes."""
    with contextlib.suppress(SegvoteError, OSError):
        if (record_path := RunFolder(folder).record_path).is_file():
            return [one for one in read_json(record_path)["inputs"].values() if is_uri(one)]
        root = read_json(folder / "classes.json")["input"]
        return [root] if is_uri(root) else []
    return []
