"""The vote on a run folder, with the user's corrections and the extents that were chosen."""

from __future__ import annotations

from dataclasses import dataclass
from functools import cached_property

import numpy as np

from segvote.method.correct import Correction
from segvote.method.extents import Extents, apply_extents
from segvote.pipeline.opening import RunInputs
from segvote.pipeline.video.tubes import decide_tubes
from segvote.pipeline.vote import BaseVote, fetch_neighbours, hold_vote, join_frames, keep_neighbours
from segvote.selection import Selection


@dataclass(frozen=True)
class RunVote:
    """The vote on a run with its corrections; the files of the run are written from it."""

    inputs: RunInputs
    base: BaseVote  # without corrections
    taught: BaseVote  # the chosen alternative, with finished images
    refitted: BaseVote  # with user labels, too, from which later labels are propagated quickly
    correction: Correction  # all corrections, at the default extent
    extents: Extents  # its nested selections

    @property
    def default(self) -> Selection:
        """The selection with corrections at the default extent, with one threshold for each bag."""
        return self._join(self.correction.selection)

    @cached_property
    def selection(self) -> Selection:
        """The selection with corrections, at the extent that was chosen for each bag, with one threshold for each."""
        inputs = self.inputs
        chosen = inputs.corrections.list_extents([bag.digest for bag in inputs.bags], inputs.settings.extent)
        return self._join(apply_extents(self.correction.selection, self.extents, chosen[inputs.table.image_bags]))

    def _join(self, selection: Selection) -> Selection:
        """One threshold for each bag; slices of a supervoxel have one score and one decision."""
        table, tubes = self.inputs.table, self.inputs.tubes
        return join_frames(table, selection if tubes is None else decide_tubes(table, selection, tubes))

    @property
    def weights(self) -> np.ndarray:
        """(n_segments,) soft labels in [0, 1] at the default extent."""
        return self.refitted.weigh_segments(self.correction.selection)

    @property
    def excluded(self) -> np.ndarray:
        """(n_bags,) bool: bags that do not vote."""
        return self.inputs.table.average_by_bag(self.base.excluded) > 0.5


def vote(inputs: RunInputs, keep: bool = False) -> RunVote:
    """The vote of `annotate`, with all corrections; `keep` stores its neighbours for the next vote."""
    neighbours = fetch_neighbours(inputs.folder, inputs.bags, inputs.table, inputs.settings)
    if keep and neighbours is not None:
        keep_neighbours(inputs.folder, inputs.bags, inputs.settings, neighbours)
    return apply_corrections(inputs, hold_vote(inputs.table, inputs.settings, neighbours))


def apply_corrections(inputs: RunInputs, base: BaseVote) -> RunVote:
    """Add the corrections to a vote on the same segments: the alternative, finished images, then single labels."""
    taught = base.choose(inputs.corrections.alternative).teach(inputs.finished)
    return correct_taught(inputs, base, taught, taught.refit(inputs.user_labels))


def correct_taught(inputs: RunInputs, base: BaseVote, taught: BaseVote, refitted: BaseVote) -> RunVote:
    """As `apply_corrections`, with the parts of it that take longer known, perhaps from fewer labels."""
    correction = taught.correct(inputs.user_labels, inputs.painted_shares, refitted)
    return RunVote(inputs, base, taught, refitted, correction, refitted.find_extents(correction.selection))
