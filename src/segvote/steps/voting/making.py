"""The method with the parameters of a run."""

from __future__ import annotations

from importlib import import_module
from threading import Thread
from typing import TYPE_CHECKING, Any

from segvote.method.graph import N_NEIGHBORS
from segvote.run.settings import Settings
from segvote.voters import METHOD, make_voter
from segvote.voters.options import check_options

if TYPE_CHECKING:
    from segvote.method import SegmentAnnotator


def load_method() -> None:
    """Load what a vote needs, scikit-learn above all, in the background: other processes extract features meanwhile."""
    # Not as a daemon: a program that ends early waits for the import rather than be torn down in the middle of it.
    Thread(target=import_module, args=("segvote.method.annotator",)).start()


def make_annotator(settings: Settings) -> SegmentAnnotator:
    """The method with the parameters of a run, not fitted yet."""
    # scikit-learn takes a second to import: a command that does not vote does not wait for it.
    from segvote.method import SegmentAnnotator

    options = settings.voter_options
    check_options(settings.voter, options)
    parameters: dict[str, Any] = {
        "border_prior": settings.border_prior,
        "smoothing": settings.smoothing,
        "exclude_mislabelled": settings.exclude_mislabelled,
        "decision": settings.decision,
        "allow_empty": settings.unsure,
    }
    if settings.voter == METHOD:
        return SegmentAnnotator(**parameters, **{"n_neighbors": _choose_neighbours(settings.n_segments), **options})
    return SegmentAnnotator(make_voter(settings.voter, options, settings.finish), **parameters)


def _choose_neighbours(n_segments: int) -> int:
    """As large a part of an image's segments as the default is: three times as many are three times as alike."""
    return max(N_NEIGHBORS, round(N_NEIGHBORS * n_segments / Settings.n_segments))


def count_neighbours(settings: Settings) -> int:
    """How many neighbours of each segment the vote asks for; 0: none."""
    annotator = make_annotator(settings)
    return annotator.n_neighbors if annotator.voter is None else annotator.voter.n_searched
