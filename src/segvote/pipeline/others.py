"""The bags of a run that did not vote: scored by the model of its vote, and written like those that did."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from pathlib import Path

from segvote.inputs.bags import Bag, Problem
from segvote.io.shards import JSON_LINES
from segvote.pipeline.blocks import BlockWriter, Row, Shards, list_blocks, make_model_key
from segvote.pipeline.model import read_model
from segvote.pipeline.predictor import FALSE_POSITIVE_RATE, Predictor
from segvote.pipeline.workers import Resources
from segvote.pipeline.write import KEPT, DrawnMask, OtherMasks
from segvote.run.output_names import name_bags
from segvote.run.record import BagRecord
from segvote.run.run_folder import RunFolder


class Others:
    """Predicts the bags that did not vote; `records` and `problems` are known when all `masks` were asked for.

    The folder of a bag says whether it shows the object, as in the vote; where the settings allow empty masks, the
    model decides for *with* images.
    """

    def __init__(self, run: RunFolder, voters: Sequence[Bag], others: Sequence[Bag], resources: Resources) -> None:
        self.run, self.others, self.resources = run, others, resources
        self.stems = name_bags([*voters, *others])
        self.records: list[BagRecord] = []
        self.problems: list[Problem] = []

    @property
    def masks(self) -> OtherMasks:
        """Their names and masks, for `segvote.pipeline.write.write_pictures`."""
        return OtherMasks([bag.name for bag in self.others], self._draw())

    def _draw(self) -> Iterator[DrawnMask]:
        paths = {bag.name: bag.path for bag in self.others}
        for row in self._predict() if self.others else ():
            assert row.record is not None
            self.records.append(row.record)
            if row.problem:
                self.problems.append(Problem(row.name, f"{row.problem}; {KEPT}"))
            yield row.get_drawn(paths[row.name])

    def _predict(self) -> Iterator[Row]:
        predictor = Predictor(read_model(self.run.path), FALSE_POSITIVE_RATE)
        shards = Shards(self.run, get_shards_path(self.run), JSON_LINES, make_model_key(predictor))
        writer = BlockWriter(self.run, predictor, self.stems, has_labels=True)
        for rows in shards.predict(list_blocks(self.others), writer.write, describe_bag, self.resources):
            yield from rows
        known = {self.run.scores_path(bag.features_key) for bag in self.others}
        for path in set(get_shards_path(self.run).glob("*.npz")) - known:
            path.unlink()


def describe_bag(bag: Bag) -> tuple[str, str, str]:
    """Name, folder and content of a bag that was segmented."""
    return bag.name, bag.bag_label, bag.features_key


def get_shards_path(run: RunFolder) -> Path:
    """The folder of the rows of bags that did not vote."""
    return run.votes_path.parent / "predicted"
