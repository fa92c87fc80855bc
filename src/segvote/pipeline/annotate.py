"""The main job: two folders in, a run folder with masks out; killed at any moment, it goes on where it was."""

from __future__ import annotations

import platform
import time
from collections.abc import Callable, Sequence
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from typing import Any

import numpy as np

from segvote import __version__
from segvote.errors import BadInputError, DamagedFileError, UnreadableImageError
from segvote.features import FeatureExtractor, make_features
from segvote.io.arrays import read_arrays, write_arrays
from segvote.io.images import read_image
from segvote.io.run_folder import RunFolder, make_key
from segvote.io.videos import open_video
from segvote.pipeline.bags import Bag, list_bags
from segvote.pipeline.corrections import Corrections, fix_table, move_bags, read_corrections
from segvote.pipeline.describing import Described, Describer
from segvote.pipeline.label_maps import LabelMaps
from segvote.pipeline.model import MODEL_VERSION, write_model
from segvote.pipeline.progress import Progress, count_along, ignore_progress
from segvote.pipeline.run import Run
from segvote.pipeline.settings import Settings
from segvote.pipeline.voting_step import decide_bags, fit_voter, gather_table
from segvote.pipeline.workers import run_on_all
from segvote.pipeline.writing import write_results
from segvote.refine.decide import check_decision
from segvote.segmentation import SEGMENTERS
from segvote.types import WITH, WITHOUT
from segvote.voting import VOTERS

__all__ = ["annotate", "list_versions", "make_record", "make_result_key"]

# Packages whose version may change a mask.
DECIDING_PACKAGES = (
    "numpy",
    "scipy",
    "scikit-learn",
    "scikit-image",
    "higra",
    "faiss-cpu",
    "onnxruntime",
    "opencv-python-headless",
    "Pillow",
)

# Frames of a video from which words are learned: neighbours show the same.
LEARNED_EVERY = 10


def annotate(
    with_folder: Path | str,
    without_folder: Path | str,
    out: Path | str,
    settings: Settings | None = None,
    *,
    segments: Path | str | None = None,
    n_jobs: int = 2,
    strict: bool = False,
    progress: Progress = ignore_progress,
) -> Run:
    """Find the thing that the images of one folder show and those of the other do not.

    Parameters
    ----------
    with_folder, without_folder
        Folders of images, nested as you like.
    out
        The run folder to write; an unfinished or earlier run of the same two folders is continued.
    settings
        See `Settings`.
    segments
        Folder of your own label maps (PNG or npy, named like the images), or None: segment.
    n_jobs
        Number of processes; the answer does not depend on it.
    strict
        An unreadable image is an error instead of a line in the report.
    progress
        Called with step, done, total.

    Returns
    -------
    Run
    """
    settings = settings or Settings()
    extractor = _check_names(settings)
    folders = {WITH: Path(with_folder), WITHOUT: Path(without_folder)}
    run = RunFolder(out)
    _check_owner(run, folders)
    bags = list_bags(folders[WITH], folders[WITHOUT], settings.frames)
    with run.lock():
        job = _Job(run, settings, extractor, folders, n_jobs, progress)
        job.carry_out(bags, LabelMaps.open(segments), strict)
    return Run(run.path)


class _Job:
    """One call of `annotate`: what all its steps need."""

    def __init__(
        self,
        run: RunFolder,
        settings: Settings,
        extractor: FeatureExtractor,
        folders: dict[str, Path],
        n_jobs: int,
        progress: Progress,
    ) -> None:
        self.run, self.settings, self.extractor = run, settings, extractor
        self.folders, self.n_jobs, self.progress = folders, n_jobs, progress

    def carry_out(self, bags: list[Bag], label_maps: LabelMaps | None, strict: bool) -> None:
        self._claim(bags)
        corrections = read_corrections(self.run)
        bags = move_bags(bags, corrections)
        described = self._time("describe", lambda: self._describe(bags, label_maps))
        good = _keep_readable(described, strict)
        problems = [
            {"name": one.bag.name, "reason": one.problem or one.warning}
            for one in described
            if one.problem or one.warning
        ]
        key = make_result_key(self.settings, good, corrections)
        if self._is_done(key):
            return
        self._write_record(key, complete=False)
        table = self._time("gather", lambda: gather_table(self.run, good, self.extractor))
        fixed = fix_table(self.run, good, corrections)
        voter = self._time("vote", lambda: self._vote(table, fixed))
        verdict = self._time("decide", lambda: decide_bags(table, voter, self.settings, fixed))
        records = self._time(
            "write",
            lambda: write_results(self.run, good, table, verdict, self.settings, self.n_jobs, self.progress),
        )
        self._time("model", lambda: write_model(self.run, self.settings, self.extractor, table, voter, verdict))
        self._write_record(key, complete=True, bags=[vars(one) for one in records], problems=problems)

    def _vote(self, table: Any, fixed: np.ndarray | None) -> Any:
        self.progress("vote", 0, 1)
        voter = fit_voter(table, self.settings, fixed)
        self.progress("vote", 1, 1)
        return voter

    def _describe(self, bags: list[Bag], label_maps: LabelMaps | None) -> list[Described]:
        state_key = self._learn_words(bags)
        describer = Describer(self.run, self.settings, self.extractor, state_key, label_maps)
        results = run_on_all(describer, bags, self.n_jobs)
        described = list(count_along(results, "segment and describe", len(bags), self.progress))
        totals: dict[str, float] = {}
        for one in described:
            for name, seconds in one.seconds.items():
                totals[name] = totals.get(name, 0.0) + seconds
        self.run.log(step="bags", n_jobs=self.n_jobs, worker_seconds=totals)
        return described

    def _learn_words(self, bags: Sequence[Bag]) -> str:
        """Let an extractor with a codebook see the images once; it is kept under a key of all that made it."""
        if not self.extractor.needs_fit:
            return ""
        digests = [bag.digest for bag in bags if not bag.problem]
        key = make_key(features=self.extractor.get_key(), images=digests, seed=self.settings.seed)
        path = self.run.features_path(f"words-{key}")
        try:
            self.extractor.set_state(read_arrays(path))
        except (FileNotFoundError, DamagedFileError):
            images = count_along(_read_all(bags), "learn words", len(bags), self.progress)
            self.extractor.fit(images, np.random.default_rng(self.settings.seed))
            write_arrays(path, False, **self.extractor.get_state())
        return key

    def _claim(self, bags: Sequence[Bag]) -> None:
        """Say whose folder this is before anything else is in it."""
        if not self.run.record_path.exists():
            self._write_record("", complete=False)
        self.run.log(step="start", version=__version__, n_bags=len(bags), settings=self.settings.to_dict())

    def _is_done(self, key: str) -> bool:
        try:
            record = self.run.read_record()
            done = record["complete"] and record["key"] == key
            stems = [bag["stem"] for bag in record["bags"]]
        except (DamagedFileError, BadInputError, KeyError, TypeError):
            return False
        files = [
            self.run.votes_path,
            self.run.coco_path,
            *map(self.run.mask_path, stems),
            *map(self.run.heatmap_path, stems),
        ]
        return bool(done) and all(path.is_file() for path in files)

    def _write_record(self, key: str, complete: bool, bags: Sequence = (), problems: Sequence = ()) -> None:
        inputs = {tag: str(folder.resolve()) for tag, folder in self.folders.items()}
        self.run.write_record(make_record(inputs, self.settings, key, complete, bags, problems))

    def _time(self, step: str, function: Callable[[], Any]) -> Any:
        started = time.perf_counter()
        result = function()
        self.run.log(step=step, seconds=round(time.perf_counter() - started, 3))
        return result


def make_result_key(settings: Settings, described: Sequence[Described], corrections: Corrections) -> str:
    """Name of a run's result: all that decides it. Corrections that were all undone leave no trace."""
    bags = [(one.bag.name, one.features_key) for one in described]
    said = {"corrections": corrections.digest} if corrections.digest else {}
    return make_key(version=__version__, model=MODEL_VERSION, settings=settings.to_dict(), bags=bags, **said)


def make_record(
    inputs: dict[str, str], settings: Settings, key: str, complete: bool, bags: Sequence = (), problems: Sequence = ()
) -> dict[str, Any]:
    """The content of ``run.json``."""
    return {
        "segvote": __version__,
        "versions": list_versions(),
        "inputs": inputs,
        "settings": settings.to_dict(),
        "key": key,
        "complete": complete,
        "bags": list(bags),
        "problems": list(problems),
    }


def _check_names(settings: Settings) -> FeatureExtractor:
    """Fail on an unknown name before any work is done."""
    VOTERS[settings.voter](**settings.voter_options)
    check_decision(settings.decision)
    SEGMENTERS[settings.segmenter]
    return make_features(settings.features, **settings.feature_options)


def _check_owner(run: RunFolder, folders: dict[str, Path]) -> None:
    if run.path.is_file():
        raise BadInputError(f"{run.path} is a file; -o wants a folder")
    if not run.path.exists():
        return
    strangers = [entry.name for entry in run.path.iterdir() if entry.name not in (".lock", "log.jsonl")]
    if not run.record_path.exists():
        if strangers:
            raise BadInputError(
                f"{run.path} is not empty and not a run folder (it holds {strangers[0]}); choose another -o"
            )
        return
    inputs = run.read_record().get("inputs", {})
    wanted = {tag: str(folder.resolve()) for tag, folder in folders.items()}
    if inputs != wanted:
        raise BadInputError(
            f"{run.path} belongs to a run on {inputs.get(WITH)} and {inputs.get(WITHOUT)}; choose another -o folder"
        )


def _keep_readable(described: Sequence[Described], strict: bool) -> list[Described]:
    bad = [one for one in described if one.problem]
    if bad and strict:
        raise UnreadableImageError(f"{len(bad)} unreadable image(s), and --strict is on: {bad[0].problem}")
    good = [one for one in described if not one.problem]
    for tag in (WITH, WITHOUT):
        if not any(one.bag.tag == tag for one in good):
            reason = next(one.problem for one in bad if one.bag.tag == tag)
            raise BadInputError(f"none of the *{tag}* images can be read; the first reason: {reason}")
    return good


def _read_all(bags: Sequence[Bag]) -> Any:
    for bag in bags:
        try:
            if bag.is_video:
                yield from (frame.image for frame in open_video(bag.path, LEARNED_EVERY))
            elif not bag.problem:
                yield read_image(bag.path)
        except UnreadableImageError:
            continue  # reported when its turn to be described comes


def list_versions() -> dict[str, str]:
    """Versions of everything that may change a mask."""
    versions = {"python": platform.python_version()}
    for package in DECIDING_PACKAGES:
        try:
            versions[package] = version(package)
        except PackageNotFoundError:
            versions[package] = "not installed"
    return versions
