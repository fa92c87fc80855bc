"""How the gallery's figures become pictures: each is kept twice, for the light and for the dark page.

sphinx-gallery calls `set_style` before every script and `save_both` after every block that left a figure. The dark
twin is the same figure with what was drawn in ink (text, axes, ticks) drawn in chalk; colours of data stay.
"""

from __future__ import annotations

from pathlib import Path
from typing import Any

import matplotlib
import matplotlib.pyplot as plt
from matplotlib.animation import Animation, PillowWriter
from matplotlib.axes import Axes
from matplotlib.colors import to_rgba
from matplotlib.figure import Figure
from matplotlib.legend import Legend

__all__ = ["save_both", "set_style"]

INK, CHALK = "#1f2430", "#dfe3e8"
LIGHT, DARK = "#ffffff", "#14181e"  # the backgrounds of the two pages
FRAMES_PER_SECOND = 8
IMAGE = """
.. image:: /{path}
   :alt: {alt}
   :class: sphx-glr-single-img only-{page}

"""


def set_style(gallery_conf: dict[str, Any], script: str) -> None:
    """Ink on paper, no frame that is not needed."""
    matplotlib.rcdefaults()
    matplotlib.use("agg")
    inked = ("text.color", "axes.labelcolor", "axes.edgecolor", "xtick.color", "ytick.color", "axes.titlecolor")
    matplotlib.rcParams.update(dict.fromkeys(inked, INK))
    matplotlib.rcParams.update(
        {
            "axes.facecolor": "none",
            "axes.spines.top": False,
            "axes.spines.right": False,
            "axes.titlesize": 11,
            "figure.dpi": 130,
            "figure.facecolor": LIGHT,
            "font.size": 10,
            "legend.frameon": False,
            "savefig.facecolor": "auto",
        }
    )


def save_both(block: Any, block_vars: dict[str, Any], gallery_conf: dict[str, Any]) -> str:
    """Write the open figures of a block, light and dark, and return the lines that show them."""
    moving = {one._fig: one for one in block_vars["example_globals"].values() if isinstance(one, Animation)}
    text = ""
    for number, path in zip(plt.get_fignums(), block_vars["image_path_iterator"], strict=False):
        figure = plt.figure(number)
        for page, path_of_page in (("light", Path(path)), ("dark", _name_dark(Path(path)))):
            if page == "dark":
                redraw_in_chalk(figure)
            written = _write(figure, moving.get(figure), path_of_page)
            shown = written.relative_to(gallery_conf["src_dir"]).as_posix()
            text += IMAGE.format(path=shown, alt=_describe(figure), page=page)
    plt.close("all")
    return text


def redraw_in_chalk(figure: Figure) -> None:
    """Change everything that is drawn in ink; what has a colour of its own keeps it."""
    figure.set_facecolor(DARK)
    for artist in figure.findobj(lambda one: hasattr(one, "get_color") and hasattr(one, "set_color")):
        if _is_ink(artist.get_color()):
            artist.set_color(CHALK)
    for axes in figure.axes:
        _redraw_axes(axes)


def _redraw_axes(axes: Axes) -> None:
    for spine in axes.spines.values():
        if _is_ink(spine.get_edgecolor()):
            spine.set_edgecolor(CHALK)
    # Ticks made later, by a frame of an animation, take their colour from here.
    axes.tick_params(colors=CHALK, which="both")
    for legend in axes.findobj(Legend):
        for words in legend.get_texts():
            words.set_color(CHALK)


def _is_ink(colour: Any) -> bool:
    try:
        return to_rgba(colour) == to_rgba(INK)
    except (TypeError, ValueError):  # a colour per point: data
        return False


def _write(figure: Figure, animation: Animation | None, path: Path) -> Path:
    if animation is None:
        figure.savefig(path)
        return path
    # The first frame keeps the name that sphinx-gallery makes the thumbnail from.
    figure.savefig(path)
    path = path.with_suffix(".gif")
    animation.save(path, writer=PillowWriter(fps=FRAMES_PER_SECOND), dpi=100)
    return path


def _name_dark(path: Path) -> Path:
    return path.with_stem(f"{path.stem}_dark")


def _describe(figure: Figure) -> str:
    """For those who cannot see it: the titles, or what the axes are."""
    titles = [figure.get_suptitle(), *(axes.get_title() for axes in figure.axes)]
    labels = [f"{axes.get_ylabel() or 'how many'} over {axes.get_xlabel()}" for axes in figure.axes]
    return "; ".join(" ".join(words.split()) for words in (titles if any(titles) else labels) if words)
