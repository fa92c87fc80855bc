"""`segvote annotate`: two folders in, masks out."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import fields
from typing import Any

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import (
    INPUT,
    METHOD,
    OUTPUT,
    SCALE,
    SCHEDULER,
    PathOrUri,
    choice,
    choose_feature_options,
    format_path,
    make_completion,
    option,
    research,
    voter_option,
)
from segvote.cli.terminal import show_progress
from segvote.errors import BadInputError
from segvote.features import FEATURES
from segvote.features.networks.devices import CPU, DEVICES
from segvote.io.picture_formats import PAGES, WINDOWS
from segvote.masks import WAYS
from segvote.method import DECISIONS
from segvote.plain_text import make_plain
from segvote.run.record import BagRecord
from segvote.run.run import Run
from segvote.run.settings import DETAILS, N_LEVELS, Settings
from segvote.run.videos import FRAMES
from segvote.segmentation import SEGMENTERS
from segvote.types import WITH
from segvote.voters import SYSTEMS

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
    with_folder: PathOrUri | None = typer.Argument(
        None,
        metavar="WITH",
        parser=PathOrUri,
        rich_help_panel=INPUT,
        help="Folder of images that show the object; a path or s3://bucket/folder.",
    ),
    without_folder: PathOrUri | None = typer.Argument(
        None, metavar="WITHOUT", parser=PathOrUri, rich_help_panel=INPUT, help="Folder of images that do not."
    ),
    classes: PathOrUri | None = option(
        None,
        panel=INPUT,
        metavar="ROOT",
        parser=PathOrUri,
        help="Instead of both: a folder with a folder of images per class, and perhaps none/.",
    ),
    segments: PathOrUri | None = option(
        None,
        panel=INPUT,
        metavar="DIR",
        parser=PathOrUri,
        help="Your own label maps, or ucm2 files, named like the images.",
    ),
    frames: str = option(
        DEFAULTS.frames,
        panel=INPUT,
        help=f"Sub-folders that are videos: {', '.join(FRAMES)}.",
        **choice(FRAMES, "kind of frames"),
    ),
    every: int = option(DEFAULTS.every, panel=INPUT, min=1, help="Of a video, every n-th frame."),
    fps: float = research(DEFAULTS.fps, min=0.0, help="Of a video, frames per second; 0: all."),
    detail: str = option(DEFAULTS.detail, panel=METHOD, help=f"Network input: {', '.join(DETAILS)}, or pixels."),
    unsure: bool = option(DEFAULTS.unsure, panel=INPUT, help="Images of WITH may show nothing, and come out empty."),
    pages: str = option(
        DEFAULTS.pages, panel=INPUT, help=f"Of a TIFF stack: {', '.join(PAGES)}.", **choice(PAGES, "choice of pages")
    ),
    window: str = research(
        DEFAULTS.window,
        help=f"Intensity window for 16-bit images: {', '.join(WINDOWS)}.",
        **choice(WINDOWS, "window"),
    ),
    strict: bool = option(False, panel=INPUT, help="Stop at an unreadable image, do not just report it."),
    voter: str = option(
        DEFAULTS.voter,
        panel=METHOD,
        help="The method (ekde), or one voter alone.",
        **choice(SYSTEMS, "voter"),
    ),
    features: str = option(
        DEFAULTS.features,
        panel=METHOD,
        metavar="NAME",
        autocompletion=make_completion(FEATURES),
        help=f"{', '.join(FEATURES)}; joined by +; a path to an .onnx network; hf:NAME.",
    ),
    segmenter: str = option(
        DEFAULTS.segmenter, panel=METHOD, help=f"{', '.join(SEGMENTERS)}.", **choice(SEGMENTERS, "segmenter")
    ),
    n_segments: int = option(DEFAULTS.n_segments, panel=METHOD, min=1, help="Segments per image."),
    extent: int = option(
        DEFAULTS.extent,
        panel=METHOD,
        min=1,
        max=N_LEVELS,
        help=f"How much of the object: 1 (a part) to {N_LEVELS} (the whole).",
    ),
    draw: str = option(
        DEFAULTS.draw,
        panel=METHOD,
        help=f"How masks are drawn: {', '.join(WAYS)}; lines for cracks and scratches.",
        **choice(WAYS, "way of drawing"),
    ),
    out: PathOrUri | None = option(
        None,
        "-o",
        "--out",
        panel=OUTPUT,
        metavar="DIR",
        parser=PathOrUri,
        help="Run folder to write (required); an unfinished run there is continued.",
    ),
    label: str = option(DEFAULTS.label, panel=OUTPUT, help="What the object is called in the files."),
    jobs: int = option(2, panel=SCALE, min=1, help="Number of processes; does not change the result."),
    scheduler: str | None = SCHEDULER,
    device: str = option(
        CPU, panel=SCALE, help="Of the network: auto, cpu, cuda or another.", **choice(DEVICES, "device")
    ),
    size: int = research(DEFAULTS.size, min=16, help="Longest side in pixels at which images are segmented."),
    border_prior: float = research(
        DEFAULTS.border_prior, min=0.0, max=1.0, help="Background prior of segments on the image border; 1: none."
    ),
    exclude_mislabelled: bool = research(
        DEFAULTS.exclude_mislabelled, help="Exclude *without* images that are likely mislabelled from the vote."
    ),
    smoothing: float = research(
        DEFAULTS.smoothing,
        min=0.0,
        max=1.0,
        help="Share of adjacent segments that look alike in a segment's score; 0: none.",
    ),
    finish: bool = research(
        DEFAULTS.finish, help="After a voter: re-vote with hard labels and a linear classifier, as in the method."
    ),
    second_voting: bool = research(
        DEFAULTS.second_voting, help="Smooth over all adjacent segments, as the paper prints it; for voters alone."
    ),
    decision: str = research(
        DEFAULTS.decision, help=f"From scores to masks: {', '.join(DECISIONS)}.", **choice(DECISIONS, "decision")
    ),
    refine: str = research(
        DEFAULTS.refine,
        metavar="sam:ENCODER,DECODER",
        help="Redraw regions by SAM or MobileSAM, two .onnx files, where it agrees with the vote.",
    ),
    voter_option: list[str] | None = voter_option("Parameter of the voter, such as max_iter=5; may be repeated."),
    feature_option: list[str] | None = research(
        None,
        "--feature-option",
        metavar="NAME=VALUE",
        help="Parameter of the features, such as size=672; may be repeated.",
    ),
    allow_download: bool = research(
        False, "--allow-download", help="With features hf:NAME: fetch the model if it is not on this machine."
    ),
    seed: int = research(DEFAULTS.seed, help="Of everything random."),
) -> None:
    """Find the object that one folder of images shows and the other does not.

    Writes masks, heat maps, a COCO file and a report into the run folder. An
    interrupted run continues; a repeated one does nothing twice.
    """
    chosen = {name: value for name, value in locals().items() if name in SETTING_NAMES}
    from segvote._api import annotate as run_annotate
    from segvote._api import annotate_classes
    from segvote.voters.options import parse_options

    # The voter's class, and with it scikit-learn, is loaded only if there are some.
    chosen["voter_options"] = parse_options(voter, voter_option) if voter_option else {}
    chosen["feature_options"] = choose_feature_options(features, feature_option, device, allow_download)
    if refine:
        from segvote.features.networks.sam import name_files

        chosen["refine"] = name_files(refine)
    folders = choose_folders(with_folder, without_folder, classes)
    start: Any = run_annotate if classes is None else annotate_classes
    target = check_out(out)
    with show_progress() as progress:
        run = start(
            *folders,
            target,
            Settings(**chosen),
            segments=segments,
            n_jobs=jobs,
            scheduler=scheduler,
            strict=strict,
            progress=progress,
        )
    print_outcome(run)


def choose_folders(
    with_folder: PathOrUri | None, without_folder: PathOrUri | None, classes: PathOrUri | None
) -> list[PathOrUri]:
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


def check_out(out: PathOrUri | None) -> PathOrUri:
    """The run folder; checked after the images, so that each mistake gets its own message."""
    if out is None:
        raise BadInputError("expected a run folder to write to; add -o DIR")
    return out


def print_outcome(run: Any) -> None:
    """Print the problems and the paths of a `Run` or a `ClassRuns`."""
    # A run on classes has no bags of its own.
    bags: Sequence[BagRecord] = getattr(run, "bags", ())
    used = {one.name for one in bags or run.images}
    for problem in run.record.problems:
        what = "read in part" if problem.name in used else "left out"
        typer.echo(f"{what}: {make_plain(problem.reason)}", err=True)
    if sum(bag.bag_label == WITH for bag in bags) == 1:  # an object that occurs once is like any clutter
        typer.echo("warning: one *with* image only; what repeats cannot be found, add at least ten", err=True)
    if n_videos := sum(bag.n_frames > 0 for bag in bags):
        counts = f"{n_videos} video{'s' * (n_videos != 1)}, {len(bags) - n_videos} images"
        typer.echo(f"found    {counts} (if that is wrong: --frames images or --frames video)")
    excluded = [bag.name for bag in bags if bag.excluded]
    if excluded:
        names = ", ".join(map(make_plain, excluded[:N_NAMED])) + (", …" if len(excluded) > N_NAMED else "")
        count = "1 image is" if len(excluded) == 1 else f"{len(excluded)} images are"
        typer.echo(f"excluded: {count} likely in the wrong folder: {names}", err=True)
    alike = getattr(run, "confidence", {}).get("near_duplicates", [])
    for one, other in alike[:N_NAMED]:
        typer.echo(f"near-duplicates in both folders: {make_plain(one)} and {make_plain(other)}", err=True)
    for line in run.format_confidence().splitlines():
        typer.echo(make_plain(line))
    if isinstance(run, Run):
        other = run.extent + 1 if run.extent < N_LEVELS else run.extent - 1
        word = "wider" if other > run.extent else "tighter"
        typer.echo(
            f"extent   {run.extent} of {N_LEVELS}; {word}: segvote extent {format_path(run.folder.path)} {other}"
        )
    typer.echo(f"masks    {format_path(run.folder.path / 'masks')}")
    if (run.folder.path / "stacks").is_dir():
        typer.echo(f"stacks   {format_path(run.folder.path / 'stacks')}")
    typer.echo(f"coco     {format_path(run.folder.coco_path)}")
    typer.echo(f"report   {format_path(run.folder.report_path)}")
