"""The instances of a run's annotations, as the user cut and joined them in the review."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from segvote.run.classes import ClassRuns
from segvote.run.correction_log import Action
from segvote.run.corrections import read_corrections
from segvote.run.run import Run
from segvote.run.strokes import label_instances
from segvote.types import Annotation

# Name of an image and of a class to its *cut* and *join* actions.
Divisions = dict[tuple[str, str], Sequence[Action]]


def divide_instances(run: Run | ClassRuns, annotations: Iterable[Annotation]) -> Iterator[Annotation]:
    """Give every part its instances: connected regions, as far as the user did not cut and join them.

    Parameters
    ----------
    run
        Whose log of corrections is read; of a run on several classes, that of each.
    annotations
        Of the same run.
    """
    divisions = read_divisions(run)
    for annotation in annotations:
        own = [(part, divisions.get((annotation.name, part.label), ())) for part in annotation.parts]
        parts = tuple(replace(part, instances=label_instances(part.mask, several)) for part, several in own)
        yield replace(annotation, parts=parts)


def read_divisions(run: Run | ClassRuns) -> Divisions:
    """Where the user cut and joined; of a run on several classes, in any of them."""
    names = [image.name for image in (run.images if isinstance(run, ClassRuns) else run.bags)]
    runs = run.runs.values() if isinstance(run, ClassRuns) else [run]
    found: Divisions = {}
    for one in runs:
        divisions = read_corrections(one.folder).divisions
        for name, bag in zip(names, one.bags, strict=True):
            if bag.digest in divisions:
                found[name, one.settings.label] = divisions[bag.digest]
    return found
