"""Write docs/tutorial.ipynb from the cells below, run it, and store it with what it printed.

python docs/_ext/write_tutorial.py
"""

from __future__ import annotations

from pathlib import Path

import nbclient
import nbformat
from nbformat.v4 import new_code_cell, new_markdown_cell, new_notebook

TUTORIAL = Path(__file__).parents[1] / "tutorial.ipynb"

# Text and code in turn, the text first.
CELLS = [
    """\
# Tutorial: from two folders to masks

The main commands of `segvote` in Python, on your own images. Runs in half a minute on one core with the scenes that it
makes where you give no folder.

## Your two folders

Sort your images into two folders beside each other: `with/` contains images that show the object, `without/` images of
the same kind of scene that do not show it. Ten of each are the minimum ([choosing images](choosing-images.md)). Set
`PHOTOS` to the folder that contains both; it is only read.

Without it, the tutorial makes scenes: a coffee cup among other things, and the same without the cup. The scenes come
with exact masks in `masks/`, which are used only to measure the result.""",
    """\
import os
import tempfile
from pathlib import Path

import matplotlib.pyplot as plt
from skimage.io import imread

from segvote.datasets import make_scenes, write_scenes

PHOTOS = None  # your folder, for example "~/photos", which contains with/ and without/

photos = Path(PHOTOS).expanduser().resolve() if PHOTOS else Path(tempfile.mkdtemp())
if not PHOTOS:
    write_scenes(photos, make_scenes(n_with=8, n_without=20, seed=1, size=(240, 180), object_area=(0.05, 0.12)))
os.chdir(tempfile.mkdtemp())  # everything below is written there

figure, axes = plt.subplots(2, 4, figsize=(8, 3.2), dpi=75, layout="constrained")
for row, name in zip(axes, ("with", "without")):
    for one, path in zip(row, sorted((photos / name).iterdir())):
        one.imshow(imread(path))
        one.set_title(f"{name}/{path.name}", fontsize=8)
        one.axis("off")""",
    """\
## Annotate

One call, with a progress bar below the cell where `ipywidgets` is installed. For your photographs the default settings
are used. For the scenes they are smaller, because the pictures are small.""",
    """\
import segvote

settings = segvote.Settings() if PHOTOS else segvote.Settings(size=240, n_segments=100, label="cup")
run = segvote.annotate(photos / "with", photos / "without", "run", settings)
run""",
    """\
A run is a folder with masks, heat maps, a COCO file, `report.html`, and intermediate results that later commands
reuse. The same line called again reuses all of them.""",
    """\
for path in sorted(Path("run").glob("[!.]*")):
    print(path.name + "/" * path.is_dir())""",
    """\
The confidence of the run, and the least certain images. `uncertainty` is near 0 where scores have two clear levels;
check masks from 0.5 on.""",
    """\
print(run.format_confidence())
for image in sorted(run, key=lambda image: -image.uncertainty)[:4]:
    print(f"{image.name:20} uncertainty {image.uncertainty:.2f}, covers {image.mask.mean():5.1%}")""",
    "`plot` draws an image, its scores and its mask.",
    """\
figure = run.plot(0)
figure.set_dpi(60)""",
    """\
## Evaluate

With ground truth you can measure the masks: draw some of your images by hand into `masks/`, beside the two folders, 255
for the object and 0 for the background, named like the images. *CorLoc* is the share of images whose mask overlaps the
ground truth by more than half. The *limit* is the best result that these segments allow.""",
    """\
if (photos / "masks").is_dir():
    figures = segvote.evaluate(run, photos / "masks").to_dict()
    for name in ("corloc", "miou", "limit_miou", "segment_ap"):
        print(f"{name:12} {figures[name]:.3f}")""",
    """\
## Explain a score

Every score is a sum of votes. These are the votes for and against the best segment of the first image:""",
    """\
explanation = run.explain(0)
print(f"score {explanation.score:+.3f}, object above {explanation.threshold:+.3f} in this image")
for sign in (+1, -1):
    for line in explanation.list_best(sign)[:4]:
        print(f"{line.amount:+.4f}  {run.images[line.bag].name}, {line.place}")""",
    "The segment, and the four with the largest votes for it:",
    """\
best = [(line.bag, line.segment) for line in explanation.list_best(+1)[:4]]
figure, axes = plt.subplots(1, 5, figsize=(9, 1.7), dpi=75, layout="constrained")
for one, (bag, number) in zip(axes, [(0, explanation.segment), *best]):
    one.imshow(run.images[bag].image)
    one.contour(run.read_segments(bag)["labels"] == number, [0.5], colors="#f8d350")
    one.set_title(run.images[bag].name, fontsize=8)
    one.axis("off")""",
    """\
## New images

`predict` applies the run to a folder of new images; give yours in the place of `mixed`, which holds new scenes. The
false-positive rate is approximately the share of images *without* the object that are predicted to show it, calibrated
on the twenty *without* images above.""",
    """\
write_scenes("new", make_scenes(n_with=4, n_without=4, seed=7, size=(240, 180), object_area=(0.05, 0.12)))
Path("mixed").mkdir()
for path in sorted(Path("new").glob("with*/*.png")):
    path.rename(Path("mixed") / path.name)

found = segvote.predict("run", "mixed", "predicted", false_positive_rate=0.05, n_jobs=1)
for image in found.images:
    print(f"{image.name:18} shows it: {'yes' if image.contains else 'no':4} probably {image.probability:.2f}")""",
    """\
## Export

Every run writes a COCO file. `segvote.EXPORTS` lists the other formats.""",
    """\
print(", ".join(segvote.EXPORTS))
print(segvote.export("run", "yolo"))""",
    """\
## Next steps

- [Choosing images](choosing-images.md) makes more difference than any setting.
- [Review](review.md): correct masks with clicks. `segvote.open_review(run)` opens the page from a notebook, until
  you press the stop button.
- [Examples](auto_examples/index) and [the gallery](auto_gallery/index), which shows how voting works.
- [Why did it select that?](why.md) answers common questions.""",
]


def make_notebook() -> nbformat.NotebookNode:
    """Cells with names that do not change from one writing to the next."""
    makers = (new_markdown_cell, new_code_cell)
    cells = [makers[index % 2](text, id=f"cell-{index:02d}") for index, text in enumerate(CELLS)]
    kernel = {"display_name": "Python 3", "language": "python", "name": "python3"}
    return new_notebook(cells=cells, metadata={"kernelspec": kernel, "language_info": {"name": "python"}})


def main() -> None:
    notebook = make_notebook()
    nbclient.NotebookClient(notebook, timeout=300, record_timing=False).execute()
    notebook.metadata["language_info"] = {"name": "python"}  # not the versions of this machine
    nbformat.write(notebook, TUTORIAL)


if __name__ == "__main__":
    main()
