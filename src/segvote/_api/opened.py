"""A run in a notebook: its images one by one, plots, explanations, likely mislabelled images, the review page."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import ExitStack, suppress
from dataclasses import dataclass
from functools import cached_property
from pathlib import Path
from typing import TYPE_CHECKING, Any

import numpy as np

from segvote.errors import MissingPartError
from segvote.io.images import resize_labels
from segvote.io.overlays import blend_mask
from segvote.method.extents import N_LEVELS
from segvote.run.record import BagRecord
from segvote.run.run import Run, open_run
from segvote.run.settings import Settings
from segvote.steps.explain import SegmentExplanation, explain_segment, find_segment
from segvote.steps.extent import draw_extent
from segvote.steps.reopening import Opened, Voted, reopen, vote
from segvote.steps.vote import Held, hold_vote

if TYPE_CHECKING:
    from segvote.steps.doctor import Diagnosis


@dataclass(frozen=True)
class RunImage:
    """One image of a run; arrays are read on access.

    Attributes
    ----------
    run : Run
        The run.
    index : int
        Number of the image in the run.
    """

    run: Run
    index: int

    @property
    def record(self) -> BagRecord:
        """Its entry in ``run.json``."""
        return self.run.bags[self.index]

    @property
    def name(self) -> str:
        """``with/`` or ``without/`` and its path below that folder."""
        return self.record.name

    @property
    def uncertainty(self) -> float:
        """0 certain to 1; from 0.5 on the mask should be looked at."""
        return self.record.uncertainty

    @property
    def image(self) -> np.ndarray:
        """(h, w, 3) uint8; of a video, one of its frames."""
        return self.run.read_image(self.index)

    @property
    def mask(self) -> np.ndarray:
        """(h, w) bool."""
        return self.run.read_mask(self.index)

    @property
    def masks(self) -> list[np.ndarray]:
        """(h, w) bool at every extent, the tightest first; of a video, those of `image`."""
        return [draw_extent(self.run, self.index, level) for level in range(1, N_LEVELS + 1)]

    @property
    def heatmap(self) -> np.ndarray:
        """(h, w) float32: the score of the segment that each pixel belongs to, less the image's threshold."""
        scores = self.run.votes["scores"][self.run.get_slice(self.index)] - self.record.threshold
        labels = resize_labels(self.run.read_segments(self.index)["labels"], (self.record.height, self.record.width))
        return scores.astype(np.float32)[labels]


class OpenedRun(Run):
    """A finished run, opened for work in Python; it has the members of `Run`, too.

    Examples
    --------
    >>> import segvote
    >>> run = segvote.load_run("out")
    >>> explanation = run.explain("with/with-000.png")  # its best segment
    >>> explanation.lines[0].amount != 0
    True
    """

    def __iter__(self) -> Iterator[RunImage]:
        return iter(self.images)

    @property
    def images(self) -> list[RunImage]:
        """All images, in the order of `bags`."""
        return [RunImage(self, index) for index in range(len(self))]

    @cached_property
    def _reopened(self) -> Opened:
        return reopen(self)

    @cached_property
    def _voted(self) -> Voted:
        return vote(self._reopened)

    def plot(self, index: int, axes: Any = None) -> Any:
        """Draw an image, its heat map and its mask side by side with matplotlib.

        Parameters
        ----------
        index : int
            Number of the image.
        axes : sequence of three matplotlib axes, optional
            Default: those of a new figure.

        Returns
        -------
        matplotlib.figure.Figure
        """
        try:
            from matplotlib import pyplot
        except ImportError as error:
            raise MissingPartError("plots need matplotlib; install it with: pip install matplotlib") from error
        one = self.images[index]
        axes = pyplot.subplots(1, 3, figsize=(12, 4), layout="constrained")[1] if axes is None else axes
        heat = one.heatmap
        limit = float(np.abs(heat).max()) or 1.0
        axes[0].imshow(one.image)
        axes[1].imshow(heat, cmap="coolwarm", vmin=-limit, vmax=limit)
        axes[2].imshow(blend_mask(one.image, one.mask))
        titles = (one.name, "score above threshold", f"mask, uncertainty {one.uncertainty:.2f}")
        for axis, title in zip(axes, titles, strict=True):
            axis.set(title=title, xticks=[], yticks=[])
        return axes[0].figure

    def explain(self, image: int | str, segment: int | tuple[int, int] | None = None) -> SegmentExplanation:
        """List the votes for and against a segment; they sum to its score.

        Parameters
        ----------
        image : int or str
            Number or name of an image.
        segment : int or (int, int), optional
            Its number, or a point (x, y) in pixels; default: the segment with the highest score.

        Returns
        -------
        SegmentExplanation
        """
        index = image if isinstance(image, int) else self.find(image)
        text = "" if segment is None else str(segment) if isinstance(segment, int) else "{},{}".format(*segment)
        return explain_segment(self._voted, index, find_segment(self, index, text, self._voted.result.scores))

    def hold_vote(self, settings: Settings | None = None) -> Held:
        """Vote on the segments and features of this run; no file is changed.

        Corrections of a review do not take part; give them to `Held.correct`.

        Parameters
        ----------
        settings : Settings, optional
            How to vote and decide, another `voter` for instance; default: those of the run.

        Returns
        -------
        Held

        Examples
        --------
        >>> import dataclasses, segvote
        >>> run = segvote.load_run("out")
        >>> again = run.hold_vote(dataclasses.replace(run.settings, voter="crane", voter_options={}))
        >>> again.vote.scores.shape == run.votes["scores"].shape
        True
        """
        return hold_vote(self._reopened.table, settings or self.settings)

    def diagnose(self) -> Diagnosis:
        """Images that are likely mislabelled, near-duplicates, files that could not be read."""
        from segvote.steps.doctor import diagnose_run

        return diagnose_run(self, self._voted)


def load_run(folder: Path | str) -> OpenedRun:
    """Open a finished run.

    Parameters
    ----------
    folder : path or str
        The ``-o`` folder of `segvote annotate`.

    Returns
    -------
    OpenedRun

    Examples
    --------
    >>> import segvote
    >>> run = segvote.load_run("out")
    >>> run.images[0].name, run.images[0].mask.shape
    ('with/with-000.png', (120, 160))
    """
    return OpenedRun(folder)


def open_review(run: Run | Path | str, port: int = 0, browser: bool = True) -> None:
    """Look at the masks in the browser and correct them, until Ctrl-C or the stop button of a notebook.

    Parameters
    ----------
    run : Run, path or str
        A run, or its folder; a path or an address of a store.
    port : int
        Port on 127.0.0.1; 0: any free port.
    browser : bool
        Open the page; otherwise only print its address.

    Examples
    --------
    >>> import segvote
    >>> segvote.open_review("out")  # doctest: +SKIP
    review   http://127.0.0.1:41217/…/

    A folder without a run is refused:

    >>> segvote.open_review("nowhere")  # doctest: +IGNORE_EXCEPTION_DETAIL
    Traceback (most recent call last):
    segvote.errors.BadInputError: nowhere is not a run folder
    """
    from segvote.review.serving.server import open_browser, serve

    opened = ExitStack()

    def announce(address: str) -> None:
        print(f"review   {address}\ncorrections are saved at once; stop with Ctrl-C", flush=True)
        if browser:
            opened.enter_context(open_browser(address))

    # An interruption is the usual way to end: corrections still go to the run's store.
    with opened, open_run(run.folder.path if isinstance(run, Run) else run) as folder, suppress(KeyboardInterrupt):
        serve(folder, port, announce)
