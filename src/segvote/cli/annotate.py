"""`segvote annotate`: two folders in, masks out."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.memory import MEMORY
from segvote.cli.places import Place, format_place
from segvote.cli.progress import show_progress
from segvote.cli.workers import SCHEDULER, WORKERS, open_workers
from segvote.errors import BadInputError
from segvote.features import FEATURES
from segvote.method import DECISIONS
from segvote.plain_text import make_plain
from segvote.run.settings import Settings
from segvote.run.video_bags import FRAMES
from segvote.segmentation import SEGMENTERS
from segvote.steps.memory import limit_memory
from segvote.voters import VOTERS

DEFAULTS = Settings()
# Images that are named in one line.
N_NAMED = 5
SETTING_NAMES = {field.name for field in fields(Settings)}


@app.command(
    epilog=format_examples(
        "segvote annotate photos/with photos/without -o out",
        "segvote annotate with without -o out --voter crane --jobs 4",
        "segvote annotate --classes photos -o out",
        "segvote annotate s3://bucket/with s3://bucket/without -o s3://bucket/out",
    )
)
def annotate(
    with_folder: Place | None = typer.Argument(
        None, metavar="WITH", parser=Place, help="Folder of images that show the thing; a path or s3://bucket/folder."
    ),
    without_folder: Place | None = typer.Argument(
        None, metavar="WITHOUT", parser=Place, help="Folder of images that do not."
    ),
    out: Place = typer.Option(
        ...,
        "-o",
        "--out",
        parser=Place,
        help="Run folder to write, a path or s3://bucket/folder; an unfinished run there is continued.",
    ),
    classes: Place | None = typer.Option(
        None,
        metavar="ROOT",
        parser=Place,
        help="Instead of WITH and WITHOUT: a folder with one folder of images for each class, and perhaps none/.",
    ),
    voter: str = typer.Option(DEFAULTS.voter, help=f"Who votes: {', '.join(VOTERS)}."),
    features: str = typer.Option(
        DEFAULTS.features,
        help=f"What is seen of a segment: {', '.join(FEATURES)}; joined with +; or a path to an .onnx network.",
    ),
    segmenter: str = typer.Option(DEFAULTS.segmenter, help=f"How images are cut: {', '.join(SEGMENTERS)}."),
    n_segments: int = typer.Option(DEFAULTS.n_segments, min=1, help="Segments per image."),
    size: int = typer.Option(DEFAULTS.size, min=16, help="Longest side in pixels at which images are cut."),
    border_survival: float = typer.Option(
        DEFAULTS.border_survival, min=0.0, max=1.0, help="Background prior of segments on the image border; 1: none."
    ),
    motion_survival: float = typer.Option(
        DEFAULTS.motion_survival,
        min=0.0,
        max=1.0,
        help="Background prior of what moves with a video's ground.",
    ),
    mute_suspects: bool = typer.Option(
        DEFAULTS.mute_suspects, help="Whether *without* images that look as if they show the thing lose their say."
    ),
    elect: bool = typer.Option(DEFAULTS.elect, help="Whether the segments that were taken vote once more, all alike."),
    second_vote: float = typer.Option(
        DEFAULTS.second_vote, min=0.0, max=1.0, help="Share of neighbouring segments in the second voting; 0: none."
    ),
    decision: str = typer.Option(DEFAULTS.decision, help=f"From scores to masks: {', '.join(DECISIONS)}."),
    n_pieces: int = typer.Option(
        DEFAULTS.n_pieces, min=0, help="Small pieces along which masks are redrawn; 0: masks of whole segments."
    ),
    label: str = typer.Option(DEFAULTS.label, help="What the thing is called in the files."),
    frames: str = typer.Option(DEFAULTS.frames, help=f"Which sub-folders are videos: {', '.join(FRAMES)}."),
    every: int = typer.Option(DEFAULTS.every, min=1, help="Of a video, every n-th frame."),
    fps: float = typer.Option(DEFAULTS.fps, min=0.0, help="Of a video, about this many frames per second; 0: all."),
    seed: int = typer.Option(DEFAULTS.seed, help="Of everything random."),
    segments: Place | None = typer.Option(
        None, parser=Place, help="Folder of your own label maps, named like the images."
    ),
    ucm: Place | None = typer.Option(
        None, parser=Place, help="Folder of published contour maps (ucm2 in .mat files), named like the images."
    ),
    jobs: int = typer.Option(2, min=1, help="Number of processes; the answer does not depend on it."),
    workers: int | None = WORKERS,
    scheduler: str | None = SCHEDULER,
    memory: str | None = MEMORY,
    strict: bool = typer.Option(False, help="Stop at an unreadable image instead of reporting it."),
) -> None:
    """Find the thing that the images of one folder show and those of the other do not.

    Leaves masks, heat maps, a COCO file and a report in the run folder. Killed, it goes on where it was; repeated, it
    does nothing twice.
    """
    chosen = {name: value for name, value in locals().items() if name in SETTING_NAMES}
    from segvote._api import annotate as run_annotate
    from segvote._api import annotate_classes

    folders = choose_folders(with_folder, without_folder, classes)
    start: Any = run_annotate if classes is None else annotate_classes
    own = choose_segments(segments, ucm)
    with (
        limit_memory(memory),
        open_workers(workers, scheduler, [*folders, out, own]) as (*places, own),
        show_progress() as progress,
    ):
        run = start(
            *places,
            Settings(**chosen),
            segments=own,
            n_jobs=jobs,
            strict=strict,
            progress=progress,
        )
    print_outcome(run)


def choose_folders(with_folder: Place | None, without_folder: Place | None, classes: Place | None) -> list[Place]:
    """The two folders, or the one with the classes."""
    if classes is None:
        if with_folder is None or without_folder is None:
            raise BadInputError(
                "expected two folders, WITH and WITHOUT, or --classes ROOT; see segvote annotate --help"
            )
        return [with_folder, without_folder]
    if with_folder is not None:
        raise BadInputError(f"expected two folders or --classes, got both {with_folder} and {classes}; leave one out")
    return [classes]


def choose_segments(segments: Place | None, ucm: Place | None) -> Place | None:
    """The folder of a user's own segments, of whichever kind."""
    if segments is not None and ucm is not None:
        raise BadInputError(f"expected --segments or --ucm, got both {segments} and {ucm}; leave one out")
    return segments if ucm is None else ucm


def print_outcome(run: Any) -> None:
    """Where everything lies; `run` is a `Run` or a `ClassRuns`."""
    for problem in run.record["problems"]:
        typer.echo(f"left out: {make_plain(problem['reason'])}", err=True)
    # Where every class has its own *without* images, the run of each class tells.
    muted = [bag.name for bag in getattr(run, "bags", ()) if bag.muted]
    if muted:
        names = ", ".join(map(make_plain, muted[:N_NAMED])) + (", …" if len(muted) > N_NAMED else "")
        typer.echo(f"no say: {len(muted)} *without* looked as if they showed the thing: {names}", err=True)
    typer.echo(f"masks    {format_place(run.folder.path / 'masks')}")
    typer.echo(f"coco     {format_place(run.folder.coco_path)}")
    typer.echo(f"report   {format_place(run.folder.report_path)}")
