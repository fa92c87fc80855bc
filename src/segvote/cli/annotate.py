"""`segvote annotate`: two folders in, masks out."""

from __future__ import annotations

from dataclasses import fields
from typing import Any

import typer

from segvote.cli.app import app, format_examples
from segvote.cli.options import (
    INPUT,
    JOBS,
    METHOD,
    OUTPUT,
    RESEARCH,
    SCALE,
    SCHEDULER,
    SEGMENTS,
    STRICT,
    choice,
    choose_feature_options,
    format_path,
    make_completion,
    option,
    setting,
)
from segvote.cli.terminal import show_progress
from segvote.errors import BadInputError
from segvote.features import FEATURES
from segvote.features.networks.devices import CPU, DEVICES
from segvote.inputs.videos import FRAMES
from segvote.io.names import make_plain
from segvote.io.picture_formats import PAGES, WINDOWS
from segvote.masks import OBJECTS, WAYS
from segvote.method.extents import N_EXTENTS
from segvote.method.threshold import DECISIONS
from segvote.run.alternatives import ASKED_LEVELS, name_alternative, parse_alternative, read_alternatives
from segvote.run.run import Run, format_command
from segvote.segmentation import SEGMENTERS
from segvote.settings import DETAILS, Settings
from segvote.types import WITH
from segvote.voters import SYSTEMS

N_NAMED = 5  # images that are named in a message


@app.command(
    epilog=format_examples(
        "segvote annotate photos/with photos/without -o out",
        "segvote annotate with without -o out --masks five-masks",
        "segvote annotate --classes photos -o out",
        "segvote annotate s3://bucket/with s3://bucket/without -o s3://bucket/out",
    )
)
def annotate(
    with_folder: str | None = typer.Argument(
        None,
        metavar="WITH",
        rich_help_panel=INPUT,
        help="Folder of images that show the object; path or URI.",
    ),
    without_folder: str | None = typer.Argument(
        None, metavar="WITHOUT", rich_help_panel=INPUT, help="Folder of images that do not."
    ),
    classes: str | None = option(
        None,
        panel=INPUT,
        metavar="ROOT",
        help="Instead of two folders: one with a sub-folder per class.",
    ),
    segments: str | None = SEGMENTS,
    masks: str | None = option(
        None,
        panel=INPUT,
        metavar="PATH",
        help="Masks of some WITH images: a folder or COCO file.",
    ),
    frames: str = setting("frames", INPUT, f"Sub-folders that are videos: {', '.join(FRAMES)}.", FRAMES),
    every: int = setting("every", INPUT, "Read every n-th frame of a video.", min=1),
    unsure: bool = setting("unsure", INPUT, "Allow empty masks for WITH images without support."),
    pages: str = setting("pages", INPUT, f"Pages of a TIFF stack: {', '.join(PAGES)}.", PAGES),
    strict: bool = STRICT,
    detail: str = setting("detail", METHOD, f"Input size: {', '.join(DETAILS)}, pixels."),
    voter: str = setting("voter", METHOD, "The method (ekde), or one voter alone.", SYSTEMS),
    features: str = setting(
        "features",
        METHOD,
        f"{', '.join(FEATURES)}; joined by +; a path to an .onnx network; hf:NAME.",
        metavar="NAME",
        autocompletion=make_completion(FEATURES),
    ),
    adapt: bool = setting("adapt", METHOD, "Fine-tune the network on the folders; needs torch."),
    segmenter: str = setting("segmenter", METHOD, f"{', '.join(SEGMENTERS)}.", SEGMENTERS),
    n_segments: int = setting("n_segments", METHOD, "Segments per image.", min=1),
    extent: int = setting(
        "extent", METHOD, f"How much of the object: 1 (a part) to {N_EXTENTS} (the whole).", min=1, max=N_EXTENTS
    ),
    draw: str = setting(
        "draw", METHOD, f"How masks are drawn: {', '.join(WAYS)}; lines for cracks and scratches.", WAYS
    ),
    refine: str = setting("refine", METHOD, "Redraw masks by mobile-sam or sam:ENCODER,DECODER.", metavar="NAME"),
    objects: str = setting("objects", METHOD, f"One object is: {', '.join(OBJECTS)}.", OBJECTS),
    out: str | None = option(
        None,
        "-o",
        "--out",
        panel=OUTPUT,
        metavar="DIR",
        help="Run folder to write or continue (required).",
    ),
    label: str = setting("label", OUTPUT, "Name of the object in the files."),
    vote_on: str = setting("vote_on", SCALE, "Images that vote: auto (by memory), all, or N.", metavar="N"),
    jobs: int = JOBS,
    scheduler: str | None = SCHEDULER,
    device: str = option(
        CPU, panel=SCALE, help="Device for the network: auto, cpu, cuda, another.", **choice(DEVICES, "device")
    ),
    alternative: str = option(
        "",
        panel=RESEARCH,
        metavar="LETTER",
        help="Alternative to show, by its letter in the report; see segvote choose.",
    ),
    fps: float = setting("fps", RESEARCH, "Frames per second to read of a video; 0: all.", min=0.0),
    window: str = setting("window", RESEARCH, f"Intensity window for 16-bit images: {', '.join(WINDOWS)}.", WINDOWS),
    size: int = setting("size", RESEARCH, "Longest side in pixels at which images are segmented.", min=16),
    border_prior: float = setting(
        "border_prior", RESEARCH, "Background prior of segments on the image border; 1: none.", min=0.0, max=1.0
    ),
    exclude_mislabelled: bool = setting(
        "exclude_mislabelled", RESEARCH, "Exclude images that are likely mislabelled from the vote."
    ),
    smoothing: float = setting(
        "smoothing", RESEARCH, "Share of similar adjacent segments in a segment's score; 0: none.", min=0.0, max=1.0
    ),
    finish: bool = setting(
        "finish", RESEARCH, "After a voter: re-vote with hard labels and a linear classifier, as in the method."
    ),
    second_voting: bool = setting(
        "second_voting", RESEARCH, "Smooth over all adjacent segments, as the paper prints it; for voters alone."
    ),
    decision: str = setting("decision", RESEARCH, f"From scores to masks: {', '.join(DECISIONS)}.", DECISIONS),
    voter_option: list[str] | None = option(
        None, panel=RESEARCH, metavar="NAME=VALUE", help="Parameter of the voter, as max_iter=5; may be repeated."
    ),
    feature_option: list[str] | None = option(
        None, panel=RESEARCH, metavar="NAME=VALUE", help="Parameter of the features, as size=672; may be repeated."
    ),
    allow_download: bool = option(
        False, "--allow-download", panel=RESEARCH, help="Download the model of features hf:NAME if it is not here."
    ),
    seed: int = setting("seed", RESEARCH, "Seed of random numbers."),
) -> None:
    """Find the object that one folder of images shows and the other does not.

    Writes masks, heat maps, a COCO file and a report into the run folder. An
    interrupted run continues; a repeated one does nothing twice.
    """
    given = locals()
    chosen: dict[str, Any] = {field.name: given[field.name] for field in fields(Settings) if field.name in given}
    from segvote import api
    from segvote.voters.options import parse_options

    # The voter's class, and with it scikit-learn, is loaded only if there are some.
    chosen["voter_options"] = parse_options(voter, voter_option) if voter_option else {}
    chosen["feature_options"] = choose_feature_options(features, feature_option, device, allow_download)
    if refine:
        from segvote.features.networks.sam import name_files

        chosen["refine"] = name_files(refine)
    folders = choose_folders(with_folder, without_folder, classes, out)
    check_choice(alternative, classes)
    if masks is not None and classes is not None:
        raise BadInputError("expected --masks with two folders, got --classes; import masks into the run of a class")
    start: Any = api.annotate if classes is None else api.annotate_classes
    with show_progress() as progress:
        run = start(
            *folders,
            Settings(**chosen),
            segments=segments,
            **({} if masks is None else {"masks": masks}),
            n_jobs=jobs,
            scheduler=scheduler,
            strict=strict,
            progress=progress,
        )
        if alternative:
            run = api.choose(run, alternative, n_jobs=jobs, progress=progress)
    print_outcome(run)


def choose_folders(
    with_folder: str | None, without_folder: str | None, classes: str | None, out: str | None
) -> list[str]:
    """The two folders, or the one with the classes, and the run folder; each mistake has its own message."""
    if classes is not None and with_folder is not None:
        raise BadInputError(f"expected two folders or --classes, got both {with_folder} and {classes}; leave one out")
    folders = [with_folder, without_folder] if classes is None else [classes]
    if None in folders:
        raise BadInputError("expected two folders, WITH and WITHOUT, or --classes ROOT; see segvote annotate --help")
    if out is None:
        raise BadInputError("expected a run folder to write to; add -o DIR")
    return [folder for folder in (*folders, out) if folder is not None]


def check_choice(alternative: str, classes: str | None) -> None:
    """Refuse a choice that no run could follow, before the run."""
    if alternative and classes is not None:
        raise BadInputError("expected --alternative with two folders, got --classes; choose for each class afterwards")
    if alternative:
        parse_alternative(alternative)


def print_outcome(run: Any) -> None:
    """Print the problems and the paths of a `Run` or a `ClassRuns`."""
    used = {one.name for one in (run.all_bags if isinstance(run, Run) else run.images)}
    for problem in run.record.problems:
        what = "read in part" if problem.name in used else "left out"
        typer.echo(f"{what}: {make_plain(problem.reason)}", err=True)
    if isinstance(run, Run):
        for line in list_warnings(run):
            typer.echo(line, err=True)
        if n_videos := sum(bag.n_frames > 0 for bag in run.all_bags):
            counts = f"{n_videos} video{'s' * (n_videos != 1)}, {len(run.all_bags) - n_videos} images"
            typer.echo(f"found    {counts} (if that is wrong: --frames images or --frames video)")
        if sample := run.format_sample():
            typer.echo(sample)
    path = run.folder.path
    for line in run.format_confidence().splitlines():
        typer.echo(make_plain(line.replace("`segvote review`", format_command(path, "review"))))
    if isinstance(run, Run) and (estimate := run.format_estimate()):
        typer.echo(estimate)
    if isinstance(run, Run):
        if question := ask_which(run):
            typer.echo(question)
        other, word = (run.extent + 1, "wider") if run.extent < N_EXTENTS else (run.extent - 1, "tighter")
        typer.echo(f"extent   {run.extent} of {N_EXTENTS}; {word}: {format_command(path, 'extent', other)}")
    typer.echo(f"masks    {format_path(path / 'masks')}")
    if (path / "stacks").is_dir():
        typer.echo(f"stacks   {format_path(path / 'stacks')}")
    typer.echo(f"coco     {format_path(run.folder.coco_path)}")
    typer.echo(f"report   {format_path(run.folder.report_path)}")
    typer.echo(f"next     {format_command(path, 'review')}")


def ask_which(run: Run) -> str:
    """The question whether the run found the right thing, as a line; empty for a high confidence, or after a choice."""
    path = run.folder.path
    if run.alternative:
        letter = name_alternative(run.alternative)
        return f"shows    {letter}, as chosen; the default: {format_command(path, 'choose', 'A')}"
    if run.confidence.get("level") not in ASKED_LEVELS or len(read_alternatives(run)) < 2:
        return ""
    return f"Is it one of these? See report.html, then, for B: {format_command(path, 'choose', 'B')}"


def list_warnings(run: Run) -> list[str]:
    """Reasons to look at the folders again: too few images, likely mislabelled ones, near-duplicates."""
    lines = []
    if sum(bag.bag_label == WITH for bag in run.bags) == 1:  # an object that occurs once is like any clutter
        lines.append("warning: one *with* image only; what repeats cannot be found, add at least ten")
    excluded = [make_plain(bag.name) for bag in run.bags if bag.excluded]
    if excluded:
        names = ", ".join(excluded[:N_NAMED]) + (", …" if len(excluded) > N_NAMED else "")
        count = "1 image is" if len(excluded) == 1 else f"{len(excluded)} images are"
        lines.append(f"excluded: {count} likely in the wrong folder: {names}")
    alike = run.confidence.get("near_duplicates", [])
    return lines + [f"near-duplicates in both folders: {make_plain(f'{a} and {b}')}" for a, b in alike[:N_NAMED]]
