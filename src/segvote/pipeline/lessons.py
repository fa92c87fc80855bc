"""Estimate of the other images from the finished ones of a run, each predicted by a vote without it."""

from __future__ import annotations

from collections.abc import Iterator

import numpy as np
from msgspec.structs import replace

from segvote.method.left_out import FEWEST, choose_left_out, find_interval, predict_left_out
from segvote.pipeline.corrected_vote import RunVote
from segvote.pipeline.vote import Lesson
from segvote.run.estimate import ExpectedIoU


class LeftOutImages:
    """The finished images of a vote that are left out one by one; each is predicted once.

    Images whose finished masks, or those of any other, changed since are predicted again.
    """

    def __init__(self) -> None:
        # The lesson, and what is known by it: replaced together, because another thread may ask for the estimate.
        self._known: tuple[Lesson | None, dict[int, tuple[float, float]]] = (None, {})

    def list_unknown(self, run_vote: RunVote) -> Iterator[int]:
        """Numbers of the images that were not predicted yet."""
        lesson = run_vote.taught.lesson
        if lesson is not self._known[0]:
            self._known = (lesson, {})
        return (image for image in _choose(run_vote).tolist() if image not in self._known[1])

    def predict(self, run_vote: RunVote, image: int) -> None:
        """Predict one of `list_unknown`."""
        lesson = run_vote.taught.lesson
        assert lesson is not None
        self._known[1][image] = predict_left_out(lesson.before, lesson.finished, image)

    def estimate(self, run_vote: RunVote) -> ExpectedIoU | None:
        """What is known by the images predicted so far; None where no image was finished."""
        lesson = run_vote.taught.lesson
        if lesson is None:
            return None
        last, known = self._known
        n_finished = len(np.unique(run_vote.inputs.table.images[~np.isnan(lesson.finished)]))
        images = [image for image in _choose(run_vote).tolist() if image in known]
        if lesson is not last or not images:
            return ExpectedIoU(n_finished)
        before, after = np.array([known[image] for image in images]).T
        estimate = ExpectedIoU(n_finished, len(images), round(float(before.mean()), 4), round(float(after.mean()), 4))
        if len(after) < FEWEST:
            return estimate
        low, high = (round(one, 4) for one in find_interval(after))
        return replace(estimate, low=low, high=high, random=bool(_list_random(run_vote)[images].all()))


def find_first(run_vote: RunVote) -> int:
    """Number of the bag that is best finished first, where the vote is not sure what the object is; -1 for none.

    The most central *with* image: its mean feature, by area, is nearest to that of all *with* images.
    """
    base, table, bags = run_vote.base, run_vote.inputs.table, run_vote.inputs.bags
    if not base.is_method or base.confidence.level == "high" or run_vote.taught.lesson is not None:
        return -1
    offered = np.flatnonzero(table.bag_labels & np.array([bag.n_frames == 0 for bag in bags]))
    if not len(offered):
        return -1
    starts = table.bag_offsets[:-1]
    means = np.add.reduceat(table.X * table.shares[:, None], starts)[offered]
    return int(offered[np.argmin(((means - means.mean(axis=0)) ** 2).sum(axis=1))])


def estimate_others(run_vote: RunVote) -> ExpectedIoU | None:
    """The estimate of a vote; None where no image was finished."""
    left_out = LeftOutImages()
    for image in left_out.list_unknown(run_vote):
        left_out.predict(run_vote, image)
    return left_out.estimate(run_vote)


def _choose(run_vote: RunVote) -> np.ndarray:
    """(k,) numbers of the images to leave out."""
    lesson = run_vote.taught.lesson
    if lesson is None:
        return np.empty(0, dtype=np.int64)
    return choose_left_out(run_vote.inputs.table, lesson.finished, _list_random(run_vote))


def _list_random(run_vote: RunVote) -> np.ndarray:
    """(n_images,) bool: the image was drawn at random by an audit."""
    inputs = run_vote.inputs
    audited = set(inputs.corrections.audited)
    return np.array([bag.digest in audited for bag in inputs.bags])[inputs.table.image_bags]
