"""The instances of a run's annotations, as the user cut and joined them in the review."""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import replace

from segvote.run.classes.runs import ClassRuns
from segvote.run.correction_log import Action
from segvote.run.corrections import read_corrections
from segvote.run.instances import label_instances
from segvote.run.run import Run
from segvote.types import Annotation, Part

__all__ = ["divide_instances"]


def divide_instances(run: Run | ClassRuns, annotations: Iterable[Annotation]) -> Iterator[Annotation]:
    """Give parts of images the instances that the user made of them; the others have their connected regions.

    Parameters
    ----------
    run
        Whose log of corrections is read; of a run on several classes, that of each.
    annotations
        Of the same run.
    """
    divisions = _read_divisions(run)
    for annotation in annotations:
        parts = tuple(_divide(part, divisions.get((annotation.name, part.label), ())) for part in annotation.parts)
        yield replace(annotation, parts=parts)


def _read_divisions(run: Run | ClassRuns) -> dict[tuple[str, str], Sequence[Action]]:
    """Name of an image and of a class to its *cut* and *join* actions."""
    names = [image.name for image in (run.images if isinstance(run, ClassRuns) else run.bags)]
    runs = run.runs.values() if isinstance(run, ClassRuns) else [run]
    found: dict[tuple[str, str], Sequence[Action]] = {}
    for one in runs:
        divisions = read_corrections(one.folder).divisions
        for name, bag in zip(names, one.bags, strict=True):
            if bag.digest in divisions:
                found[name, one.settings.label] = divisions[bag.digest]
    return found


def _divide(part: Part, divisions: Sequence[Action]) -> Part:
    return replace(part, instances=label_instances(part.mask, divisions)) if divisions else part
