"""Voters side by side: the experiment, and the page about it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from segvote.evaluation.compare import compare as compare_combinations
from segvote.evaluation.compare import list_combinations
from segvote.evaluation.comparison import Comparison
from segvote.evaluation.truth import list_truth
from segvote.io.progress_bar import choose_progress
from segvote.metrics.overlap import IMAGE_THRESHOLD
from segvote.progress import Progress
from segvote.report.experiments import write_comparison
from segvote.report.pictures import format_examples
from segvote.run.settings import Settings
from segvote.steps.workers import N_JOBS
from segvote.voters import SYSTEMS


def compare(
    with_folder: Path | str,
    without_folder: Path | str,
    truth: Path | str,
    out: Path | str,
    *,
    voters: Sequence[str] = SYSTEMS,
    features: Sequence[str] = (Settings.features,),
    segmenters: Sequence[str] = (Settings.segmenter,),
    settings: Settings | None = None,
    label: str | None = None,
    threshold: float = IMAGE_THRESHOLD,
    voter_options: Mapping[str, Mapping[str, Any]] | None = None,
    n_jobs: int = N_JOBS,
    progress: Progress | None = None,
) -> Comparison:
    """Try every combination of voters, features and segmenters on shared segments, and write the page about them.

    Parameters
    ----------
    with_folder, without_folder : path or str
        Folders of images.
    truth : path or str
        As for `evaluate`.
    out : path or str
        Folder for the results; finished ones there are kept.
    voters, features, segmenters : sequence of str
        Names of the registries; a voter with ``+finish`` behind its name is followed by the method's re-vote and
        linear classifier.
    settings : Settings, optional
        Everything else; its voter is the reference.
    label : str, optional
        The class that counts, where the truth has several.
    threshold : float
        Overlap above which an image is found.
    voter_options : mapping, optional
        Name of a voter to parameters of its class.
    n_jobs : int
        Number of processes.
    progress : callable, optional
        As for `annotate`.

    Returns
    -------
    Comparison

    Examples
    --------
    >>> import segvote
    >>> folders = "with", "without", "masks", "compared"
    >>> quick = segvote.Settings(features="color", n_segments=30, size=120)
    >>> found = segvote.compare(*folders, voters=["ekde", "negmin"], features=["color"], settings=quick, n_jobs=1)
    >>> [one.combination.voter for one in found.results]
    ['ekde', 'negmin']
    """
    readers = list_truth(truth, label)
    with choose_progress(progress) as report:
        comparison = compare_combinations(
            with_folder,
            without_folder,
            readers,
            out,
            list_combinations(voters, features, segmenters),
            settings,
            voter_options=voter_options,
            threshold=threshold,
            n_jobs=n_jobs,
            progress=report,
        )
    examples = format_examples(Path(with_folder), Path(without_folder), readers)
    write_comparison(comparison, f"Voters on {Path(with_folder).resolve().parent.name}", examples)
    return comparison
