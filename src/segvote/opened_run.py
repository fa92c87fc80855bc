"""A run in a notebook: its images one by one, plots, explanations, likely mislabelled images."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import TYPE_CHECKING, Any

import numpy as np

from segvote.errors import MissingPartError, SegvoteError
from segvote.io.images import resize_image, resize_labels
from segvote.io.overlays import blend_mask, encode_jpeg, format_data_uri
from segvote.method.extents import N_EXTENTS
from segvote.pipeline.alternatives import draw_alternative
from segvote.pipeline.corrected_vote import RunVote, vote
from segvote.pipeline.explain import SegmentExplanation, explain_segment, find_segment
from segvote.pipeline.extent import draw_extent
from segvote.pipeline.opening import RunInputs, reopen
from segvote.pipeline.vote import BaseVote, hold_vote
from segvote.run.alternatives import name_alternative, read_alternatives
from segvote.run.record import BagRecord
from segvote.run.run import Run
from segvote.settings import Settings
from segvote.types import WITH

if TYPE_CHECKING:
    from segvote.pipeline.doctor import Diagnosis

N_PICTURES, PICTURE_SIZE = 8, 160  # shown in a notebook
NOTEBOOK = """
<div><p><b>{{ run.folder.path }}</b>: {{ n_with }} with, {{ run | length - n_with }} without, voter {{
run.settings.voter }}</p>
{%- for name, source in pictures %}<img src="{{ source }}" alt="{{ name }}" title="{{ name }}" style="margin: 2px">
{%- endfor %}</div>
"""


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
        return [draw_extent(self.run, self.index, extent) for extent in range(1, N_EXTENTS + 1)]

    @property
    def heatmap(self) -> np.ndarray:
        """(h, w) float32: the score of the segment that each pixel belongs to, less the image's threshold."""
        scores = self.run.read_scores(self.index) - self.record.threshold
        labels = resize_labels(self.run.read_segments(self.index)["labels"], (self.record.height, self.record.width))
        return scores.astype(np.float32)[labels]


@dataclass(frozen=True)
class RunAlternative:
    """Something that the *with* images of a run share: the default, A, or something else that it may be.

    Attributes
    ----------
    run : Run
        The run.
    number : int
        Its place among the alternatives of the run, from 0.
    support : float
        How well it is supported: it repeats in *with* images, not in *without* images, and has clear outlines.
    selected : (n_segments,) bool array
        Its segments, before corrections.
    """

    run: Run
    number: int
    support: float
    selected: np.ndarray

    @property
    def letter(self) -> str:
        """The letter by which `segvote.choose` takes it."""
        return name_alternative(self.number)

    @property
    def is_chosen(self) -> bool:
        """Whether the masks of the run show it."""
        return self.number == self.run.alternative

    def draw_mask(self, index: int) -> np.ndarray:
        """(h, w) bool: the mask of an image, by its number, at the default extent and before corrections."""
        return draw_alternative(self.run, index, self.number)


def _encode_overlay(one: RunImage) -> str:
    """A small picture of an image under its mask as a data URI; empty where one of them cannot be read."""
    try:
        picture = resize_image(one.image, PICTURE_SIZE)
        mask = resize_labels(one.mask, picture.shape[:2])
    except (SegvoteError, OSError):
        return ""
    return format_data_uri(encode_jpeg(blend_mask(picture, mask)))


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

    def _repr_html_(self) -> str:
        """Counts and the masks with the least uncertainty; pictures that cannot be read are left out."""
        import jinja2  # only notebooks need it here

        shown = [one for one in self.images if one.record.bag_label == WITH]
        surest = sorted(shown, key=lambda one: one.uncertainty)[:N_PICTURES]
        pictures = [(one.name, source) for one in surest if (source := _encode_overlay(one))]
        template = jinja2.Environment(autoescape=True).from_string(NOTEBOOK)
        return template.render(run=self, n_with=len(shown), pictures=pictures)

    @property
    def images(self) -> list[RunImage]:
        """All images, in the order of `bags`."""
        return [RunImage(self, index) for index in range(len(self))]

    @property
    def alternatives(self) -> list[RunAlternative]:
        """What the object may be, the default first; empty for a voter other than the method."""
        alternatives = read_alternatives(self)
        rows = zip(alternatives.support.tolist(), alternatives.selected, strict=True)
        return [RunAlternative(self, number, *row) for number, row in enumerate(rows)]

    @cached_property
    def _reopened(self) -> RunInputs:
        return reopen(self)

    @cached_property
    def _run_vote(self) -> RunVote:
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

    def explain(self, image: int | str, segment: int | tuple[int, int] | str = "") -> SegmentExplanation:
        """List the votes for and against a segment; they sum to its score.

        Parameters
        ----------
        image : int or str
            Number or name of an image.
        segment : int, (int, int) or str
            Its number, or a point (x, y) in pixels, or either as text; empty: the segment with the highest score.

        Returns
        -------
        SegmentExplanation
        """
        index = image if isinstance(image, int) else self.find(image)
        text = "{},{}".format(*segment) if isinstance(segment, tuple) else str(segment)
        find_segment(self, index, text)  # a wrong number is an error before the vote
        return explain_segment(self._run_vote, index, find_segment(self, index, text, self._run_vote.selection.scores))

    def hold_vote(self, settings: Settings | None = None) -> BaseVote:
        """Vote on the segments and features of this run; no file is changed.

        Corrections of a review do not take part; give them to `BaseVote.correct`.

        Parameters
        ----------
        settings : Settings, optional
            How to vote and decide, another `voter` for instance; default: those of the run.

        Returns
        -------
        BaseVote

        Examples
        --------
        >>> import dataclasses, segvote
        >>> run = segvote.load_run("out")
        >>> again = run.hold_vote(dataclasses.replace(run.settings, voter="crane", voter_options={}))
        >>> again.selection.scores.shape == run.votes["scores"].shape
        True
        """
        return hold_vote(self._reopened.table, settings or self.settings)

    def measure(self) -> dict[str, list[Any]]:
        """The columns of `segvote.measure`, one value per object; no file is written.

        Returns
        -------
        dict of str to list
        """
        from segvote.pipeline.measure import measure_run

        return measure_run(self)

    def diagnose(self) -> Diagnosis:
        """Images that are likely mislabelled, near-duplicates, files that could not be read."""
        from segvote.pipeline.doctor import diagnose_run

        return diagnose_run(self, self._run_vote)
