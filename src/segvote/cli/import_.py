"""`segvote import`: corrections made in another tool. (The module cannot be named ``import``, a keyword of Python.)"""

from __future__ import annotations

import shlex
from pathlib import Path

import typer

from segvote.cli.annotate import N_NAMED
from segvote.cli.app import app, format_examples
from segvote.cli.options import RUN, format_path
from segvote.cli.terminal import show_progress
from segvote.io.names import make_plain


@app.command(
    "import", epilog=format_examples("segvote import out annotations.zip", "segvote import out tasks.json --label cow")
)
def import_(
    run_folder: str = RUN,
    file: Path = typer.Argument(
        ...,
        metavar="FILE",
        help="Export of CVAT, Label Studio, labelme or a COCO tool; a ZIP or a folder of labelme files too.",
    ),
    label: str | None = typer.Option(None, help="The class that counts; default: the run's, or the only one."),
    confirm: bool = typer.Option(False, "--confirm", help="Unchanged masks finish their images, too."),
) -> None:
    """Import masks that were corrected in another tool; their images are finished and teach the others.

    Images whose masks were not changed are not finished, unless --confirm. Then `segvote update RUN` votes with them.
    """
    from segvote import api
    from segvote.io.stores import find_local_path
    from segvote.run.run import Run

    with show_progress() as progress:
        imported = api.import_corrections(run_folder, file, label=label, confirm=confirm, progress=progress)
    for name, reason in imported.problems:
        typer.echo(f"left out: {make_plain(f'{name}: {reason}')}", err=True)
    if imported.covered:
        names = make_plain(", ".join(imported.covered[:N_NAMED])) + (", …" if len(imported.covered) > N_NAMED else "")
        typer.echo(
            f"replaced: the imported masks lie over your corrections of {names} (undo: `segvote review`)", err=True
        )
    n_corrected, n_same, n_problems = map(len, (imported.corrected, imported.same, imported.problems))
    typer.echo(f"corrected {n_corrected}, unchanged {n_same}, left out {n_problems}")
    if imported.corrected:
        folder = find_local_path(run_folder)
        inputs = Run(folder).inputs
        is_class = Path(inputs.without_folder) in Path(inputs.with_folder).parents
        again = "repeat `segvote annotate --classes`" if is_class else ""
        typer.echo(f"now vote with the corrections: {again or shlex.join(['segvote', 'update', format_path(folder)])}")
