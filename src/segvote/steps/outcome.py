"""Everything after the vote: the files of a run, written from its result, and whether they are there already."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from segvote.errors import BadInputError, DamagedFileError
from segvote.features import FeatureExtractor
from segvote.progress import Progress
from segvote.run.corrections import Corrections
from segvote.run.output_names import remove_stale
from segvote.run.record import describe_search, make_record
from segvote.run.run_folder import RunFolder
from segvote.run.segmented_image import SegmentedImage
from segvote.run.settings import Settings
from segvote.steps.prediction.model import write_model
from segvote.steps.resources import Resources
from segvote.steps.table import Table
from segvote.steps.write import write_results

if TYPE_CHECKING:
    from segvote.method import Result, SegmentAnnotator


@dataclass(frozen=True)
class Outcome:
    """A vote and all it was held on.

    Attributes
    ----------
    settings, extractor
        What was chosen, and the extractor of features.
    bags, table
        Bags that could be read, with their bag labels; their segments.
    annotator, result
        The fitted method, and what it says with the user's corrections.
    corrections
        The user's.
    """

    settings: Settings
    extractor: FeatureExtractor
    bags: Sequence[SegmentedImage]
    table: Table
    annotator: SegmentAnnotator
    result: Result
    corrections: Corrections


def is_done(run: RunFolder, key: str) -> bool:
    """Whether the run folder holds the result of that name, with all its masks and heat maps."""
    try:
        record = run.read_record()
        done = record["complete"] and record["key"] == key
        stems = [bag["stem"] for bag in record["bags"]]
    except (DamagedFileError, BadInputError, KeyError, TypeError):
        return False
    files = [run.votes_path, run.coco_path, *map(run.mask_path, stems), *map(run.heatmap_path, stems)]
    return bool(done) and all(path.is_file() for path in files)


def write_outcome(
    run: RunFolder,
    outcome: Outcome,
    inputs: dict[str, Any],
    key: str,
    problems: Sequence[dict[str, str]],
    resources: Resources,
    progress: Progress,
) -> None:
    """Write masks, heat maps, COCO file, votes, model and record; what is half old, half new is not complete."""
    run.write_record(make_record(inputs, outcome.settings, key, complete=False))
    write_files(run, outcome, inputs, key, problems, resources, progress)


def write_files(
    run: RunFolder,
    outcome: Outcome,
    inputs: dict[str, Any],
    key: str,
    problems: Sequence[dict[str, str]],
    resources: Resources,
    progress: Progress,
) -> None:
    """As `write_outcome`, for a run folder whose record says already that it is not complete."""
    settings = outcome.settings
    with run.time_step("write"):
        excluded = outcome.table.average_by_bag(outcome.annotator.excluded_) > 0.5
        decided = (outcome.bags, outcome.table, outcome.result, excluded)
        records = write_results(run, *decided, settings, resources, progress, outcome.corrections)
    with run.time_step("model"):
        write_model(run, settings, outcome.extractor, outcome.table, outcome.annotator, outcome.result)
    remove_stale(run.path, [record.stem for record in records])
    bags = [vars(record) for record in records]
    search, confidence = describe_search(outcome.annotator), outcome.annotator.confidence_.to_dict()
    run.write_record(make_record(inputs, settings, key, True, bags, problems, search, confidence))
